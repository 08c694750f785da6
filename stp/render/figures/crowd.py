"""Read the errors of predictors of people's paths by scenario, for figures.

An episode is a group of scenarios that overlap in time. Scenarios of one episode depend on each
other, so intervals treat each episode as a cluster.

Figures show a mean over scenarios with a band around it. If there are enough episodes, the band is
a 95 % interval over episodes. Otherwise it spans one standard deviation over scenarios to either
side, as in the Atlas paper.

A course is the results of one predictor in one test and setting, with all seeds. A test is a
dataset and a protocol, by which scenarios are cut. A setting is, for example, horizon and noise.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from stp.collect.artefact_views import ERRORS, file_of
from stp.core.errors import StpError, suggest_name
from stp.core.parquet import read_table
from stp.options.score import Bootstrap
from stp.page.figure_style import Style, styles
from stp.plan.manifest import Cell, forecast_recipe
from stp.plan.setting import setting_of
from stp.render.figures.kinds import evaluation_name
from stp.render.figures.panels import curve
from stp.render.figures.reading import Scores
from stp.render.tables.rows import PrintedValue
from stp.score.bootstrap import intervals
from stp.score.jackknife import FEWEST_CLUSTERS, leave_one_out_means

Column = Literal["ADE", "FDE"]
COLUMNS: tuple[Column, ...] = ("ADE", "FDE")
ELSEWHERE = "predictors that were calibrated on other data are left out"
MARKED = "hollow: as printed in the paper, from its own data"


@dataclass(frozen=True)
class ScenarioErrors:
    """Errors of one predictor in the S scenarios of one test, at each of T lead times.

    Attributes:
        errors: distance between predicted and true position at each lead time, averaged over the
            people of a scenario, in metres, (S, T). It is the final displacement error (FDE) of
            forecasts that end at this lead time.
        episode: number of the episode of each scenario, (S,). Scenarios that overlap in time belong
            to one episode, which is the cluster of intervals.
        people: number of people in each scenario, (S,).
        dt: time from one lead time to the next, in seconds.
    """

    errors: np.ndarray
    episode: np.ndarray
    people: np.ndarray
    dt: float

    @property
    def average(self) -> np.ndarray:
        """Average displacement errors (ADE) up to each lead time, in metres, (S, T)."""
        return np.asarray(self.errors.cumsum(axis=1) / np.arange(1, self.errors.shape[1] + 1))

    def of(self, column: Column) -> np.ndarray:
        """Errors of forecasts that are cut off after each of T lead times, in metres, (S, T).

        Args:
            column: ``ADE``, the mean error up to the cut, or ``FDE``, the error at the cut.
        """
        return self.average if column == "ADE" else self.errors

    @property
    def episodes(self) -> int:
        """Number of episodes, which are groups of scenarios that overlap in time."""
        return len(np.unique(self.episode))


class Band(NamedTuple):
    """Mean over scenarios at each of T lead times, with a band around it.

    Attributes:
        mean: mean over scenarios, (T,).
        low, high: ends of the band, (T,): a 95 % interval over episodes (groups of scenarios that
            overlap in time), or one standard deviation over scenarios to either side.
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Course:
    """The results of one predictor of people's paths in one test and setting, with all seeds.

    Attributes:
        label: title of the predictor, with its calibration data.
        evaluation: title of the test: dataset and protocol.
        cells: results of the predictor, one cell for each seed.
        setting: numbers that the setting changes, by name, e.g. ``{"horizon": 12, "noise": 200}``.
        published: values that the paper prints for this course, by column, such as ``ADE``.
    """

    label: str
    evaluation: str
    cells: list[Cell]
    setting: dict[str, int]
    published: dict[str, PrintedValue]

    def scenes(self) -> list[ScenarioErrors]:
        """Errors by scenario, for each seed."""
        return [read_scenes(cell) for cell in self.cells]

    def band(self, column: Column, interval: bool) -> Band:
        """Mean over scenarios at each lead time, and a band around it, both averaged over seeds.

        Args:
            column: error to average: ``ADE`` or ``FDE``.
            interval: True for a band that is the 95 % interval over episodes (groups of scenarios
                that overlap in time); False for one standard deviation over scenarios to either
                side.
        """
        return average_bands(
            [band(scene.of(column), scene.episode, interval) for scene in self.scenes()]
        )


def have_enough_episodes(courses: Iterable[Course]) -> bool:
    """Whether all predictors of a panel have enough episodes for 95 % intervals.

    An episode is a group of scenarios that overlap in time; at least 10 are needed. If one
    predictor has fewer, no band of the panel is an interval, so that all bands mean the same.

    Args:
        courses: results of the predictors in one test.
    """
    return all(
        scenes.episodes >= FEWEST_CLUSTERS for course in courses for scenes in course.scenes()
    )


