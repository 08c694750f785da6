"""Notes that the stage `score` made on predictions, such as that predictions equal the truth.

They do not exist before the scores, so they are read together with manifests, for tables, views and
reports.
"""

from dataclasses import replace
from pathlib import Path

from stp.core.json_files import read_json
from stp.options.score import NOTE
from stp.plan.manifest_types import Cell


def with_score_note(cell: Cell) -> Cell:
    """Add the warnings about a cell's predictions to its footnote in tables.

    The stage ``score`` writes such warnings to ``note.json`` in the folder of the scores, e.g. that
    predictions are suspiciously close to the truth. The file also has the number of forecasts of
    each clip that were scored, which replaces the planned number.

    Args:
        cell: a cell (one model in one test).

    Returns:
        a copy with the footnote; the cell itself if there is no such file.

    Raises:
        StpError: the file is damaged.
    """
    path = Path(cell.scores, NOTE)
    if not path.is_file():
        return cell
    content = read_json(path, dict, "the note of these scores")
    members, note = int(content.get("members", cell.samples)), str(content["note"])
    notes = [cell.subset_note, "" if note in cell.subset_note else note]
    return replace(
        cell,
        subset_note="; ".join(filter(None, notes)),
        samples=members,
        statistic=cell.statistic if members > 1 else None,
        best_of=members if cell.best_of > 1 else 1,
    )
