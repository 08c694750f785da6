"""Repeated runs of one model, a training for each of several seeds, beside published ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stp.collect.published import PublishedValue, of_cell, read_published
from stp.collect.scores import read_collected
from stp.plan.cell_key import CellKey
from stp.plan.column import Column, Part
from stp.plan.manifest import Cell, Manifest, columns_of, load_manifest
from stp.plan.manifest_types import TableColumns
from stp.render.tables.demands import demand_runs
from stp.render.tables.paper_table import demand_complete
from stp.render.tables.rows import Overall, Row, make_rows, overall
from stp.render.tables.run_statistics import describe_runs

TABLE = "reliability"
"""Name of the table, and of the dimension of its published values."""
FURTHER_COLUMNS = {"MAE": "mae.pixel_sum", "MSE": "mse.pixel_sum"}
"""Published for repeated runs, though not in other tables of the same datasets."""


@dataclass(frozen=True)
class PublishedRuns:
    """A column of published runs.

    Attributes:
        runs: values as printed.
        std, pvalue: as printed below the runs.
        note: why the column is doubtful; empty if it is not.
        statistics: of the printed, rounded runs, computed here.
    """

    runs: tuple[str, ...]
    std: str
    pvalue: str
    note: str
    statistics: Mapping[str, float | None]


@dataclass(frozen=True)
class MetricRuns:
    """The runs of one metric.

    Attributes:
        name: heading of the column.
        convention: exact definition of the metric.
        runs: overall value of each seed; None has a reason.
        statistics: empty unless every run has a value.
        published: runs that the paper prints; None if it prints none.
    """

    name: str
    convention: str
    runs: tuple[float | None, ...]
    statistics: Mapping[str, float | None]
    published: PublishedRuns | None


@dataclass(frozen=True)
class RepeatedRuns:
    """All runs of one model on one dataset.

    Attributes:
        row: what the runs have in common, and the mean over them.
        seeds: in the order of the runs.
        columns: one for each metric.
    """

    row: Row
    seeds: tuple[int, ...]
    columns: tuple[MetricRuns, ...]


def read_runs(manifest: Path, collected: Path) -> tuple[Manifest, list[RepeatedRuns]]:
    """Read the runs of every model that was trained with seeds, in the order of the manifest.

    Args:
        manifest: file of the cells.
        collected: Parquet file of their scores, from the same manifest (schema ``COLLECTED``).

    Raises:
        StpError: a file is missing or damaged, there are fewer than four seeds, or a cell has no
            rows or lacks a column.
    """
    plan = load_manifest(manifest)
    groups: dict[CellKey, list[Cell]] = {}
    for cell in plan.cells:
        if cell.key.seed is not None:
            groups.setdefault(replace(cell.key, seed=None), []).append(cell)
    demand_runs(
        [(f"{key.model} on {key.tested_on}", len(cells)) for key, cells in groups.items()],
        str(manifest),
    )
    for cells in groups.values():
        cells.sort(key=lambda cell: cell.key.seed or 0)

    rows = read_collected(collected)
    scores = overall(rows)
    published = _all_published(plan, groups)
    plan = replace(
        plan,
        cells=tuple(cell for cells in groups.values() for cell in cells),
        tables={TABLE: TableColumns(_columns(plan, groups, scores, published))},
    )
    demand_complete(plan, TABLE, rows, collected)
    # make_rows groups cells by the same key, in the order of their first appearance.
    table_rows = make_rows(plan, TABLE, scores, [], {})
    return plan, [
        RepeatedRuns(
            row,
            tuple(cell.key.seed for cell in cells if cell.key.seed is not None),
            tuple(_metrics(plan, row, cells, scores, published[key])),
        )
        for row, (key, cells) in zip(table_rows, groups.items(), strict=True)
    ]


def _all_published(
    plan: Manifest, groups: Mapping[CellKey, list[Cell]]
) -> dict[CellKey, dict[str, PublishedRuns]]:
    """Published runs of each model and dataset, by metric."""
    plan_of_runs = replace(plan, dimension=TABLE)
    values = read_published(plan.published)
    published: dict[CellKey, dict[str, PublishedRuns]] = {}
    for key, cells in groups.items():
        columns: dict[str, dict[str, PublishedValue]] = {}
        for value in of_cell(plan_of_runs, cells[0], values):
            columns.setdefault(value.metric, {})[value.run] = value
        published[key] = {name: read_column(runs) for name, runs in columns.items()}
    return published


def read_column(values: Mapping[str, PublishedValue]) -> PublishedRuns:
    """Make a column of its published values, by run: run1, run2, ..., std, pvalue."""
    runs = [values[f"run{number}"] for number in range(1, len(values) - 1)]
    return PublishedRuns(
        runs=tuple(value.raw for value in runs),
        std=values["std"].raw,
        pvalue=values["pvalue"].raw,
        note="; ".join(dict.fromkeys(value.note for value in values.values() if value.note)),
        statistics=describe_runs([value.value for value in runs]),
    )


def _columns(
    plan: Manifest,
    groups: Mapping[CellKey, list[Cell]],
    scores: Overall,
    published: Mapping[CellKey, Mapping[str, PublishedRuns]],
) -> dict[str, tuple[Column, ...]]:
    """Columns of each dataset: those of its other tables and, where all runs have them,
    `FURTHER_COLUMNS`; the published ones come first, in the order of the paper.
    """
    columns: dict[str, tuple[Column, ...]] = {}
    for dataset in dict.fromkeys(key.tested_on for key in groups):
        keys = [key for key in groups if key.tested_on == dataset]
        cells = [cell for key in keys for cell in groups[key]]
        available: dict[str, Column] = {}
        for table in plan.tables:
            available |= columns_of(plan, table, cells[0])
        for name, convention in FURTHER_COLUMNS.items():
            places = [(cell.key, convention, Part(), "mean") for cell in cells]
            if name not in available and all(place in scores for place in places):
                available[name] = Column(heading=name, convention=convention)
        first = [name for key in keys for name in published[key] if name in available]
        columns[dataset] = tuple(available[name] for name in dict.fromkeys([*first, *available]))
    return columns


def _metrics(
    plan: Manifest,
    row: Row,
    cells: Sequence[Cell],
    scores: Overall,
    published: Mapping[str, PublishedRuns],
) -> list[MetricRuns]:
    metrics = []
    for name, column in columns_of(plan, TABLE, cells[0]).items():
        runs = [scores[cell.key, *column.place, "mean"].value for cell in cells]
        values = [value for value in runs if value is not None]
        metrics.append(
            MetricRuns(
                name=name,
                convention=row.entries[name].convention,
                runs=tuple(runs),
                statistics=describe_runs(values) if len(values) == len(runs) else {},
                published=published.get(name),
            )
        )
    return metrics
