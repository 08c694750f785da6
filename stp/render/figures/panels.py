"""Shared parts of figures with panels: layout, curves with bands, legends, text figures."""

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
"""Approximate widths in a legend, in inches: of a line and the gap after its name, and of a
letter."""


def panels(
    count: int, height: float, columns: int = 3, extra: float = 0.0
) -> tuple[Figure, list[Axes]]:
    """Make a figure of text width with several panels.

    Args:
        count: number of panels, at least one.
        height: height of a row, in inches.
        columns: maximum number of panels in a row; four panels are always two rows of two.
        extra: additional height for title, legend and notes, in inches.
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
    """Draw a curve with markers, and a band where values have intervals.

    Args:
        axes: the panel.
        x, y: coordinates of the values, ascending in x.
        ends: lower and upper end of each value's interval, or None.
        style: colour, line and marker of the curve.
        label: name of the curve in the legend.
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
    bands = [(at, *end) for at, end in zip(x, ends, strict=True) if end]
    if bands:
        at, low, high = zip(*bands, strict=True)
        axes.fill_between(
            at, low, high, color=style.colour, alpha=0.13, linewidth=0, label=f"_{label}", zorder=1
        )


def point(style: Style) -> dict[str, Any]:
    """Keyword arguments to draw a model as a single point, hollow if its line is not solid."""
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
    names: Iterable[str],
    *,
    lines: bool = True,
    first: Iterable[Line2D] = (),
) -> float:
    """Draw a legend below the panels, with lines or points.

    Args:
        figure: the figure.
        styles: style by name.
        names: names in the legend; repeated names are shown once.
        lines: whether styles are shown as lines; if not, as points.
        first: additional handles at the beginning of the legend.

    Returns:
        height of the legend, in inches.
    """
    handles = list(first)
    for name in dict.fromkeys(names):
        style = styles[name]
        line = {"color": style.colour, "linestyle": style.line, "marker": style.marker}
        handles.append(Line2D([], [], label=name, **(line if lines else point(style))))
    labels = [str(handle.get_label()) for handle in handles]
    figure.legend(
        handles=handles,
        loc="lower center",
        ncols=min(names_per_row(labels), len(handles)),
        frameon=False,
        handlelength=2.6,
        columnspacing=1.4,
    )
    return legend_height(labels)


def legend_height(models: Collection[str]) -> float:
    """Height of a legend with the given models, in inches."""
    return 0.15 * -(-len(models) // names_per_row(models)) + 0.1


def names_per_row(models: Iterable[str]) -> int:
    """Number of names, 1 to 5, that fit in a row of a legend."""
    longest = max(map(len, models), default=0)
    return max(1, min(5, int(TEXT_WIDTH / (HANDLE + LETTER * longest))))


def plain_ticks(axis: Axis) -> None:
    """Label the ticks of a logarithmic axis with plain numbers: 1, 2, 5, 10, ..."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def in_words(text: str) -> Figure:
    """Make a figure that shows only a sentence: the reason that there is nothing to draw."""
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
    """Draw a figure of the scores behind one table, add the origin of the data, and write it.

    Args:
        draw: function of the scores and, if given, the case, that returns the figure and notes.
        manifest: path of the manifest (JSON list of the results that the table is made from).
        results: folder of results with ``collected/<dimension>.parquet``.
        out: path of the PNG file; the SVG is written next to it.
        case: name of the test to draw, for figures of one test; at most one.
    """
    scores = read(manifest, results)
    with paper_size():
        figure, notes = draw(scores, *case)
        # Cases of scenarios have other names: their note is about all cases.
        known_cases = [name for name in case if name in scores.cases]
        note = "; ".join([scores.about(known_cases or None), *notes])
        figure.set_figheight(figure.get_figheight() + note_height(figure, note))
        save(figure, out, note)
