"""Draw repeated runs: a strip of points for each metric, with mean and interval."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from stp.render.tables.study import Repeated, Study

OURS, PAPER = "#0072b2", "#d55e00"
PANEL = 2.3  # inches
WIDTH = 0.36  # of the strip, in units of the distance of two strips


def strip_plot(studies: Sequence[Study], out: Path, kind: str) -> None:
    """Draw one row of panels per study, one panel per metric.

    The paper's runs are drawn beside ours only where both follow the paper's protocol on official
    bytes; elsewhere they would be of another size. The file depends on the runs alone.

    Args:
        studies: at least one.
        out: the file to write.
        kind: ``png`` or ``svg``.
    """
    widest = max(len(study.columns) for study in studies)
    with mpl.rc_context({"svg.hashsalt": "stp benchmark", "font.size": 8}):
        figure = Figure(figsize=(PANEL * widest, PANEL * len(studies)), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(len(studies), widest, squeeze=False)
        for row, study in zip(panels, studies, strict=True):
            for axes in row[len(study.columns) :]:
                axes.set_axis_off()
            for axes, column in zip(row, study.columns, strict=False):
                _panel(axes, study, column)
            row[0].set_ylabel(f"{study.row.dataset}\n{study.row.model}")
        figure.supxlabel(_caption(studies), fontsize=7)
        date = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(out, format=kind, dpi=150, metadata=date)


def _caption(studies: Sequence[Study]) -> str:
    whose = "; ".join(
        dict.fromkeys(
            f"{study.row.source} bytes, {study.row.protocol} protocol" for study in studies
        )
    )
    return f"runs in the order of their seeds, mean and its 95 % interval ({whose})"


def _panel(axes: Axes, study: Study, column: Repeated) -> None:
    axes.set_title(column.name)
    axes.set_xticks([])
    if not column.found:
        axes.text(0.5, 0.5, "not available", ha="center", va="center", transform=axes.transAxes)
        axes.set_yticks([])
        return
    strips = [("ours", OURS, [value for value in column.runs if value is not None], column.found)]
    if column.printed and study.row.source == "official" and study.row.protocol == "paper":
        runs = [float(value) for value in column.printed.runs]
        strips.append(("paper", PAPER, runs, column.printed.found))
    for place, (_, colour, runs, found) in enumerate(strips):
        _strip(axes, place, colour, runs, found)
    axes.set_xlim(-0.5, len(strips) - 0.5)
    axes.set_xticks(range(len(strips)), [name for name, *_ in strips])
    axes.ticklabel_format(axis="y", useOffset=False)


def _strip(
    axes: Axes, place: int, colour: str, runs: Sequence[float], found: Mapping[str, float | None]
) -> None:
    """Draw runs from left to right in their order, and the interval behind them."""
    low, high, mean = found["ci95_low"], found["ci95_high"], found["mean"]
    assert low is not None and high is not None and mean is not None
    sides = (place - WIDTH, place + WIDTH)
    axes.fill_between(sides, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(sides, (mean, mean), color=colour, linewidth=1)
    steps = [WIDTH * (2 * number / (len(runs) - 1) - 1) for number in range(len(runs))]
    axes.plot([place + step for step in steps], runs, "o", color=colour, markersize=3)
