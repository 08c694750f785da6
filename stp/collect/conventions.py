"""The conventions that a cell was scored with."""

from pathlib import Path

from stp.core.receipts import require_receipt
from stp.plan.manifest_types import StoredCell
from stp.plan.metric import declared
from stp.score.conventions import Convention, build


def convention_in(folder: Path, name: str) -> Convention:
    """A convention as the recipe of a score artefact defines it.

    Scores of older code name their conventions only; those are as the configuration declares them.

    Raises:
        StpError: there is no such convention, or the receipt is damaged.
    """
    recorded = require_receipt(folder).recipe.get("conventions", {})
    if isinstance(recorded, dict) and name in recorded:
        return build(name, recorded[name])
    return build(name, declared(name, str(folder))[1].definition)


def convention_of(cell: StoredCell, name: str) -> Convention:
    """A convention as one of the score artefacts of a cell defines it; see `convention_in`."""
    folders = cell.folders(("scores", "perceptual"))
    for folder in folders:
        if name in require_receipt(folder).recipe.get("conventions", {}):
            return convention_in(folder, name)
    return convention_in(folders[0], name)
