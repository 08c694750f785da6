"""Write the report: one HTML page with data and the scripts that draw them.

The page opens from a disk, without a network or a server. Its content is read from the results
store, and pictures from the predictions behind it, so the same store gives the same page.
"""

import base64
import gzip
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from plotly.offline import get_plotlyjs

from stp.collect.connection import open_results_store
from stp.core.disk import atomic_path, writing
from stp.core.job import Report, report_nothing
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
"""Folder of this package with the page's HTML, CSS and JavaScript."""

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
"""Modules with ``data(database, results)``; the page finds a result by the module's name."""

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
"""Scripts, in the order of their sections in the page."""


def write_report(
    database: Path, out: Path, *, pictures: Pictures | None = None, report: Report = report_nothing
) -> None:
    """Write the report as an HTML file.

    Args:
        database: path of the results store.
        out: path of the HTML file.
        pictures: limits of the number and the total size of pictures; None for the defaults of
            `Pictures`.
        report: callback for the progress.

    Raises:
        StpError: there is no store, or the store has no cells or is damaged.
    """
    pieces: dict[str, object] = {}
    with open_results_store(database, threads=1) as connection:
        for number, part in enumerate(DATA, start=1):
            name = part.__name__.rpartition(".")[2]
            report(name, number, len(DATA))
            pieces[name] = part.data(connection, database.parent)
        pieces |= forecasts.pieces(connection, pictures or Pictures(), report)
        pieces |= trajectories.pieces(connection, report)
    text = page(pieces)
    with writing(out), atomic_path(out) as temporary:
        temporary.write_text(text, encoding="utf-8")


def page(pieces: Mapping[str, object]) -> str:
    """Make the text of the report, a single HTML file with data, style and scripts.

    Args:
        pieces: data that the scripts read, by name: lists, dicts or dataclasses, written as JSON.
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
    """The library Plotly, compressed to a third of its size; base.js unpacks it."""
    packed = base64.b64encode(gzip.compress(get_plotlyjs().encode(), 9, mtime=0)).decode()
    return f'<script type="text/plain" id="charts">{packed}</script>'


def _part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")


def _data(name: str, piece: object) -> str:
    """An HTML element with data, escaped so that no text in the data can end the element."""
    safe = as_json(piece).replace("</", "<\\/").replace("<!--", "<\\u0021--")
    return f'<script type="application/json" id="data-{name}">{safe}</script>'
