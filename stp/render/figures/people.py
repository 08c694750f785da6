"""Figure of the errors of predictors of people's paths by the number of people in a scenario.

See section III-E of the Atlas paper, which calls this number crowding.
"""

import numpy as np
from matplotlib.figure import Figure

from stp.render.figures import crowd
from stp.render.figures.crowd import COLUMNS
from stp.render.figures.panels import legend, panels
from stp.render.figures.reading import Scores
from stp.score.jackknife import FEWEST_CLUSTERS

FIGURE = {
    "of_case": True,
    "about": "errors by the number of people",
    "caption": "Errors by the number of people in the scenario",
    "of_scenarios": True,
}

MOST_TICKS = 12
ONE = "no band where there is one scenario"


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw errors against the number of people in a scenario, a panel for each column (ADE, FDE).

    Args:
        scores: scores of all models in all tests of a table.
        case: name of the test to draw, such as ``atlas_eth-strict``.

    Returns:
        the figure, and notes to print below it.

    Raises:
        StpError: no test has the name ``case``.
    """
    courses, left_out = crowd.calibrated_on_test(crowd.longest_horizon(crowd.courses(scores, case)))
    style_of = crowd.course_styles(courses)
    figure, panels_of_columns = panels(len(COLUMNS), 2.2, extra=0.3)
    figure.suptitle(courses[0].evaluation)
    interval = _have_enough_episodes(courses)
    for axes, column in zip(panels_of_columns, COLUMNS, strict=True):
        counts: dict[int, int] = {}
        for course in courses:
            seeds = course.scenes()
            sizes = np.unique(seeds[0].people)
            bands = []
            for size in sizes:
                rows_of = [(scene, scene.people == size) for scene in seeds]
                errors_of = [(s.of(column)[rows, -1:], s.episode[rows]) for s, rows in rows_of]
                bands.append(
                    crowd.average_bands([crowd.band(*errors, interval) for errors in errors_of])
                )
                counts[int(size)] = int(rows_of[0][1].sum())
            crowd.draw_band(axes, sizes.tolist(), bands, style_of[course.label], course.label)
        axes.set_title(f"{column} ↓")
        axes.set_ylabel("m")
        axes.set_xlabel("people in the scenario; below: scenarios")
        marked = sorted(counts)[:: -(-len(counts) // MOST_TICKS)]
        axes.set_xticks(marked, [f"{size}\n{counts[size]}" for size in marked])
        crowd.span(axes, sorted(counts))
    scenes = [scene for course in courses for scene in course.scenes()]
    notes = [crowd.scene_counts_text(scenes), crowd.about_bands([interval]), ONE]
    notes += left_out
    figure.set_figheight(figure.get_figheight() + legend(figure, style_of, style_of))
    return figure, notes


def _have_enough_episodes(courses: list[crowd.Course]) -> bool:
    return all(
        len(np.unique(scene.episode[scene.people == size])) >= FEWEST_CLUSTERS
        for course in courses
        for scene in course.scenes()
        for size in np.unique(scene.people)
    )
