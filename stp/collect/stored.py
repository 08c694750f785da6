"""Cells and titles as the results store knows them."""

from collections.abc import Mapping
from typing import Any

import duckdb

from stp.options.score import CELL_KEYS
from stp.plan.cell_key import CellKey
from stp.plan.manifest import WHOSE
from stp.plan.manifest_types import Names, StoredCell

_FOLDERS = ("data", "model", "predictions", "scores", "perceptual")


def stored_cell(row: Mapping[str, Any]) -> StoredCell:
    """A cell from its row of the table ``cells``."""
    return StoredCell(
        key=CellKey(**{name: row[name] for name in CELL_KEYS}),
        **{name: row[name] for name in WHOSE},
        **{stage: row[f"{stage}_folder"] for stage in _FOLDERS},
    )


def titles(database: duckdb.DuckDBPyConnection) -> Names:
    """What models and datasets are called."""
    return Names(
        dict(database.execute("SELECT model, title FROM models").fetchall()),
        dict(database.execute("SELECT dataset, title FROM datasets").fetchall()),
    )
