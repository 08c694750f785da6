"""Critical difference diagram of mean ranks (Demsar 2006, figure 1)."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stp.page.figure_style import TEXT_WIDTH, new_figure
from stp.render.figures.friedman import (
    ALPHA,
    Comparison,
    compare,
    find_similar_groups,
)
from stp.render.figures.kinds import FEWEST_BLOCKS, FEWEST_MODELS
from stp.render.figures.panels import in_words
from stp.render.figures.ranking import rank
from stp.render.figures.reading import Scores

FIGURE = {
    "of_case": False,
    "about": "which mean ranks differ",
    "caption": "Mean ranks of all models; those that a bar joins do not differ significantly",
}

STEP = 0.17  # inches from label to label
TOP = 0.6
SIDE = 1.35  # for labels


def draw(scores: Scores) -> tuple[Figure, list[str]]:
    """Draw the mean ranks of models over datasets, and join ranks that do not differ significantly.

    A block of Friedman's test is a test dataset. Models are ranked in each column (metric) of the
    table, for each subset and frame interval of a dataset. All ranks of a model on one dataset are
    averaged first, because they depend on the same clips or training runs.

    Args:
        scores: scores of all models in all tests of a table.

    Returns:
        the figure, and notes to print below it.
    """
    ranking = rank(scores)
    blocks, losses = ranking.blocks(lambda c: scores.cases[c][0].cells[0].key.tested_on)
    complete = ~np.isnan(losses).any(axis=1)
    lacking = [m for m, has in zip(ranking.models, complete, strict=True) if not has]
    notes = [f"without {', '.join(lacking)}: no score of some dataset"] if lacking else []
    models = [m for m, has in zip(ranking.models, complete, strict=True) if has]
    if len(models) < FEWEST_MODELS or len(blocks) < FEWEST_BLOCKS:
        text = (
            f"Too few for a test: {len(models)} models on {len(blocks)} datasets"
            f" ({FEWEST_MODELS} and {FEWEST_BLOCKS} are needed). Cases and columns of one dataset"
            " are not independent and count once. The figure `ranks` shows all ranks."
        )
        return in_words(text), [*notes, *ranking.notes]
    comparison = compare(losses[complete])
    order = np.argsort(comparison.mean_ranks, kind="stable")
    figure = diagram(
        [models[i] for i in order], comparison.mean_ranks[order], comparison, len(blocks)
    )
    notes.append(
        f"mean ranks over {len(blocks)} datasets, of the mean rank over the columns and cases of"
        " each; Friedman test with the statistic of Iman and Davenport, critical difference (CD) of"
        f" Nemenyi at {ALPHA:g}"
    )
    return figure, [*notes, *ranking.notes]


def diagram(
    models: list[str], mean_ranks: np.ndarray, comparison: Comparison, blocks: int
) -> Figure:
    """Draw an axis of mean ranks, a label for each model, and bars that join models.

    Args:
        models: titles of the models, in the order of their mean ranks.
        mean_ranks: mean ranks, ascending, float64 (models,).
        comparison: result of Friedman's test.
        blocks: number of blocks (datasets) of the test.
    """
    count = len(models)
    differs = comparison.p < ALPHA
    groups = find_similar_groups(mean_ranks, comparison.critical) if differs else [(0, count - 1)]
    below = 0.3 + 0.09 * len(groups)
    left = (count + 1) // 2
    height = TOP + below + STEP * left + 0.2
    figure = new_figure(TEXT_WIDTH, height)
    axes = figure.add_subplot()
    axes.set_axis_off()
    scale = (TEXT_WIDTH - 2 * SIDE) / (count - 1)  # inches of a rank
    axes.set_xlim(1 - SIDE / scale, count + SIDE / scale)
    axes.set_ylim(-(below + STEP * left), TOP)
    axes.plot((1, count), (0, 0), color="black", linewidth=1)
    for tick in range(1, count + 1):
        axes.plot((tick, tick), (0, 0.06), color="black", linewidth=1)
        axes.text(tick, 0.09, str(tick), ha="center", va="bottom", fontsize=7)
    cd = min(comparison.critical, count - 1)
    cut = "" if cd == comparison.critical else " (longer than the axis)"
    axes.plot((1, 1 + cd), (0.34, 0.34), color="black", linewidth=1.5, label="CD")
    axes.text(1, 0.38, f"CD = {comparison.critical:.2f}{cut}", ha="left", va="bottom", fontsize=7)
    axes.text(count, 0.38, _verdict(comparison, count, blocks), ha="right", va="bottom", fontsize=7)
    for number, (first, last) in enumerate(groups):
        y = -0.1 - 0.09 * number
        ends = (mean_ranks[first] - 0.04 / scale, mean_ranks[last] + 0.04 / scale)
        axes.plot(ends, (y, y), color="#0072b2", linewidth=3, solid_capstyle="butt", label="group")
    for number, (model, at) in enumerate(zip(models, mean_ranks, strict=True)):
        is_left = number < left
        level = number if is_left else count - 1 - number
        y = -(below + STEP * level)
        end = 1 - 0.1 / scale if is_left else count + 0.1 / scale
        _elbow(axes, at, y, end, f"{model}  {at:.2f}" if is_left else f"{at:.2f}  {model}", is_left)
    return figure


def _elbow(axes: Axes, at: float, y: float, end: float, text: str, is_left: bool) -> None:
    axes.plot((at, at, end), (0, y, y), color="#444444", linewidth=0.7, label="_elbow")
    axes.annotate(
        text,
        (end, y),
        xytext=(-3 if is_left else 3, 0),
        textcoords="offset points",
        ha="right" if is_left else "left",
        va="center",
        fontsize=7,
    )


def _verdict(comparison: Comparison, models: int, blocks: int) -> str:
    degrees = f"{models - 1}, {(models - 1) * (blocks - 1)}"
    text = f"Friedman: F({degrees}) = {comparison.f:.2f}, p = {comparison.p:.2g}"
    return text if comparison.p < ALPHA else f"{text}: no difference found, so all are joined"
