"""Rows of results.duckdb about artefacts, attempts and raw files.

They are read from receipts (``artefact.json``: recipe, code, machine and checksums of an artefact)
and from lock files (sizes and checksums of raw files).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from stp.collect.schema import ArtefactRow, AttemptRow, RawFileRow
from stp.core.disk import safe_join, write_text
from stp.core.errors import StpError
from stp.core.json_files import read_json
from stp.core.receipts import (
    Json,
    Receipt,
    RecordedAttempt,
    RecordedCode,
    receipt_checksum,
    require_receipt,
)
from stp.plan.manifest import Cell, Manifest

MADE_FROM = ".made_from"
"""Suffix of the file, beside collected rows, that names the scores behind these rows."""
STAGES = ("data", "models", "predictions", "features", "scores", "perceptual")
"""The artefacts of a cell, in the order in which they are made."""


@dataclass(frozen=True)
class AttemptedArtefact:
    """An artefact, finished or not, and all attempts to make it.

    Attributes:
        path: folder of the artefact, relative to the store.
        stage: stage that makes the artefact, such as ``train``.
        attempts: the attempts, oldest first.
    """

    path: str
    stage: str
    attempts: list[RecordedAttempt]


def receipt_checksums(cells: Iterable[Cell]) -> dict[str, str]:
    """Compute checksums that show later whether the scores of cells were made again.

    Returns:
        checksum of the receipt of each score artefact, by the artefact's folder.
    """
    folders = (folder for cell in cells for folder in cell.folders(("scores", "perceptual")))
    return {str(folder): receipt_checksum(folder) for folder in folders}


def note_makings(rows: Path, made: dict[str, str]) -> None:
    """Record the scores from which rows were collected, in a file beside these rows.

    Args:
        rows: path of the file with the rows.
        made: checksums by folder of scores, from `receipt_checksums`. They must have been computed
            before the scores were read.
    """
    write_text(rows.with_suffix(MADE_FROM), json.dumps(made, indent=0))


def find_changed_scores(rows: Path) -> list[str] | None:
    """List score artefacts that were made again or removed since their rows were collected.

    Args:
        rows: path of the file with the collected rows.

    Returns:
        folders of these artefacts; None if there is no record beside the rows (`note_makings`).
    """
    try:
        noted = json.loads(rows.with_suffix(MADE_FROM).read_bytes())
        return [folder for folder, made in noted.items() if receipt_checksum(Path(folder)) != made]
    except (FileNotFoundError, ValueError, AttributeError):
        return None


def receipts_of(plans: list[Manifest], more: list[Receipt]) -> list[Receipt]:
    """Read the receipts of all artefacts that scored cells depend on.

    Args:
        plans: manifests of the cells.
        more: receipts that were read already, of artefacts that missing cells depend on.

    Returns:
        receipts of the cells' artefacts, ordered by stage and path, each once. Those of ``more``
        follow, except for artefacts of these cells.
    """
    folders = {
        (number, folder)
        for plan in plans
        for cell in plan.cells
        for number, stage in enumerate(STAGES)
        for folder in cell.folders([stage])
    }
    receipts = []
    for _, folder in sorted(folders):
        receipt = require_receipt(folder)
        # Without the hundreds of names of modules, which no table shows, reading is faster.
        receipts.append(replace(receipt, code=RecordedCode(receipt.code.fingerprint)))
    paths = {receipt.path for receipt in receipts}
    return receipts + [receipt for receipt in more if receipt.path not in paths]


def artefact_row(receipt: Receipt) -> ArtefactRow:
    """Make the row of an artefact from its receipt."""
    provenance = receipt.provenance
    return ArtefactRow(
        stage=receipt.stage,
        path=receipt.path,
        fingerprint=receipt.fingerprint,
        code_fingerprint=receipt.code.fingerprint,
        commit=provenance.commit,
        recipe=_json(receipt.recipe),
        extras=_json(receipt.extras),
        inputs=_json(receipt.inputs),
        host=provenance.host,
        device=provenance.device,
        person=provenance.user,
        slurm_job=provenance.slurm_job,
        started=_time(provenance.started),
        finished=_time(provenance.finished),
        seconds=provenance.seconds,
        python=provenance.python,
        packages=_json(provenance.packages),
        bytes=sum(file.bytes for file in receipt.files.values()),
        files=len(receipt.files),
    )


def attempt_rows(attempted: Iterable[AttemptedArtefact]) -> Iterable[AttemptRow]:
    """Make a row for each attempt to make one of the artefacts."""
    for artefact in attempted:
        for attempt in artefact.attempts:
            began, ended = attempt.time, attempt.ended
            yield AttemptRow(
                path=artefact.path,
                stage=artefact.stage,
                attempt=attempt.attempt,
                how=attempt.how,
                detail=attempt.detail,
                host=attempt.host,
                slurm_job=attempt.slurm_job,
                gpus=attempt.gpus,
                started=_time(began),
                ended=_time(ended),
                seconds=None if began is None or ended is None else ended - began,
                peak_mb=attempt.peak_mb,
                memory_mb=attempt.memory_mb,
            )


def raw_file_rows(plans: list[Manifest], receipts: list[Receipt]) -> Iterable[RawFileRow]:
    """Make rows of the raw files from which data were prepared.

    The rows come from the lock files (recorded sizes and checksums) that exist.
    """
    locks = sorted({receipt.inputs["raw"] for receipt in receipts if "raw" in receipt.inputs})
    for lock in locks:
        for store in dict.fromkeys(plan.store for plan in plans):
            path = safe_join(Path(store), lock, "a receipt")
            if not path.is_file():
                continue
            expected = "the lock of a release's raw files"
            remedy = "delete it and run again: the raw files are locked again"
            locked = read_json(path, dict, expected, remedy)
            try:
                yield from rows_of_lock(lock, locked)
            except (KeyError, AttributeError) as error:
                raise StpError(
                    f"{path}: cannot be read ({error!r})", expected=expected, remedy=remedy
                ) from None
            break


def rows_of_lock(lock: str, content: Json) -> Iterable[RawFileRow]:
    """Make a row for each raw file in a lock file.

    Args:
        lock: path of the lock file, relative to the store.
        content: parsed content of the lock file.
    """
    for name, file in sorted(content["files"].items()):
        yield RawFileRow(
            lock=lock,
            dataset=content.get("dataset"),
            release=content.get("release"),
            source=content.get("source"),
            file=name,
            bytes=file.get("bytes"),
            sha256=file.get("sha256"),
        )


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _time(seconds: float | None) -> datetime | None:
    """Convert Unix time to UTC without a time zone, as DuckDB's TIMESTAMP needs it."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
