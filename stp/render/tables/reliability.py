"""Make table and strip plot of training runs that differ only in the seed, beside published runs.

Reliability is how little the scores of a model vary between such runs. PredBench shows it in
Tables 17 and 18, and stp writes its table as ``reliability.csv``.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from matplotlib.axes import Axes

from stp.collect.published import PublishedValue, of_cell, read_published
from stp.collect.scores import read_collected
from stp.page.commands import table_command
from stp.page.data_origin import origin
from stp.page.digits import format_number
from stp.page.figure_style import new_figure, paper_size, save
from stp.page.files import write_all
from stp.page.formats import render_grid
from stp.page.grid import Grid, Section
from stp.page.safe_text import csv_text
from stp.plan.cell_key import CellKey
from stp.plan.column import Column, Part
from stp.plan.manifest import Cell, Manifest, columns_of, load_manifest
from stp.plan.manifest_types import TableColumns
from stp.render.direction import Direction, heading
from stp.render.tables.demands import demand_runs
from stp.render.tables.paper_table import demand_complete
from stp.render.tables.rows import Overall, Row, make_rows, overall
from stp.render.tables.run_statistics import PAPER_P, PAPER_STD, describe_runs, explain_statistic
from stp.run.results import rows_of

TABLE = "reliability"
"""Name of the table, and of the dimension of its published values."""
FURTHER_COLUMNS = {"MAE": "mae.pixel_sum", "MSE": "mse.pixel_sum"}
"""Columns that are published for repeated runs, but not in other tables of the same datasets."""
HEADER = (
    *("source", "scale", "protocol", "comparable", "dataset", "model", "column", "convention"),
    *("statistic", "seed", "value", "published", "from published runs", "difference", "notes"),
)
"""Columns of the CSV file, which has a line for each run and each statistic of a metric."""
OURS, PAPER = "#0072b2", "#d55e00"
PANEL = 2.3
"""Size of a panel, inches."""
WIDTH = 0.36
"""Half of a strip, in units of the distance between two strips."""


@dataclass(frozen=True)
class PublishedRuns:
    """Values of one metric in repeated training runs of one model, as printed in the paper.

    Attributes:
        runs: printed value of each run, as text.
        std: printed standard deviation of the runs, as text.
        pvalue: printed p value, as text. The paper does not name the test. The larger p value of
            two t-tests reproduces it: the first half of the runs against the second, and runs with
            odd numbers against runs with even numbers.
        note: reason why the printed values are doubtful; else empty.
        statistics: statistics by name (see `describe_runs`), computed by stp from the printed,
            rounded runs.
    """

    runs: tuple[str, ...]
    std: str
    pvalue: str
    note: str
    statistics: Mapping[str, float | None]


@dataclass(frozen=True)
class MetricRuns:
    """Values of one metric in repeated training runs of one model, with their statistics.

    Attributes:
        name: heading of the metric's column, such as ``SSIM``.
        convention: name of the convention, such as ``ssim.range2``.
        runs: value of each seed, over all samples and lead times; None for a seed without a value.
        statistics: statistics by name (see `describe_runs`); empty unless every run has a value.
        published: runs printed in the paper; None if there are none.
    """

    name: str
    convention: str
    runs: tuple[float | None, ...]
    statistics: Mapping[str, float | None]
    published: PublishedRuns | None


@dataclass(frozen=True)
class RepeatedRuns:
    """Repeated runs of one model on one dataset, with several seeds.

    Attributes:
        row: table row with the means over all runs.
        seeds: seed of each run.
        columns: values of all runs, for each metric.
    """

    row: Row
    seeds: tuple[int, ...]
    columns: tuple[MetricRuns, ...]


def read_runs(manifest: Path) -> tuple[Manifest, list[RepeatedRuns]]:
    """Read the repeated runs of every model that is trained with several seeds.

    Args:
        manifest: path of the manifest (JSON), the part of the plan that the table is made from.

    Returns:
        the content of the manifest, reduced to such models; and the runs of each model on each
        dataset, in the order of the manifest.

    Raises:
        StpError: a file is missing or damaged, there are fewer than four seeds, or a run has no
            scores or lacks a column.
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

    collected = rows_of(manifest)
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
    """Collect the published values of one metric of one model, and compute statistics of the runs.

    Args:
        values: printed values by their names: run1, run2, ..., std, pvalue.
    """
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
    """Choose the columns for each dataset.

    They are the columns of the dataset's other tables and, if all runs have values for them,
    `FURTHER_COLUMNS`. Columns with published runs come first, in the order of the paper.
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


def render_reliability(manifest: Path, out: Path) -> None:
    """Write the table of repeated training runs, and draw the runs.

    The table has, for each model and metric, the score of each run and statistics of their spread
    over seeds, beside the paper's. It is written as .csv, .md, .tex and .html, the drawing (strip
    plot) as .png and .svg.

    Args:
        manifest: path of the manifest (JSON), the part of the plan that the table is made from.
        out: path of the CSV file; the other files are written next to it.

    Raises:
        StpError: a file is missing or damaged, there are fewer than four seeds, or a run is
            missing; nothing is written.
    """
    plan, models = read_runs(manifest)
    pages = render_grid(_grid(plan, models, out.stem), out.parent)
    draw(models, out.with_suffix(".png"))
    write_all({out: _csv(models), **pages})


def _csv(models: list[RepeatedRuns]) -> str:
    lines: list[list[object]] = [list(HEADER)]
    for model in models:
        row = model.row
        first = [row.source, row.scale, row.protocol, row.comparability, row.dataset, row.model]
        for column in model.columns:
            published = column.published
            notes = [*row.notes]
            if published and published.note:
                notes.append(f"published {column.name}: {published.note}")
            for line in [*_run_lines(model, column), *_statistic_lines(model, column)]:
                lines.append([*first, column.name, column.convention, *line, "; ".join(notes)])
    return csv_text(lines)


def _run_lines(model: RepeatedRuns, column: MetricRuns) -> Iterable[list[object]]:
    """Yield a CSV line for each run, with published runs in their printed order."""
    published = column.published.runs if column.published else ()
    for i in range(max(len(column.runs), len(published))):
        has_run = i < len(column.runs)
        yield [
            f"run {i + 1}",
            model.seeds[i] if has_run else "",
            format_number(column.runs[i] if has_run else None),
            published[i] if i < len(published) else "",
            "",
            "",
        ]


def _statistic_lines(model: RepeatedRuns, column: MetricRuns) -> Iterable[list[object]]:
    published = column.published
    of_published = published.statistics if published else {}
    printed = {PAPER_STD: published.std, PAPER_P: published.pvalue} if published else {}
    for name in dict.fromkeys([*column.statistics, *of_published]):
        value, other = column.statistics.get(name), of_published.get(name)
        fair = model.row.comparable and published and not published.note and name == "mean"
        difference = value - other if fair and value is not None and other is not None else None
        yield [
            name,
            "",
            format_number(value),
            printed.get(name, ""),
            format_number(other),
            format_number(difference),
        ]


def _grid(plan: Manifest, models: list[RepeatedRuns], name: str) -> Grid:
    warnings = []
    other_data = [m.row for m in models if not m.row.comparable and m.row.source != "own"]
    if other_data:
        origins = sorted({origin(row.source, row.protocol) for row in other_data})
        warnings.append(
            f"WARNING: the runs of {len(other_data)} of {len(models)} studies are NOT COMPARABLE "
            f"with the published ones: {'; '.join(origins)}."
        )
    return Grid(
        name=name,
        title=f"Reliability, scale {plan.scale}",
        intro=[
            "Each model is trained once with each seed. A run is its mean score over test samples "
            f"and lead times. Rows `paper` are of {plan.suite.title}: runs, std and pvalue as "
            "published; all other statistics are computed here from the published, rounded runs. "
            "Run 3 of ours and run 3 of the paper share nothing but their number.",
            "A p-value near 1 does not show reliability. Both groups are runs of the same program, "
            "so a difference would be a surprise, and failing to find one among so few runs is "
            "absence of evidence. What counts is the spread of the runs: the second table.",
        ],
        sections=[section for model in models for section in _sections(plan, model)],
        warnings=warnings,
        legend=list(_legend(plan, models)),
        made_from=f"Made from `results/{plan.scale}/collected/{plan.dimension}.parquet` and "
        f"published values by `{table_command(plan.scale, name)}`.",
    )


def _sections(plan: Manifest, model: RepeatedRuns) -> Iterable[Section]:
    row = model.row
    title = f"{row.dataset}, {row.model}"
    intro = [
        f"{origin(row.source, row.protocol)}, scale {row.scale}; seeds "
        f"{', '.join(map(str, model.seeds))}; {row.samples or 'no'} test samples."
    ]
    notes = [*row.notes]
    notes += [
        f"published {column.name}: {column.published.note}"
        for column in model.columns
        if column.published and column.published.note
    ]
    yield _section(f"{title}: runs", _runs_table(plan, model), intro, notes)
    yield _section(f"{title}: spread of the runs", _spread_table(plan, model), intro, [])


def _section(title: str, lines: Iterable[list[str]], intro: list[str], notes: list[str]) -> Section:
    """Make a section of a page; the first line contains the column headings."""
    columns, *rows = lines
    numeric = [False, False, *[True] * (len(columns) - 2)]
    return Section(title, columns, [list(row) for row in rows], numeric, intro, notes)


def _runs_table(plan: Manifest, model: RepeatedRuns) -> Iterable[list[str]]:
    """Yield the lines of a table with a metric in each row and a run in each column."""
    published = [column.published for column in model.columns if column.published]
    most = max([len(model.seeds), *(len(column.runs) for column in published)])
    yield ["metric", "values", *map(str, range(1, most + 1)), "std", "pvalue"]
    for column in model.columns:
        runs = [_digits(value, column.statistics.get("std.sample")) for value in column.runs]
        runs += [""] * (most - len(runs))
        std, p = (column.statistics.get(name) for name in (PAPER_STD, PAPER_P))
        yield [_heading(plan, column), "ours", *runs, _format_value(std), _probability(p)]
        if column.published:
            printed = [*column.published.runs] + [""] * (most - len(column.published.runs))
            yield ["", "paper", *printed, column.published.std, column.published.pvalue]


def _spread_table(plan: Manifest, model: RepeatedRuns) -> Iterable[list[str]]:
    names = {
        name
        for column in model.columns
        for statistics in (
            column.statistics,
            column.published.statistics if column.published else {},
        )
        for name in statistics
    }
    differences = sorted(
        (name for name in names if name.startswith("mdd.")), key=lambda name: int(name[4:])
    )
    tests = ["p.halves", "p.alternating"]
    header = ["mean", "95 % interval of the mean", "std.sample", "min", "max", "range"]
    yield ["metric", "values", *header, "cv", *differences, *tests]
    for column in model.columns:
        rows = {"ours": column.statistics}
        rows |= {"paper": column.published.statistics} if column.published else {}
        for side, statistics in rows.items():
            std = statistics.get("std.sample")
            mean, low, high, least, most = (
                _digits(statistics.get(name), std)
                for name in ("mean", "ci95_low", "ci95_high", "min", "max")
            )
            cv = statistics.get("cv")
            yield [
                _heading(plan, column) if side == "ours" else "",
                side,
                mean,
                f"{low} to {high}" if statistics else "–",
                _format_value(std),
                least,
                most,
                _format_value(statistics.get("range")),
                "–" if cv is None else f"{100 * cv:.2g} %",
                *(_format_value(statistics.get(name)) for name in differences),
                *(_probability(statistics.get(name)) for name in tests),
            ]


def _heading(plan: Manifest, column: MetricRuns) -> str:
    return heading(column.name, Direction.of(plan, column.convention))


def _digits(value: float | None, std: float | None) -> str:
    """Format a value with as many decimals as show two digits of the runs' standard deviation."""
    if value is None:
        return "–"
    if not std:
        return f"{value:.6g}"
    return f"{value:.{min(12, max(0, 1 - math.floor(math.log10(std))))}f}"


