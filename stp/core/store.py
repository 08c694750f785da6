"""The store of artefacts: immutable folders, published by a rename that never replaces one.

A finished folder contains the receipt ``artefact.json`` and a sealed copy of it
(stp/core/receipts.py). Snakemake may delete the receipt, which is the declared output of a rule; it
is then restored from the sealed copy, and nothing is computed again.
"""

import contextlib
import errno
import json
import os
import shutil
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from stp.core.disk import disk_error, write_text
from stp.core.errors import ArtefactError
from stp.core.job import Interrupted, never_interrupted
from stp.core.receipts import (
    RECEIPT,
    SEALED,
    Receipt,
    RecordedFile,
    check_file,
    checksum,
    is_altered,
    read_receipt,
    receipt_text,
    refuse_altered,
)

DROPPED = "dropped.json"
"""Name of the file that lies beside the receipt if the data were deleted on purpose."""
LEASE_SECONDS = 60
"""Seconds since the last heartbeat after which the holder of a lease counts as dead."""


def list_files(folder: Path) -> dict[str, RecordedFile]:
    """Map every file below a folder, except receipts, to its size and checksum.

    The keys are paths relative to the folder.
    """
    return {
        str(path.relative_to(folder)): RecordedFile(path.stat().st_size, checksum(path))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in (RECEIPT, SEALED)
    }


def is_complete(folder: Path) -> bool:
    """Whether a folder is a finished artefact: has every file of its receipt, with its size.

    A folder is not complete if its data were deleted on purpose (`drop`), or if its receipt was
    altered.
    """
    receipt = read_receipt(folder)
    return (
        receipt is not None
        and not is_dropped(folder)
        and not is_altered(folder)
        and not missing_files(folder, receipt)
    )


def missing_files(folder: Path, receipt: Receipt) -> list[str]:
    """List the files of a receipt that are missing or have another size.

    Args:
        folder: folder of the artefact.
        receipt: receipt of the artefact.

    Returns:
        paths relative to the folder, in the order of the receipt.
    """
    missing = []
    for name, entry in receipt.files.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != entry.bytes:
            missing.append(name)
    return missing


def verify(folder: Path) -> None:
    """Refuse an artefact if a file differs in size or checksum from the receipt.

    Raises:
        StpError: the receipt or a file is missing, or a file differs from the receipt.
    """
    receipt = _readable_receipt(folder)
    for name in receipt.files:
        check_file(folder, receipt, name)


def _readable_receipt(folder: Path) -> Receipt:
    receipt = read_receipt(folder)
    if receipt is None:
        raise ArtefactError(folder, "no readable receipt")
    refuse_altered(folder)
    return receipt


def check_input(folder: Path, chunk_sums: str) -> None:
    """Verify the files of an artefact, except array shards whose chunks have their own checksums.

    A shard is a file with many chunks of a Zarr array. Its chunks are checked one by one when they
    are read, so that a job that needs a few clips does not read 300 GB first.

    Args:
        folder: folder of the artefact.
        chunk_sums: name of the file with the checksums of an array's chunks, in the folder of the
            array: ``crc32c`` (`stp.data.chunk_sums`).

    Raises:
        StpError: a file is missing, or differs from the receipt.
    """
    receipt = _readable_receipt(folder)
    arrays = [
        name.removesuffix(chunk_sums) for name in receipt.files if name.endswith(f"/{chunk_sums}")
    ]
    shards = tuple(f"{array}c/" for array in arrays)
    for name in receipt.files:
        if not name.startswith(shards):
            check_file(folder, receipt, name)


def drop(folder: Path, why: str) -> None:
    """Delete the data of an artefact, but keep its receipt.

    Tables need the receipt to show where results came from.

    Args:
        folder: folder of the artefact.
        why: reason for the deletion, written to the file ``dropped.json`` beside the receipt.
    """
    write_text(folder / DROPPED, json.dumps({"time": time.time(), "why": why}))
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in (RECEIPT, SEALED, DROPPED):
            path.unlink()


def is_dropped(folder: Path) -> bool:
    """Whether the data of an artefact were deleted on purpose, and its receipt kept (`drop`)."""
    return (folder / DROPPED).exists()


def call_back(root: Path, folder: str) -> None:
    """Delete the receipt of an artefact whose data were dropped, so that the next run makes it.

    Data are dropped by `drop`, which keeps the receipt. If the data of an input were dropped too,
    its receipt is deleted as well, and so on. An artefact whose data exist is not changed. The next
    run of Snakemake makes every artefact without a receipt.

    Args:
        root: folder of the store.
        folder: folder of the artefact, relative to the store.
    """
    receipt = read_receipt(root / folder)
    if receipt is None or not is_dropped(root / folder):
        return
    (root / folder / RECEIPT).unlink(missing_ok=True)
    for input_folder in receipt.inputs.values():
        call_back(root, input_folder)


def adopt(folder: Path) -> bool:
    """Restore the receipt of a finished artefact from its sealed copy, if the receipt was deleted.

    Snakemake may delete a receipt, because it is the declared output of a rule; the artefact is
    still valid.

    Returns:
        whether the folder is complete; if not, no receipt was restored.
    """
    if not is_complete(folder):
        return False
    if not (folder / RECEIPT).is_file():
        write_text(folder / RECEIPT, (folder / SEALED).read_text())
    return True


