"""Tables 13-16 of PredBench as printed; light, since planning asks whether a scale has them."""

import csv
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from stp.cells import Plan
from stp.config import CONFIG_FOLDER
from stp.errors import StpError

ORIGINAL, PAPER = "original", "ours"
"""Settings of published rows: by the authors' code of a model, and by PredBench's."""
Printed = dict[str, dict[str, dict[str, dict[str, str]]]]
"""Method -> metric -> setting -> row of the published file."""


def read_printed(file: Path, table: str) -> Printed:
    """Read one table.

    Args:
        file: the published values.
        table: its name there.

    Raises:
        StpError: there is no such table, or it lacks a value.
    """
    found: Printed = {}
    with file.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["table"] == table:
                metrics = found.setdefault(row["method"], {})
                metrics.setdefault(row["metric"], {})[row["setting"]] = row
    complete = all(
        set(settings) == {ORIGINAL, PAPER}
        for metrics in found.values()
        for settings in metrics.values()
    )
    if not found or not complete:
        raise StpError(
            f"{file}: the table {table} is not there or not complete",
            expected=f"for each method and metric a row {ORIGINAL!r} and a row {PAPER!r}",
            remedy="mend the file, or `reproduction` in config/evaluation/predbench.yaml",
        )
    return found


def is_of_table(
    key: Mapping[str, Any], methods: Collection[str | None], names: Mapping[str, str]
) -> bool:
    """Whether a cell of the short-term table is one of a reproduction table of its dataset.

    Args:
        key: of the cell.
        methods: that the table prints.
        names: our name of a model -> the printed one.
    """
    as_trained = key["trained_on"] == key["tested_on"] and key["train_subset"] == "all"
    return as_trained and key["subset"] == "test" and names.get(key["model"]) in methods


def has_cells(plan: Plan) -> bool:
    """Whether a scale has a cell of these tables.

    Raises:
        StpError: the published values are not complete.
    """
    file = CONFIG_FOLDER / "published" / "predbench.csv"
    models = plan.config.models
    names = {name: model.published_name or model.title for name, model in models.items()}
    tables = plan.config.evaluation.reproduction
    printed = {name: read_printed(file, table.table) for name, table in tables.items()}
    return any(
        made.cell.dimension == "short_term"
        and is_of_table(vars(made.cell), printed.get(made.cell.tested_on, ()), names)
        for made in plan.cells
    )
