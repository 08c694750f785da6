"""Collected rows of scores as objects."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from stp.options.score import CELL_KEYS
from stp.plan.cell_key import CellKey

_COLUMNS = (
    *("metric", "convention", "variable", "level", "threshold", "leads", "lead", "statistic"),
    *("value", "n", "reason", "scores_fingerprint"),
)


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A row of collected scores; see `stp.collect.layout.SCORES`.

    Attributes:
        key: of its cell.
        leads: a range of lead times that a column shows, ``1-7``; None unless one does.
        lead: from 1; None over several lead times.
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
    leads: str | None
    lead: int | None
    statistic: str
    value: float | None
    n: int | None
    reason: str | None
    scores_fingerprint: str | None


def score_rows(table: pa.Table) -> Iterator[ScoreRow]:
    """The rows of a table of schema `stp.collect.scores.COLLECTED`, in their order."""
    keys: dict[tuple[str | int | None, ...], CellKey] = {}  # few, of many rows
    given = zip(*(table[name].to_pylist() for name in CELL_KEYS), strict=True)
    values = zip(*(table[name].to_pylist() for name in _COLUMNS), strict=True)
    for key, of_row in zip(given, values, strict=True):
        if key not in keys:
            keys[key] = CellKey(*key)
        yield ScoreRow(keys[key], *of_row)