def temporary_folder(final: Path) -> Path:
    """Make a folder to write into, beside the final one so that both are on one file system.

    Args:
        final: path that the folder gets when it is finished.

    Raises:
        StpError: the disk is full or read-only.
    """
    folder = final.with_name(f".{final.name}.{uuid.uuid4().hex[:8]}.partial")
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise disk_error(error, f"cannot write {final}") from error
    return folder


def remove_leftovers(final: Path) -> None:
    """Remove the temporary folders that killed processes left beside an artefact.

    Only the process that holds the `lease` of the artefact's state folder may call this.

    Args:
        final: path of the artefact in the store.
    """
    for leftover in final.parent.glob(f".{final.name}.*.partial"):
        shutil.rmtree(leftover, ignore_errors=True)


def publish(temporary: Path, final: Path, receipt: Receipt) -> bool:
    """Publish a written folder as an artefact: add its receipt, and move it into the store.

    An existing artefact is never replaced. The receipt records what the artefact was made from.

    Args:
        temporary: the written folder.
        final: path of the folder in the store.
        receipt: receipt without ``files``, which are added here.

    Returns:
        whether this folder was published; False if another process published the artefact first:
        its folder is kept, and ``temporary`` deleted.
    """
    text = receipt_text(replace(receipt, files=list_files(temporary)))
    (temporary / SEALED).write_text(text)
    (temporary / RECEIPT).write_text(text)
    return move_into_place(temporary, final)


def move_into_place(temporary: Path, final: Path) -> bool:
    """Move a folder that has its receipt to its final path, without replacing a finished artefact.

    An incomplete folder at that path is renamed (`set_aside`). It is deleted instead if its data
    were deleted on purpose before, and only its receipt was kept (`drop`).

    Args:
        temporary: the folder.
        final: its path in the store.

    Returns:
        whether the folder was moved; False if a complete artefact exists already: it is kept, and
        ``temporary`` deleted.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    while True:
        try:
            # Onto an empty folder (Snakemake makes one) this is atomic; onto anything else
            # it fails, so a finished artefact is never replaced.
            temporary.rename(final)
            return True
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
        if adopt(final):
            shutil.rmtree(temporary)
            return False
        dropped = is_dropped(final)
        aside = set_aside(final)
        if dropped:
            shutil.rmtree(aside, ignore_errors=True)


def set_aside(path: Path) -> Path:
    """Rename a damaged folder, so that its name is free and no file is lost.

    Returns:
        the new path.
    """
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.damaged")
    path.rename(aside)
    return aside


@contextlib.contextmanager
def lease(
    folder: Path,
    report: Callable[[str], object] = print,
    interrupted: Callable[[], bool] = never_interrupted,
) -> Iterator[None]:
    """Context manager: hold the lease of a folder, so that one process at a time writes into it.

    An example of such a folder is the state folder of an artefact, in which the attempts to make
    the artefact keep their state. The lease is a file in the folder, with the host and the process
    id of its holder. If another living process holds the lease, this one waits. The holder renews
    the time of the file every ten seconds. The lease of a dead process is taken over: at once if
    the process ran on this machine, else after a minute.

    Args:
        folder: the folder, which is made if it does not exist, and removed at the end if empty.
        report: function called with a message when waiting begins.
        interrupted: function that returns whether to stop waiting.

    Raises:
        Interrupted: this process was asked to stop while it waited.
    """
    path = folder / "lease.json"
    holder = {"host": socket.gethostname(), "pid": os.getpid(), "token": uuid.uuid4().hex}
    waiting = False
    while True:
        try:
            folder.mkdir(parents=True)
        except FileNotFoundError:  # another process finished and removed its parent just now
            continue
        except FileExistsError:
            # Not `exist_ok`, which raises if the folder is removed just after the check.
            if folder.is_file():
                raise
        try:
            with path.open("x") as file:
                json.dump(holder, file)
            break
        except FileNotFoundError:  # another process finished and removed the state just now
            continue
        except FileExistsError:
            if _take_over(path):
                continue
        if not waiting:
            report(f"waiting for another process that holds {path}")
            waiting = True
        if interrupted():
            raise Interrupted("nothing begun")
        time.sleep(1)
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(LEASE_SECONDS / 6):
            with contextlib.suppress(OSError):
                os.utime(path)

    heart = threading.Thread(target=beat, daemon=True)
    heart.start()
    try:
        yield
    finally:
        stop.set()
        heart.join()
        path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # keep state, remove what is empty
            folder.rmdir()


def is_held(folder: Path) -> bool:
    """Whether a living process holds the lease of a folder (see `lease`), and may be writing it."""
    path = folder / "lease.json"
    try:
        return not _is_dead(path, path.read_text())
    except FileNotFoundError:
        return False


def _take_over(path: Path) -> bool:
    """Remove the lease of a dead holder; a lease that was taken meanwhile is put back.

    Returns:
        whether the lease is gone, so that it can be taken.
    """
    try:
        content = path.read_text()
    except FileNotFoundError:
        return True
    if not _is_dead(path, content):
        return False
    removed = path.with_name(f".lease.{uuid.uuid4().hex[:8]}")
    try:
        path.rename(removed)
        if removed.read_text() != content:
            removed.rename(path)
            return False
    except FileNotFoundError:
        return False
    removed.unlink()
    return True


def _is_dead(path: Path, content: str) -> bool:
    try:
        age = time.time() - path.stat().st_mtime
        holder = json.loads(content)
    except FileNotFoundError:
        return False
    except json.JSONDecodeError:  # being written, or torn by a crash
        return age > LEASE_SECONDS
    if holder["host"] == socket.gethostname():
        try:
            os.kill(holder["pid"], 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
    return age > LEASE_SECONDS
