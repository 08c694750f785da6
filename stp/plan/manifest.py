"""The manifest: the list of the cells that a table needs, written by the plan."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stp.core.errors import StpError
from stp.core.receipts import require_receipt
from stp.options.score import CELL_KEYS
from stp.plan.raw_bytes import judge
from stp.plan.setting import case_name, people_case, setting_of, split_threshold

WHOSE = (
    *("source", "release", "bytes_known_by", "lacking", "protocol", "official_paper_protocol"),
    *("comparable", "leaky", "best_of"),
)
"""What every cell says of its bytes, and of how many forecasts the best is scored."""
NEEDED = (
    "dimension",
    "suite",
    "scale",
    "store",
    "cells",
    "raw",
    "unavailable",
    "tables",
    "names",
    "published",
    "published_names",
)
NEEDED_OF_CELL = (
    "key",
    *("source", "release", "protocol", "follows_paper", "bytes_of", "leaky", "best_of"),
    "data",
    "predictions",
    "scores",
)

Manifest = dict[str, Any]
Cell = dict[str, Any]
Part = str | float | None
"""A variable, a threshold, or None: all together."""


def load_manifest(path: Path) -> Manifest:
    """Read a manifest, and find out how surely the bytes of its cells are the official ones.

    Raises:
        StpError: the file is missing, is not JSON, lacks keys, lists no cells, or lists a cell
            whose dataset is in no table; raw bytes are locked that are not the declared ones.
    """
    remedy = "run the table command again: it writes the manifest"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StpError(f"{path}: no such manifest", remedy=remedy) from None
    except (ValueError, RecursionError) as error:
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
    claimed: dict[tuple[Any, ...], int] = {}
    for number, cell in enumerate(manifest["cells"]):
        first = claimed.setdefault(cell_key(cell), number)
        if first != number:
            raise StpError(
                f"{path}: cells[{number}] claims the same cell as cells[{first}] "
                f"({describe(cell)})",
                expected="one score artefact for each cell",
                remedy=remedy,
            )
    judge(manifest)
    return manifest


def cell_key(cell: Cell) -> tuple[Any, ...]:
    """Return the values of ``CELL_KEYS``."""
    return tuple(cell["key"][name] for name in CELL_KEYS)


def title_of(manifest: Manifest, cell: Cell) -> str:
    """What was tested, for people: ``KITTI -> Caltech``, ``BridgeData, interval 2``."""
    key, names = cell["key"], manifest["names"]["datasets"]
    tested, trained = key["tested_on"], key["trained_on"]
    shown: str = names.get(tested, tested)
    if trained not in (None, tested):
        shown = f"{names.get(trained, trained)} -> {shown}"
    parts = [shown]
    if case_name({**key, "setting": "horizon-1", "train_subset": "all"}) != (
        tested if trained in (None, tested) else f"{trained}-{tested}"
    ):
        parts.append(key["subset"].replace("_", " "))
    interval = setting_of(key["setting"]).get("interval")
    parts += [] if interval is None else [f"interval {interval}"]
    setting = setting_of(key["setting"])
    parts += [f"{setting['observe']} observed"] if "observe" in setting else []
    return ", ".join([*parts, *people_case(setting)])


def forecast_recipe(cell: Cell) -> dict[str, Any]:
    """Return the recipe of a cell's forecasts: shape, context, horizon of training, lead times.

    It is that of its predictions, or part of that of its scores where forecasts are scored while
    they are made (``cell["predictions"]`` is None; ``kept`` of them lie beside the scores).

    Raises:
        StpError: there is no receipt.
    """
    if cell["predictions"]:
        found: dict[str, Any] = require_receipt(Path(cell["predictions"]))["recipe"]
    else:
        found = require_receipt(Path(cell["scores"]))["recipe"]["rollout"]
    return found


def describe(cell: Cell) -> str:
    """Name a cell for people: the parts of its key that are set."""
    return describe_key(cell_key(cell))


def describe_key(key: Sequence[Any]) -> str:
    """Name a cell for people, from the values of ``CELL_KEYS``."""
    named = zip(CELL_KEYS, key, strict=True)
    return ", ".join(f"{name} {value}" for name, value in named if value is not None)


def variable_of(column: str) -> str | None:
    """Return the variable that a column is restricted to: ``t2m`` of ``t2m WRMSE``, else None."""
    variable, space, _ = column.partition(" ")
    return variable if space else None


def part_of(column: str, shown: str) -> Part:
    """Return the part of a convention's values that a column is restricted to.

    Args:
        column: heading; ``t2m WRMSE`` names a variable.
        shown: what the manifest says it shows; ``csi.mean@16`` names a threshold.
    """
    threshold = split_threshold(shown)[1]
    return variable_of(column) if threshold is None else threshold


def parts_of(manifest: Manifest, table: str, cell: Cell) -> dict[str, tuple[str, Part]]:
    """Return paper column -> convention and part, for a cell; see `columns_of`."""
    return {
        column: (split_threshold(shown)[0], part_of(column, shown))
        for column, shown in shown_of(manifest, table, cell).items()
    }


def columns_of(manifest: Manifest, table: str, cell: Cell) -> dict[str, str]:
    """Return paper column -> convention for a cell; empty if its dataset is not in the table.

    Raises:
        StpError: there is no such table.
    """
    shown = shown_of(manifest, table, cell)
    return {column: split_threshold(name)[0] for column, name in shown.items()}


def shown_of(manifest: Manifest, table: str, cell: Cell) -> dict[str, str]:
    """Return paper column -> what it shows, as the manifest says it: ``csi.mean@16``.

    Raises:
        StpError: there is no such table.
    """
    if table not in manifest["tables"]:
        raise StpError(
            f"no table {table!r} in the manifest",
            expected=f"one of {', '.join(sorted(manifest['tables']))}",
            remedy="add the table to the configuration, or name another one",
        )
    known, tested = manifest["tables"][table], cell["key"]["tested_on"]
    shown: dict[str, str] = known["columns"].get(tested, {})
    samples = cell.get("samples", 1)
    if samples > 1:  # a name without the number of samples would compare what cannot be compared
        of_several = known.get("sampled", {}).get(tested, {})
        shown = shown | {column.format(K=samples): what for column, what in of_several.items()}
    return shown
