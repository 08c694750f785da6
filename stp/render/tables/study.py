"""Read the runs of a reliability study: one model, trained once with each of several seeds.

Beside our runs stand those that the PredBench paper prints (Tables 17 and 18, appendix C.3), where
it has the model and the dataset.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from stp.collect.published import PublishedValue, of_cell, read_published
from stp.collect.scores import read_collected
from stp.core.errors import StpError
from stp.plan.cell_key import CellKey
from stp.plan.column import Column, Part
from stp.plan.manifest import Cell, Manifest, columns_of, load_manifest
from stp.plan.manifest_types import TableColumns
from stp.render.tables.groups import demand_runs
from stp.render.tables.repeated import describe_runs
from stp.render.tables.rows import Overall, Row, gaps, make_rows, overall

TABLE = "reliability"
BESIDES = {"MAE": "mae.pixel_sum", "MSE": "mse.pixel_sum"}
"""Columns of Table 18 that the paper's other tables of such datasets do not have."""


@dataclass(frozen=True)
class Printed:
    """A column of Table 17 or 18.

    Attributes:
        runs: values as printed.
        std, pvalue: as printed, below them.
        note: why the column is doubtful; empty if it is not.
        found: statistics of the printed, rounded runs, computed here.
    """

    runs: tuple[str, ...]
    std: str
    pvalue: str
    note: str
    found: Mapping[str, float | None]


@dataclass(frozen=True)
class Repeated:
    """The runs of one metric.

    Attributes:
        convention: exact definition of the metric.
        runs: overall value of each seed; None has a reason.
        found: their statistics; empty unless every run has a value.
        reason: why a value is absent; empty if none is.
    """

    name: str
    convention: str
    runs: tuple[float | None, ...]
    found: Mapping[str, float | None]
    reason: str
    printed: Printed | None


@dataclass(frozen=True)
class Study:
    """All runs of one model on one dataset.

    Attributes:
        row: what the runs have in common, and the mean over them.
        seeds: in the order of the runs.
    """

    row: Row
    seeds: tuple[int, ...]
    columns: tuple[Repeated, ...]


def read_studies(manifest: Path, collected: Path) -> tuple[Manifest, list[Study]]:
    """Read the runs of every model that was trained with seeds, in the order of the manifest.

    Args:
        manifest: the cells.
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
    demand_runs([(_name(group[0]), len(group)) for group in groups.values()], str(manifest))
    for group in groups.values():
        group.sort(key=lambda cell: cell.key.seed or 0)

    rows = read_collected(collected)
    scores = overall(rows)
    printed = _all_printed(plan, groups)
    plan = _plan_of_study(plan, groups, scores, printed)
    _demand_complete(plan, rows, scores, collected)
    # make_rows groups cells by the same key, in the order of their first appearance.
    made = make_rows(plan, TABLE, scores, [], {})
    return plan, [
        _study(plan, row, group, scores, printed[key])
        for row, (key, group) in zip(made, groups.items(), strict=True)
    ]


def _name(cell: Cell) -> str:
    key = cell.key
    return f"{key.model} on {key.tested_on}"


def _plan_of_study(
    plan: Manifest,
    groups: Mapping[CellKey, list[Cell]],
    scores: Overall,
    printed: Mapping[CellKey, Mapping[str, Printed]],
) -> Manifest:
    """The manifest, with the cells that have seeds only and one table: this one.

    Its columns are those of the dataset in the other tables and `BESIDES`, where all runs have
    them; first those of the paper's study, in its order.
    """
    datasets = dict.fromkeys(group[0].key.tested_on for group in groups.values())
    columns: dict[str, tuple[Column, ...]] = {}
    for dataset in datasets:
        keys = [key for key, group in groups.items() if group[0].key.tested_on == dataset]
        cells = [cell for key in keys for cell in groups[key]]
        known: dict[str, Column] = {}
        for table in plan.tables:
            known |= columns_of(plan, table, cells[0])
        for name, convention in BESIDES.items():
            places = [(cell.key, convention, Part(), "mean") for cell in cells]
            if name not in known and all(place in scores for place in places):
                known[name] = Column(heading=name, convention=convention)
        first = [name for key in keys for name in printed[key] if name in known]
        columns[dataset] = tuple(known[name] for name in dict.fromkeys([*first, *known]))
    return replace(
        plan,
        cells=tuple(cell for group in groups.values() for cell in group),
        tables={TABLE: TableColumns(columns)},
    )


def _demand_complete(plan: Manifest, rows: pa.Table, scores: Overall, path: Path) -> None:
    """Refuse a study with gaps: every run has an overall row for every column."""
    lacking = gaps(plan, TABLE, rows, scores)
    if lacking:
        raise StpError(
            f"{path}: runs are missing" + "".join(f"\n  {gap}" for gap in lacking),
            expected=f"the scores of all {len(plan.cells)} runs of the manifest",
            remedy="score the missing runs and collect again: ask for the table",
        )


def _study(
    plan: Manifest,
    row: Row,
    group: Sequence[Cell],
    scores: Overall,
    printed: Mapping[str, Printed],
) -> Study:
    columns = []
    for name, entry in row.entries.items():
        place = columns_of(plan, TABLE, group[0])[name].place
        places = [(cell.key, *place, "mean") for cell in group]
        values: list[float | None] = [scores[place].value for place in places]
        runs = [value for value in values if value is not None]
        columns.append(
            Repeated(
                name=name,
                convention=entry.convention,
                runs=tuple(values),
                found=describe_runs(runs) if len(runs) == len(values) else {},
                reason=entry.reason if entry.value is None else "",
                printed=printed.get(name),
            )
        )
    seeds = tuple(cell.key.seed for cell in group if cell.key.seed is not None)
    return Study(row, seeds, tuple(columns))


def _all_printed(
    plan: Manifest, groups: Mapping[CellKey, list[Cell]]
) -> dict[CellKey, dict[str, Printed]]:
    """Find the columns that the paper prints for the runs of each model and dataset.

    The paper repeated what it tests as it was trained: a cell of another part, training or setting
    has nothing printed.
    """
    repeated = replace(plan, dimension=TABLE)
    published = read_published(plan.published)
    found: dict[CellKey, dict[str, Printed]] = {}
    for group_key, group in groups.items():
        columns: dict[str, dict[str, PublishedValue]] = {}
        for value in of_cell(repeated, group[0], published):
            columns.setdefault(value.metric, {})[value.run] = value
        found[group_key] = {name: read_column(runs) for name, runs in columns.items()}
    return found


def read_column(printed: Mapping[str, PublishedValue]) -> Printed:
    """Make a printed column of its published values, by run: run1, run2, ..., std, pvalue."""
    runs = [printed[f"run{number}"] for number in range(1, len(printed) - 1)]
    return Printed(
        runs=tuple(one.raw for one in runs),
        std=printed["std"].raw,
        pvalue=printed["pvalue"].raw,
        note="; ".join(dict.fromkeys(one.note for one in printed.values() if one.note)),
        found=describe_runs([one.value for one in runs]),
    )
