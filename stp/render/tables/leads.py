"""Make table rows with the values at each lead time."""

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from stp.plan.cell_key import CellKey
from stp.plan.manifest import Manifest, columns_of, over_leads
from stp.render.tables.best_rows import Standings, standings
from stp.render.tables.rows import Row, make_rows, overall


@dataclass(frozen=True)
class Leads:
    """The rows of a table at each lead time (predicted frame), instead of over all lead times.

    Attributes:
        rows: rows as in the table over all lead times, by lead time in steps, ascending.
        standings: ranks of the values in these rows, by lead time; differences are not tested.
        steps: duration of a step in seconds, by dataset of a row; None if the data do not state it.
    """

    rows: dict[int, list[Row]]
    standings: dict[int, Standings]
    steps: dict[str, float | None]

    def step(self, row: Row) -> float | None:
        """Seconds between two lead times of a row; None if the data do not state it."""
        return self.steps[row.dataset]


def read_leads(
    manifest: Manifest, table: str, scores: pa.Table, absent: dict[CellKey, str], rows: list[Row]
) -> Leads:
    """Make the rows of a table at each lead time.

    Some suites declare columns for this purpose, as ``curves`` in their configuration, which
    replace those of the table.

    Args:
        manifest: manifest of the dimension.
        table: name of the table.
        scores: collected score rows.
        absent: reasons for missing scores, by key of the cell.
        rows: rows of the table over all lead times.
    """
    # Reads prepared data, which other tables do not need.
    from stp.render.figures.time_step import step_of

    manifest = over_leads(manifest)
    conventions = {
        column.convention
        for cell in manifest.cells
        for column in columns_of(manifest, table, cell).values()
    }
    names = pa.array(sorted(conventions), pa.string())
    scores = scores.filter(pc.is_in(scores["convention"], names))
    rows_at = {}
    for lead in sorted(pc.unique(scores["lead"].drop_null()).to_pylist()):
        at_lead = overall(scores, lead)
        rows_at[lead] = _drop_empty_columns(make_rows(manifest, table, at_lead, [], absent))
    steps: dict[str, float | None] = dict.fromkeys(row.dataset for row in rows)
    for row in rows:
        if row.cells and steps[row.dataset] is None:
            steps[row.dataset] = step_of(row.cells[0])
    ranked = {lead: standings(manifest, of_lead, tested=False) for lead, of_lead in rows_at.items()}
    return Leads(rows_at, ranked, steps)


def _drop_empty_columns(rows: list[Row]) -> list[Row]:
    """Leave out columns without values at a lead time in all rows of a dataset.

    Distances between sets have no values by lead time, and forecasts of other datasets may be
    longer.
    """
    scored = {
        (row.dataset, column)
        for row in rows
        for column, entry in row.entries.items()
        if entry.n is not None
    }
    return [
        replace(row, entries={c: e for c, e in row.entries.items() if (row.dataset, c) in scored})
        for row in rows
    ]


def select_leads(available: list[int]) -> list[int]:
    """Select lead times at the start, at each quarter and at the end of an ascending list."""
    if not available:
        return []
    last = available[-1]
    candidates = [available[0], *(max(1, round(last * part / 4)) for part in (1, 2, 3)), last]
    return sorted({lead for lead in candidates if lead in available})
