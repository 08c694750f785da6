"""What scores say of the predictions that they are of, such as that they equal the truth.

The plan cannot know it, so it is read where manifests are: for tables, views and reports alike.
"""

from dataclasses import replace
from pathlib import Path

from stp.core.json_files import read_json
from stp.options.score import NOTE
from stp.plan.manifest_types import Cell


def noted(cell: Cell) -> Cell:
    """The cell with the note of its scores, and the number of members that they count.

    Raises:
        StpError: the note is damaged.
    """
    path = Path(cell.scores, NOTE)
    if not path.is_file():
        return cell
    told = read_json(path, dict, "the note of these scores")
    members = int(told.get("members", cell.samples))
    notes = [cell.subset_note, *(one for one in [told["note"]] if one not in cell.subset_note)]
    return replace(
        cell,
        subset_note="; ".join(filter(None, notes)),
        samples=members,
        statistic=cell.statistic if members > 1 else None,
        best_of=members if cell.best_of > 1 else 1,
    )