def read_scenes(cell: Cell) -> ScenarioErrors:
    """Read the errors of one predictor in one test (a cell), by scenario.

    Args:
        cell: the cell, whose folder of scores has the errors.

    Raises:
        StpError: the file is missing or damaged.
    """
    return _read(file_of(Path(cell.scores), ERRORS))


@cache
def _read(path: Path) -> ScenarioErrors:
    columns = ["scenario", "episode", "person", "lead", "lead_seconds", "error"]
    rows = read_table(path, columns, expected="the errors of people").to_pandas()
    errors = rows.groupby(["scenario", "lead"])["error"].mean().unstack()
    of_scenario = rows.groupby("scenario").agg(
        episode=("episode", "first"), people=("person", "nunique")
    )
    first = rows.iloc[0]
    return ScenarioErrors(
        errors.to_numpy(),
        of_scenario["episode"].to_numpy(),
        of_scenario["people"].to_numpy(),
        float(first["lead_seconds"] / first["lead"]),
    )


def band(values: np.ndarray, episode: np.ndarray, interval: bool) -> Band:
    """Compute the mean over scenarios at each lead time, and a band around it.

    Args:
        values: errors of S scenarios at T lead times, (S, T).
        episode: number of the episode of each scenario, (S,). An episode is a group of scenarios
            that overlap in time, which the interval treats as a cluster.
        interval: True for a band that is the 95 % interval over episodes, as in the tables; False
            for one standard deviation over scenarios to either side.
    """
    mean = values.mean(axis=0)
    if not interval:
        spread = values.std(axis=0)
        return Band(mean, mean - spread, mean + spread)
    codes, _ = pd.factorize(episode)
    sums = np.stack([np.bincount(codes, column) for column in values.T], axis=1)
    counts = np.bincount(codes)
    without = leave_one_out_means(sums, counts)
    low, high = intervals(mean, without, counts, resamples=Bootstrap.resamples, seed=Bootstrap.seed)
    return Band(mean, low, high)


def average_bands(bands: Sequence[Band]) -> Band:
    """Average the means and the ends of the bands of several seeds."""
    return Band(*(np.mean([band[field] for band in bands], axis=0) for field in range(3)))


def courses(scores: Scores, case: str | None = None) -> list[Course]:
    """Read the courses (results of one predictor in a test and setting) of all tests, or of one.

    Args:
        scores: scores of a dimension.
        case: name of the test, such as ``atlas_eth-strict``; None for all tests.

    Returns:
        courses grouped by test, and in each test in the order of the manifest.

    Raises:
        StpError: no test has this name.
    """
    names = scores.plan.names.datasets
    by_evaluation: dict[str, list[Course]] = {}
    for line in (line for lines in scores.cases.values() for line in lines):
        key = line.cells[0].key
        published = {n: e.published for n, e in line.row.entries.items() if e.published}
        tested = f"{names.get(key.tested_on, key.tested_on)}, {key.subset}"
        setting = setting_of(key.setting)
        course = Course(_label(scores, line.cells[0]), tested, line.cells, setting, published)
        by_evaluation.setdefault(evaluation_name(key), []).append(course)
    if case is None:
        return [course for of_evaluation in by_evaluation.values() for course in of_evaluation]
    if case not in by_evaluation:
        raise StpError(
            f"nothing of the dimension {scores.plan.dimension} was tested on {case!r}",
            remedy=suggest_name(case, by_evaluation),
        )
    return by_evaluation[case]


def calibrated_on_test(courses: Sequence[Course]) -> tuple[list[Course], list[str]]:
    """Leave out predictors that were calibrated on another dataset than the tested one.

    A model that was never calibrated on the tested dataset keeps all its predictors.

    Args:
        courses: results of predictors (models with their calibrations), one course for each
            predictor, test and setting.

    Returns:
        the courses that are kept, and a list of notes for the figure: `ELSEWHERE` if any course is
        left out, else none.
    """
    models = {course.cells[0].key.model for course in courses if _is_home(course)}
    selected = [
        course for course in courses if _is_home(course) or course.cells[0].key.model not in models
    ]
    return selected, [ELSEWHERE] if len(selected) < len(courses) else []


def _is_home(course: Course) -> bool:
    key = course.cells[0].key
    return key.trained_on == key.tested_on


def _label(scores: Scores, cell: Cell) -> str:
    key = cell.key
    name = scores.plan.names.models.get(key.model, key.model)
    if not cell.calibrated:
        return f"{name}, {key.variant}" if key.variant != "default" else name
    ours = f" ({key.train_subset})" if key.train_subset != "all" else ""
    return f"{name}, {cell.calibrated}{ours}"


