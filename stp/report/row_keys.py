"""Replace keys that repeat in every row by indices, so that the page is smaller.

There are indices of cells (one model on one dataset), of evaluations (within which models are
ranked), and of parts (a metric's exact definition, with variable, level, threshold and lead times).
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
    """Numbers tuples (keys of rows) in the order of their first occurrence.

    The page stores each tuple once, and rows refer to it by its number.

    Args:
        names: names of the tuples' items, such as ``model`` and ``dataset``.
    """

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
    """Number the cells (results of one model on one dataset) of the store, in its order.

    `Numbers.of` gives the index of a cell in the page for its key, the values of `CELL_KEYS`.
    """
    return _numbered(database, CELL_KEYS, "")


def evaluations(database: duckdb.DuckDBPyConnection) -> Numbers:
    """Number the evaluations (groups of results that are ranked together), in the store's order.

    `Numbers.of` gives the index of an evaluation for the values of its columns, `ALIKE`.
    """
    return _numbered(database, ALIKE, f"GROUP BY {', '.join(ALIKE)}")


def _numbered(database: duckdb.DuckDBPyConnection, names: tuple[str, ...], group: str) -> Numbers:
    order = "min(rowid)" if group else "rowid"
    numbers = Numbers(names)
    _, rows = asked(database, f"SELECT {', '.join(names)} FROM cells {group} ORDER BY {order}")
    for row in rows:
        numbers.of(row)
    return numbers
