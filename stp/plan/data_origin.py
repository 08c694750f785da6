"""Determine whether the raw files behind each cell (evaluation) are official and complete.

The answer depends on locked files and prepared clips, which are in the store and which the plan
does not read. It is therefore found when a manifest (the file from which the tables of a dimension
are made) is read.
"""

from dataclasses import replace
from pathlib import Path

from stp.core.lock import (
    COUNTS,
    KNOWN_BY,
    STATED,
    grade_evidence,
    header_of,
    read_lock,
    require_agreement,
)
from stp.core.receipts import read_receipt
from stp.plan.manifest_types import Cell, Manifest, RawFacts


def cells_with_evidence(manifest: Manifest) -> tuple[Cell, ...]:
    """Complete the cells (evaluations) of a manifest with the evidence that data are official.

    These fields are set:

    - ``bytes_known_by``: the weakest evidence among the datasets whose raw files influence the
      cell. It is "checksums" (the strongest), "counts" or "stated" (`stp.core.lock.KNOWN_BY`), or
      None if there is no evidence for one of them, as for synthetic data.
    - ``lacking``: the missing raw files of these datasets, in words; None if there are none.
    - ``comparable``: whether the recipes are the paper's (``follows_paper``), and checksums or
      counts show that the files are those behind the paper's numbers.
    - ``official_paper_protocol``: whether the cell is comparable, and its test data are official.
      ``comparable`` also allows files that are not official, if the paper's own numbers were made
      from them; this field does not.

    Returns:
        the completed cells, in the order of the manifest.

    Raises:
        StpError: a lock cannot be read, or disagrees with the declaration.
    """
    evidence = {name: _evidence(name, raw) for name, raw in manifest.raw.items()}
    return tuple(
        _with_evidence(cell, [evidence[name] for name in cell.bytes_of]) for cell in manifest.cells
    )


def _with_evidence(cell: Cell, evidence: list[tuple[str | None, str]]) -> Cell:
    levels = [level for level, _ in evidence if level is not None]
    weakest = max(levels, key=KNOWN_BY.index) if levels and len(levels) == len(evidence) else None
    comparable = cell.follows_paper and weakest not in (None, STATED)
    return replace(
        cell,
        bytes_known_by=weakest,
        lacking="; ".join(filter(None, (lacking for _, lacking in evidence))) or None,
        comparable=comparable,
        official_paper_protocol=comparable and cell.source == "official",
    )


def bytes_text(source: str, known_by: str | None) -> str:
    """Describe the origin of data and the evidence for it: ``official data, known by counts``.

    Args:
        source: official, sample, synthetic or own.
        known_by: evidence that the data are official: checksums, counts or stated; None without
            evidence.
    """
    text = f"{'unverified ' if known_by == STATED else ''}{source} data"
    return text + (", known by counts" if known_by == COUNTS else "")


BYTES_TEXT = (
    f"CASE WHEN bytes_known_by = '{STATED}' THEN 'unverified ' ELSE '' END || source || ' data' "
    f"|| CASE WHEN bytes_known_by = '{COUNTS}' THEN ', known by counts' ELSE '' END"
)
"""The text of `bytes_text` as an SQL expression of columns of the table cells."""


def _evidence(name: str, raw: RawFacts) -> tuple[str | None, str]:
    """Evidence that a dataset's files are official (or None), and missing files in words."""
    header, path = header_of(name, raw.release, raw.source), Path(raw.lock)
    lock = read_lock(path, header)
    lacking = ", ".join(lock.incomplete) if lock is not None else ""
    lacking = f"INCOMPLETE RELEASE of {name}: {lacking}" if lacking else ""
    if not raw.is_papers:
        return None, lacking
    registered = read_lock(Path(raw.registered), header) if raw.registered else None
    if lock is not None:
        require_agreement(lock, path, raw.files, registered)
    receipt = read_receipt(Path(raw.data))
    prepared = (receipt.extras.get("clips") if receipt else None) or {}
    return grade_evidence(lock, raw.files, registered, raw.clips, prepared), lacking
