"""Read cells, and the titles of models and datasets, from the results store.

A cell is one model, trained on one dataset, tested on one dataset, in one setting, with one seed.
"""

import duckdb

from stp.collect.query import of_answer
from stp.collect.schema import CellRow
from stp.plan.manifest import ORIGIN_FIELDS
from stp.plan.manifest_types import Names, StoredCell


def read_cells(database: duckdb.DuckDBPyConnection) -> list[StoredCell]:
    """Read all cells (one model on one dataset in one setting) of a results store, in its order."""
    kinds = dict(database.execute("SELECT dataset, kind FROM datasets").fetchall())
    result = database.execute("FROM cells ORDER BY rowid")
    columns = [column[0] for column in result.description]
    return [
        StoredCell(
            key=row.key,
            kind=kinds[row.tested_on],
            **{name: getattr(row, name) for name in ORIGIN_FIELDS},
            data=row.data_folder,
            predictions=row.predictions_folder,
            scores=row.scores_folder,
            perceptual=row.perceptual_folder,
            models=tuple(row.model_folders),
        )
        for row in of_answer(CellRow, columns, result.fetchall())
    ]


def titles(database: duckdb.DuckDBPyConnection) -> Names:
    """Read the titles of all models, by name, and those of all datasets, by name: two dicts."""
    return Names(
        dict(database.execute("SELECT model, title FROM models").fetchall()),
        dict(database.execute("SELECT dataset, title FROM datasets").fetchall()),
    )
