"""Figure of the errors (ADE and FDE) of predictors of people's paths over the horizon."""

from matplotlib.figure import Figure

from stp.render.figures import crowd
from stp.render.figures.crowd import COLUMNS
from stp.render.figures.panels import curve, legend, panels
from stp.render.figures.reading import Scores
from stp.render.figures.time_step import ticks

FIGURE = {
    "of_case": True,
    "about": "errors over the lead time",
    "caption": "ADE and FDE as if the forecast ended at each lead time",
    "of_scenarios": True,
}


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw errors over the horizon: a panel for the average, one for the final error (ADE, FDE).

    Errors at a shorter horizon are those of the same forecasts, cut off there.

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
    interval, printed = crowd.have_enough_episodes(courses), False
    for axes, column in zip(panels_of_columns, COLUMNS, strict=True):
        longest: list[float] = []
        for course in courses:
            band = course.band(column, interval)
            dt = course.scenes()[0].dt
            seconds = [dt * lead for lead in range(1, len(band.mean) + 1)]
            ends = [(float(a), float(b)) for a, b in zip(band.low, band.high, strict=True)]
            curve(axes, seconds, band.mean.tolist(), ends, style_of[course.label], course.label)
            longest = seconds if len(seconds) > len(longest) else longest
            if column in course.published:
                end, value = seconds[-1], course.published[column]
                crowd.draw_published(axes, end, value, style_of[course.label], course.label)
                printed = True
        axes.set_title(f"{column} ↓")
        axes.set_ylabel("m")
        axes.set_xlabel("prediction horizon [s]")
        marks = [longest[lead - 1] for lead in ticks(1, len(longest))]
        axes.set_xticks(marks, [f"{mark:.3g}" for mark in marks])
        crowd.span(axes, longest)
    scenes = [scene for course in courses for scene in course.scenes()]
    notes = [crowd.scene_counts_text(scenes), crowd.about_bands([interval])]
    notes += [crowd.MARKED] if printed else []
    notes += left_out
    figure.set_figheight(figure.get_figheight() + legend(figure, style_of, style_of))
    return figure, notes
