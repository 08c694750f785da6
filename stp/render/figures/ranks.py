"""Heat map of ranks: a column for each model, a row for each test and metric of one table."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, rgb_to_hsv
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from stp.page.figure_style import COLUMN_WIDTH, TEXT_WIDTH, new_figure
from stp.render.figures.panels import in_words
from stp.render.figures.ranking import Ranking, rank
from stp.render.figures.reading import Scores

FIGURE = {
    "of_case": False,
    "about": "rank of every model everywhere",
    "caption": "The rank of every model in every column of the paper",
}

ROW = 0.135  # inches
COLUMN = 0.33


def draw(scores: Scores) -> tuple[Figure, list[str]]:
    """Draw the ranks of models in all tests and metrics as a heat map, sorted by mean rank.

    Args:
        scores: scores of all models in all tests of a table.

    Returns:
        the figure, and notes to print below it.
    """
    ranking = rank(scores)
    if len(ranking.models) < 2 or not ranking.places:
        return in_words(
            "Ranks need at least two models and a column with a direction."
        ), ranking.notes
    models, places = ranking.models, ranking.places
    width = max(COLUMN_WIDTH, min(TEXT_WIDTH, 2.0 + COLUMN * len(models)))
    figure = new_figure(width, 1.3 + ROW * (len(places) + 1.6))
    axes = figure.add_subplot()
    colours = mpl.colormaps["Blues_r"]
    for column in range(len(models)):
        _cell(axes, column, -1.6, ranking.means[column], len(models), colours)
        for row in range(len(places)):
            _cell(axes, column, row, ranking.ranks[column, row], len(models), colours)
    axes.set_xlim(-0.5, len(models) - 0.5)
    axes.set_ylim(len(places) - 0.5, -2.1)
    model_labels = [f"{m} *" if m in ranking.lacking else m for m in models]
    axes.set_xticks(
        range(len(models)), model_labels, rotation=45, ha="left", rotation_mode="anchor"
    )
    axes.xaxis.tick_top()
    row_labels = ["mean rank", *(scores.heading(*case_and_column) for case_and_column in places)]
    axes.set_yticks([-1.6, *range(len(places))], row_labels)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    _name_cases(axes, scores, ranking)
    return figure, ranking.notes


def _cell(axes: Axes, x: float, y: float, value: float, models: int, colours: Colormap) -> None:
    """Draw a rank in a coloured cell; a missing rank is a hatched cell."""
    corner = (x - 0.5, y - 0.5)
    if np.isnan(value):
        missing = Rectangle(
            corner, 1, 1, facecolor="white", edgecolor="#999999", hatch="/////", linewidth=0
        )
        missing.set_gid("missing")
        axes.add_patch(missing)
        return
    share = (value - 1) / (models - 1) if models > 1 else 0.0
    colour = colours(0.15 + 0.85 * share)  # the darkest blue hides black and white alike
    axes.add_patch(Rectangle(corner, 1, 1, facecolor=colour, edgecolor="white", linewidth=0.6))
    text = f"{value:.1f}" if value % 1 or y < 0 else f"{value:.0f}"
    light = rgb_to_hsv(colour[:3])[2] < 0.8
    axes.text(x, y, text, ha="center", va="center", fontsize=6, color="white" if light else "black")


def _name_cases(axes: Axes, scores: Scores, ranking: Ranking) -> None:
    """Write the title of each case once, at its first row, and draw a line above it."""
    cases = [case for case, _ in ranking.places]
    for row, case in enumerate(cases):
        if row == 0 or cases[row - 1] != case:
            last = row + cases.count(case) - 1
            axes.axhline(row - 0.5, color="black", linewidth=0.5)
            axes.annotate(
                scores.title(case),
                (1, (row + last) / 2),
                xycoords=("axes fraction", "data"),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
            )
