"""Observed, true and predicted paths of people on the map: Figures 9 to 12 of Atlas.

The paper does not say which scenarios it shows. Here they are those of smallest, median and largest
mean ADE over the predictors drawn, and that with the most people.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stp.page.figure_style import TEXT_WIDTH, TRUTH, Style, new_figure
from stp.render.figures import crowd
from stp.render.figures.reading import Scores
from stp.render.pictures.trajectories import observed_scenarios
from stp.score.motion import read_predictions
from stp.tracks.errors import displacement
from stp.tracks.prepared import PreparedTracks
from stp.tracks.scenarios import Scenarios

FIGURE = {
    "of_case": True,
    "about": "predicted paths on the map",
    "caption": "Observed, true and predicted paths on the map",
    "of_scenarios": True,
}

CHOSEN = "scenarios of smallest, median and largest mean ADE of those drawn; that of most people"
SAMPLES = 20
"""The most samples of a prediction that are drawn."""
MARGIN = 1.5
"""Metres around the people."""
OBSERVED = TRUTH
WIDTHS = (2.8, 1.8, 1.0)
"""Line widths, in turn: predictors often agree, and none must hide another."""


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw a panel for each chosen scenario.

    Returns:
        the figure, and notes.

    Raises:
        StpError: there is no such evaluation, or predictions or data are damaged.
    """
    courses, left_out = crowd.at_home(crowd.drawable(crowd.courses(scores, case)))
    style_of = crowd.dressed(courses)
    surroundings, scenarios = observed_scenarios(courses[0].cells[0])
    paths_of = {
        course.label: read_predictions(course.cells[0].demand_predictions(), scenarios)
        for course in courses
    }
    errors = np.mean([_average(paths, scenarios) for paths in paths_of.values()], axis=0)
    chosen = choose(errors, scenarios.present.sum(axis=1))
    figure = new_figure(TEXT_WIDTH, 1)
    across = min(2, len(chosen))
    down = -(-len(chosen) // across)
    panels = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for unused in panels[len(chosen) :]:
        unused.set_axis_off()
    for axes, row in zip(panels, chosen, strict=False):
        course = scenarios.chosen(np.array([row]))
        _panel(axes, course, {n: p[:, row] for n, p in paths_of.items()}, style_of, surroundings)
        people = int(course.present.sum())
        axes.set_title(
            f"frame {int(course.start[0])}: {people} people, mean ADE {errors[row]:.2f} m"
        )
    figure.suptitle(courses[0].evaluation)
    notes = [
        f"{len(chosen)} of {len(scenarios)} scenarios of "
        f"{len(np.unique(scenarios.episode))} episodes",
        CHOSEN,
    ]
    if surroundings.obstacles is not None:
        notes.append("grey squares: obstacles")
    notes += left_out
    first = [
        Line2D([], [], color=OBSERVED, linestyle=":", marker="o", markersize=2, label="observed"),
        Line2D([], [], color=TRUTH, marker="*", label="true"),
    ]
    figure.set_figheight(2.9 * down + 0.3 + crowd.legend(figure, style_of, first))
    return figure, notes


def choose(errors: np.ndarray, people: np.ndarray) -> list[int]:
    """The scenarios of smallest, median and largest error, and that of most people; each once.

    Args:
        errors: error of each scenario, (S,).
        people: number of people in each scenario, (S,).
    """
    order = np.argsort(errors, kind="stable")
    rows = [order[0], order[(len(order) - 1) // 2], order[-1], int(people.argmax())]
    return list(dict.fromkeys(int(row) for row in rows))


def _average(paths: np.ndarray, scenarios: Scenarios) -> np.ndarray:
    errors = displacement(paths, scenarios.future)  # (K, S, N, T)
    return np.asarray(np.nanmean(errors, axis=(0, 2, 3)))


def _panel(
    axes: Axes,
    scenario: Scenarios,
    paths_of: dict[str, np.ndarray],
    style_of: dict[str, Style],
    surroundings: PreparedTracks,
) -> None:
    """Draw one scenario; predictions are (K, N, T, 2)."""
    people = int(scenario.present.sum())
    observed, future = scenario.observed[0], scenario.future[0]
    positions = np.concatenate([observed.reshape(-1, 2), future.reshape(-1, 2)])
    low, high = np.nanmin(positions, axis=0) - MARGIN, np.nanmax(positions, axis=0) + MARGIN
    if surroundings.obstacles is not None:
        obstacles = surroundings.obstacles.position
        is_near = ((obstacles > low) & (obstacles < high)).all(axis=1)
        axes.plot(
            *obstacles[is_near].T, "s", color="#d0d0d0", markersize=2, label="_obstacles", zorder=0
        )
    for person in range(people):
        now = observed[person, -1:]
        axes.plot(
            *observed[person].T,
            "o:",
            color=OBSERVED,
            label="_observed",
            markersize=2,
            linewidth=0.7,
        )
        line = np.concatenate([now, future[person]])
        axes.plot(*line.T, "-", color=TRUTH, linewidth=1.6, label="_true", zorder=3)
        axes.plot(*line[-1:].T, "*", color=TRUTH, markersize=6, label="_end", zorder=3)
        for number, (label, paths) in enumerate(paths_of.items()):
            style = style_of[label]
            for path in paths[:SAMPLES, person]:
                axes.plot(
                    *np.concatenate([now, path]).T,
                    color=style.colour,
                    linestyle=style.line,
                    marker=style.marker,
                    markevery=[-1],
                    linewidth=WIDTHS[number % len(WIDTHS)],
                    markersize=3 + WIDTHS[number % len(WIDTHS)],
                    alpha=1 if len(paths) == 1 else 0.35,
                    label=f"_{label}",
                    zorder=4,
                )
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
