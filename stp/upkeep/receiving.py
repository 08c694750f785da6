"""Import artefacts that were made elsewhere; every file is checked, and nothing is replaced.

Each artefact is copied to a temporary folder, compared with its receipt, and then renamed. So an
interrupted import leaves complete artefacts and can be repeated.
"""

import hashlib
import json
import re
import shutil
import tarfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NoReturn

from stp.core import store
from stp.core.disk import safe_join, write_text_once, writing
from stp.core.errors import FileError, StpError
from stp.core.job import Report, report_nothing
from stp.core.limits import require_unpacked
from stp.core.lock import require_below
from stp.core.receipts import (
    RECEIPT,
    SEALED,
    Json,
    Receipt,
    RecordedFile,
    checksum,
    read_receipt,
    require_receipt,
)
from stp.plan.artefacts import FOLDERS, fingerprint_of
from stp.plan.cells import Plan
from stp.upkeep.inventory import artefacts
from stp.upkeep.sharing import SUMS

STORE = "artefacts: a folder or tar file of `stp store export OUT`, or a store"
LOCK = re.compile(r"raw/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+\.lock\.json")
GENERATED = re.compile(r"-([0-9a-f]{16})\.lock\.json$")
"""Lock files of generated raw files are named by the identity of their generator."""


@dataclass
class Import:
    """The result of an import of artefacts (folders of results).

    Attributes:
        taken: imported artefacts.
        present: artefacts that the store had already.
        refused: reason why an artefact was refused, by its folder.
    """

    taken: list[str] = field(default_factory=list)
    present: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def receive(plan: Plan, source: Path, report: Report = report_nothing) -> Import:
    """Import all artefacts (results of jobs) of a folder or tar file into the store of a plan.

    Raises:
        StpError: the source contains no artefacts, or their raw files differ from those of this
            store.
    """
    if source.suffix == ".zip" or (source / "MANIFEST.json").is_file():
        raise StpError(
            f"{source} is a submission bundle, which is for reading",
            expected=STORE,
            remedy="see `stp store export --check` and docs/export.md",
        )
    scratch = plan.store / "state" / f".import.{uuid.uuid4().hex[:8]}.partial"
    with writing(plan.store), store.lease(scratch):
        try:
            folder = _unpack(source, scratch) if source.is_file() else source
            folders = list(artefacts(folder))
            if not folders:
                raise StpError(
                    f"{source} holds no artefacts",
                    expected=STORE,
                    remedy="name the folder that has data, models, predictions or scores in it",
                )
            _compare_locks(folder, plan.store)
            return _receive_all(plan, folder, folders, scratch, report)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _receive_all(
    plan: Plan, source: Path, folders: list[str], scratch: Path, report: Report
) -> Import:
    sums = _read_sums(source)
    received = Import()
    for done, folder in enumerate(folders):
        report("artefacts", done, len(folders))
        final = plan.store / folder
        if store.is_complete(final):
            received.present.append(folder)
            continue
        try:
            receipt = _check_receipt(source, folder, sums)
            if store.is_dropped(source / folder) and read_receipt(final):
                received.present.append(folder)  # with data, or without them as well
                continue
            copy = scratch / f"artefact-{done}"
            _copy(source / folder, copy, receipt)
        except StpError as error:
            received.refused[folder] = str(error)
            continue
        _take_lock(source, plan.store, receipt)
        (received.taken if store.move_into_place(copy, final) else received.present).append(folder)
    for folder in sorted(set(_artefact_folders(sums)) - set(folders)):
        received.refused[folder] = f"it is in {SUMS}, and not in {source}"
    return received


def _unpack(source: Path, scratch: Path) -> Path:
    try:
        with tarfile.open(source) as tar:
            tar.extractall(scratch / "tar", members=_files_of(tar, source), filter="data")
    except tarfile.TarError as error:
        raise FileError(source, f"cannot be unpacked ({error})", remedy="copy it again") from None
    inner = list((scratch / "tar").iterdir())
    return inner[0] if len(inner) == 1 else scratch / "tar"


def _files_of(tar: tarfile.TarFile, source: Path) -> Iterator[tarfile.TarInfo]:
    """Yield the members of a tar file; refuse links and devices, which no export contains."""
    packed, unpacked = source.stat().st_size, 0
    for members, info in enumerate(tar, start=1):
        safe_join(Path(), info.name, source)
        unpacked += info.size
        require_unpacked(source, packed, unpacked, members)
        if not (info.isfile() or info.isdir()):
            _refuse(source, f"{info.name} is neither a file nor a folder", "files and folders")
        yield info


def _compare_locks(source: Path, ours: Path) -> None:
    """Refuse an import if the raw files of a release differ from those of this store."""
    for path in sorted((source / "raw").glob("*/*.lock.json")):
        name = path.relative_to(source)
        safe_join(source, str(name), source, links=False)
        incoming = _lock(path)
        if not (ours / name).is_file():
            continue
        present = _lock(ours / name)
        for file in sorted({*incoming, *present}):
            if incoming.get(file) != present.get(file):
                raise FileError(
                    path,
                    f"the raw file {file} is {_bytes(incoming.get(file))}, and in this store it is "
                    f"{_bytes(present.get(file))}",
                    expected="the same files under the same name of a release",
                    remedy="find out which of the two is the official file; a changed file needs a "
                    "release of its own (config/datasets)",
                )


