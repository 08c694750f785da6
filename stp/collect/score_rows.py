"""Convert collected score rows between Arrow tables and objects."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from stp.options.score import CELL_KEYS
from stp.plan.cell_key import CellKey

_COLUMNS = (
    *("metric", "convention", "variable", "level", "threshold", "lead", "leads", "statistic"),
    *("value", "n", "reason", "scores_fingerprint"),
)
_ADDED = ("leads", "scores_fingerprint")
"""Columns that are added to scores when they are collected."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One value of one model in one test, as collected.

    Attributes:
        key: key of the cell.
        metric: name of the metric, the part of the convention before the dot, such as ``ssim``.
        convention: exact definition of the metric, such as ``ssim.range2``.
        variable: physical variable; None for all channels together.
        level: pressure level in hPa; None if there is none.
        threshold: threshold of an event metric; None if there is none.
        lead: lead time, from 1; None for a value over several lead times.
        leads: lead times of a value over a part of them, ``44`` or ``1-7``; None for all.
        statistic: what the value is: ``mean``, ``median`` or ``sd`` over samples, or an end of the
            mean's or median's 95 % interval, ``ci95_low`` or ``ci95_high``.
        value: the value; None if there is a reason.
        n: number of samples; for the ends of an interval, number of clusters.
        reason: reason why there is no value; None if there is one.
        scores_fingerprint: fingerprint of the score artefact; None if the rows are not collected
            yet.
    """

    key: CellKey
    metric: str
    convention: str
    variable: str | None
    level: float | None
    threshold: float | None
    lead: int | None
    leads: str | None
    statistic: str
    value: float | None
    n: int | None
    reason: str | None
    scores_fingerprint: str | None

    @property
    def series(self) -> tuple[str, str | None, float | None, float | None]:
        """Convention, variable, level and threshold; rows that differ only in other fields agree.

        Other fields are the lead time and the statistic, for instance.
        """
        return self.convention, self.variable, self.level, self.threshold


def score_rows(table: pa.Table) -> Iterator[ScoreRow]:
    """Yield the rows of a table as objects, in order.

    Args:
        table: table with the schema `stp.collect.scores.COLLECTED` or `stp.score.tables.SCORES`.
    """
    keys: dict[tuple[str | int | None, ...], CellKey] = {}  # few keys for many rows
    cells = zip(*(table[name].to_pylist() for name in CELL_KEYS), strict=True)
    values = zip(*(_column(table, name) for name in _COLUMNS), strict=True)
    for key, of_row in zip(cells, values, strict=True):
        if key not in keys:
            keys[key] = CellKey(*key)
        yield ScoreRow(keys[key], *of_row)


def as_table(rows: Iterable[ScoreRow], schema: pa.Schema) -> pa.Table:
    """Convert rows to an Arrow table with a given schema."""
    records = [vars(row.key) | {name: getattr(row, name) for name in _COLUMNS} for row in rows]
    return pa.Table.from_pylist(records, schema)


def _column(table: pa.Table, name: str) -> list[str | float | int | None]:
    is_lacking = name in _ADDED and name not in table.column_names
    return [None] * len(table) if is_lacking else table[name].to_pylist()
