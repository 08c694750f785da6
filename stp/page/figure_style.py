"""Shared style of all figures: colours, sizes, and the line on the origin of the data."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from stp.core.disk import atomic_path, writing
from stp.page.data_origin import FILES_OF_PAPER, count_kinds
from stp.plan.data_origin import bytes_text
from stp.plan.manifest_types import StoredCell

TEXT_WIDTH = 6.9
"""Width of a page's text, of two columns, in inches."""
COLUMN_WIDTH = 3.3
"""Width of one of two columns, in inches."""
DPI = 200
UNDATED: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""Metadata by format, so that equal figures are equal files."""
LETTERS_PER_INCH = 22
"""Letters per inch of a note below a figure."""

# Colours that are distinguishable with any colour vision (Okabe and Ito, 2008), without yellow,
# which is too light for lines; black is for the truth.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_LINES = ("-", "--", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
TRUTH = "#000000"
BASELINE = "#7f7f7f"
GREY = "#555555"


class Style(NamedTuple):
    """The look of a model in all figures: colour, line style and marker, as matplotlib names them.

    Colour is never the only difference between two models.
    """

    colour: str
    line: str
    marker: str


def styles(models: Sequence[str], baselines: Iterable[str] = ()) -> dict[str, Style]:
    """Give each model a style, by its position, so that it looks the same in all figures.

    Args:
        models: names of all models of a table, in its order.
        baselines: names of the models to draw in grey, such as persistence.

    Returns:
        style by name of the model.
    """
    grey, others = set(baselines), 0
    style_of: dict[str, Style] = {}
    for number, model in enumerate(models):
        marker = _MARKERS[number % len(_MARKERS)]
        if model in grey:
            line = _LINES[
                sum(style.colour == BASELINE for style in style_of.values()) % len(_LINES)
            ]
            style_of[model] = Style(BASELINE, line, marker)
        else:
            style_of[model] = Style(
                _COLOURS[others % len(_COLOURS)], _LINES[others // len(_COLOURS) % 3], marker
            )
            others += 1
    return style_of


def paper_size() -> AbstractContextManager[Any]:
    """Settings of matplotlib for text that is readable in print, and for reproducible files."""
    return mpl.rc_context(
        {
            "font.size": 8,
            "axes.titlesize": 8,
            "axes.labelsize": 8,
            "xtick.labelsize": 7,
            "ytick.labelsize": 7,
            "legend.fontsize": 7,
            "lines.linewidth": 1.2,
            "lines.markersize": 3.5,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "svg.hashsalt": "stp benchmark",
            "svg.fonttype": "none",
        }
    )


class RepeatableLayout(ConstrainedLayoutEngine):
    """Constrained layout of matplotlib with rounded positions, so that files are reproducible.

    The solver of the layout visits its variables in the order of their addresses in memory. Without
    rounding, positions differ in the last bit from process to process, and so do names of clip
    paths in SVG files, which are hashes of positions.
    """

    def execute(self, fig: Figure) -> None:
        super().execute(fig)
        for axes in fig.axes:
            in_layout = axes.get_in_layout()
            left, bottom, width, height = np.round(axes.get_position(original=True).bounds, 9)
            axes.set_position((left, bottom, width, height), which="original")
            axes.set_in_layout(in_layout)  # `set_position` takes axes out of the layout


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure that needs no display; width and height in inches."""
    figure = Figure(figsize=(width, height), facecolor="white", layout=RepeatableLayout())
    FigureCanvasAgg(figure)
    return figure


def origin_note(cells: Iterable[StoredCell]) -> str:
    """Text below every figure: origin and protocol of the data, ``synthetic data, demo protocol``.

    If they differ between cells (results of one model on one dataset), the text counts the cells.
    """
    texts = []
    for cell in cells:
        text = f"{bytes_text(cell.source, cell.bytes_known_by)}, {cell.protocol} protocol"
        if cell.comparable and not cell.official_paper_protocol:
            text += f": {FILES_OF_PAPER}"
        elif cell.source != "own" and not cell.comparable:
            text += ": not comparable with published values"
        if cell.leaky:
            text += ", test samples overlap with training data"
        if cell.lacking:
            text += ", incomplete release"
        if cell.accepted:
            text += ", artefacts of older code accepted"
        texts.append(text)
    return count_kinds(texts, "cells")


def note_height(figure: Figure, note: str) -> float:
    """Height in inches of a note below a figure, wrapped to the width of the figure."""
    return 0.1 * len(_wrap_note(figure, note).splitlines()) + 0.06


def _wrap_note(figure: Figure, note: str) -> str:
    return fill(note, int(figure.get_figwidth() * LETTERS_PER_INCH))


def annotate(figure: Figure, note: str) -> None:
    """Put a note below a figure; panels and legends make room for it."""
    figure.text(
        0.5,
        0.03 / figure.get_figheight(),
        _wrap_note(figure, note),
        ha="center",
        va="bottom",
        fontsize=6,
        color=GREY,
    )
    _make_room(figure, note_height(figure, note))


def save(figure: Figure, out: Path, note: str) -> None:
    """Write a figure as PNG and SVG; equal figures give equal files.

    The PNG is put in place last, so whoever finds a new PNG also finds the new SVG.

    Args:
        figure: the figure.
        out: path of the PNG file; the SVG is written next to it.
        note: line below the figure, see `origin_note`. Panels make room for the note, and for
            legends between panels and note.
    """
    annotate(figure, note)
    for path in (out.with_suffix(".svg"), out):
        with writing(path), atomic_path(path) as temporary:
            kind = path.suffix.removeprefix(".")
            figure.savefig(temporary, format=kind, dpi=DPI, metadata=UNDATED[kind])


def _make_room(figure: Figure, note: float) -> None:
    """Let panels and legends begin above a note, whose height is in inches."""
    engine = figure.get_layout_engine()
    if not isinstance(engine, ConstrainedLayoutEngine):
        return
    bottom = note
    for legend in figure.legends:
        legend.set_loc("lower center")
        legend.set_bbox_to_anchor((0, bottom / figure.get_figheight(), 1, 1), figure.transFigure)
        bottom += legend.get_window_extent().height / figure.dpi
    share = bottom / figure.get_figheight()
    engine.set(rect=(0, share, 1, 1 - share))
