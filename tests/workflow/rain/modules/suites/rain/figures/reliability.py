"""How reliable forecasts of rain are by its rate: the fractions skill score of each model."""

from matplotlib.figure import Figure

from stp.page.figure_style import TEXT_WIDTH, new_figure
from stp.render.figures.reading import Scores, at_leads

FIGURE = {
    "of_case": True,
    "about": "skill by rain rate",
    "caption": "The fractions skill score over squares of 5 x 5 pixels by rain rate",
}
CONVENTION = "fss.scale5"


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw a line for each model, at the first lead time.

    Returns:
        the figure, and notes below it.
    """
    figure = new_figure(TEXT_WIDTH, 2)
    axes = figure.subplots()
    for model, values in at_leads(scores, case, CONVENTION).items():
        points = sorted(
            (rate, value.value)
            for (_, rate, lead), value in values.items()
            if rate is not None and lead == 1 and value.value is not None
        )
        axes.plot(*zip(*points, strict=True), marker="o", label=model)
    axes.set_xlabel("mm/h")
    axes.set_title(scores.title(case))
    axes.legend(frameon=False)
    return figure, []
