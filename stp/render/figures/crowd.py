"""What figures of people are drawn from: the error of each scenario, as the paper averages it.

The paper gives mean and standard deviation over scenarios. Scenarios overlap in time, so where
there are enough episodes of them, bands here are intervals over episodes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stp.collect.artefact_views import ERRORS, file_of
from stp.core.errors import StpError, nearest
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
from stp.score.jackknife import FEWEST_CLUSTERS, left_out_means

Column = Literal["ADE", "FDE"]
COLUMNS: tuple[Column, ...] = ("ADE", "FDE")
ELSEWHERE = "predictors that were calibrated on other data are left out"
MARKED = "hollow: as printed in the paper, from its own data"
LETTERS = 95
"""In a line of a legend."""


@dataclass(frozen=True)
class Scenes:
    """The errors of one predictor in the scenarios of one test.

    Attributes:
        final: mean error over the people of each scenario at each lead time, metres, (S, T).
        episode: of each scenario, (S,).
        people: in each scenario, (S,).
        dt: seconds of a step.
    """

    final: np.ndarray
    episode: np.ndarray
    people: np.ndarray
    dt: float

    @property
    def average(self) -> np.ndarray:
        """Average displacement errors up to each lead time, (S, T)."""
        return np.asarray(self.final.cumsum(axis=1) / np.arange(1, self.final.shape[1] + 1))

    def of(self, column: Column) -> np.ndarray:
        """Errors if the forecast ended at each lead time, metres, (S, T)."""
        return self.average if column == "ADE" else self.final

    @property
    def episodes(self) -> int:
        """How many there are."""
        return len(np.unique(self.episode))


class Band(NamedTuple):
    """Means over scenarios, (T,), with both ends of a band."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Course:
    """A predictor in one evaluation, all its seeds.

    Attributes:
        label: its name for people, and where it was calibrated.
        evaluation: what it is tested on.
        cells: one for each seed.
        setting: of the cells.
        published: the paper's values, by column.
    """

    label: str
    evaluation: str
    cells: list[Cell]
    setting: dict[str, int]
    published: dict[str, PrintedValue]

    def scenes(self) -> list[Scenes]:
        """Errors, for each seed."""
        return [read_scenes(cell) for cell in self.cells]

    def band(self, column: Column, interval: bool) -> Band:
        """Mean over scenarios at each lead time, and its band; means over seeds of both."""
        return joined([band(one.of(column), one.episode, interval) for one in self.scenes()])


def enough(found: Iterable[Course]) -> bool:
    """Are there enough episodes of all for intervals? Bands of one panel are of one kind."""
    return all(s.episodes >= FEWEST_CLUSTERS for course in found for s in course.scenes())


def read_scenes(cell: Cell) -> Scenes:
    """Read the errors of a cell.

    Raises:
        StpError: the file is missing or damaged.
    """
    return _read(file_of(Path(cell.scores), ERRORS))


@cache
def _read(path: Path) -> Scenes:
    columns = ["scenario", "episode", "person", "lead", "lead_seconds", "error"]
    rows = read_table(path, columns, expected="the errors of people").to_pandas()
    by = rows.groupby(["scenario", "lead"])["error"].mean().unstack()
    about = rows.groupby("scenario").agg(episode=("episode", "first"), people=("person", "nunique"))
    first = rows.iloc[0]
    return Scenes(
        by.to_numpy(),
        about["episode"].to_numpy(),
        about["people"].to_numpy(),
        float(first["lead_seconds"] / first["lead"]),
    )


def band(values: np.ndarray, episode: np.ndarray, interval: bool) -> Band:
    """Mean over scenarios with a band.

    Args:
        values: (S, T).
        episode: of each scenario, (S,).
        interval: whether its ends are those of the 95 % interval over episodes, as of scores;
            else one standard deviation over scenarios to either side.
    """
    mean = values.mean(axis=0)
    if not interval:
        spread = values.std(axis=0)
        return Band(mean, mean - spread, mean + spread)
    codes, _ = pd.factorize(episode)
    sums = np.stack([np.bincount(codes, column) for column in values.T], axis=1)
    counts = np.bincount(codes)
    without = left_out_means(sums, counts)
    low, high = intervals(mean, without, counts, resamples=Bootstrap.resamples, seed=Bootstrap.seed)
    return Band(mean, low, high)


def joined(bands: Sequence[Band]) -> Band:
    """The means over seeds of their means and ends."""
    return Band(*(np.mean([band[place] for band in bands], axis=0) for place in range(3)))


def courses(scores: Scores, case: str | None = None) -> list[Course]:
    """All predictors in all evaluations, or in one, in the order of the manifest.

    Args:
        scores: of a dimension.
        case: see `stp.render.figures.kinds.evaluation_name`.

    Raises:
        StpError: there is no such evaluation.
    """
    names = scores.plan.names.datasets
    found: dict[str, list[Course]] = {}
    for line in (line for lines in scores.cases.values() for line in lines):
        key = line.cells[0].key
        published = {n: e.published for n, e in line.row.entries.items() if e.published}
        tested = f"{names.get(key.tested_on, key.tested_on)}, {key.subset}"
        setting = setting_of(key.setting)
        course = Course(_label(scores, line.cells[0]), tested, line.cells, setting, published)
        found.setdefault(evaluation_name(key), []).append(course)
    if case is None:
        return [course for several in found.values() for course in several]
    if case not in found:
        raise StpError(
            f"nothing of the dimension {scores.plan.dimension} was tested on {case!r}",
            expected=f"one of {', '.join(found)}",
            remedy=nearest(case, found),
        )
    return found[case]


