"""Read the collected scores of a dimension, for figures.

A dimension is a question of a suite with a table of its own. A case is one of its tests, such as
``kitti-caltech``: training and test dataset, subset and setting.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from stp.collect.published import PublishedValue, read_published, select_published
from stp.collect.scores import read_collected
from stp.core.errors import FileError, StpError, suggest_name
from stp.page.figure_style import Style, origin_note, styles
from stp.page.units import format_unit
from stp.plan.column import Column
from stp.plan.manifest import (
    Cell,
    Manifest,
    columns_of,
    load_manifest,
    over_leads,
    title_of,
)
from stp.render.data_units import unit_of_value
from stp.render.direction import Direction, heading
from stp.render.tables.rows import Entry, Row, gaps, make_rows, overall


@dataclass(frozen=True)
class Line:
    """The results of one model in one case (a test of the dimension), with all seeds.

    Attributes:
        model: title of the model.
        cells: results of the model, one cell for each seed.
        row: the model's row of the dimension's table, with values over all lead times.
    """

    model: str
    cells: list[Cell]
    row: Row


@dataclass(frozen=True)
class Scores:
    """The scores of a dimension (a question of the benchmark, with its own table), for figures.

    Made by `read`.

    Attributes:
        manifest: path of the dimension's manifest.
        results: folder of results.
        plan: content of the manifest: models, tests, columns of the table, and titles.
        rows: all collected score rows.
        cases: results of the models by case (name of the test), in the order of the manifest.
        styles: style of each model, by title.
        baselines: titles of models that are neither trained by gradient descent nor archives of
            forecasts.
        published: published values of the dimension.
    """

    manifest: Path
    results: Path
    plan: Manifest
    rows: pa.Table
    cases: dict[str, list[Line]]
    styles: dict[str, Style]
    baselines: set[str]
    published: tuple[PublishedValue, ...]

    def over_leads(self) -> Self:
        """Copy the scores for figures over lead time, which may show other metrics than the table.

        A suite declares these metrics as ``curves`` in its configuration. In the copy, they replace
        the columns of the table. If a suite declares none, the columns stay as they are.
        """
        return replace(self, plan=over_leads(self.plan))

    def lines(self, case: str | None) -> list[Line]:
        """The results of all models in a case (a test of the dimension).

        Args:
            case: name of the case, such as ``kitti-caltech``; None is refused as unknown.

        Raises:
            StpError: the case is unknown.
        """
        if case not in self.cases:
            raise StpError(
                f"nothing of the dimension {self.plan.dimension} was tested on {case!r}",
                remedy=suggest_name(str(case), self.cases),
            )
        return self.cases[case]

    def title(self, case: str) -> str:
        """Title of a case (a test of the dimension), such as ``KITTI -> Caltech``.

        Args:
            case: name of the case, such as ``kitti-caltech``.
        """
        return title_of(self.plan.names, self.cases[case][0].cells[0].key)

    def about(self, cases: Iterable[str] | None = None) -> str:
        """Name the dimension (table), and describe origin and protocol of its data, for a note.

        Args:
            cases: names of the tests whose data are described; None for all tests.
        """
        return f"{self.plan.dimension.replace('_', ' ')}: {origin_note(self.cells(cases))}"

    def columns(self, case: str) -> dict[str, Column]:
        """Columns of the table for a case (a test of the dimension), by name."""
        return columns_of(self.plan, self.plan.dimension, self.cases[case][0].cells[0])

    def column(self, case: str, name: str) -> Column:
        """Find a column of the table by name, in any model's results in a case (one test).

        All models are searched, since models with several forecasts of each clip may have columns
        that the other models lack.

        Args:
            case: name of the case, such as ``kitti-caltech``.
            name: name of the column, such as ``SSIM``.

        Raises:
            KeyError: no model of the case has such a column.
        """
        for line in self.cases[case]:
            columns = columns_of(self.plan, self.plan.dimension, line.cells[0])
            if name in columns:
                return columns[name]
        raise KeyError(name)

    def direction(self, case: str, column: str) -> Direction:
        """Direction of better values in a column, such as higher or lower.

        Args:
            case: name of a case (a test of the dimension), such as ``kitti-caltech``.
            column: name of the column, such as ``SSIM``.
        """
        return Direction.of(self.plan, self.column(case, column).convention)

    def heading(self, case: str, column: str) -> str:
        """Append a sign for the direction of better values to a column's name, as in ``SSIM ↑``.

        Args:
            case: name of a case (a test of the dimension), such as ``kitti-caltech``, whose tables
                have the column.
            column: name of the column, such as ``SSIM``.
        """
        return heading(column, self.direction(case, column))

    def unit(self, case: str, column: str) -> str:
        """Unit of a column's values; empty if unknown, or if there is none.

        Args:
            case: name of a case (a test of the dimension), such as ``kitti-caltech``.
            column: name of the column, such as ``SSIM``.
        """
        cell, of_column = self.cases[case][0].cells[0], self.column(case, column)
        if of_column.unit:
            return format_unit(of_column.unit)
        declared = self.plan.conventions[of_column.convention].unit
        facts = self.plan.datasets.get(cell.key.tested_on)
        return unit_of_value(
            Path(cell.data),
            declared,
            of_column.convention,
            of_column.variable,
            stated=facts.units if facts else "",
        )

    def cells(self, cases: Iterable[str] | None = None) -> list[Cell]:
        """List the cells (results of one model and seed) of some cases.

        Args:
            cases: names of the cases (tests of the dimension); None for all.
        """
        return [
            cell
            for case in (self.cases if cases is None else cases)
            for line in self.cases[case]
            for cell in line.cells
        ]


def read(manifest: Path, results: Path) -> Scores:
    """Read the scores of a dimension: a question of the benchmark, with its own table.

    Args:
        manifest: path of the dimension's manifest.
        results: folder of results with ``collected/<dimension>.parquet``.

    Raises:
        StpError: a file is missing or damaged, or a planned result has no scores or lacks a column.
    """
    plan = load_manifest(manifest)
    table = plan.dimension
    path = results / "collected" / f"{table}.parquet"
    rows = read_collected(path)
    scores = overall(rows)
    lacking = gaps(plan, table, rows, scores)
    if lacking:
        raise FileError(
            path,
            "scores are missing" + "".join(f"\n  {gap}" for gap in lacking),
            remedy=f"collect again: make results/tables/{table}.csv",
        )
    published = read_published(plan.published)
    table_rows = make_rows(plan, table, scores, published, {})
    cases: dict[str, list[Line]] = {}
    for row in table_rows:
        if not row.cells:  # a method with published values only
            continue
        case = row.cells[0].key.case_name
        cases.setdefault(case, []).append(Line(row.model, list(row.cells), row))
    lines = [line for case in cases.values() for line in case]
    archived = {name for name, facts in plan.models.items() if facts.is_archived}
    keys = {line.model: line.cells[0].key for line in lines}
    plain = {name for name, key in keys.items() if key.seed is None and key.model not in archived}
    style_of = styles(list(keys), plain)
    return Scores(manifest, results, plan, rows, cases, style_of, plain, published)


def by_lead(scores: Scores, case: str) -> dict[str, dict[int, dict[str, Entry]]]:
    """Make table entries for each lead time of a case (a test of the dimension).

    Args:
        scores: scores of the dimension.
        case: name of the case.

    Returns:
        entries by title of the model, then by lead time (in steps, from 1), then by column. An
        entry without a value has a reason instead.
    """
    lines = scores.lines(case)
    plan = replace(scores.plan, cells=tuple(scores.cells([case])))
    folders = {
        folder.name for cell in plan.cells for folder in cell.folders(("scores", "perceptual"))
    }
    rows = scores.rows
    rows = rows.filter(pc.is_in(rows["scores_fingerprint"], pa.array(sorted(folders))))
    entries_by_lead: dict[str, dict[int, dict[str, Entry]]] = {line.model: {} for line in lines}
    for lead in sorted(pc.unique(rows["lead"].drop_null()).to_pylist()):
        rows_at_lead = make_rows(plan, plan.dimension, overall(rows, lead), [], {})
        for line, row in zip(lines, rows_at_lead, strict=True):
            entries_by_lead[line.model][lead] = row.entries
    return entries_by_lead


def published_by_lead(scores: Scores, case: str, column: str) -> dict[str, dict[int, float]]:
    """Select the published values of a column for one test (a case), at each lead time.

    Models with a value at only one lead time are left out.

    Args:
        scores: scores of the dimension.
        case: name of the case.
        column: name of the column, such as ``SSIM``.

    Returns:
        values by the paper's name of the model, then by lead time.
    """
    of_column = scores.column(case, column)
    cell = scores.lines(case)[0].cells[0]
    by_model: dict[str, dict[int, float]] = {}
    for value in select_published(scores.plan, cell, scores.published):
        is_of_column = (value.metric, value.variable) == (of_column.heading, of_column.variable)
        if is_of_column and (value.leads or "").isdigit():
            by_model.setdefault(value.model, {})[int(str(value.leads))] = value.value
    return {model: values for model, values in by_model.items() if len(values) > 1}


def printed_name(scores: Scores, line: Line) -> str | None:
    """The paper's name of a model; None if the paper does not name it.

    For results of a variant (a named set of options), it is the paper's name of this variant.

    Args:
        scores: scores of the dimension, with the names in the paper.
        line: results of the model in one case (a test of the dimension), as in ``scores.cases``.
    """
    return scores.plan.published_names.of_model(line.cells[0].key)


class Value(NamedTuple):
    """A value of a model, with its interval.

    Attributes:
        value: mean over seeds.
        low, high: ends of the 95 % interval, averaged over seeds; None without an interval.
    """

    value: float
    low: float | None
    high: float | None


Place = tuple[str | None, float | None, int]
"""Variable, threshold, and lead time from 1."""


def at_leads(scores: Scores, case: str, convention: str) -> dict[str, dict[Place, Value]]:
    """Select the values of a convention (one exact definition of a metric) at single lead times.

    Args:
        scores: scores of the dimension.
        case: name of a case (a test of the dimension).
        convention: name of the convention, such as ``ssim.range2``.

    Returns:
        values by title of the model, then by variable, threshold and lead time (`Place`). For some
        conventions, the threshold is a band of wavenumbers, or the rank of an observation.
    """
    rows = scores.rows
    is_valid = pc.and_(pc.equal(rows["convention"], convention), pc.is_valid(rows["lead"]))
    is_valid = pc.and_(is_valid, pc.and_(pc.is_null(rows["level"]), pc.is_valid(rows["value"])))
    by_cell: dict[str, list[dict[str, Any]]] = {}
    for row in rows.filter(is_valid).to_pylist():
        by_cell.setdefault(row["scores_fingerprint"], []).append(row)
    by_model: dict[str, dict[Place, Value]] = {}
    for line in scores.lines(case):
        seeds: dict[Place, dict[str, list[float]]] = {}
        for folder in (folder for cell in line.cells for folder in cell.folders(("scores",))):
            for row in by_cell.get(folder.name, ()):
                key = seeds.setdefault((row["variable"], row["threshold"], row["lead"]), {})
                key.setdefault(row["statistic"], []).append(row["value"])
        by_model[line.model] = {
            key: Value(
                fmean(statistics["mean"]),
                _mean(statistics, "ci95_low"),
                _mean(statistics, "ci95_high"),
            )
            for key, statistics in seeds.items()
            if "mean" in statistics
        }
    return by_model


def _mean(statistics: dict[str, list[float]], statistic: str) -> float | None:
    return fmean(statistics[statistic]) if statistic in statistics else None


def variables_of(scores: Scores, case: str) -> list[str]:
    """Names of the variables that the columns for a test show, in the order of the columns."""
    names = (column.variable for column in scores.columns(case).values())
    return [name for name in dict.fromkeys(names) if name is not None]
