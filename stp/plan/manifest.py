"""Read and write manifests; what their columns show of a cell."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from stp.core.errors import StpError
from stp.core.fingerprint import digest
from stp.core.receipts import require_receipt
from stp.plan.cell_key import CellKey
from stp.plan.column import Column, Part, by_name
from stp.plan.data_origin import judged
from stp.plan.equal_seeds import counted_once
from stp.plan.manifest_types import Cell, Manifest, Names, StoredCell, TableColumns
from stp.plan.score_notes import noted
from stp.plan.setting import ROBUSTNESS, people_case, setting_of

WHOSE = (
    *("source", "release", "bytes_known_by", "lacking", "accepted", "protocol"),
    *("official_paper_protocol", "comparable", "leaky", "best_of"),
)
"""What every cell says of its bytes, and of how many forecasts the best is scored."""
_SCHEMA = TypeAdapter(Manifest)


def load_manifest(path: Path) -> Manifest:
    """Read a manifest, and find out how surely the bytes of its cells are the official ones.

    Of seeds with the same predictions, one is a cell of it (`stp.plan.equal_seeds`). Cells have the
    notes of their scores (`stp.plan.score_notes`).

    Raises:
        StpError: the file is missing, is not JSON, lacks keys, lists no cells, or lists a cell
            whose dataset is in no table; raw bytes are locked that are not the declared ones.
    """
    remedy = "run the table command again: it writes the manifest"
    try:
        manifest = _SCHEMA.validate_json(path.read_bytes(), strict=True)
    except FileNotFoundError:
        raise StpError(f"{path}: no such manifest", remedy=remedy) from None
    except ValidationError as error:
        raise _refusal(path, error, remedy) from None
    if not manifest.cells:
        raise StpError(
            f"{path}: the manifest lists no cells",
            expected="at least one cell",
            remedy="select models and datasets in the configuration of this scale",
        )
    claimed: dict[CellKey, int] = {}
    for number, cell in enumerate(manifest.cells):
        if not any(columns_of(manifest, table, cell) for table in manifest.tables):
            raise StpError(
                f"{path}: no table has columns for dataset {cell.key.tested_on!r}",
                expected="the dataset's paper columns in at least one table",
                remedy="add them to the configuration of the table",
            )
        first = claimed.setdefault(cell.key, number)
        if first != number:
            raise StpError(
                f"{path}: cells[{number}] claims the same cell as cells[{first}] "
                f"({describe(cell.key)})",
                expected="one score artefact for each cell",
                remedy=remedy,
            )
    cells = tuple(noted(cell) for cell in judged(manifest))
    return replace(manifest, cells=counted_once(cells))


def manifest_digest(path: Path) -> str:
    """A digest of a manifest, wherever the published values lie: it has their checksum.

    Raises:
        OSError, ValueError: there is no such file, or it is not JSON.
    """
    content = json.loads(path.read_bytes())
    content.pop("published", None)
    return digest(content)


def manifest_text(manifest: Manifest) -> str:
    """Write a manifest as JSON, a line for each cell: thousands of them, read by machines."""
    described = _SCHEMA.dump_python(manifest, mode="json", exclude_defaults=True)
    listed = ",\n".join(json.dumps(cell) for cell in described.pop("cells"))
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in described.items()]
    return "{\n" + ",\n".join([*lines, f'"cells": [\n{listed}\n]']) + "\n}\n"


def _refusal(path: Path, error: ValidationError, remedy: str) -> StpError:
    """Say what is wrong with the text of a manifest."""
    problems = error.errors(include_url=False)
    missing = [_place(one["loc"]) for one in problems if one["type"] == "missing"]
    if missing:
        expected = f"the keys {', '.join(missing)}"
        return StpError(f"{path}: incomplete manifest", expected=expected, remedy=remedy)
    first = problems[0]
    if first["type"] == "json_invalid":
        return StpError(f"{path}: not JSON ({first['ctx']['error']})", remedy=remedy)
    found = f"{path}: {_place(first['loc'])} is {first['input']!r}"
    return StpError(found, expected=first["msg"], remedy=remedy)


def _place(location: Iterable[str | int]) -> str:
    """Name a place in JSON: ``cells[0].key.model``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).removeprefix(".") or "the whole file"


