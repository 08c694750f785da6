"""What figures are drawn from: the collected scores of a dimension, by case and model."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from stp.collect.published import PublishedValue, beside, read_published
from stp.collect.scores import read_collected
from stp.core.errors import StpError, nearest
from stp.page.figure_style import Style, styles, whose
from stp.page.units import readable
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
    """All seeds of one model in one case.

    Attributes:
        model: name for people.
        row: values over all lead times, by column.
    """

    model: str
    cells: list[Cell]
    row: Row


@dataclass(frozen=True)
class Scores:
    """The scores of a dimension.

    Attributes:
        rows: all collected rows.
        cases: what was tested -> the models, both in the order of the manifest.
        styles: how each model is drawn.
        baselines: models that nothing is trained for by gradient descent, unless their forecasts
            are those of somebody's archive.
        published: values that the paper prints.
    """

    plan: Manifest
    rows: pa.Table
    cases: dict[str, list[Line]]
    styles: dict[str, Style]
    baselines: set[str]
    published: tuple[PublishedValue, ...] = ()

    def over_leads(self) -> Self:
        """The same, with the panels over lead time as columns where the suite has such."""
        return replace(self, plan=over_leads(self.plan))

    def lines(self, case: str | None) -> list[Line]:
        """The models of a case.

        Raises:
            StpError: there is no such case.
        """
        if case not in self.cases:
            raise StpError(
                f"nothing of the dimension {self.plan.dimension} was tested on {case!r}",
                expected=f"one of {', '.join(self.cases)}",
                remedy=nearest(str(case), self.cases),
            )
        return self.cases[case]

    def title(self, case: str) -> str:
        """What was tested, for people."""
        return title_of(self.plan.names, self.cases[case][0].cells[0].key)

    def about(self, cases: Iterable[str] | None = None) -> str:
        """The dimension, and whose bytes and which protocol the numbers come from."""
        return f"{self.plan.dimension.replace('_', ' ')}: {whose(self.cells(cases))}"

    def columns(self, case: str) -> dict[str, Column]:
        """Columns of the table by their names."""
        return columns_of(self.plan, self.plan.dimension, self.cases[case][0].cells[0])

    def direction(self, case: str, column: str) -> Direction:
        """Which values of a column are better."""
        return Direction.of(self.plan, self.columns(case)[column].convention)

    def heading(self, case: str, column: str) -> str:
        """The column's name, with a sign that points to better."""
        return heading(column, self.direction(case, column))

    def unit(self, case: str, column: str) -> str:
        """The unit of a column's values; empty where there is none, or it is not known."""
        cell, shown = self.cases[case][0].cells[0], self.columns(case)[column]
        if shown.unit:
            return readable(shown.unit)
        declared = self.plan.conventions[shown.convention].unit
        facts = self.plan.datasets.get(cell.key.tested_on)
        return unit_of_value(
            Path(cell.data),
            declared,
            shown.convention,
            shown.variable,
            stated=facts.units if facts else "",
        )

    def cells(self, cases: Iterable[str] | None = None) -> list[Cell]:
        """All cells of some cases, or of all."""
        return [
            cell
            for case in (self.cases if cases is None else cases)
            for line in self.cases[case]
            for cell in line.cells
        ]


def read(manifest: Path, results: Path) -> Scores:
    """Read the scores of a dimension.

    Args:
        manifest: its cells.
        results: the folder with ``collected/<dimension>.parquet``.

    Raises:
        StpError: a file is missing or damaged, or a cell has no rows or lacks a column.
    """
    plan = load_manifest(manifest)
    table = plan.dimension
    path = results / "collected" / f"{table}.parquet"
    rows = read_collected(path)
    scores = overall(rows)
    lacking = gaps(plan, table, rows, scores)
    if lacking:
        raise StpError(
            f"{path}: scores are missing" + "".join(f"\n  {gap}" for gap in lacking),
            expected="the scores of all cells of the manifest, for all its columns",
            remedy=f"collect again: ask for results/tables/{table}.csv",
        )
    published = read_published(plan.published)
    made = make_rows(plan, table, scores, published, {})
    cases: dict[str, list[Line]] = {}
    for row in made:
        if not row.cells:  # a method of the paper that there are no values of
            continue
        case = row.cells[0].key.case_name
        cases.setdefault(case, []).append(Line(row.model, list(row.cells), row))
    lines = [line for case in cases.values() for line in case]
    archived = {name for name, facts in plan.models.items() if facts.is_archived}
    keys = {line.model: line.cells[0].key for line in lines}
    plain = {name for name, key in keys.items() if key.seed is None and key.model not in archived}
    return Scores(plan, rows, cases, styles(list(keys), plain), plain, published)


