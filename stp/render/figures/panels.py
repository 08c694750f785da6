"""What figures with panels share: their places, curves with bands, legends, words instead."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from stp.page.figure_style import (
    BASELINE,
    TEXT_WIDTH,
    Style,
    new_figure,
    note_height,
    paper_size,
    save,
)
from stp.render.figures.reading import read

HANDLE, LETTER = 0.4, 0.05
"""Inches of a legend: of a line with the gap behind the name, and of a letter, about."""


def panels(
    count: int, height: float, columns: int = 3, extra: float = 0.0
) -> tuple[Figure, list[Axes]]:
    """A figure as wide as the text, with panels side by side.

    Args:
        count: of panels, at least one.
        height: of a row, in inches.
        columns: at most so many beside each other; four panels are two rows of two.
        extra: inches for title, legend and note.
    """
    across = 2 if count == 4 and columns < 4 else min(count, columns)
    down = -(-count // across)
    figure = new_figure(TEXT_WIDTH, down * height + extra)
    axes = figure.subplots(down, across, squeeze=False).ravel().tolist()
    for unused in axes[count:]:
        unused.set_axis_off()
    return figure, axes[:count]


def curve(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float],
    ends: Sequence[tuple[float, float] | None],
    style: Style,
    label: str,
) -> None:
    """Draw values with markers, and a band of their intervals wherever there are some.

    Args:
        axes: where.
        x, y: the values, in the order of x.
        ends: lower and upper end of the interval of each value, or None.
        style: of the model.
        label: its name, which finds the line again.
    """
    axes.plot(
        x,
        y,
        color=style.colour,
        linestyle=style.line,
        marker=style.marker,
        markevery=max(1, len(x) // 6),
        label=label,
        zorder=2 if style.colour == BASELINE else 3,
    )
    known = [(at, *end) for at, end in zip(x, ends, strict=True) if end]
    if known:
        at, low, high = zip(*known, strict=True)
        axes.fill_between(
            at, low, high, color=style.colour, alpha=0.13, linewidth=0, label=f"_{label}", zorder=1
        )


def point(style: Style) -> dict[str, Any]:
    """How a model is drawn as one point: hollow where only its line would tell it from another."""
    return {
        "linestyle": "none",
        "marker": style.marker,
        "markersize": 6,
        "color": style.colour,
        "markerfacecolor": style.colour if style.line == "-" else "white",
    }


def legend(
    figure: Figure,
    styles: Mapping[str, Style],
    models: Iterable[str],
    *,
    lines: bool = True,
) -> None:
    """Name the models below the panels, each with its line or its point."""
    handles = []
    names = list(dict.fromkeys(models))
    for name in names:
        style = styles[name]
        line = {"color": style.colour, "linestyle": style.line, "marker": style.marker}
        handles.append(Line2D([], [], label=name, **(line if lines else point(style))))
    figure.legend(
        handles=handles,
        loc="lower center",
        ncols=min(beside(names), len(handles)),
        frameon=False,
        handlelength=2.6,
        columnspacing=1.4,
    )


def legend_height(models: Collection[str]) -> float:
    """Inches that a legend of these models takes."""
    return 0.15 * -(-len(models) // beside(models)) + 0.1


def beside(models: Iterable[str]) -> int:
    """How many names of a legend fit beside each other: as many as the longest lets, at most 5."""
    longest = max(map(len, models), default=0)
    return max(1, min(5, int(TEXT_WIDTH / (HANDLE + LETTER * longest))))


def plain_ticks(axis: Axis) -> None:
    """Ticks of a logarithmic axis as plain numbers: 1, 2, 5, 10, ..."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def in_words(text: str) -> Figure:
    """A figure that says in words why there is nothing to draw."""
    figure = new_figure(TEXT_WIDTH, 0.8)
    figure.text(0.5, 0.55, fill(text, 100), ha="center", va="center")
    return figure


def write(
    draw: Callable[..., tuple[Figure, list[str]]],
    manifest: Path,
    results: Path,
    out: Path,
    *case: str,
) -> None:
    """Write what a module draws of the scores of a dimension, with whose bytes these are below it.

    Args:
        draw: is given the scores and the case, if there is one; returns the figure, and notes.
        manifest, results, out, case: see `stp.render.figures.kinds.render`.
    """
    scores = read(manifest, results)
    with paper_size():
        figure, notes = draw(scores, *case)
        # Cases of scenarios have names of their own: the note is about all of them.
        shown = [one for one in case if one in scores.cases]
        finish(figure, out, [scores.about(shown or None), *notes])


def finish(figure: Figure, out: Path, notes: Iterable[str]) -> None:
    """Write a figure, higher by what the notes below it need."""
    note = "; ".join(notes)
    figure.set_figheight(figure.get_figheight() + note_height(figure, note))
    save(figure, out, note)