def longest_horizon(courses: Iterable[Course]) -> list[Course]:
    """Select one course (results in a test and setting) for each predictor and test.

    A test may have several settings: different horizons, and different values of ``people``, the
    number of people that a scenario must have at least. A predictor has a course for each of them.
    The course with the longest horizon is selected. Of several with this horizon, it is the one
    with the lowest value of ``people``.
    """
    best: dict[tuple[str, str], Course] = {}
    for course in courses:
        key = course.evaluation, course.label
        if key not in best or _reach(course) > _reach(best[key]):
            best[key] = course
    return list(best.values())


def drawable(courses: Iterable[Course]) -> list[Course]:
    """Select the courses to draw as paths, at most one for each predictor and test.

    A course is the results of one predictor in one test and setting. For each predictor and test,
    the course with the longest horizon is selected. Of several with this horizon, it is the one
    with the lowest value of the setting ``people``, the number of people that a scenario must have
    at least. A selected course is left out if its predictions are no longer stored.

    Args:
        courses: results of predictors in tests and settings.
    """
    return [course for course in longest_horizon(courses) if course.cells[0].predictions]


def _reach(course: Course) -> tuple[int, int]:
    return course.setting.get("horizon", 0), -course.setting.get("people", 0)


def course_styles(courses: Iterable[Course]) -> dict[str, Style]:
    """Choose colour, line and marker of each predictor.

    Predictors that need neither calibration nor training are grey.

    Args:
        courses: results of predictors, one course for each predictor, test and setting. All courses
            of a predictor have the same label.

    Returns:
        style of each predictor, by its label.
    """
    labels = {course.label: course.cells[0] for course in courses}
    uncalibrated = [label for label, cell in labels.items() if not cell.calibrated]
    return styles(list(labels), [label for label in uncalibrated if labels[label].key.seed is None])


def observation_length(cell: Cell) -> int:
    """Number of observed positions of each person in the scenarios of a test."""
    recipe = forecast_recipe(cell)
    return int(recipe.get("observe") or recipe["context"])


def draw_band(
    axes: Axes, x: Sequence[float], bands: Sequence[Band], style: Style, label: str
) -> None:
    """Draw a curve of errors at the last lead time, with a band around it.

    Args:
        axes: the panel.
        x: value of the setting at each point of the curve.
        bands: mean and band at each point, of which the last lead time is drawn.
        style: colour, line and marker of the curve.
        label: name of the curve in the legend.
    """
    means = [float(band_of_x.mean[-1]) for band_of_x in bands]
    ends = [(float(band_of_x.low[-1]), float(band_of_x.high[-1])) for band_of_x in bands]
    curve(axes, x, means, ends, style, label)


def draw_published(axes: Axes, x: float, value: PrintedValue, style: Style, label: str) -> None:
    """Draw a published value as a hollow marker at the horizontal position ``x``.

    Args:
        axes: the panel.
        x: value of the setting, as in `draw_band`.
        value: the published value.
        style: colour and marker of the predictor.
        label: name of the predictor, to identify the marker; the legend does not show it.
    """
    axes.plot(
        [x],
        [value.value],
        linestyle="none",
        marker=style.marker,
        markersize=8,
        markerfacecolor="none",
        markeredgecolor=style.colour,
        label=f"_{label}, as published",
        zorder=4,
    )


def scene_counts_text(scenes: Iterable[ScenarioErrors]) -> str:
    """State the numbers of scenarios and episodes in words: ``20 to 31 scenarios of 4 episodes``.

    An episode is a group of scenarios that overlap in time.

    Args:
        scenes: errors by scenario, of all predictors and seeds of a figure.
    """
    all_scenes = list(scenes)
    scenarios = [len(scene.errors) for scene in all_scenes]
    episodes = [scene.episodes for scene in all_scenes]
    return f"{_range(scenarios, 'scenario')} of {_range(episodes, 'episode')}"


def _range(counts: Sequence[int], noun: str) -> str:
    low, high = min(counts), max(counts)
    text = str(low) if low == high else f"{low} to {high}"
    return f"{text} {noun}{'' if high == 1 else 's'}"


def about_bands(interval: Iterable[bool]) -> str:
    """Explain the meaning of bands in a line of text, for the notes of a figure.

    Args:
        interval: for each panel, True if its bands are 95 % intervals over episodes (groups of
            scenarios that overlap in time); False if they span one standard deviation over
            scenarios to either side.
    """
    kinds = set(interval)
    text_of = {
        True: "95 % intervals over episodes",
        False: (
            "one standard deviation over scenarios, as in the paper (fewer than "
            f"{FEWEST_CLUSTERS} episodes: no interval)"
        ),
    }
    return "bands: " + "; else ".join(text_of[kind] for kind in sorted(kinds, reverse=True))


def span(axes: Axes, values: Sequence[float]) -> None:
    """Let the y axis begin at zero, and the x axis span all ``values`` with a margin."""
    axes.set_ylim(bottom=0)
    room = 0.04 * (max(values) - min(values)) or 0.5
    axes.set_xlim(min(values) - room, max(values) + room)
