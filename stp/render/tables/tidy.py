"""Tidy tables for programs: a line for each value, with all details."""

from collections.abc import Iterable, Sequence

from stp.options.score import CELL_KEYS
from stp.page.digits import format_number
from stp.page.safe_text import csv_text
from stp.render.tables.best_rows import Standing, Standings
from stp.render.tables.leads import Leads
from stp.render.tables.rows import Entry, Row

Field = str | int | float | None
"""A value of a line of CSV."""

KEYS = tuple(name for name in CELL_KEYS if name != "seed")
WHOSE = ("source", "scale", "protocol", "comparable", *KEYS, "dataset_title", "model_title")
WHAT = ("column", "convention", "variable", "threshold", "leads")
VALUE = (
    "value",
    "ci95_low",
    "ci95_high",
    "clusters",
    "n",
    "seeds",
    "seed_sd",
    "samples",
    "statistic",
    "rank",
)
HEADER = (
    *WHOSE,
    *WHAT,
    *VALUE,
    "best",
    "p",
    "p_corrected",
    "p_reason",
    "published",
    "difference",
    "reason",
    "sd",
    "published_sd",
    "people",
)
"""Columns of ``<dimension>_tidy.csv``; ``p`` is the p value of the difference from the model in
``best``."""

LEADS_HEADER = (*WHOSE, *WHAT, "lead", "seconds", *VALUE, "reason")
"""Columns of ``long_term_leads.csv``; ``seconds`` is the lead time, if the data state it."""


def tidy_rows(rows: Sequence[Row], ranked: Standings) -> list[list[Field]]:
    """Make a line with all digits for each row and column of a table.

    Args:
        rows: rows of the table.
        ranked: for each row, rank and test of its values by column.

    Returns:
        lines with the columns `HEADER`: origin of the data, model, value, interval, rank, tests,
        published value, and more.
    """
    lines = []
    for row, standing_of in zip(rows, ranked, strict=True):
        for column, entry in row.entries.items():
            standing = standing_of.get(column, Standing())
            lines.append(
                [
                    *_row_fields(row),
                    *_column_fields(column, entry),
                    *_value(row, entry, standing),
                    standing.best,
                    standing.p,
                    standing.corrected,
                    standing.reason,
                    entry.published.value if entry.published else None,
                    entry.difference,
                    entry.reason,
                    entry.sd,
                    entry.published.sd if entry.published else None,
                    row.counted.people if row.counted else None,
                ]
            )
    return lines


def tidy_csv(rows: Sequence[Row], ranked: Standings) -> str:
    """Format a table as tidy CSV: one line for each row and column."""
    return _rounded_csv([list[Field](HEADER), *tidy_rows(rows, ranked)])


def leads_csv(leads: Leads) -> str:
    """Format values by lead time as tidy CSV: one line for each row, column and lead time."""
    lines = [list[Field](LEADS_HEADER)]
    for lead, rows in leads.rows.items():
        for row, standing_of in zip(rows, leads.standings[lead], strict=True):
            step = leads.step(row)
            for column, entry in row.entries.items():
                standing = standing_of.get(column, Standing())
                lines.append(
                    [
                        *_row_fields(row),
                        *_column_fields(column, entry),
                        lead,
                        None if step is None else lead * step,
                        *_value(row, entry, standing),
                        entry.reason,
                    ]
                )
    return _rounded_csv(lines)


def _rounded_csv(lines: Iterable[Sequence[Field]]) -> str:
    return csv_text(
        [format_number(value) if isinstance(value, float) else value for value in line]
        for line in lines
    )


def _row_fields(row: Row) -> list[Field]:
    return [
        row.source,
        row.scale,
        row.protocol,
        row.comparability,
        *(getattr(row.key, name) for name in KEYS),
        row.dataset,
        row.model,
    ]


def _column_fields(column: str, entry: Entry) -> list[Field]:
    part = entry.part
    return [column, entry.convention, part.variable, part.threshold, part.leads]


def _value(row: Row, entry: Entry, standing: Standing) -> list[Field]:
    first = row.cells[0] if row.cells else None
    return [
        entry.value,
        entry.low,
        entry.high,
        entry.clusters,
        entry.n,
        row.seeds,
        entry.seed_sd,
        first.samples if first else None,
        first.statistic if first and first.statistic else "",
        standing.rank,
    ]
