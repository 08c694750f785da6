"""All scores of a dimension at one glance: parallel coordinates, a line per model."""

from itertools import groupby
from pathlib import Path
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stp.page.figure_style import BASELINE, TEXT_WIDTH, Style, new_figure, paper_size
from stp.render.figures.panels import finish, in_words, legend, legend_height
from stp.render.figures.ranking import Ranking, rank
from stp.render.figures.reading import Scores, read

FIGURE = {
    "of_case": False,
    "about": "all scores of all models",
    "caption": "All scores of all models, in the conventions of the paper's columns",
}

PER_ROW = 12
"""Axes beside each other; a case is never split, unless it has more."""
HIGHLIGHTED = 5
"""So many models, the best by mean rank, have colours; the others are thin and grey."""
OTHER = Style("#b5b5b5", "-", "")
BELOW = -0.09
"""Where a value is drawn that is worse than that of every trained model."""


def render(manifest: Path, results: Path, out: Path, case: str | None = None) -> None:
    """Write the figure; see `stp.render.figures.kinds.render`."""
    scores = read(manifest, results)
    ranking = rank(scores)
    with paper_size():
        figure, notes = draw(scores, ranking)
        finish(figure, out, [scores.about(), *notes, *ranking.notes])


def draw(scores: Scores, ranking: Ranking) -> tuple[Figure, list[str]]:
    """Draw one axis for each case and column.

    An axis reaches from the worst value of the trained models (of all where fewer than two are
    trained) to the best of all, which stand at its ends; a value that is worse is drawn below it.

    Returns:
        the figure, and what must be said below it.
    """
    if len(ranking.models) < 2 or not ranking.places:
        return in_words("An overview needs at least two models and a column with a direction."), []
    rows = _rows(ranking.places)
    best = ranking.models[:HIGHLIGHTED]
    others = [model for model in ranking.models if model not in best]
    shown = {model: scores.styles[model] for model in best}
    shown |= {model: OTHER for model in others if model not in scores.baselines}
    shown |= {
        model: scores.styles[model]._replace(marker="")
        for model in others
        if model in scores.baselines
    }
    named = [model for model in ranking.models if shown[model] is not OTHER]
    height = 1.9 * len(rows) + 0.3 + legend_height(named)
    figure = new_figure(TEXT_WIDTH, height)
    widest = max(len(row) for row in rows)
    places = figure.subplots(len(rows), 1, squeeze=False)[:, 0]
    for axes, row in zip(places, rows, strict=True):
        _row(axes, scores, row, shown, widest)
    legend(figure, shown, named)
    notes = [
        "each axis from the worst trained model to the best of all; what is worse lies below it"
    ]
    grey = [model for model in others if shown[model] is OTHER]
    notes += [f"thin and grey: {', '.join(grey)}"] if grey else []
    return figure, notes


def _rows(places: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Break the axes into rows, between cases where possible."""
    rows: list[list[tuple[str, str]]] = [[]]
    for _, of_case in groupby(places, key=lambda place: place[0]):
        columns = list(of_case)
        if rows[-1] and len(rows[-1]) + len(columns) > PER_ROW:
            rows.append([])
        rows[-1] += columns
    return rows


def _row(
    axes: Axes,
    scores: Scores,
    places: list[tuple[str, str]],
    shown: dict[str, Style],
    widest: int,
) -> None:
    heights = {model: np.full(len(places), np.nan) for model in shown}
    for x, (case, column) in enumerate(places):
        values = {
            line.model: entry.value
            for line in scores.cases[case]
            if (entry := line.row.entries[column]).value is not None
        }
        direction = scores.direction(case, column)
        loss = {model: direction.loss(value) for model, value in values.items()}
        trained = [m for m in loss if m not in scores.baselines]
        among = trained if len(trained) > 1 else list(loss)
        worst, best = max(among, key=loss.__getitem__), min(loss, key=loss.__getitem__)
        span = loss[worst] - loss[best]
        for model, its in loss.items():
            share = (loss[worst] - its) / span if span else float(its <= loss[best])
            heights[model][x] = share if share >= 0 else BELOW
        axes.plot((x, x), (0, 1), color="#444444", linewidth=0.6, zorder=1, label="_axis")
        for y, model, at in ((1.03, best, "bottom"), (-0.14, worst, "top")):
            axes.text(x, y, _digits(values[model]), ha="center", va=at, fontsize=5.5)
        name = scores.heading(case, column).replace(" ", "\n", column.count(" "))
        axes.text(x, 1.14, name, ha="center", va="bottom", fontsize=6, linespacing=0.95)
    for model, style in reversed(shown.items()):  # the best on top
        _line(axes, places, heights[model], style, model)
    _name_cases(axes, scores, places, widest)
    axes.set_xlim(-0.6, widest - 0.4)
    axes.set_ylim(-0.25, 1.75)
    axes.set_axis_off()


def _digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _line(
    axes: Axes, places: list[tuple[str, str]], heights: np.ndarray, style: Style, model: str
) -> None:
    """Draw a model; what lies between cases is no score, so lines end with their case."""
    thin = style.colour in (OTHER.colour, BASELINE)
    cases = [case for case, _ in places]
    for number, (case, _) in enumerate(groupby(cases)):
        at = [x for x, other in enumerate(cases) if other == case]
        axes.plot(
            at,
            heights[at],
            color=style.colour,
            linestyle=style.line,
            marker=style.marker or ".",
            markersize=2.5 if thin else 3.5,
            linewidth=0.7 if thin else 1.2,
            label=model if number == 0 else f"_{model}",
            clip_on=False,
            zorder=2 if thin else 3,
        )


def _name_cases(axes: Axes, scores: Scores, places: list[tuple[str, str]], widest: int) -> None:
    first = 0
    for case, of_case in groupby(places, key=lambda place: place[0]):
        count = len(list(of_case))
        axes.plot((first - 0.4, first + count - 0.6), (1.4, 1.4), color="black", linewidth=0.6)
        middle = first + (count - 1) / 2
        # Axes are half an inch apart, and more where there are fewer.
        letters = int(count * 10 * PER_ROW / widest)
        title = scores.title(case)
        if len(title) > letters:
            title = "\n".join(fill(part, letters) for part in title.split(", "))
        axes.text(middle, 1.43, title, ha="center", va="bottom", fontsize=7, linespacing=0.95)
        first += count
