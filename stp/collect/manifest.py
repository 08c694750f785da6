"""The manifest: the list of the cells that a table needs, written by the plan."""

import json
from pathlib import Path
from typing import Any

from stp.errors import StpError
from stp.score.options import CELL_KEYS

NEEDED = (
    "dimension",
    "scale",
    "store",
    "cells",
    "unavailable",
    "tables",
    "names",
    "published",
    "published_names",
)
NEEDED_OF_CELL = (
    "key",
    "source",
    "release",
    "protocol",
    "official_paper_protocol",
    "leaky",
    "data",
    "predictions",
    "scores",
)

Manifest = dict[str, Any]
Cell = dict[str, Any]


def load_manifest(path: Path) -> Manifest:
    """Read a manifest.

    Raises:
        StpError: the file is missing, is not JSON, lacks keys, lists no cells, or lists a cell
            whose dataset is in no table.
    """
    remedy = "run the table command again: it writes the manifest"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StpError(f"{path}: no such manifest", remedy=remedy) from None
    except ValueError as error:
        raise StpError(f"{path}: not JSON ({error})", remedy=remedy) from None
    missing = [key for key in NEEDED if key not in manifest]
    for number, cell in enumerate(manifest.get("cells", [])):
        missing += [f"cells[{number}].{key}" for key in NEEDED_OF_CELL if key not in cell]
        missing += [
            f"cells[{number}].key.{key}"
            for key in CELL_KEYS
            if key not in cell.get("key", CELL_KEYS)
        ]
    if missing:
        raise StpError(
            f"{path}: incomplete manifest",
            expected=f"the keys {', '.join(missing)}",
            remedy=remedy,
        )
    if not manifest["cells"]:
        raise StpError(
            f"{path}: the manifest lists no cells",
            expected="at least one cell",
            remedy="select models and datasets in the configuration of this scale",
        )
    for cell in manifest["cells"]:
        if not any(columns_of(manifest, table, cell) for table in manifest["tables"]):
            raise StpError(
                f"{path}: no table has columns for dataset {cell['key']['tested_on']!r}",
                expected="the dataset's paper columns in at least one table",
                remedy="add them to the configuration of the table",
            )
    return manifest


def cell_key(cell: Cell) -> tuple[Any, ...]:
    """Return the values of ``CELL_KEYS``."""
    return tuple(cell["key"][name] for name in CELL_KEYS)


def predictions_of(cell: Cell) -> Path:
    """Return the folder of ``predictions.zarr`` and ``index.parquet``, of all test clips or some.

    That of the predictions; of cells that are scored while they are predicted that of the scores,
    which holds a few (``kept`` of the cell): a row of the index belongs to a row of the array in
    both cases, and tells its clip.
    """
    return Path(cell["predictions"] or cell["scores"])


def describe(cell: Cell) -> str:
    """Name a cell for people: the parts of its key that are set."""
    return ", ".join(
        f"{name} {cell['key'][name]}" for name in CELL_KEYS if cell["key"][name] is not None
    )


def variable_of(column: str) -> str | None:
    """Return the variable that a column is restricted to: ``t2m`` of ``t2m WRMSE``, else None."""
    variable, space, _ = column.partition(" ")
    return variable if space else None


def columns_of(manifest: Manifest, table: str, cell: Cell) -> dict[str, str]:
    """Return paper column -> convention for a cell; empty if its dataset is not in the table.

    Raises:
        StpError: there is no such table.
    """
    if table not in manifest["tables"]:
        raise StpError(
            f"no table {table!r} in the manifest",
            expected=f"one of {', '.join(sorted(manifest['tables']))}",
            remedy="add the table to the configuration, or name another one",
        )
    columns: dict[str, str] = manifest["tables"][table]["columns"].get(cell["key"]["tested_on"], {})
    return columns
