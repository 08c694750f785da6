"""Write the report: one page that holds its data, its charts and all that draws them.

It opens from a disk, without a network or a server. Everything in it is read from the results
store (and, for pictures, from predictions that the store names), so the same store gives the same
page.
"""

import base64
import gzip
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from plotly.offline import get_plotlyjs

from stp.collect.connection import opened
from stp.core.disk import beside, writing
from stp.core.job import Report, silent
from stp.report import (
    conventions,
    core,
    cost,
    deltas,
    example_queries,
    forecasts,
    leaderboards,
    leads,
    overview,
    provenance,
    significance,
    spectra,
    trajectories,
    units,
    values,
)
from stp.report.columns import as_json
from stp.report.forecasts import Pictures

PARTS = Path(__file__).parent / "page"
"""The page's HTML, CSS and JavaScript are files of this package."""

DATA: tuple[ModuleType, ...] = (
    core,
    overview,
    leaderboards,
    provenance,
    deltas,
    conventions,
    example_queries,
    values,
    units,
    leads,
    spectra,
    significance,
    cost,
)
"""Each has ``data(database, results)``; the page knows what it returns by the module's name."""

SCRIPTS = (
    "base.js",
    "sheets.js",
    "provenance.js",
    "overview.js",
    "ask.js",
    "leaderboards.js",
    "deltas.js",
    "conventions.js",
    "evaluations.js",
    "lead_time.js",
    "settings.js",
    "slopes.js",
    "spectra.js",
    "significance.js",
    "forecasts.js",
    "strips.js",
    "trajectories.js",
    "cost.js",
)
"""In this order; sections stand in the page in the order of their scripts."""


def write_report(
    database: Path, out: Path, *, pictures: Pictures | None = None, report: Report = silent
) -> None:
    """Write the page.

    Args:
        database: the results store.
        out: path of the page (.html).
        pictures: how many samples are shown, and how large they may be together.
        report: is told the progress.

    Raises:
        StpError: there is no store, it holds no cells, or it is damaged.
    """
    pieces: dict[str, object] = {}
    with opened(database, threads=1) as connection:
        for number, part in enumerate(DATA, start=1):
            name = part.__name__.rpartition(".")[2]
            report(name, number, len(DATA))
            pieces[name] = part.data(connection, database.parent)
        pieces |= forecasts.pieces(connection, pictures or Pictures(), report)
        pieces |= trajectories.pieces(connection, report)
    text = page(pieces)
    with writing(out), beside(out) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page(pieces: Mapping[str, object]) -> str:
    """Put the page together.

    Args:
        pieces: what the page's scripts read, by name.
    """
    return (
        (PARTS / "page.html")
        .read_text(encoding="utf-8")
        .replace("<!-- style -->", f"<style>\n{_part('page.css')}</style>")
        .replace("<!-- data -->", "\n".join(_data(name, piece) for name, piece in pieces.items()))
        .replace("<!-- charts -->", _charts())
        .replace("<!-- scripts -->", "\n".join(f"<script>\n{_part(s)}</script>" for s in SCRIPTS))
    )


def _charts() -> str:
    """Plotly, compressed to a third: base.js unpacks it."""
    packed = base64.b64encode(gzip.compress(get_plotlyjs().encode(), 9, mtime=0)).decode()
    return f'<script type="text/plain" id="charts">{packed}</script>'


def _part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")


def _data(name: str, piece: object) -> str:
    """A block of data; it must not look like the end of its own element."""
    safe = as_json(piece).replace("</", "<\\/").replace("<!--", "<\\u0021--")
    return f'<script type="application/json" id="data-{name}">{safe}</script>'
