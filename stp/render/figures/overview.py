"""Overview figure of all scores behind one table: a dot plot for each test and metric."""

from itertools import groupby
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from stp.page.figure_style import BASELINE, GREY, TEXT_WIDTH, new_figure
from stp.render.figures.panels import in_words
from stp.render.figures.ranking import rank
from stp.render.figures.reading import Scores
from stp.render.tables.rows import Entry

FIGURE = {
    "of_case": False,
    "about": "all scores of all models",
    "caption": "All scores of all models, in the conventions of the paper's columns",
}

PER_ROW = 4
"""Number of panels in a row; a case is split only if it has more columns."""
LETTERS = 24
"""Number of letters in a line above a panel."""
STEP = 0.13
"""Distance from model to model, inches."""
FAR = 1.0
"""Maximum distance at which a baseline is drawn, in ranges of the models' values."""


def draw(scores: Scores) -> tuple[Figure, list[str]]:
    """Draw a panel for each test and metric, with a dot and a 95 % interval for each model.

    Models are sorted by mean rank, the best on top. Baselines are vertical lines, unless no model
    is trained; they are then dots too.

    Args:
        scores: scores of all models in all tests of a table.

    Returns:
        the figure, and notes to print below it.
    """
    ranking = rank(scores)
    if len(ranking.models) < 2 or not ranking.places:
        text = "An overview needs at least two models and a column with a direction."
        return in_words(text), ranking.notes
    trained = [model for model in ranking.models if model not in scores.baselines]
    dots = trained or ranking.models
    lines = [model for model in ranking.models if model not in dots]
    rows = _rows(ranking.places)
    height = len(rows) * (STEP * len(dots) + 0.75) + 0.1
    figure = new_figure(TEXT_WIDTH, height + (0.25 if lines else 0))
    widest = max(len(row) for row in rows)
    panels = figure.subplots(len(rows), widest, squeeze=False)
    outside: dict[str, list[str]] = {}
    with_intervals = False
    for axes_of_row, row in zip(panels, rows, strict=True):
        for unused in axes_of_row[len(row) :]:
            unused.set_axis_off()
        previous = ""
        for number, (axes, (case, column)) in enumerate(zip(axes_of_row, row, strict=False)):
            entries = {line.model: line.row.entries[column] for line in scores.cases[case]}
            with_intervals |= _dots(axes, scores, entries, dots)
            for model in _baselines(axes, scores, entries, lines):
                outside.setdefault(model, []).append(f"{scores.title(case)} {column}")
            axes.set_yticks(range(len(dots)), dots if number == 0 else [""] * len(dots))
            title = fill(scores.title(case), LETTERS) + "\n" if case != previous else ""
            axes.set_title(title + fill(scores.heading(case, column), LETTERS), loc="left")
            axes.set_xlabel(scores.unit(case, column), labelpad=1)
            previous = case
    if lines:
        _legend(figure, scores, lines)
    notes = ["dots: models, the best mean rank on top" + (", with 95 % intervals" * with_intervals)]
    notes += [
        f"{model} lies outside {', '.join(where) if len(where) < 4 else f'{len(where)} panels'}"
        for model, where in outside.items()
    ]
    return figure, [*notes, *ranking.notes]


def _rows(places: list[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Divide panels into rows that end, if possible, at the end of a case."""
    rows: list[list[tuple[str, str]]] = [[]]
    for _, of_case in groupby(places, key=lambda panel: panel[0]):
        columns = list(of_case)
        if rows[-1] and len(rows[-1]) + len(columns) > PER_ROW:
            rows.append([])
        for panel in columns:
            if len(rows[-1]) == PER_ROW:
                rows.append([])
            rows[-1].append(panel)
    return rows


def _dots(axes: Axes, scores: Scores, entries: dict[str, Entry], models: list[str]) -> bool:
    """Draw the models of a panel as dots; return whether any model has an interval."""
    with_intervals = False
    for y, model in enumerate(models):
        entry = entries.get(model)
        axes.axhline(y, color="#e6e6e6", linewidth=0.5, zorder=0)
        if entry is None or entry.value is None:
            text = "not tested" if entry is None else "no value"
            axes.annotate(
                text, (0.02, y), xycoords=("axes fraction", "data"), va="center", fontsize=5.5,
                color=GREY, backgroundcolor="white",
            )  # fmt: skip
            continue
        style = scores.styles[model]
        if entry.low is not None and entry.high is not None:
            axes.plot((entry.low, entry.high), (y, y), color=style.colour, label=f"_{model}")
            with_intervals = True
        face = style.colour if style.line == "-" else "white"
        axes.plot(
            [entry.value], [y], linestyle="none", marker=style.marker, color=style.colour,
            markerfacecolor=face, markersize=4, label=model,
        )  # fmt: skip
    axes.set_ylim(len(models) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(3))
    axes.margins(x=0.08)
    return with_intervals


def _baselines(
    axes: Axes, scores: Scores, entries: dict[str, Entry], models: list[str]
) -> list[str]:
    """Draw baselines as vertical lines; return those that lie too far outside of the panel."""
    low, high = axes.get_xlim()
    reach = FAR * (high - low)
    far = []
    for model in models:
        value = entries[model].value if model in entries else None
        if value is None:
            continue
        if low - reach <= value <= high + reach:
            style = scores.styles[model]._replace(colour=BASELINE)
            axes.axvline(value, color=style.colour, linestyle=style.line, label=model, zorder=1)
        else:
            far.append(model)
    return far


def _legend(figure: Figure, scores: Scores, baselines: list[str]) -> None:
    handles = [
        Line2D([], [], color=BASELINE, ls=scores.styles[model].line, label=model)
        for model in baselines
    ]
    figure.legend(handles=handles, loc="lower center", ncols=min(5, len(handles)), frameon=False)