def title_of(titles: Names, key: CellKey) -> str:
    """A readable name of the evaluation: ``KITTI -> Caltech``, ``BridgeData, interval 2``."""
    names = titles.datasets
    shown = names.get(key.tested_on, key.tested_on)
    if key.trained_on != key.tested_on:
        shown = f"{names.get(key.trained_on, key.trained_on)} -> {shown}"
    parts = [shown]
    if key.subset not in ("test", ROBUSTNESS):
        parts.append(key.subset.replace("_", " "))
    setting = setting_of(key.setting)
    parts += [f"interval {setting['interval']}"] if "interval" in setting else []
    parts += [f"{setting['observe']} observed"] if "observe" in setting else []
    return ", ".join([*parts, *people_case(setting)])


def forecast_recipe(cell: StoredCell) -> dict[str, Any]:
    """Return the recipe of a cell's forecasts: shape, context, horizon of training, lead times.

    It is that of its predictions, or part of that of its scores where forecasts are scored while
    they are made (``cell.predictions`` is None; ``kept`` of them lie beside the scores).

    Raises:
        StpError: there is no receipt.
    """
    if cell.predictions:
        return require_receipt(Path(cell.predictions)).recipe
    found: dict[str, Any] = require_receipt(Path(cell.scores)).recipe["rollout"]
    return found


def describe(key: CellKey) -> str:
    """A readable name of a cell: the parts of its key that are set."""
    return ", ".join(f"{name} {value}" for name, value in vars(key).items() if value is not None)


def stored_of(manifest: Manifest, cell: Cell) -> list[tuple[str, Part]]:
    """Convention and part of all that a store says of a cell: columns of tables, and the others."""
    found: list[tuple[str, Part]] = []
    for table, columns in manifest.tables.items():
        found += [column.place for column in columns_of(manifest, table, cell).values()]
        found += [
            (convention, Part()) for convention in columns.unscored.get(cell.key.tested_on, ())
        ]
    return list(dict.fromkeys(found))


def over_leads(manifest: Manifest) -> Manifest:
    """The manifest with the panels over lead time as columns, where its suite has such."""
    curves = manifest.tables[manifest.dimension].curves
    if not curves:
        return manifest
    return replace(manifest, tables={manifest.dimension: TableColumns(curves)})


def names_of_members(samples: int, statistic: str | None) -> dict[str, str]:
    """What names of columns may say of models that draw several forecasts.

    Returns:
        ``K``: how many; ``members``: what metrics of one forecast make of them, ``best-of-100``;
        ``seen``: which of them distances between sets of clips see, ``first-of-100``.
    """
    said = {"best_of_members": "best", "ensemble_mean": "ensemble-mean"}
    seen = "ensemble-mean" if statistic == "ensemble_mean" else "first"
    return {
        "K": str(samples),
        "members": f"{said.get(statistic or '', 'mean')}-of-{samples}",
        "seen": f"{seen}-of-{samples}",
    }


def columns_of(manifest: Manifest, table: str, cell: Cell) -> dict[str, Column]:
    """The columns of a cell by their names; none if its dataset is not in the table.

    Raises:
        StpError: there is no such table.
    """
    if table not in manifest.tables:
        raise StpError(
            f"no table {table!r} in the manifest",
            expected=f"one of {', '.join(sorted(manifest.tables))}",
            remedy="add the table to the configuration, or name another one",
        )
    known, tested = manifest.tables[table], cell.key.tested_on
    columns = by_name(known.columns.get(tested, ()))
    if cell.samples > 1:  # without their number, what cannot be compared would be
        names = names_of_members(cell.samples, cell.statistic)
        named = by_name(
            column.model_copy(update={"heading": column.heading.format(**names)})
            for column in known.sampled.get(tested, ())
        )
        # What a column with a name of its own shows has no second, plain one.
        places = {column.place for column in named.values()}
        plain = {name: column for name, column in columns.items() if column.place not in places}
        columns = plain | named
    return columns
