"""Tables 13-16 of PredBench as printed; light, since planning asks whether a scale has them."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from stp.collect.published import PublishedValue, read_published
from stp.core.errors import StpError
from stp.plan.cell_key import CellKey
from stp.plan.manifest_types import Names

ORIGINAL, PAPER = "original", "ours"
"""Runs of published values: by the authors' code of a model, and by the paper's."""
Printed = dict[str, dict[str, dict[str, PublishedValue]]]
"""Model -> metric -> run -> published value."""


def read_printed(file: Path, table: str) -> Printed:
    """Read one table.

    Args:
        file: the published values.
        table: its name there.

    Raises:
        StpError: there is no such table, or it lacks a value.
    """
    found: Printed = {}
    for value in read_published(file):
        if value.table == table:
            metrics = found.setdefault(value.model, {})
            metrics.setdefault(value.metric, {})[value.run] = value
    complete = all(
        set(runs) == {ORIGINAL, PAPER} for metrics in found.values() for runs in metrics.values()
    )
    if not found or not complete:
        raise StpError(
            f"{file}: the table {table} is not there or not complete",
            expected=f"for each model and metric a run {ORIGINAL!r} and a run {PAPER!r}",
            remedy="mend the file, or `reproduction` of its suite in config/suites",
        )
    return found


def is_in_table(key: CellKey, methods: Collection[str | None], names: Names) -> bool:
    """Whether a cell of the short-term table is one of a reproduction table of its dataset.

    Args:
        key: of the cell.
        methods: that the table prints.
        names: what the paper calls models and their variants.
    """
    as_trained = key.trained_on == key.tested_on and key.train_subset == "all"
    return as_trained and key.subset == "test" and names.of_model(key) in methods


def has_cells(
    keys: Iterable[CellKey],
    tables: Mapping[str, str],
    names: Names,
    file: Path,
) -> bool:
    """Whether cells of the short-term dimension are cells of these tables.

    Args:
        keys: of the cells.
        tables: dataset -> its table among the published values.
        names: what the paper calls models and their variants.
        file: the published values.

    Raises:
        StpError: the published values are not complete.
    """
    printed = {dataset: read_printed(file, table) for dataset, table in tables.items()}
    return any(is_in_table(key, printed.get(key.tested_on, ()), names) for key in keys)