def by_lead(scores: Scores, case: str) -> dict[str, dict[int, dict[str, Entry]]]:
    """Values at each lead time: model -> lead -> column -> value, in steps from 1.

    An entry without a value has its reason; a column may lack values of some leads, or of all.
    """
    lines = scores.lines(case)
    plan = replace(scores.plan, cells=tuple(scores.cells([case])))
    folders = {
        folder.name for cell in plan.cells for folder in cell.folders(("scores", "perceptual"))
    }
    rows = scores.rows
    rows = rows.filter(pc.is_in(rows["scores_fingerprint"], pa.array(sorted(folders))))
    found: dict[str, dict[int, dict[str, Entry]]] = {line.model: {} for line in lines}
    for lead in sorted(pc.unique(rows["lead"].drop_null()).to_pylist()):
        made = make_rows(plan, plan.dimension, overall(rows, lead), [], {})
        for line, row in zip(lines, made, strict=True):
            found[line.model][lead] = row.entries
    return found


def printed_by_lead(scores: Scores, case: str, column: str) -> dict[str, dict[int, float]]:
    """Values that the paper prints over lead time: model, as printed -> lead -> value.

    Those of a column are of its heading and variable, and of the test of the case; a value of one
    lead time alone is none over lead time.
    """
    shown = scores.columns(case)[column]
    cell = scores.lines(case)[0].cells[0]
    found: dict[str, dict[int, float]] = {}
    for one in beside(scores.plan, cell, scores.published):
        is_its = (one.metric, one.variable) == (shown.heading, shown.variable)
        if is_its and (one.leads or "").isdigit():
            found.setdefault(one.model, {})[int(str(one.leads))] = one.value
    return {model: values for model, values in found.items() if len(values) > 1}


def printed_name(scores: Scores, line: Line) -> str | None:
    """What the paper calls a model, or its variant."""
    return scores.plan.published_names.of_model(line.cells[0].key)


class Value(NamedTuple):
    """A value of a model, over its seeds.

    Attributes:
        value: their mean.
        low, high: ends of the 95 % interval, means over seeds; None where there is none.
    """

    value: float
    low: float | None
    high: float | None


Place = tuple[str | None, float | None, int]
"""Variable, threshold, lead time from 1."""


def at_leads(scores: Scores, case: str, convention: str) -> dict[str, dict[Place, Value]]:
    """Values of a convention at single lead times, by model; thresholds may be bands or ranks."""
    rows = scores.rows
    of_it = pc.and_(pc.equal(rows["convention"], convention), pc.is_valid(rows["lead"]))
    of_it = pc.and_(of_it, pc.and_(pc.is_null(rows["level"]), pc.is_valid(rows["value"])))
    by_cell: dict[str, list[dict[str, Any]]] = {}
    for row in rows.filter(of_it).to_pylist():
        by_cell.setdefault(row["scores_fingerprint"], []).append(row)
    found: dict[str, dict[Place, Value]] = {}
    for line in scores.lines(case):
        seeds: dict[Place, dict[str, list[float]]] = {}
        for folder in (folder for cell in line.cells for folder in cell.folders(("scores",))):
            for row in by_cell.get(folder.name, ()):
                place = seeds.setdefault((row["variable"], row["threshold"], row["lead"]), {})
                place.setdefault(row["statistic"], []).append(row["value"])
        found[line.model] = {
            place: Value(fmean(of["mean"]), _mean(of, "ci95_low"), _mean(of, "ci95_high"))
            for place, of in seeds.items()
            if "mean" in of
        }
    return found


def _mean(of: dict[str, list[float]], statistic: str) -> float | None:
    return fmean(of[statistic]) if statistic in of else None


def variables_of(scores: Scores, case: str) -> list[str]:
    """The variables that columns of a case are of, in their order."""
    named = (column.variable for column in scores.columns(case).values())
    return [name for name in dict.fromkeys(named) if name is not None]
