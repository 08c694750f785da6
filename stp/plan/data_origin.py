"""How surely the raw bytes of each cell are the official ones, and what of them is lacking.

The plan knows what is declared. What is locked and what was prepared is in the store, so this is
found out where manifests are read: here, for tables, figures, views and reports alike.
"""

from dataclasses import replace
from pathlib import Path

from stp.core.lock import (
    COUNTS,
    KNOWN_BY,
    STATED,
    header_of,
    known_by,
    read_lock,
    require_agreement,
)
from stp.core.receipts import read_receipt
from stp.plan.manifest_types import Cell, Manifest, RawFacts


def judged(manifest: Manifest) -> tuple[Cell, ...]:
    """The cells of a manifest, with what is known of their bytes.

    These are ``bytes_known_by``, the weakest of its datasets (see `stp.core.lock.KNOWN_BY`; None
    where bytes are not said to be official, or the paper's own), ``lacking`` (files that they are
    without, in words; None if there are none), ``official_paper_protocol`` and ``comparable``.

    Raises:
        StpError: a lock cannot be read, or disagrees with what is declared.
    """
    known = {name: _known(name, raw) for name, raw in manifest.raw.items()}
    return tuple(_judged(cell, [known[name] for name in cell.bytes_of]) for cell in manifest.cells)


def _judged(cell: Cell, known: list[tuple[str | None, str]]) -> Cell:
    levels = [level for level, _ in known if level is not None]
    sure = max(levels, key=KNOWN_BY.index) if levels and len(levels) == len(known) else None
    comparable = cell.follows_paper and sure not in (None, STATED)
    return replace(
        cell,
        bytes_known_by=sure,
        lacking="; ".join(filter(None, (lacking for _, lacking in known))) or None,
        comparable=comparable,
        official_paper_protocol=comparable and cell.source == "official",
    )


def bytes_text(source: str, known_by: str | None) -> str:
    """Whose data, and how surely: ``official data, known by counts``."""
    text = f"{'unverified ' if known_by == STATED else ''}{source} data"
    return text + (", known by counts" if known_by == COUNTS else "")


BYTES_TEXT = (
    f"CASE WHEN bytes_known_by = '{STATED}' THEN 'unverified ' ELSE '' END || source || ' data' "
    f"|| CASE WHEN bytes_known_by = '{COUNTS}' THEN ', known by counts' ELSE '' END"
)
"""The same in SQL, of columns of the table cells."""


def _known(name: str, raw: RawFacts) -> tuple[str | None, str]:
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
    return known_by(lock, raw.files, registered, raw.clips, prepared), lacking
