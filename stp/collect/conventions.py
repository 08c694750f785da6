"""Read the definitions of the conventions with which a cell was scored.

A convention is one exact definition of a metric, such as ``ssim.range2``: a function with options.
"""

from pathlib import Path

from stp.core.receipts import read_receipt
from stp.metrics.metric import Convention
from stp.plan.checked_config import Json
from stp.plan.manifest_types import StoredCell
from stp.plan.metric import read_convention
from stp.score.conventions import build


def convention_in(folder: Path, name: str) -> Convention:
    """Build a convention (a metric with its options) as it was when scores were computed.

    The recipe that is stored with the scores has its definition. Recipes of older code have only
    the names of conventions; the definition is then read from the configuration.

    Args:
        folder: folder of the scores, a score artefact.
        name: name of the convention, such as ``ssim.range2``.

    Raises:
        StpError: the convention is not defined.
    """
    recorded = _read_conventions(folder)
    if isinstance(recorded, dict) and name in recorded:
        return build(name, recorded[name])
    return build(name, read_convention(name, str(folder))[1].definition)


def _read_conventions(folder: Path) -> dict[str, Json] | list[str]:
    receipt = read_receipt(folder)
    recorded: dict[str, Json] | list[str] = receipt.recipe.get("conventions", []) if receipt else []
    return recorded


def convention_of(cell: StoredCell, name: str) -> Convention:
    """Build a convention (a metric with its options) as it was when a cell was scored.

    Its definition is read from the recipe that is stored with the scores of the cell.

    Args:
        cell: a scored cell: one model on one dataset in one setting.
        name: name of the convention, such as ``ssim.range2``.

    Raises:
        StpError: the convention is not defined.
    """
    folders = cell.folders(("scores", "perceptual"))
    for folder in folders:
        if name in _read_conventions(folder):
            return convention_in(folder, name)
    return convention_in(folders[0], name)