def _lock(path: Path) -> Json:
    try:
        files: Json = json.loads(path.read_bytes())["files"]
        require_below(files, path, path.parent.name)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FileError(path, "not a lock file of raw files", remedy="copy it again") from None
    return files


def _bytes(entry: Json | None) -> str:
    return f"{entry['bytes']} bytes with SHA-256 {entry['sha256'][:16]}..." if entry else "absent"


def _read_sums(source: Path) -> dict[str, str]:
    if not (source / SUMS).is_file():
        return {}
    try:
        lines = (source / SUMS).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        _refuse(source / SUMS, f"not a text ({error})", "lines of SHA-256 and the name of a file")
    return {name: value for value, _, name in (line.partition("  ") for line in lines)}


def _artefact_folders(sums: dict[str, str]) -> list[str]:
    return [str(PurePosixPath(name).parent) for name in sums if name.endswith(f"/{RECEIPT}")]


def _check_receipt(source: Path, folder: str, sums: dict[str, str]) -> Receipt:
    """Read a receipt; refuse it if it is damaged or belongs to another path."""
    try:
        return _read_verified_receipt(source, folder, sums)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"it is incomplete ({type(error).__name__}: {error})"
        _refuse(source / folder / RECEIPT, problem, "what a stage wrote")


def _read_verified_receipt(source: Path, folder: str, sums: dict[str, str]) -> Receipt:
    path = source / folder / RECEIPT
    safe_join(source, f"{folder}/{RECEIPT}", source, links=False)
    receipt = require_receipt(source / folder)
    name = f"{folder}/{RECEIPT}"
    if name in sums and checksum(path) != sums[name]:
        _refuse(path, "it differs from its checksum", f"SHA-256 {sums[name]}")
    stage = receipt.stage
    if receipt.path != folder or FOLDERS.get(stage) != folder.partition("/")[0]:
        _refuse(path, f"it is that of {receipt.path} ({stage})", folder)
    if not (receipt.files and receipt.code.fingerprint):
        _refuse(path, "it is incomplete", "files and code")
    for name, value in receipt.inputs.items():
        safe_join(Path(), str(value), path)
        if name == "raw" and not LOCK.fullmatch(str(value)):
            _refuse(path, f"its raw files are locked by {value}", "raw/<dataset>/<...>.lock.json")
    made_of = {key: _identity(value) for key, value in receipt.inputs.items()}
    known = {key: value for key, value in made_of.items() if value is not None}
    if len(known) == len(made_of):
        code = receipt.code.fingerprint
        actual = fingerprint_of(stage, code, receipt.recipe, known)
        if actual != receipt.fingerprint:
            _refuse(path, f"its code, recipe and inputs make the fingerprint {actual}", folder)
    for file, entry in receipt.files.items():
        if not (isinstance(entry.bytes, int) and isinstance(entry.sha256, str)):
            _refuse(path, f"it says of {file}: {entry}", "bytes and SHA-256")
        safe_join(source / folder, file, path, links=False)
        if file in (RECEIPT, SEALED, store.DROPPED):
            _refuse(path, f"it lists {file}", "files that a stage makes")
    return receipt


def _refuse(path: Path, problem: str, expected: str) -> NoReturn:
    raise StpError(
        f"{path}: {problem}", expected=expected, remedy="export it again where it was made"
    )


def _identity(path: str) -> str | None:
    """The fingerprint in the path of an input; None for declared raw files."""
    if not path.endswith(".json"):
        return PurePosixPath(path).name
    generated = GENERATED.search(path)
    return generated[1] if generated else None


def _copy(source: Path, target: Path, receipt: Receipt) -> None:
    target.mkdir()
    names = [] if store.is_dropped(source) else list(receipt.files)
    try:
        for name in names:
            _copy_file(source / name, target / name, receipt.files[name])
        if store.is_dropped(source):
            shutil.copyfile(source / store.DROPPED, target / store.DROPPED)
        for name in (SEALED, RECEIPT):
            shutil.copyfile(source / RECEIPT, target / name)
    except StpError:
        shutil.rmtree(target)
        raise


def _copy_file(source: Path, target: Path, entry: RecordedFile) -> None:
    if not source.is_file():
        _refuse(source, "missing", f"{entry.bytes} bytes, as in the receipt")
    target.parent.mkdir(parents=True, exist_ok=True)
    hashed = hashlib.sha256()
    with source.open("rb") as reader, target.open("xb") as writer:
        while block := reader.read(1 << 20):
            hashed.update(block)
            writer.write(block)
    if hashed.hexdigest() != entry.sha256:
        size = source.stat().st_size
        _refuse(
            source,
            f"damaged, {size} bytes with SHA-256 {hashed.hexdigest()}",
            f"{entry.bytes} bytes with SHA-256 {entry.sha256}, as in the receipt",
        )


def _take_lock(source: Path, ours: Path, receipt: Receipt) -> None:
    """Copy the lock of the raw files of prepared data, if this store has none."""
    lock = receipt.inputs.get("raw")
    if lock and safe_join(source, lock, source, links=False).is_file():
        write_text_once(safe_join(ours, lock, source), (source / lock).read_text())
