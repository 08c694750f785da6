"""The conventions that a cell was scored with."""

from pathlib import Path

from stp.core.receipts import read_receipt
from stp.plan.checked_config import Json
from stp.plan.manifest_types import StoredCell
from stp.plan.metric import declared
from stp.score.conventions import Convention, build


def convention_in(folder: Path, name: str) -> Convention:
    """A convention as the recipe of a score artefact defines it.

    Scores of older code name their conventions only; those are as the configuration declares them.

    Raises:
        StpError: there is no such convention.
    """
    recorded = _recorded(folder)
    if isinstance(recorded, dict) and name in recorded:
        return build(name, recorded[name])
    return build(name, declared(name, str(folder))[1].definition)


def _recorded(folder: Path) -> dict[str, Json] | list[str]:
    """The conventions of a score recipe; none without a receipt, which others miss."""
    receipt = read_receipt(folder)
    found: dict[str, Json] | list[str] = receipt.recipe.get("conventions", []) if receipt else []
    return found


def convention_of(cell: StoredCell, name: str) -> Convention:
    """A convention as one of the score artefacts of a cell defines it; see `convention_in`."""
    folders = cell.folders(("scores", "perceptual"))
    for folder in folders:
        if name in _recorded(folder):
            return convention_in(folder, name)
    return convention_in(folders[0], name)
