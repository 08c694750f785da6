"""Read and write manifests, and find the columns of their cells.

A manifest is a file with all information that the tables of one dimension (one question of a suite)
are made from: the cells (evaluations), and facts about them.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from stp.core.errors import StpError
from stp.core.fingerprint import digest
from stp.core.json_files import Json
from stp.core.receipts import require_receipt
from stp.plan.cell_key import CellKey
from stp.plan.column import Column, Part, by_name
from stp.plan.data_origin import cells_with_evidence
from stp.plan.equal_seeds import drop_equal_seeds
from stp.plan.manifest_types import Cell, Manifest, Names, StoredCell, TableColumns
from stp.plan.score_notes import with_score_note
from stp.plan.setting import ROBUSTNESS, people_case, setting_of

ORIGIN_FIELDS = (
    *("source", "release", "bytes_known_by", "lacking", "accepted", "protocol"),
    *("official_paper_protocol", "comparable", "leaky", "best_of"),
)
"""Fields of cells about their data and protocol, and the number of forecasts for best-of scores."""
_SCHEMA = TypeAdapter(Manifest)


def load_manifest(path: Path) -> Manifest:
    """Read a manifest, the file that a dimension's tables are made from.

    Facts that only the store has are added to its cells (one model in one test each): the evidence
    that raw files are official (`stp.plan.data_origin`), and notes on the scores
    (`stp.plan.score_notes`). Of several seeds with equal predictions, only one is kept
    (`stp.plan.equal_seeds`).

    Raises:
        StpError: the file is missing, not JSON, lacks keys, lists no cells, or lists a cell whose
            dataset is in no table; or locked raw files differ from the declared ones.
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
    numbers: dict[CellKey, int] = {}
    for number, cell in enumerate(manifest.cells):
        if not any(columns_of(manifest, table, cell) for table in manifest.tables):
            raise StpError(
                f"{path}: no table has columns for dataset {cell.key.tested_on!r}",
                expected="the dataset's paper columns in at least one table",
                remedy="add them to the configuration of the table",
            )
        first = numbers.setdefault(cell.key, number)
        if first != number:
            raise StpError(
                f"{path}: cells[{number}] and cells[{first}] have the same key "
                f"({describe(cell.key)})",
                expected="one score artefact for each cell",
                remedy=remedy,
            )
    cells = tuple(with_score_note(cell) for cell in cells_with_evidence(manifest))
    return replace(manifest, cells=drop_equal_seeds(cells))


def manifest_digest(path: Path) -> str:
    """Hash a manifest (the file from which tables are made), to notice when it changes.

    The checksum of the published values counts, but not their path.

    Raises:
        OSError, ValueError: the file is missing, or not JSON.
    """
    content = json.loads(path.read_bytes())
    content.pop("published", None)
    return digest(content)


def manifest_text(manifest: Manifest) -> str:
    """Serialise a manifest (what a dimension's tables are made from) as JSON.

    Each of its cells (evaluations), possibly thousands, has one line.
    """
    content = _SCHEMA.dump_python(manifest, mode="json", exclude_defaults=True)
    cells = ",\n".join(json.dumps(cell) for cell in content.pop("cells"))
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
    return "{\n" + ",\n".join([*lines, f'"cells": [\n{cells}\n]']) + "\n}\n"


def _refusal(path: Path, error: ValidationError, remedy: str) -> StpError:
    problems = error.errors(include_url=False)
    missing = [_key(problem["loc"]) for problem in problems if problem["type"] == "missing"]
    if missing:
        expected = f"the keys {', '.join(missing)}"
        return StpError(f"{path}: incomplete manifest", expected=expected, remedy=remedy)
    first = problems[0]
    if first["type"] == "json_invalid":
        return StpError(f"{path}: not JSON ({first['ctx']['error']})", remedy=remedy)
    problem = f"{path}: {_key(first['loc'])} is {first['input']!r}"
    return StpError(problem, expected=first["msg"], remedy=remedy)


