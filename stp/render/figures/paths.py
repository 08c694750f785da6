"""Where people were, went, and were predicted to go, on the map: Figures 9 to 12 of Atlas.

Which scenarios the paper shows it does not say, so they are chosen by a rule: the one with the
smallest error, the median one, the one with the largest, and the one with the most people, by the
mean ADE of all predictors drawn.
"""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stp.page.figure_style import TEXT_WIDTH, TRUTH, Style, new_figure
from stp.render.figures import crowd
from stp.render.figures.panels import write
from stp.render.figures.reading import Scores
from stp.render.pictures.trajectories import given_scenarios
from stp.score.motion import read_predictions
from stp.tracks.errors import displacement
from stp.tracks.prepared import Place
from stp.tracks.scenarios import Scenarios

FIGURE = {
    "of_case": True,
    "about": "predicted paths on the map",
    "caption": "Observed, true and predicted paths on the map",
    "of_scenarios": True,
}

CHOSEN = "scenarios chosen by the mean ADE of what is drawn: smallest, median, largest; most people"
SAMPLES = 20
"""Of a prediction that are drawn at most."""
MARGIN = 1.5
"""Metres around the people."""
OBSERVED = TRUTH
WIDTHS = (2.8, 1.8, 1.0)
"""Of lines, in turn: predictors often agree, and none is to hide another."""


def render(manifest: Path, results: Path, out: Path, case: str | None = None) -> None:
    """Write the figure of an evaluation; see `stp.render.figures.kinds.render`."""
    write(draw, manifest, results, out, str(case))


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw a panel for each chosen scenario.

    Returns:
        the figure, and notes.

    Raises:
        StpError: there is no such evaluation, or predictions or data are damaged.
    """
    found, left_out = crowd.at_home(crowd.drawable(crowd.courses(scores, case)))
    dress = crowd.dressed(found)
    place, scenarios = given_scenarios(found[0].cells[0])
    drawn = {
        one.label: read_predictions(one.cells[0].demand_predictions(), scenarios) for one in found
    }
    errors = np.mean([_average(paths, scenarios) for paths in drawn.values()], axis=0)
    picked = choose(errors, scenarios.present.sum(axis=1))
    figure = new_figure(TEXT_WIDTH, 1)
    across = min(2, len(picked))
    down = -(-len(picked) // across)
    places = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for unused in places[len(picked) :]:
        unused.set_axis_off()
    for axes, row in zip(places, picked, strict=False):
        one = scenarios.chosen(np.array([row]))
        _panel(axes, one, {n: p[:, row] for n, p in drawn.items()}, dress, place)
        people = int(one.present.sum())
        axes.set_title(f"frame {int(one.start[0])}: {people} people, mean ADE {errors[row]:.2f} m")
    figure.suptitle(found[0].evaluation)
    notes = [
        f"{len(picked)} of {len(scenarios)} scenarios of "
        f"{len(np.unique(scenarios.episode))} episodes",
        CHOSEN,
    ]
    if place.obstacles is not None:
        notes.append("grey squares: obstacles")
    notes += left_out
    first = [
        Line2D([], [], color=OBSERVED, linestyle=":", marker="o", markersize=2, label="observed"),
        Line2D([], [], color=TRUTH, marker="*", label="what happened"),
    ]
    figure.set_figheight(2.9 * down + 0.3 + crowd.legend(figure, dress, first))
    return figure, notes


def choose(errors: np.ndarray, people: np.ndarray) -> list[int]:
    """The scenarios of smallest, median and largest error, and that of most people; each once.

    Args:
        errors: of each scenario, (S,).
        people: in each, (S,).
    """
    order = np.argsort(errors, kind="stable")
    wanted = [order[0], order[(len(order) - 1) // 2], order[-1], int(people.argmax())]
    return list(dict.fromkeys(int(row) for row in wanted))


def _average(paths: np.ndarray, scenarios: Scenarios) -> np.ndarray:
    """ADE of each scenario, (S,)."""
    found = displacement(paths, scenarios.future)  # (K, S, N, T)
    return np.asarray(np.nanmean(found, axis=(0, 2, 3)))


def _panel(
    axes: Axes,
    one: Scenarios,
    drawn: dict[str, np.ndarray],
    dress: dict[str, Style],
    place: Place,
) -> None:
    """Draw one scenario; predictions are (K, N, T, 2)."""
    people = int(one.present.sum())
    observed, future = one.observed[0], one.future[0]
    seen = np.concatenate([observed.reshape(-1, 2), future.reshape(-1, 2)])
    low, high = np.nanmin(seen, axis=0) - MARGIN, np.nanmax(seen, axis=0) + MARGIN
    if place.obstacles is not None:
        at = place.obstacles.position
        near = ((at > low) & (at < high)).all(axis=1)
        axes.plot(*at[near].T, "s", color="#d0d0d0", markersize=2, label="_obstacles", zorder=0)
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
        for number, (label, paths) in enumerate(drawn.items()):
            style = dress[label]
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
