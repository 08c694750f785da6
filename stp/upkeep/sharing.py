"""Export artefacts to a folder or a tar file, with receipts and a list of checksums.

The paths inside are those of a store, so `stp store import` can read it, and `cp` can copy it.
"""

import contextlib
import hashlib
import io
import json
import shutil
import tarfile
import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from stp.core import store
from stp.core.disk import writing
from stp.core.errors import ArtefactError, StpError
from stp.core.job import Report, report_nothing
from stp.core.receipts import RECEIPT, SEALED, read_receipt, receipt_text
from stp.plan.artefacts import Artefact, Raw
from stp.plan.cells import Plan
from stp.upkeep.why import select_artefacts

SUMS = "SHA256SUMS"


@dataclass(frozen=True)
class Export:
    """The contents of an export of artefacts (folders of results).

    Attributes:
        whole: artefacts that are packed with all files.
        receipts: artefacts of which only the receipt is packed.
        absent: selected artefacts and inputs that are missing.
        bytes: size of all files.
    """

    whole: list[Artefact]
    receipts: list[Artefact]
    absent: list[Artefact]
    bytes: int


@dataclass(frozen=True)
class _File:
    """A file to pack: its path on disk, or its content."""

    name: str
    source: Path | None = None
    content: bytes = b""
    sha256: str | None = None

    @property
    def size(self) -> int:
        return len(self.content) if self.source is None else self.source.stat().st_size

    @contextlib.contextmanager
    def open(self) -> Iterator["_Hashing"]:
        with self.source.open("rb") if self.source else io.BytesIO(self.content) as file:
            yield _Hashing(cast(BinaryIO, file))


class _Hashing:
    """A file object that computes a checksum while the file is read."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.hash = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        self.hash.update(data)
        return data


def export(
    plan: Plan,
    words: list[str],
    out: Path,
    scores_only: bool = False,
    report: Report = report_nothing,
) -> Export:
    """Export artefacts (folders of results), with all of their inputs, to another store.

    Args:
        plan: the plan of the artefacts.
        words: words of the paths of selected artefacts; empty for all artefacts.
        out: a new folder, or a new file that ends with ``.tar``.
        scores_only: whether to pack only the receipts of artefacts other than scores. This is
            sufficient for tables and queries.
        report: callback for the progress, in bytes.

    Raises:
        StpError: no selected artefact is finished, ``out`` exists, or a file is damaged.
    """
    if out.exists():
        raise StpError(f"{out} exists", remedy="choose a new name")
    selected = [
        a for a in select_artefacts(plan, words) if not scores_only or a.stage.startswith("score")
    ]
    packed = _sort(plan, selected, scores_only)
    if not {a.folder for a in selected} & {a.folder for a in packed.whole}:
        raise StpError(
            f"none of the {len(selected)} selected artefacts is finished",
            remedy="`stp status` shows the finished ones",
        )
    files = list(_files(plan, packed))
    total = sum(file.size for file in files)
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        temporary = out.with_name(f".{out.name}.{uuid.uuid4().hex[:8]}.partial")
        try:
            if out.suffix == ".tar":
                _pack_tar(temporary, out.stem, files, total, report)
            else:
                _pack_folder(temporary, files, total, report)
            temporary.rename(out)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                temporary.unlink()
    return Export(packed.whole, packed.receipts, packed.absent, total)


def _sort(plan: Plan, artefacts: Iterable[Artefact], scores_only: bool) -> Export:
    """Divide artefacts into three groups: packed with all files, receipt only, and missing; inputs
    come first.
    """
    needed: dict[Artefact, None] = {}

    def add(artefact: Artefact) -> None:
        for value in artefact.inputs.values():
            if isinstance(value, Artefact):
                add(value)
        needed[artefact] = None

    selected = set()
    for artefact in artefacts:
        selected.add(artefact.folder)
        add(artefact)
    packed = Export([], [], [], 0)
    for artefact in needed:
        folder = plan.store / artefact.folder
        if scores_only and artefact.folder not in selected:
            (packed.receipts if read_receipt(folder) else packed.absent).append(artefact)
        else:
            (packed.whole if store.is_complete(folder) else packed.absent).append(artefact)
    return packed


def _files(plan: Plan, packed: Export) -> Iterator[_File]:
    locks = {
        value.lock
        for artefact in (*packed.whole, *packed.receipts)
        for value in artefact.inputs.values()
        if isinstance(value, Raw)
    }
    for lock in sorted(locks):
        if (plan.store / lock).is_file():
            yield _File(lock, plan.store / lock)
    why = json.dumps({"time": time.time(), "why": "exported with --scores-only"}).encode()
    for artefact in packed.receipts:
        yield _File(f"{artefact.folder}/{store.DROPPED}", content=why)
        yield from _receipts(plan, artefact)
    for artefact in packed.whole:
        receipt = read_receipt(plan.store / artefact.folder)
        for name, entry in sorted(receipt.files.items() if receipt else ()):
            path = f"{artefact.folder}/{name}"
            yield _File(path, plan.store / path, sha256=entry.sha256)
        yield from _receipts(plan, artefact)


def _receipts(plan: Plan, artefact: Artefact) -> Iterator[_File]:
    """Yield both copies of a receipt, even if one of them was deleted."""
    receipt = read_receipt(plan.store / artefact.folder)
    assert receipt is not None  # else it would be absent
    content = receipt_text(receipt).encode()
    for name in (SEALED, RECEIPT):
        yield _File(f"{artefact.folder}/{name}", content=content)


def _check(file: _File, sha256: str) -> str:
    """Refuse a damaged file; return its line for the list of checksums."""
    if file.sha256 not in (None, sha256):
        assert file.source is not None
        raise ArtefactError(
            file.source, f"damaged, SHA-256 {sha256}", expected=f"{file.sha256}, as in the receipt"
        )
    return f"{sha256}  {file.name}\n"


def _pack_folder(out: Path, files: list[_File], total: int, report: Report) -> None:
    lines, done = [], 0
    for file in files:
        target = out / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        with file.open() as reader, target.open("xb") as writer:
            shutil.copyfileobj(cast(BinaryIO, reader), writer, 1 << 20)
        lines.append(_check(file, reader.hash.hexdigest()))
        done += file.size
        report("bytes", done, total)
    (out / SUMS).write_text("".join(lines))


def _pack_tar(out: Path, name: str, files: list[_File], total: int, report: Report) -> None:
    lines, done = [], 0
    with tarfile.open(out, "x") as tar:
        for file in files:
            with file.open() as reader:
                tar.addfile(_member(f"{name}/{file.name}", file.size), cast(BinaryIO, reader))
            lines.append(_check(file, reader.hash.hexdigest()))
            done += file.size
            report("bytes", done, total)
        text = "".join(lines).encode()
        tar.addfile(_member(f"{name}/{SUMS}", len(text)), io.BytesIO(text))


def _member(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mtime = size, int(time.time())
    return info
