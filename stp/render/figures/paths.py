"""Figure of observed, true and predicted paths of people on the map (Figures 9 to 12 of Atlas).

The paper does not state the choice of its scenarios. Here they are the scenarios with the smallest,
median and largest ADE (mean over the drawn predictors), and the scenario with the most people.
"""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stp.render.figures import crowd
from stp.render.figures.panels import legend, panels
from stp.render.figures.reading import Scores
from stp.render.pictures import people
from stp.render.pictures.scene import scene_of
from stp.render.pictures.trajectories import observed_scenarios
from stp.score.motion import read_predictions
from stp.tracks.errors import displacement
from stp.tracks.scenarios import Scenarios

FIGURE = {
    "of_case": True,
    "about": "predicted paths on the map",
    "caption": "Observed, true and predicted paths on the map",
    "of_scenarios": True,
}

CHOSEN = "scenarios of smallest, median and largest mean ADE of those drawn; that of most people"


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw a panel with all paths for each chosen scenario.

    Args:
        scores: scores of all models in all tests of a table.
        case: name of the test to draw, such as ``atlas_eth-strict``.

    Returns:
        the figure, and notes to print below it.

    Raises:
        StpError: no test has the name ``case``, or predictions or data are damaged.
    """
    courses, left_out = crowd.calibrated_on_test(crowd.drawable(crowd.courses(scores, case)))
    style_of = crowd.course_styles(courses)
    dataset, scenarios = observed_scenarios(courses[0].cells[0])
    paths_of = {
        course.label: read_predictions(course.cells[0].demand_predictions(), scenarios)
        for course in courses
    }
    errors = np.mean([_average(paths, scenarios) for paths in paths_of.values()], axis=0)
    chosen = choose(errors, scenarios.present.sum(axis=1))
    figure, panel_axes = panels(len(chosen), 2.9, columns=2, extra=0.3)
    figure.suptitle(courses[0].evaluation)
    handles: dict[str, Line2D] = {}
    for axes, row in zip(panel_axes, chosen, strict=True):
        scene = scene_of(scenarios, row, "", list(paths_of.items()), dataset.obstacles)
        people.draw(axes, scene, model_styles=style_of)
        frame, present = int(scenarios.start[row]), int(scenarios.present[row].sum())
        axes.set_title(f"frame {frame}: {present} people, mean ADE {errors[row]:.2f} m")
        handles |= {str(handle.get_label()): handle for handle in people.legend_of(scene, {})}
    notes = [
        f"{len(chosen)} of {len(scenarios)} scenarios of "
        f"{len(np.unique(scenarios.episode))} episodes",
        CHOSEN,
        *left_out,
    ]
    legend_height = legend(figure, style_of, style_of, first=handles.values())
    figure.set_figheight(figure.get_figheight() + legend_height)
    return figure, notes


def choose(errors: np.ndarray, people: np.ndarray) -> list[int]:
    """Choose the scenarios with the smallest, median and largest error, and with the most people.

    Args:
        errors: error of each scenario, (S,).
        people: number of people in each scenario, (S,).

    Returns:
        indices of the scenarios, without repetitions.
    """
    order = np.argsort(errors, kind="stable")
    rows = [order[0], order[(len(order) - 1) // 2], order[-1], int(people.argmax())]
    return list(dict.fromkeys(int(row) for row in rows))


def _average(paths: np.ndarray, scenarios: Scenarios) -> np.ndarray:
    errors = displacement(paths, scenarios.future)  # (K, S, N, T)
    return np.asarray(np.nanmean(errors, axis=(0, 2, 3)))
