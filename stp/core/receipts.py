"""Receipts: what ends every artefact folder, and how files are checked against it.

A finished folder holds the declared receipt ``artefact.json``, with size and checksum of every
file, and a sealed copy of it: Snakemake may delete what a rule declares.
"""

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from stp.core.errors import ArtefactError, StpError

RECEIPT = "artefact.json"
SEALED = ".sealed.json"

Json = dict[str, Any]


@dataclass(frozen=True)
class RecordedFile:
    """A file of an artefact: its size and checksum."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class RecordedCode:
    """The code that could influence an artefact.

    Attributes:
        fingerprint: of all of it.
        modules: module -> digest of its meaning.
        definitions: module -> its functions and classes -> digests.
    """

    fingerprint: str = ""
    modules: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Who made an artefact, where and when; see `stp.core.provenance`. None: it is not known.

    Attributes:
        started, finished: Unix time.
        seconds: from the start to the end.
    """

    host: str | None = None
    user: str | None = None
    system: str | None = None
    processor: str | None = None
    cpus: int | None = None
    device: str | None = None
    python: str | None = None
    packages: dict[str, str] = field(default_factory=dict)
    commit: str | None = None
    slurm_job: str | None = None
    visible_gpus: str | None = None
    started: float | None = None
    finished: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class RecordedAttempt:
    """An attempt at an artefact; see `stp.run.cluster.attempts`. None: it is not known.

    Attributes:
        attempt: its number, from 1.
        time: of its start, Unix time.
        gpus: that it had.
        memory_mb: what it was allowed, in MB; None also where nothing limited it.
        how: done, failed, killed, out of memory, time limit, requeued or saved; None without an
            end.
        detail: why it ended so.
        peak_mb: the most memory that it held, in MB.
        ended: Unix time.
    """

    attempt: int
    time: float | None = None
    host: str | None = None
    pid: int | None = None
    slurm_job: str | None = None
    gpus: int | None = None
    memory_mb: float | None = None
    how: str | None = None
    detail: str | None = None
    peak_mb: float | None = None
    ended: float | None = None


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What is recorded of a finished artefact.

    Attributes:
        fingerprint: of code, recipe and inputs; the name of its folder.
        stage: prepare, train, predict, features or score.
        path: of its folder, relative to the store.
        label: a readable name.
        recipe: everything that was set for it.
        inputs: name -> folder or lock file, relative to the store.
        extras: results that its core reported; they differ from core to core.
        attempts: at making it, the last one with success.
        files: by their path in its folder.
    """

    fingerprint: str
    stage: str = ""
    path: str = ""
    label: str = ""
    recipe: Json = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    code: RecordedCode = field(default_factory=RecordedCode)
    provenance: Provenance = field(default_factory=Provenance)
    extras: Json = field(default_factory=dict)
    attempts: list[RecordedAttempt] = field(default_factory=list)
    files: dict[str, RecordedFile] = field(default_factory=dict)


def receipt_text(receipt: Receipt) -> str:
    """Write a receipt as JSON."""
    return json.dumps(asdict(receipt), indent=1, sort_keys=True)


def parse_receipt(text: str | bytes) -> Receipt:
    """Read a receipt from JSON; what is not in it is empty, and keys of other versions are ignored.

    Raises:
        ValueError, KeyError, TypeError, AttributeError, RecursionError: it is no receipt.
    """
    told = json.loads(text)
    return Receipt(
        fingerprint=told["fingerprint"],
        stage=told.get("stage") or "",
        path=told.get("path") or "",
        label=told.get("label") or "",
        recipe=dict(told.get("recipe") or {}),
        inputs=dict(told.get("inputs") or {}),
        extras=dict(told.get("extras") or {}),
        code=RecordedCode(**_known(RecordedCode, told.get("code"))),
        provenance=Provenance(**_known(Provenance, told.get("provenance"))),
        attempts=[
            RecordedAttempt(**_known(RecordedAttempt, one)) for one in told.get("attempts") or ()
        ],
        files={
            name: RecordedFile(entry["bytes"], entry["sha256"])
            for name, entry in (told.get("files") or {}).items()
        },
    )


def _known(
    kind: type[RecordedCode] | type[Provenance] | type[RecordedAttempt],
    told: Mapping[str, Any] | None,
) -> Json:
    return {one.name: told[one.name] for one in fields(kind) if told and one.name in told}


def checksum(path: Path) -> str:
    """Compute the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def making(folder: Path) -> str:
    """Which making of an artefact is there: the checksum of its receipt; empty if there is none.

    All makings have the same fingerprint, and their bytes may differ: other processors round
    otherwise.
    """
    for name in (RECEIPT, SEALED):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return checksum(folder / name)
    return ""