def _key(location: Iterable[str | int]) -> str:
    """Format the location of a JSON value: ``cells[0].key.model``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).removeprefix(".") or "the whole file"


def title_of(titles: Names, key: CellKey) -> str:
    """Title of a cell's evaluation: ``KITTI -> Caltech``, ``BridgeData, interval 2``.

    Args:
        titles: titles of the datasets, as the manifest has them.
        key: key of the cell.
    """
    names = titles.datasets
    title = names.get(key.tested_on, key.tested_on)
    if key.trained_on != key.tested_on:
        title = f"{names.get(key.trained_on, key.trained_on)} -> {title}"
    parts = [title]
    if key.subset not in ("test", ROBUSTNESS):
        parts.append(key.subset.replace("_", " "))
    setting = setting_of(key.setting)
    parts += [f"interval {setting['interval']}"] if "interval" in setting else []
    parts += [f"{setting['observe']} observed"] if "observe" in setting else []
    return ", ".join([*parts, *people_case(setting)])


def forecast_recipe(cell: StoredCell) -> Json:
    """All settings (the recipe) of the forecasts behind a cell, which is one model in one test.

    Its keys are the fields of `stp.plan.recipe_records.PredictRecipe`. The recipe is read from the
    receipt of the predictions, or of the scores if forecasts are scored without storing them.

    Raises:
        StpError: the receipt is missing.
    """
    if cell.predictions:
        return require_receipt(Path(cell.predictions)).recipe
    recipe: Json = require_receipt(Path(cell.scores)).recipe["rollout"]
    return recipe


def describe(key: CellKey) -> str:
    """Format the key of a cell, without unset parts: ``suite x, dimension y, model z, ...``."""
    return ", ".join(f"{name} {value}" for name, value in vars(key).items() if value is not None)


def stored_values(manifest: Manifest, cell: Cell) -> list[tuple[str, Part]]:
    """List all values stored for a cell (one model in one test), also those that no table shows.

    Returns:
        for each value, its convention (exact definition of a metric, such as ``ssim.range2``), and
        its part: variable, threshold and lead times.
    """
    values: list[tuple[str, Part]] = []
    for table, columns in manifest.tables.items():
        values += [column.place for column in columns_of(manifest, table, cell).values()]
        values += [
            (convention, Part()) for convention in columns.unscored.get(cell.key.tested_on, ())
        ]
    return list(dict.fromkeys(values))


def over_leads(manifest: Manifest) -> Manifest:
    """Prepare a manifest (what tables are made from) for figures with scores at each lead time.

    Returns:
        a copy whose columns are the panels of these figures, as the suite declares them; the
        manifest itself if the suite declares none, since panels are then the table's columns.
    """
    curves = manifest.tables[manifest.dimension].curves
    if not curves:
        return manifest
    return replace(manifest, tables={manifest.dimension: TableColumns(curves)})


def names_of_members(samples: int, statistic: str | None) -> dict[str, str]:
    """Map the placeholders in headings of columns to texts about the forecasts of a clip.

    The heading ``PSNR-{members}``, for example, becomes ``PSNR-best-of-100``.

    Args:
        samples: number of forecasts of each clip.
        statistic: how several forecasts of a clip are scored: ``mean_of_members``,
            ``ensemble_mean`` or ``best_of_members``; None is treated as ``mean_of_members``.

    Returns:
        text of each placeholder: ``K``, the number of forecasts, such as ``100``; ``members``, how
        they are scored, such as ``mean-of-100`` or ``best-of-100``; ``seen``, the forecast that
        distances between sets of clips use, ``first-of-100`` or ``ensemble-mean-of-100``.
    """
    statistics = {"best_of_members": "best", "ensemble_mean": "ensemble-mean"}
    basis = "ensemble-mean" if statistic == "ensemble_mean" else "first"
    return {
        "K": str(samples),
        "members": f"{statistics.get(statistic or '', 'mean')}-of-{samples}",
        "seen": f"{basis}-of-{samples}",
    }


def columns_of(manifest: Manifest, table: str, cell: Cell) -> dict[str, Column]:
    """The columns of a table that have values for a cell (one model in one test), by name.

    Returns:
        the columns; empty if the dataset of the cell is not in the table.

    Raises:
        StpError: the manifest has no such table.
    """
    if table not in manifest.tables:
        raise StpError(
            f"no table {table!r} in the manifest",
            expected=f"one of {', '.join(sorted(manifest.tables))}",
        )
    of_table, tested = manifest.tables[table], cell.key.tested_on
    columns = by_name(of_table.columns.get(tested, ()))
    if cell.samples > 1:  # values of different numbers of forecasts cannot be compared
        names = names_of_members(cell.samples, cell.statistic)
        sampled = by_name(
            column.model_copy(update={"heading": column.heading.format(**names)})
            for column in of_table.sampled.get(tested, ())
        )
        # These columns replace those with the same values.
        places = {column.place for column in sampled.values()}
        others = {name: column for name, column in columns.items() if column.place not in places}
        columns = others | sampled
    return columns
