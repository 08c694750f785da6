"""Download several files at a time, a few from each host; a failure does not stop the others."""

import contextlib
import errno
import queue
import shutil
import threading
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from stp.core.errors import StpError
from stp.core.job import Report
from stp.core.units import size_text
from stp.data.known_checksums import KnownChecksums
from stp.fetch.checksum import Checksum, checksum, require_declared
from stp.fetch.download import (
    DownloadSettings,
    GivenUpError,
    Host,
    Stopped,
    discard_part,
    download,
    finish_part,
    open_part,
    part_path,
)
from stp.fetch.meter import TransferMeter

FAILED_IN_A_ROW = 3
"""Number of failed files of one host after which its other files are not tried."""
_SHOWN = 10
_PATIENCE_S = 0.5
_FULL = (errno.ENOSPC, errno.EDQUOT)


class NotTriedError(StpError):
    """A file was not tried, since other files of the host could not be downloaded."""


class FileToFetch(NamedTuple):
    """A file to download: its addresses, and where it will be stored.

    Attributes:
        name: name of the file, for messages.
        target: path of the finished file.
        declared: ``url``, and optionally ``bytes``, ``sha256``, ``md5_uncompressed``.
    """

    name: str
    target: Path
    declared: Mapping[str, Any]


def download_all(
    files: Sequence[FileToFetch],
    settings: DownloadSettings,
    report: Report,
    remembered: KnownChecksums | None = None,
) -> dict[str, Checksum]:
    """Download files, and verify each against its declaration.

    Each file is downloaded as ``<target>.part``, and gets its final name when it is verified.

    Args:
        files: files to download.
        settings: limits and other settings of downloads.
        report: callback for the progress.
        remembered: record of checksums, to which the checksums of the files are added.

    Returns:
        size and SHA-256 of each file, by its name.

    Raises:
        StpError: some files could not be downloaded; the other files are complete, and unfinished
            files are kept.
    """
    if not files:
        return {}
    _require_space(files)
    meter = TransferMeter(
        "download", {file.name: file.declared.get("bytes") for file in files}, report
    )
    stop = threading.Event()
    results: queue.Queue[tuple[FileToFetch, Checksum | BaseException]] = queue.Queue()
    queues: dict[str, deque[FileToFetch]] = defaultdict(deque)
    for file in files:
        queues[urlsplit(file.declared["url"]).netloc].append(file)
    threads = []
    for waiting in queues.values():
        host = Host(settings, stop)
        for _ in range(min(settings.connections, len(waiting))):
            # Daemons: an interrupted process does not wait for a server.
            args = (waiting, host, meter, remembered, results)
            threads.append(threading.Thread(target=_work, args=args, daemon=True))
    for thread in threads:
        thread.start()
    checksums, problems = {}, []
    try:
        for _ in files:
            file, result = results.get()
            if isinstance(result, Checksum):
                checksums[file.name] = result
            elif isinstance(result, StpError):
                problems.append(result)
            else:
                raise result
            meter.finish(failed=not isinstance(result, Checksum))
    finally:
        stop.set()
        for thread in threads:
            thread.join(_PATIENCE_S)
    if problems:
        raise combine_errors(problems, len(files))
    return checksums


def _work(
    waiting: deque[FileToFetch],
    host: Host,
    meter: TransferMeter,
    remembered: KnownChecksums | None,
    results: "queue.Queue[tuple[FileToFetch, Checksum | BaseException]]",
) -> None:
    while not host.stop.is_set():
        try:
            file = waiting.popleft()
        except IndexError:
            return
        try:
            results.put((file, _attempt(file, host, meter, remembered)))
        except Stopped:
            return
        except StpError as problem:
            results.put((file, problem))
        except BaseException as error:
            results.put((file, error))
            return


def _attempt(
    file: FileToFetch, host: Host, meter: TransferMeter, remembered: KnownChecksums | None
) -> Checksum:
    url = file.declared["url"]
    if host.pointless:
        raise NotTriedError(f"{url} was not tried: {host.pointless}")
    try:
        result = _download(file, host, meter, remembered)
    except GivenUpError:
        host.failed += 1
        if host.failed >= FAILED_IN_A_ROW:
            name = urlsplit(url).netloc
            host.pointless = f"{host.failed} others of {name} failed in a row"
        raise
    except StpError as problem:
        if getattr(problem.__cause__, "errno", None) in _FULL:
            host.pointless = "the disk is full"
        raise
    host.failed = 0
    return result


def _download(
    file: FileToFetch, host: Host, meter: TransferMeter, remembered: KnownChecksums | None
) -> Checksum:
    target, declared = file.target, file.declared
    with open_part(target) as part:
        if target.is_file():  # another process finished it while this one waited for the lock
            part_path(target).unlink(missing_ok=True)
            actual = checksum(target)
            require_declared(target, actual, declared)
            return actual
        download(
            declared["url"],
            target,
            part,
            host,
            size=declared.get("bytes"),
            checked=bool(declared.get("sha256") or declared.get("md5_uncompressed")),
            advance=lambda have, total: meter.at(file.name, have, total),
        )
        before = part_path(target).stat()
        actual = checksum(part_path(target))
        try:
            require_declared(part_path(target), actual, declared, url=declared["url"])
        except StpError:
            discard_part(target)  # resuming it could never help
            raise
        finish_part(target)
        after = target.stat()
        if remembered and (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino):
            remembered.add(target, after, actual.sha256)
        return actual


def _require_space(files: Sequence[FileToFetch]) -> None:
    """Refuse downloads that do not fit on the disk."""
    folder = files[0].target.parent
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    needed = 0
    for file in files:
        have = 0
        with contextlib.suppress(OSError):  # none yet, or another process has just finished it
            have = part_path(file.target).stat().st_size
        needed += max(0, (file.declared.get("bytes") or 0) - have)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise StpError(
            f"{len(files)} file(s) to download do not fit on the disk of {folder}: "
            f"{size_text(free)} are free",
            expected=f"{size_text(needed)} of free space",
            remedy="free some space, or choose a larger disk (STP_RAW_DIR)",
        )


def combine_errors(problems: Sequence[StpError], total: int) -> StpError:
    """Combine the errors of some of `total` files into one."""
    if len(problems) == 1:
        return problems[0]
    problems = sorted(problems, key=lambda problem: isinstance(problem, NotTriedError))
    lines = [f"  {problem.what}" for problem in problems[:_SHOWN]]
    if len(problems) > _SHOWN:
        lines.append(f"  ... and {len(problems) - _SHOWN} more")
    remedies = list(dict.fromkeys(p.remedy for p in problems if p.remedy))[:3]
    return StpError(
        f"{len(problems)} of {total} files could not be downloaded:\n" + "\n".join(lines),
        remedy="\n".join(remedies),
    )
