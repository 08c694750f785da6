"""How reliable forecasts of rain are by its rate: the fractions skill score of each model."""

from pathlib import Path

from matplotlib.figure import Figure

from stp.page.figure_style import TEXT_WIDTH, new_figure, paper_size
from stp.render.figures.panels import finish
from stp.render.figures.reading import Scores, at_leads, read

FIGURE = {
    "of_case": True,
    "about": "skill by rain rate",
    "caption": "The fractions skill score over squares of 5 x 5 pixels by rain rate",
}
CONVENTION = "fss.scale5"


def render(manifest: Path, results: Path, out: Path, case: str | None = None) -> None:
    """Write the figure of a case; see `stp.render.figures.kinds.render`."""
    scores = read(manifest, results)
    with paper_size():
        finish(draw(scores, str(case)), out, [scores.about([str(case)])])


def draw(scores: Scores, case: str) -> Figure:
    """Draw a line for each model, at the first lead time."""
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
    return figure
