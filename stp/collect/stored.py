"""Cells and titles as the results store knows them."""

from collections.abc import Mapping
from typing import Any

import duckdb

from stp.options.score import CELL_KEYS
from stp.plan.cell_key import CellKey
from stp.plan.manifest import WHOSE
from stp.plan.manifest_types import Names, StoredCell

_FOLDERS = ("data", "predictions", "scores", "perceptual")


STORED = "SELECT c.*, d.kind FROM cells c JOIN datasets d ON d.dataset = c.tested_on"
"""Rows of cells with all that `stored_cell` needs."""


def stored_cells(database: duckdb.DuckDBPyConnection) -> list[StoredCell]:
    """All cells, in the order of the store."""
    found = database.execute(f"{STORED} ORDER BY c.rowid")
    columns = [column[0] for column in found.description]
    return [stored_cell(dict(zip(columns, row, strict=True))) for row in found.fetchall()]


def stored_cell(row: Mapping[str, Any]) -> StoredCell:
    """A cell from its row of `STORED`."""
    return StoredCell(
        key=CellKey(**{name: row[name] for name in CELL_KEYS}),
        kind=row["kind"],
        **{name: row[name] for name in WHOSE},
        **{stage: row[f"{stage}_folder"] for stage in _FOLDERS},
        models=tuple(row["model_folders"]),
    )


def titles(database: duckdb.DuckDBPyConnection) -> Names:
    """What models and datasets are called."""
    return Names(
        dict(database.execute("SELECT model, title FROM models").fetchall()),
        dict(database.execute("SELECT dataset, title FROM datasets").fetchall()),
    )
