"""Numbers for what repeats in every row: cells, evaluations, and parts of a score.

An evaluation is what models are ranked together on; a part is a convention of a variable, a level,
a threshold and lead times.
"""

from typing import Any

import duckdb

from stp.collect import schema
from stp.collect.schema import EVALUATION
from stp.options.score import CELL_KEYS
from stp.report.columns import Columnar, asked, by_columns

ALIKE = (*EVALUATION, *schema.ALIKE)
"""Models are ranked among those that share these; see the view leaderboard."""
PART = ("convention", "variable", "level", "threshold", "leads")


class Numbers:
    """Gives each of many tuples a number, in the order in which they are first seen."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.seen: dict[tuple[Any, ...], int] = {}

    def of(self, values: tuple[Any, ...]) -> int:
        """The number of these values, from 0."""
        return self.seen.setdefault(values, len(self.seen))

    def columnar(self) -> Columnar:
        """All values, by columns, in the order of their numbers."""
        return by_columns(list(self.names), list(self.seen))


def cells(database: duckdb.DuckDBPyConnection) -> Numbers:
    """Number the cells in the order of the store, which is that of ``core.cells`` in the page."""
    return _numbered(database, CELL_KEYS, "")


def evaluations(database: duckdb.DuckDBPyConnection) -> Numbers:
    """Number the evaluations, in the order of their first cells."""
    return _numbered(database, ALIKE, f"GROUP BY {', '.join(ALIKE)}")


def _numbered(database: duckdb.DuckDBPyConnection, names: tuple[str, ...], group: str) -> Numbers:
    order = "min(rowid)" if group else "rowid"
    numbers = Numbers(names)
    _, rows = asked(database, f"SELECT {', '.join(names)} FROM cells {group} ORDER BY {order}")
    for row in rows:
        numbers.of(row)
    return numbers
