"""Read values printed in papers (`published.csv` of a suite), and match them with own results."""

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stp.collect.settings import value_of, values_of
from stp.collect.table import Value
from stp.core.errors import StpError
from stp.plan.manifest import Cell, Manifest

LEADS = "leads"
"""An optional column: the lead times of a number, ``44`` or ``1-7``."""

COLUMNS = (
    *("table", "dimension", "model", "trained_on", "tested_on", "subset"),
    *("variable", "threshold", "run", "metric", "value", "raw", "note"),
)
"""Columns of a file of published values, besides one for each key of a setting."""

OWN = {"horizon": "horizon", "observe": "context"}
"""Keys of settings that a dataset itself has a value for, and the name of this value in the facts
about the dataset: it applies where a paper does not state the key."""


@dataclass(frozen=True)
class PublishedValue:
    """A printed number, with the paper's names of models and datasets.

    Attributes:
        table: table of the paper.
        dimension: dimension of the evaluation.
        model: printed name of the model.
        trained_on: printed name of the training dataset.
        tested_on: printed name of the test dataset.
        subset: part of the test dataset; ``test`` for the whole test split.
        setting: keys of the setting that the paper states, with their values, such as ``{"horizon":
            30}``. For ``horizon`` and ``observe``, the dataset's own values apply if the paper does
            not state them.
        variable: variable of the number, such as ``t2m``; None for all together.
        threshold: threshold of an event metric; None for all thresholds together.
        leads: lead times of the number, ``44`` or ``1-7``; None for all together.
        run: label that distinguishes numbers with otherwise equal keys; empty for the main result.
        metric: heading of the column.
        value: the number.
        raw: text of the number as printed, such as ``71.9``.
        note: reason why the number is doubtful; empty otherwise.
    """

    table: str
    dimension: str
    model: str
    trained_on: str
    tested_on: str
    subset: str
    setting: Mapping[str, Value]
    variable: str | None
    threshold: float | None
    leads: str | None
    run: str
    metric: str
    value: float
    raw: str
    note: str


def read_published(path: str | Path | None) -> tuple[PublishedValue, ...]:
    """Read a file of published values with the columns of config/suites/README.md.

    Args:
        path: path of the file; None or empty if no values are published.

    Raises:
        StpError: the file is missing or damaged, or has other columns or a value that is not a
            number.
    """
    if not path:
        return ()
    path = Path(path)
    remedy = "restore the file from the repository"
    if not path.is_file():
        raise StpError(f"{path}: missing", expected="the published values", remedy=remedy)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            names = reader.fieldnames or []
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise StpError(
            f"{path}: cannot be read ({error})", expected="a CSV file in UTF-8", remedy=remedy
        ) from None
    keys = [name for name in names if name not in (*COLUMNS, LEADS)]
    if set(COLUMNS) - set(names) or not all(re.fullmatch("[a-z_]+", key) for key in keys):
        raise StpError(
            f"{path}: columns {', '.join(names)}",
            expected=f"columns {', '.join(COLUMNS)}, and one for each key of a setting",
            remedy=remedy,
        )
    values = []
    for line, row in rows:
        try:
            values.append(_value(row, keys))
        except (ValueError, TypeError) as error:
            raise StpError(
                f"{path}, line {line}: {error}",
                expected="as many fields as columns; a value and a threshold are numbers",
                remedy=remedy,
            ) from None
    return tuple(values)


def _value(row: Mapping[str, str], keys: Iterable[str]) -> PublishedValue:
    return PublishedValue(
        table=row["table"],
        dimension=row["dimension"],
        model=row["model"],
        trained_on=row["trained_on"],
        tested_on=row["tested_on"],
        subset=row["subset"] or "test",
        setting={key: value_of(row[key]) for key in keys if row[key]},
        variable=row["variable"] or None,
        threshold=float(row["threshold"]) if row["threshold"] else None,
        leads=row.get(LEADS) or None,
        run=row["run"],
        metric=row["metric"],
        value=float(row["value"]),
        raw=row["raw"],
        note=row["note"],
    )


def select_published(
    manifest: Manifest, cell: Cell, values: Iterable[PublishedValue]
) -> list[PublishedValue]:
    """Select the published values of all models in the same test as a cell.

    The test is the same if dimension, test dataset, subset and setting are equal. Model and
    training data may differ. A paper may not state all keys of the setting: where it does not state
    the horizon (``horizon``) or the number of observed frames (``observe``), those of the dataset
    apply.

    Args:
        manifest: manifest with the dimension of the cell, and the printed names of datasets.
        cell: the cell.
        values: published values, from `read_published`.
    """
    key = cell.key
    dataset = manifest.published_names.datasets.get(key.tested_on)
    facts = manifest.datasets[key.tested_on]
    defaults: dict[str, Value] = {name: getattr(facts, fact) for name, fact in OWN.items()}
    setting = defaults | values_of(key.setting)
    return [
        value
        for value in values
        if value.dimension == manifest.dimension
        and value.tested_on == dataset
        and value.subset == key.subset
        and {**defaults, **value.setting} == setting
    ]


def of_cell(
    manifest: Manifest, cell: Cell, values: Iterable[PublishedValue]
) -> list[PublishedValue]:
    """Select the published values for a cell: those of the same test, model and training data.

    The test is the same if dimension, test dataset, subset and setting are equal
    (`select_published`). The training data are the same if the training dataset is.

    Args:
        manifest: manifest with the dimension of the cell, and the printed names of models and
            datasets.
        cell: the cell.
        values: published values, from `read_published`.
    """
    key, names = cell.key, manifest.published_names
    model = names.of_model(key)
    trained_on = names.datasets.get(key.trained_on)
    return [
        value
        for value in select_published(manifest, cell, values)
        if value.model == model and value.trained_on == trained_on
    ]
