"""Replace keys that repeat in every row by indices, so that the report page is smaller.

There are indices of cells (one model on one dataset), of evaluations (within which models are
ranked), and of parts (a metric's exact definition, with variable, level, threshold and lead times).
"""

import duckdb

from stp.collect import schema
from stp.collect.schema import EVALUATION
from stp.options.score import CELL_KEYS
from stp.report.columns import Columnar, by_columns, run_query

ALIKE = (*EVALUATION, *schema.ALIKE)
"""Columns of an evaluation: models with equal values are ranked together."""
PART = ("convention", "variable", "level", "threshold", "leads")


class Numbers:
    """Indices of the keys of rows, from 0, in the order of their first occurrence.

    A key is a tuple of the values that identify something, such as those in the columns ``model``
    and ``dataset``. The report page has a list with each key once, and a row refers to its key by
    the index in this list.

    Args:
        names: names of the columns of a key.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._numbers: dict[tuple[object, ...], int] = {}

    def of(self, values: tuple[object, ...]) -> int:
        """The index of a key, from 0; a new key gets the next index.

        Args:
            values: the key, with a value for each column.
        """
        return self._numbers.setdefault(values, len(self._numbers))

    def columnar(self) -> Columnar:
        """The list of keys as a table by columns: row i is the key with the index i."""
        return by_columns(list(self.names), list(self._numbers))


def cells(database: duckdb.DuckDBPyConnection) -> Numbers:
    """Number the cells (results of one model on one dataset) in the order of the store.

    Returns:
        the indices of cells by key, a tuple of the values of the columns `CELL_KEYS`. The report
        page has a list of all cells (``cells`` of `stp.report.core.data`), in which they have the
        same indices.
    """
    return _number_rows(database, CELL_KEYS, "")


def evaluations(database: duckdb.DuckDBPyConnection) -> Numbers:
    """Number the evaluations (groups of results ranked together) in the order of the store.

    Returns:
        the indices of evaluations by key, a tuple of the values of the columns `ALIKE`.
    """
    return _number_rows(database, ALIKE, f"GROUP BY {', '.join(ALIKE)}")


def _number_rows(
    database: duckdb.DuckDBPyConnection, names: tuple[str, ...], group: str
) -> Numbers:
    order = "min(rowid)" if group else "rowid"
    numbers = Numbers(names)
    _, rows = run_query(database, f"SELECT {', '.join(names)} FROM cells {group} ORDER BY {order}")
    for row in rows:
        numbers.of(row)
    return numbers