def read_receipt(folder: Path) -> Receipt | None:
    """Read the receipt of a folder, or its sealed copy; None where neither is readable."""
    for name in (RECEIPT, SEALED):
        try:
            return parse_receipt((folder / name).read_bytes())
        except (FileNotFoundError, NotADirectoryError, *_NO_RECEIPT):
            continue
    return None


_NO_RECEIPT = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def is_altered(folder: Path) -> bool:
    """Does the declared receipt of a folder say something else than its sealed copy?"""
    try:
        declared, sealed = ((folder / name).read_bytes() for name in (RECEIPT, SEALED))
        # One that is torn says nothing: its sealed copy is read instead.
        return declared != sealed and json.loads(declared) != json.loads(sealed)
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return False


def refuse_altered(folder: Path) -> None:
    """Refuse a receipt that was changed after the artefact was finished.

    Raises:
        StpError: it differs from its sealed copy.
    """
    if is_altered(folder):
        raise ArtefactError(
            folder / RECEIPT,
            "altered since the artefact was finished",
            expected=f"what its sealed copy says, {folder / SEALED}",
        )


def require_receipt(folder: Path) -> Receipt:
    """Read the declared receipt of an artefact folder ``.../<fingerprint>``.

    Raises:
        StpError: the receipt is missing, damaged, that of another artefact, or was altered since
            the artefact was finished.
    """
    path = folder / RECEIPT
    try:
        receipt = parse_receipt(path.read_bytes())
    except FileNotFoundError:
        raise StpError(
            f"{path}: missing",
            expected="the receipt that ends a finished artefact",
            remedy="run again: the artefact was never finished, or its receipt was deleted",
        ) from None
    except _NO_RECEIPT as error:
        raise ArtefactError(
            path,
            f"damaged ({type(error).__name__}: {error})",
            expected="a JSON receipt with a fingerprint",
        ) from None
    if receipt.fingerprint != folder.name:
        raise ArtefactError(
            path,
            f"receipt of another artefact, {receipt.fingerprint}",
            expected=f"fingerprint {folder.name}, the name of the folder",
        )
    refuse_altered(folder)
    return receipt


def check_file(folder: Path, receipt: Receipt, name: str) -> Path:
    """Check one file of an artefact against the receipt, by size and SHA-256.

    Returns:
        the file.

    Raises:
        StpError: the file is missing, unknown to the receipt, or has other bytes.
    """
    path = folder / name
    recorded = receipt.files.get(name)
    if recorded is None:
        raise ArtefactError(
            folder / RECEIPT,
            f"does not list {name}",
            expected=f"size and checksum of {name} under 'files'",
        )
    if not path.is_file():
        raise ArtefactError(
            path, "missing", expected=f"a file of {recorded.bytes} bytes, as in the receipt"
        )
    size = path.stat().st_size
    if size != recorded.bytes:
        raise ArtefactError(
            path, f"damaged, {size} bytes", expected=f"{recorded.bytes} bytes, as in the receipt"
        )
    found = checksum(path)
    if found != recorded.sha256:
        raise ArtefactError(
            path, f"damaged, SHA-256 {found}", expected=f"{recorded.sha256}, as in the receipt"
        )
    return path
