"""Values at each lead time, as rows of a table."""

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from stp.plan.cell_key import CellKey
from stp.plan.manifest import Manifest, columns_of, over_leads
from stp.render.tables.best_rows import Standings, standings
from stp.render.tables.rows import Row, make_rows, overall


@dataclass(frozen=True)
class Leads:
    """The rows of a table at each lead time.

    Attributes:
        rows: rows by lead time in steps, ascending; each as in the table over all lead times.
        standings: standings of these rows, without tests, by lead time.
        steps: seconds of one step, by dataset of a row; None where the data do not tell.
    """

    rows: dict[int, list[Row]]
    standings: dict[int, Standings]
    steps: dict[str, float | None]

    def step(self, row: Row) -> float | None:
        """Seconds from one lead time of a row to the next; None where the data do not tell."""
        return self.steps[row.dataset]


def read_leads(
    manifest: Manifest, table: str, scores: pa.Table, absent: dict[CellKey, str], rows: list[Row]
) -> Leads:
    """Make the rows of each lead time; a suite's `curves` replace its columns.

    Args:
        absent: cells without scores, see `stp.render.tables.rows.make_rows`.
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
        rows_at[lead] = _existing(make_rows(manifest, table, at_lead, [], absent))
    steps: dict[str, float | None] = dict.fromkeys(row.dataset for row in rows)
    for row in rows:
        if row.cells and steps[row.dataset] is None:
            steps[row.dataset] = step_of(row.cells[0])
    ranked = {lead: standings(manifest, of_lead, tested=False) for lead, of_lead in rows_at.items()}
    return Leads(rows_at, ranked, steps)


def _existing(rows: list[Row]) -> list[Row]:
    """Leave out columns that no row of a dataset has at a lead time: distances between sets have no
    values by lead time, and forecasts of another dataset may be longer.
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


def chosen_leads(available: list[int]) -> list[int]:
    """The lead times at the start, at each quarter and at the end of an ascending list."""
    if not available:
        return []
    last = available[-1]
    candidates = [available[0], *(max(1, round(last * part / 4)) for part in (1, 2, 3)), last]
    return sorted({lead for lead in candidates if lead in available})
