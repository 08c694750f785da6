"""How often rain is predicted and observed: scores at each rate, by square."""

from pathlib import Path

from stp.page.figure_style import paper_size
from stp.render.figures.panels import finish, panels
from stp.render.figures.reading import read

FIGURE = {
    "of_case": True,
    "about": "scores by rain rate",
    "caption": "The fractions skill score of each model",
}


def render(manifest: Path, results: Path, out: Path, case: str | None = None) -> None:
    """Write the figure of a case; see `stp.render.figures.kinds.render`."""
    scores = read(manifest, results)
    with paper_size():
        columns = list(scores.columns(str(case)))
        figure, axes = panels(len(columns), 1.85)
        for place, column in zip(axes, columns, strict=True):
            place.set_title(scores.heading(str(case), column))
        finish(figure, out, [scores.about([str(case)])])
