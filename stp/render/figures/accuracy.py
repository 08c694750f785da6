"""Figure of the errors of predictors of people's paths against one setting of the test.

The setting is the length of the observation, the noise added to it, the horizon, or the minimum
number of people in a scenario (Atlas, Figures 4-7, Tables I, II).
"""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stp.core.errors import StpError
from stp.options.protocols import RELEASED
from stp.page.figure_style import TEXT_WIDTH, Style, new_figure
from stp.render.figures import crowd
from stp.render.figures.crowd import COLUMNS, Course
from stp.render.figures.kinds import varied_setting
from stp.render.figures.panels import legend
from stp.render.figures.reading import Scores
from stp.tracks import prepared

FIGURE = {
    "of_case": False,
    "about": "errors over observation, noise or horizon",
    "caption": "Errors over the observation length, the added noise or the prediction horizon",
    "of_scenarios": True,
}

AXES = {
    "observe": "observation [s]",
    "noise": "added noise, standard deviation [m]",
    "horizon": "prediction horizon [s]",
    "people": "people in a scenario, at least",
}
SCALED = f"under {RELEASED} noise is divided by the annotations per second, as in its released code"


def draw(scores: Scores) -> tuple[Figure, list[str]]:
    """Draw the errors of predictors as curves over the setting, e.g. noise, that varies.

    Each test dataset and protocol has a row of two panels: one for the average displacement error
    (ADE), one for the final displacement error (FDE). The setting is the first of these of which
    the tests have several values: ``observe`` (length of the observation), ``noise`` (standard
    deviation of the noise added to it), ``horizon`` (time to predict), ``people`` (minimum number
    of people in a scenario).

    Args:
        scores: scores of all predictors in all tests of a dimension.

    Returns:
        the figure, and a list of notes to print below it.

    Raises:
        StpError: no predictor was tested with several values of a setting.
    """
    varied = varied_setting(cell.key for cell in scores.cells())
    if varied is None:
        raise StpError(
            f"no predictor of the dimension {scores.plan.dimension} has several settings",
            remedy="look at `horizon` or `people`",
        )
    courses = crowd.courses(scores)
    style_of = crowd.course_styles(courses)
    evaluations = list(dict.fromkeys(course.evaluation for course in courses))
    figure = new_figure(TEXT_WIDTH, 1)
    panel_rows = figure.subplots(len(evaluations), len(COLUMNS), squeeze=False)
    notes: list[str] = []
    intervals: list[bool] = []
    printed = False
    for row, evaluation in zip(panel_rows, evaluations, strict=True):
        of_evaluation = [course for course in courses if course.evaluation == evaluation]
        for axes, column in zip(row, COLUMNS, strict=True):
            axes.set_title(f"{evaluation}: {column} ↓")
            axes.set_ylabel("m")
            axes.set_xlabel(f"{AXES[varied]}; below: scenarios")
            printed |= _panel(axes, of_evaluation, column, varied, style_of)
        intervals.append(crowd.have_enough_episodes(of_evaluation))
        scenes = [scene for course in of_evaluation for scene in course.scenes()]
        notes.append(f"{evaluation}: {crowd.scene_counts_text(scenes)} at each point")
    notes.append(crowd.about_bands(intervals))
    notes += [] if varied == "noise" else ["each point has the scenarios that are long enough"]
    notes += [SCALED] if varied == "noise" else []
    notes.append(crowd.MARKED if printed else "the paper prints no numbers for this figure")
    height = 1.9 * len(evaluations) + 0.1 + legend(figure, style_of, style_of)
    figure.set_figheight(height)
    return figure, notes


def _panel(
    axes: Axes, courses: list[Course], column: crowd.Column, varied: str, style_of: dict[str, Style]
) -> bool:
    """Draw the panel of one column; return whether it has published values."""
    interval = crowd.have_enough_episodes(courses)
    by_label: dict[str, list[tuple[float, Course]]] = {}
    for course in courses:
        by_label.setdefault(course.label, []).append((_value(course, varied), course))
    printed = False
    for label, at in by_label.items():
        at.sort(key=lambda pair: pair[0])
        bands = [course.band(column, interval) for _, course in at]
        crowd.draw_band(axes, [x for x, _ in at], bands, style_of[label], label)
        for x, course in at:
            if column in course.published:
                crowd.draw_published(axes, x, course.published[column], style_of[label], label)
                printed = True
    counts = {x: len(course.scenes()[0].errors) for at in by_label.values() for x, course in at}
    values = sorted(counts)
    axes.set_xticks(values, [f"{value:.3g}\n{counts[value]}" for value in values])
    crowd.span(axes, values)
    return printed


def _value(course: Course, varied: str) -> float:
    cell = course.cells[0]
    if varied == "noise":
        return course.setting.get("noise", 0) / 1000
    if varied == "people":
        fewest = course.setting.get("people")
        return fewest if fewest else prepared.read(Path(cell.data)).about["fewest"]
    scenes = course.scenes()[0]
    steps = crowd.observation_length(cell) if varied == "observe" else scenes.errors.shape[1]
    return steps * scenes.dt
