"""Cells and titles from the results store."""

import duckdb

from stp.collect.query import of_answer
from stp.collect.schema import CellRow
from stp.plan.manifest import WHOSE
from stp.plan.manifest_types import Names, StoredCell


def stored_cells(database: duckdb.DuckDBPyConnection) -> list[StoredCell]:
    """All cells, in the order of the store."""
    of = kinds(database)
    result = database.execute("FROM cells ORDER BY rowid")
    columns = [column[0] for column in result.description]
    rows = of_answer(CellRow, columns, result.fetchall())
    return [stored_cell(row, of[row.tested_on]) for row in rows]


def stored_cell(row: CellRow, kind: str) -> StoredCell:
    """A cell from its row.

    Args:
        row: row of the table of cells.
        kind: kind of the samples of the test.
    """
    return StoredCell(
        key=row.key,
        kind=kind,
        **{name: getattr(row, name) for name in WHOSE},
        data=row.data_folder,
        predictions=row.predictions_folder,
        scores=row.scores_folder,
        perceptual=row.perceptual_folder,
        models=tuple(row.model_folders),
    )


def kinds(database: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The kind of samples of each dataset."""
    return dict(database.execute("SELECT dataset, kind FROM datasets").fetchall())


def titles(database: duckdb.DuckDBPyConnection) -> Names:
    """Titles of models and datasets."""
    return Names(
        dict(database.execute("SELECT model, title FROM models").fetchall()),
        dict(database.execute("SELECT dataset, title FROM datasets").fetchall()),
    )
