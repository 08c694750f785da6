"""Collected rows of scores as objects."""

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
"""Columns that the scores of an artefact get when they are collected."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A row of collected scores; see `stp.collect.views.SCORES`.

    Attributes:
        key: of its cell.
        lead: from 1; None over all lead times, or over some.
        leads: the lead times, ``44`` or ``1-7``; None over all of them.
        value: None has a reason.
        n: samples behind the value, or clusters behind an end of its interval.
        scores_fingerprint: of the artefact that has it.
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
        """Convention, variable, level and threshold: the same at all lead times."""
        return self.convention, self.variable, self.level, self.threshold


def score_rows(table: pa.Table) -> Iterator[ScoreRow]:
    """The rows of a table in their order.

    Args:
        table: of schema `stp.collect.scores.COLLECTED`, or `stp.score.tables.SCORES`.
    """
    keys: dict[tuple[str | int | None, ...], CellKey] = {}  # few, of many rows
    given = zip(*(table[name].to_pylist() for name in CELL_KEYS), strict=True)
    values = zip(*(_column(table, name) for name in _COLUMNS), strict=True)
    for key, of_row in zip(given, values, strict=True):
        if key not in keys:
            keys[key] = CellKey(*key)
        yield ScoreRow(keys[key], *of_row)


def as_table(rows: Iterable[ScoreRow], schema: pa.Schema) -> pa.Table:
    """The columns of a schema, from rows."""
    named = [vars(row.key) | {name: getattr(row, name) for name in _COLUMNS} for row in rows]
    return pa.Table.from_pylist(named, schema)


def _column(table: pa.Table, name: str) -> list[str | float | int | None]:
    is_lacking = name in _ADDED and name not in table.column_names
    return [None] * len(table) if is_lacking else table[name].to_pylist()