def at_home(found: Sequence[Course]) -> tuple[list[Course], list[str]]:
    """Predictors as calibrated where they are tested; all of a model that was calibrated elsewhere
    alone.

    Returns:
        them, and a note if others are left out.
    """
    models = {one.cells[0].key.model for one in found if _is_home(one)}
    kept = [one for one in found if _is_home(one) or one.cells[0].key.model not in models]
    return kept, [ELSEWHERE] if len(kept) < len(found) else []


def _is_home(course: Course) -> bool:
    key = course.cells[0].key
    return key.trained_on == key.tested_on


def _label(scores: Scores, cell: Cell) -> str:
    """The name of a predictor, where it was calibrated, and by which protocol if by ours."""
    key = cell.key
    name = scores.plan.names.models.get(key.model, key.model)
    if not cell.calibrated:
        return f"{name}, {key.variant}" if key.variant != "default" else name
    ours = f" ({key.train_subset})" if key.train_subset != "all" else ""
    return f"{name}, {cell.calibrated}{ours}"


def base(found: Iterable[Course]) -> list[Course]:
    """Of each predictor in each evaluation the longest forecast, of all people that there are."""
    best: dict[tuple[str, str], Course] = {}
    for one in found:
        place = one.evaluation, one.label
        if place not in best or _reach(one) > _reach(best[place]):
            best[place] = one
    return list(best.values())


def drawable(found: Iterable[Course]) -> list[Course]:
    """Of `base`, those whose predictions are still there."""
    return [one for one in base(found) if one.cells[0].predictions]


def _reach(course: Course) -> tuple[int, int]:
    return course.setting.get("horizon", 0), -course.setting.get("people", 0)


def dressed(found: Iterable[Course]) -> dict[str, Style]:
    """A style for each label; what is not calibrated is grey."""
    labels = {one.label: one.cells[0] for one in found}
    plain = [label for label, cell in labels.items() if not cell.calibrated]
    return styles(list(labels), [label for label in plain if labels[label].key.seed is None])


def observed(cell: Cell) -> int:
    """Observed positions."""
    recipe = forecast_recipe(cell)
    return int(recipe.get("observe", recipe["context"]))


def draw_band(
    axes: Axes, x: Sequence[float], found: Sequence[Band], style: Style, label: str
) -> None:
    """Draw bands of one value each as a curve."""
    means = [float(one.mean[-1]) for one in found]
    ends = [(float(one.low[-1]), float(one.high[-1])) for one in found]
    curve(axes, x, means, ends, style, label)


def draw_published(axes: Axes, x: float, value: PrintedValue, style: Style, label: str) -> None:
    """Mark a printed value."""
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


def legend(figure: Figure, dress: dict[str, Style], first: Iterable[Line2D] = ()) -> float:
    """Name the predictors below the panels; their names are long.

    Args:
        figure: where.
        dress: how they are drawn.
        first: what is named before them.

    Returns:
        inches that it takes.
    """
    longest = max(len(label) for label in dress)
    handles = []
    for label, style in dress.items():
        line: dict[str, Any] = {"linestyle": style.line, "marker": style.marker}
        handles.append(Line2D([], [], label=label, color=style.colour, **line))
    handles = [*first, *handles]
    columns = max(1, min(len(handles), LETTERS // (longest + 8)))
    figure.legend(
        handles=handles, loc="lower center", ncols=columns, frameon=False, handlelength=2.6
    )
    return 0.15 * -(-len(handles) // columns) + 0.1


def counted(scenes: Iterable[Scenes]) -> str:
    """Say how many scenarios of how many episodes there are."""
    found = list(scenes)
    scenarios = [len(one.final) for one in found]
    episodes = [one.episodes for one in found]
    return f"{_range(scenarios, 'scenario')} of {_range(episodes, 'episode')}"


def _range(counts: Sequence[int], what: str) -> str:
    low, high = min(counts), max(counts)
    text = str(low) if low == high else f"{low} to {high}"
    return f"{text} {what}{'' if high == 1 else 's'}"


def about_bands(interval: Iterable[bool]) -> str:
    """Say what the bands are."""
    kinds = set(interval)
    of = {
        True: "95 % intervals over episodes",
        False: (
            "one standard deviation over scenarios, as in the paper (fewer than "
            f"{FEWEST_CLUSTERS} episodes: no interval)"
        ),
    }
    return "bands: " + "; else ".join(of[kind] for kind in sorted(kinds, reverse=True))


def span(axes: Axes, values: Sequence[float]) -> None:
    """Errors begin at zero; numbers of an axis have some room."""
    axes.set_ylim(bottom=0)
    room = 0.04 * (max(values) - min(values)) or 0.5
    axes.set_xlim(min(values) - room, max(values) + room)
