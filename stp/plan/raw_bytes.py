"""How surely the raw bytes of each cell are the official ones, and what of them is lacking.

The plan knows what is declared. What is locked and what was prepared is in the store, so this is
found out where manifests are read: here, for tables, figures, views and reports alike.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


def judge(manifest: dict[str, Any]) -> None:
    """Add to each cell what is known of its bytes.

    These are ``bytes_known_by``, the weakest of its datasets (see `stp.core.lock.KNOWN_BY`; None
    where bytes are not said to be official, or the paper's own), ``lacking`` (files that they are
    without, in words; None if there are none), ``official_paper_protocol`` and ``comparable``.

    Args:
        manifest: whose ``raw`` says what is declared of each dataset.

    Raises:
        StpError: a lock cannot be read, or disagrees with what is declared.
    """
    known = {name: _known(name, raw) for name, raw in manifest["raw"].items()}
    for cell in manifest["cells"]:
        found = [known[name] for name in cell["bytes_of"]]
        levels = [level for level, _ in found]
        sure = None if None in levels or not levels else max(levels, key=KNOWN_BY.index)
        comparable = cell["follows_paper"] and sure not in (None, STATED)
        cell["bytes_known_by"] = sure
        cell["lacking"] = "; ".join(filter(None, (lacking for _, lacking in found))) or None
        cell["comparable"] = comparable
        cell["official_paper_protocol"] = comparable and cell["source"] == "official"


def bytes_text(cell: Mapping[str, Any]) -> str:
    """Whose bytes, and how surely: ``official bytes, known by counts``."""
    known = cell["bytes_known_by"]
    text = f"{'unverified ' if known == STATED else ''}{cell['source']} bytes"
    return text + (", known by counts" if known == COUNTS else "")


BYTES_TEXT = (
    f"CASE WHEN bytes_known_by = '{STATED}' THEN 'unverified ' ELSE '' END || source || ' bytes' "
    f"|| CASE WHEN bytes_known_by = '{COUNTS}' THEN ', known by counts' ELSE '' END"
)
"""The same in SQL, of columns of the table cells."""


def _known(name: str, raw: Mapping[str, Any]) -> tuple[str | None, str]:
    header, path = header_of(name, raw["release"], raw["source"]), Path(raw["lock"])
    lock = read_lock(path, header)
    lacking = ", ".join(lock.incomplete) if lock is not None else ""
    lacking = f"INCOMPLETE RELEASE of {name}: {lacking}" if lacking else ""
    if not raw["is_papers"]:
        return None, lacking
    registered = read_lock(Path(raw["registered"]), header) if raw["registered"] else None
    if lock is not None:
        require_agreement(lock, path, raw["files"], registered)
    receipt = read_receipt(Path(raw["data"])) or {}
    prepared = (receipt.get("extras") or {}).get("clips") or {}
    return known_by(lock, raw["files"], registered, raw["clips"], prepared), lacking