def _format_value(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _probability(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _legend(plan: Manifest, models: list[RepeatedRuns]) -> Iterable[str]:
    datasets_of: dict[tuple[str, str], dict[str, None]] = {}
    statistics: dict[str, None] = {}
    for model in models:
        for column in model.columns:
            datasets = datasets_of.setdefault((column.name, column.convention), {})
            datasets[model.row.dataset] = None
            statistics |= dict.fromkeys(column.statistics)
            statistics |= dict.fromkeys(column.published.statistics if column.published else {})
    for (name, convention), datasets in datasets_of.items():
        facts = plan.conventions[convention]
        text = ": ".join(filter(None, [facts.title, facts.description]))
        yield (
            f"{name} ({', '.join(datasets)}): `{convention}`"
            + (f", {text}" if text else "")
            + (f" [{facts.unit}]" if facts.unit != "1" else "")
        )
    yield f"std: `{PAPER_STD}`; pvalue: `{PAPER_P}`; –: undefined or not available"
    for statistic in statistics:
        yield f"`{statistic}`: {explain_statistic(statistic)}"


def draw(models: Sequence[RepeatedRuns], out: Path) -> None:
    """Draw repeated training runs: a row of panels for each model, a panel for each metric.

    Published runs are drawn only beside runs on official data under the paper's protocol, because
    values on other data may have another magnitude.

    Args:
        models: repeated runs of each model on each dataset.
        out: path of the PNG file; an SVG file is written next to it.
    """
    most = max(len(model.columns) for model in models)
    origins = dict.fromkeys(origin(model.row.source, model.row.protocol) for model in models)
    note = f"runs in the order of their seeds, mean and its 95 % interval ({'; '.join(origins)})"
    with paper_size():
        figure = new_figure(PANEL * most, PANEL * len(models))
        panels = figure.subplots(len(models), most, squeeze=False)
        for row, model in zip(panels, models, strict=True):
            for axes in row[len(model.columns) :]:
                axes.set_axis_off()
            for axes, column in zip(row, model.columns, strict=False):
                _panel(axes, model, column)
            row[0].set_ylabel(f"{model.row.dataset}\n{model.row.model}")
        save(figure, out, note)


def _panel(axes: Axes, model: RepeatedRuns, column: MetricRuns) -> None:
    axes.set_title(column.name)
    axes.set_xticks([])
    if not column.statistics:
        axes.text(0.5, 0.5, "not available", ha="center", va="center", transform=axes.transAxes)
        axes.set_yticks([])
        return
    strips = [("ours", OURS, [run for run in column.runs if run is not None], column.statistics)]
    if column.published and model.row.source == "official" and model.row.protocol == "paper":
        runs = [float(value) for value in column.published.runs]
        strips.append(("paper", PAPER, runs, column.published.statistics))
    for x, (_, colour, runs, statistics) in enumerate(strips):
        _strip(axes, x, colour, runs, statistics)
    axes.set_xlim(-0.5, len(strips) - 0.5)
    axes.set_xticks(range(len(strips)), [name for name, *_ in strips])
    axes.ticklabel_format(axis="y", useOffset=False)


def _strip(
    axes: Axes,
    x: int,
    colour: str,
    runs: Sequence[float],
    statistics: Mapping[str, float | None],
) -> None:
    """Draw runs from left to right in order, in front of their interval."""
    low, high, mean = statistics["ci95_low"], statistics["ci95_high"], statistics["mean"]
    assert low is not None and high is not None and mean is not None
    sides = (x - WIDTH, x + WIDTH)
    axes.fill_between(sides, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(sides, (mean, mean), color=colour, linewidth=1)
    steps = [WIDTH * (2 * i / (len(runs) - 1) - 1) for i in range(len(runs))]
    axes.plot([x + step for step in steps], runs, "o", color=colour, markersize=3)
