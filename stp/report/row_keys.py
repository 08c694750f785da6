"""Replace keys that repeat in every row by indices: cells, evaluations, and parts of a score.

Models are ranked within an evaluation; a part is a convention with its variable, level, threshold
and lead times.
"""

import duckdb

from stp.collect import schema
from stp.collect.schema import EVALUATION
from stp.options.score import CELL_KEYS
from stp.report.columns import Columnar, asked, by_columns

ALIKE = (*EVALUATION, *schema.ALIKE)
"""Columns of an evaluation: models with equal values are ranked together."""
PART = ("convention", "variable", "level", "threshold", "leads")


class Numbers:
    """Indices of tuples, in the order of their first occurrence."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._numbers: dict[tuple[object, ...], int] = {}

    def of(self, values: tuple[object, ...]) -> int:
        """The index of a tuple, from 0; a new tuple gets the next index."""
        return self._numbers.setdefault(values, len(self._numbers))

    def columnar(self) -> Columnar:
        """All tuples by columns, in the order of their indices."""
        return by_columns(list(self.names), list(self._numbers))


def cells(database: duckdb.DuckDBPyConnection) -> Numbers:
    """Indices of the cells, in the order of the store and of ``core.cells`` in the page."""
    return _numbered(database, CELL_KEYS, "")


def evaluations(database: duckdb.DuckDBPyConnection) -> Numbers:
    """Indices of the evaluations, in the order of their first cells."""
    return _numbered(database, ALIKE, f"GROUP BY {', '.join(ALIKE)}")


def _numbered(database: duckdb.DuckDBPyConnection, names: tuple[str, ...], group: str) -> Numbers:
    order = "min(rowid)" if group else "rowid"
    numbers = Numbers(names)
    _, rows = asked(database, f"SELECT {', '.join(names)} FROM cells {group} ORDER BY {order}")
    for row in rows:
        numbers.of(row)
    return numbers
