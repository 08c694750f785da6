"""Receipts of artefacts (folders that stages wrote), and checks of files against them.

A receipt records what an artefact was made from, by which code, and what it contains. A finished
folder contains the receipt ``artefact.json``, with size and checksum of every file, and a sealed
copy of the receipt. The copy is needed because Snakemake may delete the receipt, which is the
declared output of a rule.
"""

import contextlib
import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from stp.core.errors import ArtefactError
from stp.core.json_files import Json

RECEIPT = "artefact.json"
SEALED = ".sealed.json"


@dataclass(frozen=True)
class RecordedFile:
    """Size in bytes and SHA-256 of a file of an artefact (folder that a stage wrote)."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class RecordedCode:
    """The code that could influence an artefact (folder that a stage wrote), as hashes.

    Attributes:
        fingerprint: fingerprint of all modules.
        modules: hash of the syntax tree of each module, by name.
        definitions: hashes of the definitions of each module (`stp.core.canonical.definitions`), by
            the name of the module.
    """

    fingerprint: str = ""
    modules: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Who made an artefact (folder that a stage wrote), where and when; None if unknown.

    The facts come from `stp.core.provenance.describe_machine`.

    Attributes:
        started, finished: Unix time of start and end.
        seconds: duration from start to end.
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
    """One attempt to make an artefact, successful or not. None stands for unknown.

    Attempts are logged by `stp.run.cluster.attempts` and copied to the receipt at the end.

    Attributes:
        attempt: number of the attempt, from 1.
        time: time of its start, Unix time.
        gpus: number of GPUs of the attempt.
        memory_mb: memory limit in MB; None also without a limit.
        how: how the attempt ended: done, failed, killed, out of memory, time limit, saved (it was
            interrupted, and saved its state, so that the next attempt continues from there) or
            requeued (likewise, and Slurm starts the job again); None before the end.
        detail: reason why it ended so.
        peak_mb: peak memory in MB.
        ended: time of its end, Unix time.
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
    """The record of a finished artefact (folder of results): what it was made from and contains.

    Attributes:
        fingerprint: fingerprint of code, recipe and inputs, which is the name of the folder.
        stage: prepare, train, predict, features or score.
        path: path of the folder, relative to the store.
        label: readable name of the artefact.
        recipe: all settings that may influence the artefact.
        inputs: paths of the input folders or lock files, relative to the store, by name.
        extras: values that the function of the stage reported; the keys depend on the stage.
        attempts: all attempts to make the artefact; the last one succeeded.
        files: size and checksum of each file, by its path in the folder.
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
    """Convert a receipt to the JSON text of ``artefact.json``, with sorted keys."""
    return json.dumps(asdict(receipt), indent=1, sort_keys=True)


def parse_receipt(text: str | bytes) -> Receipt:
    """Read a receipt from JSON; missing keys are empty, and keys of other versions are ignored.

    Raises:
        ValueError, KeyError, TypeError, AttributeError, RecursionError: the text is not a receipt.
    """
    content = json.loads(text)
    return Receipt(
        fingerprint=content["fingerprint"],
        stage=content.get("stage") or "",
        path=content.get("path") or "",
        label=content.get("label") or "",
        recipe=dict(content.get("recipe") or {}),
        inputs=dict(content.get("inputs") or {}),
        extras=dict(content.get("extras") or {}),
        code=RecordedCode(**_select_fields(RecordedCode, content.get("code"))),
        provenance=Provenance(**_select_fields(Provenance, content.get("provenance"))),
        attempts=[
            RecordedAttempt(**_select_fields(RecordedAttempt, entry))
            for entry in content.get("attempts") or ()
        ],
        files={
            name: RecordedFile(entry["bytes"], entry["sha256"])
            for name, entry in (content.get("files") or {}).items()
        },
    )


def _select_fields(
    kind: type[RecordedCode] | type[Provenance] | type[RecordedAttempt],
    entry: Json | None,
) -> Json:
    names = [field.name for field in fields(kind)]
    return {name: entry[name] for name in names if name in entry} if entry else {}


def checksum(path: Path) -> str:
    """Compute the SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def receipt_checksum(folder: Path) -> str:
    """Checksum of an artefact's receipt, by which two makings of the artefact can be told apart.

    An artefact that is made again keeps its fingerprint, but its files may differ, since processors
    round differently. The receipt states the time, so its checksum differs too.

    Returns:
        SHA-256 of the receipt; if it is missing, of its sealed copy, the file ``.sealed.json`` with
        the same content in the folder. Empty without both.
    """
    for name in (RECEIPT, SEALED):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return checksum(folder / name)
    return ""


def read_receipt(folder: Path) -> Receipt | None:
    """Read the receipt (the record of a finished artefact) of a folder.

    The folder of an artefact also has a copy of the receipt, ``.sealed.json``. It is the only one
    if Snakemake has deleted the receipt, which is the declared output of a rule.

    Returns:
        the receipt, or its sealed copy if the receipt is not readable; None if neither is.
    """
    for name in (RECEIPT, SEALED):
        try:
            return parse_receipt((folder / name).read_bytes())
        except (FileNotFoundError, NotADirectoryError, *_NO_RECEIPT):
            continue
    return None


_NO_RECEIPT = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def is_altered(folder: Path) -> bool:
    """Whether the receipt of an artefact was edited: it then differs from its sealed copy.

    The sealed copy is the file ``.sealed.json``, which is written together with the receipt.

    Returns:
        whether they differ; False if either is missing.
    """
    try:
        declared, sealed = ((folder / name).read_bytes() for name in (RECEIPT, SEALED))
        # A torn receipt is not altered: its sealed copy is read instead.
        return declared != sealed and json.loads(declared) != json.loads(sealed)
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return False


def refuse_altered(folder: Path) -> None:
    """Refuse a receipt that was edited after the artefact was finished.

    It then differs from its sealed copy, the file ``.sealed.json`` beside it.

    Raises:
        ArtefactError: the receipt differs from its sealed copy.
    """
    if is_altered(folder):
        raise ArtefactError(
            folder / RECEIPT,
            "altered since the artefact was finished",
            expected=f"the content of its sealed copy, {folder / SEALED}",
        )


def require_receipt(folder: Path) -> Receipt:
    """Read the receipt (the record of a finished artefact) of a folder ``.../<fingerprint>``.

    Raises:
        ArtefactError: the receipt is missing, damaged, belongs to another artefact, or was altered
            since the artefact was finished.
    """
    path = folder / RECEIPT
    try:
        receipt = parse_receipt(path.read_bytes())
    except FileNotFoundError:
        raise ArtefactError(
            path,
            "missing",
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
    """Check that a file has the size and SHA-256 that the receipt of its artefact records.

    Returns:
        the path of the file.

    Raises:
        ArtefactError: the file is missing, not in the receipt, or differs from it.
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
    sha256 = checksum(path)
    if sha256 != recorded.sha256:
        raise ArtefactError(
            path, f"damaged, SHA-256 {sha256}", expected=f"{recorded.sha256}, as in the receipt"
        )
    return path
