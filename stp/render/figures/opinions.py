"""Opinions of raters, and what measures of quality say: Figures 3, 4, 7, 8, 9 and 11 of PVQA."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stp.collect.kept_rows import QUALITY, RATINGS, files, query
from stp.core.receipts import require_receipt
from stp.render.figures.panels import panels, write
from stp.render.figures.reading import Line, Scores

BIN = 5  # points of opinion
FAR = 15  # points; the threshold of the paper
COLUMN = "SROCC"
FEATURES = {
    "mcs_rfd": "MCS + RFD",
    "ssa_rfd": "SSA + RFD",
    "mcs": "MCS",
    "rfd": "RFD",
    "ssa": "SSA",
}
_NAMED = re.compile(rf"(\w+?)_({'|'.join(FEATURES)})")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")


def render(manifest: Path, results: Path, out: Path, case: str | None = None) -> None:
    """Write the figure; see `stp.render.figures.kinds.render`."""
    write(draw, manifest, results, out)


def draw(scores: Scores) -> tuple[Figure, list[str]]:
    """Draw all panels; one that has no numbers says so.

    Returns:
        the figure, and notes.
    """
    figure, places = panels(6, 2.2, extra=0.1)
    with _views(scores) as ask:
        for axes, panel in zip(
            places, (_spread, _halves, _features, _errors, _reversed, _time), strict=True
        ):
            missing = panel(axes, scores, ask)
            if missing:
                axes.text(0.5, 0.5, missing, ha="center", va="center", transform=axes.transAxes)
                axes.set_xticks([])
                axes.set_yticks([])
    return figure, ["numbers in parentheses: figures of the paper"]


Ask = Callable[[str], list[tuple[Any, ...]]]
"""SQL, in which ``{suite}`` is the suite, to rows."""


@contextmanager
def _views(scores: Scores) -> Iterator[Ask]:
    """The views of the suite over the files of these scores.

    Those that need other tables of the results store than receipts are left out.
    """
    plan = scores.plan
    with duckdb.connect() as database:
        for kept in (QUALITY, RATINGS):
            made = query(files([plan], kept), kept)
            database.execute(f"CREATE VIEW {kept.view.name} AS {made}")
        folders = sorted({folder for cell in plan.cells for folder in cell.folders(["features"])})
        receipts = [require_receipt(folder) for folder in folders]
        database.execute("CREATE TABLE artefacts (stage VARCHAR, recipe JSON, extras JSON)")
        for receipt in receipts:
            values = [receipt.stage, json.dumps(receipt.recipe), json.dumps(receipt.extras)]
            database.execute("INSERT INTO artefacts VALUES (?, ?, ?)", values)
        for name, sql in plan.suite.views.items():
            try:
                database.execute(f"CREATE VIEW {name} AS {sql}")
            except duckdb.CatalogException:
                continue
        yield lambda sql: database.execute(sql.format(suite=plan.suite.name)).fetchall()


def _spread(axes: Axes, scores: Scores, ask: Ask) -> str:
    values = [value for _, value in ask("SELECT DISTINCT video, observed FROM predicted_opinions")]
    axes.set_title("opinion scores (3)")
    axes.set_xlabel("opinion score")
    axes.set_ylabel("videos")
    axes.hist(values, bins=np.arange(0, 100 + BIN, BIN).tolist(), color=COLOURS[0])
    return ""


def _halves(axes: Axes, scores: Scores, ask: Ask) -> str:
    axes.set_title("two halves of the raters (4)")
    rows = ask(
        "SELECT first_half, second_half FROM {suite}_half_scores WHERE halving = 1 "
        "AND first_half IS NOT NULL AND second_half IS NOT NULL ORDER BY ALL"
    )
    if not rows:
        return "no single ratings"
    ((median,),) = ask("SELECT median(plcc) FROM {suite}_halves")
    x, y = np.array(rows).T
    axes.plot(x, y, linestyle="none", marker=".", color=COLOURS[0], label="halves")
    axes.set_xlabel("opinion score, one half")
    axes.set_ylabel("other half")
    axes.text(0.05, 0.92, f"median PLCC {median:.3f}", transform=axes.transAxes)
    return ""


def _measured(scores: Scores) -> list[tuple[str, str, Line]]:
    """Network and features of the measures of the first test, in no variant."""
    found = []
    for line in scores.lines(next(iter(scores.cases))):
        key = line.cells[0].key
        named = _NAMED.fullmatch(key.model)
        if named and key.variant == "default" and line.row.entries[COLUMN].value is not None:
            found.append((named[1], named[2], line))
    return found


def _features(axes: Axes, scores: Scores, ask: Ask) -> str:
    axes.set_title("features (7)")
    found = _measured(scores)
    networks = sorted({network for network, _, _ in found})
    if not networks:
        return "no measure of MCS, RFD or SSA"
    width = 0.8 / len(networks)
    for number, network in enumerate(networks):
        entries = {part: line.row.entries[COLUMN] for own, part, line in found if own == network}
        values = [entries[part].value or 0.0 if part in entries else 0.0 for part in FEATURES]
        at = np.arange(len(FEATURES)) + width * (number - (len(networks) - 1) / 2)
        axes.bar(at, values, width, color=COLOURS[number % len(COLOURS)], label=network)
        for place, part in zip(at, FEATURES, strict=True):
            entry = entries.get(part)
            if entry and entry.low is not None and entry.high is not None:
                axes.plot([place, place], [entry.low, entry.high], color="black", linewidth=0.6)
    axes.set_xticks(range(len(FEATURES)), list(FEATURES.values()), rotation=30, ha="right")
    axes.set_ylabel(f"{COLUMN}, median over splits")
    axes.legend(frameon=False, fontsize=6)
    return ""


def _errors(axes: Axes, scores: Scores, ask: Ask) -> str:
    axes.set_title("errors of MCS and of RFD (8)")
    rows = ask("SELECT network, mcs, rfd FROM {suite}_errors ORDER BY ALL")
    if not rows:
        return "no measures of MCS and RFD alone"
    network = rows[0][0]
    x, y = np.array([row[1:] for row in rows if row[0] == network]).T
    axes.plot(x, y, linestyle="none", marker=".", markersize=2, color=COLOURS[0], label=network)
    axes.axvline(FAR, color="#555555", linewidth=0.6)
    axes.axhline(FAR, color="#555555", linewidth=0.6)
    for right, above in ((0, 0), (0, 1), (1, 0), (1, 1)):
        share = np.mean(((x > FAR) == right) & ((y > FAR) == above))
        place = (0.3 + 0.65 * right, 0.3 + 0.62 * above)
        axes.text(*place, f"{share:.0%}", transform=axes.transAxes, ha="right")
    axes.set_xlabel(f"MCS, {network}: error [points]")
    axes.set_ylabel("RFD: error [points]")
    return ""


def _reversed(axes: Axes, scores: Scores, ask: Ask) -> str:
    axes.set_title("pairs that are ranked the other way (9)")
    rows = ask(
        "SELECT model, reversed FROM {suite}_reversals WHERE family = 'stochastic' "
        "ORDER BY reversed DESC, model"
    )
    if not rows:
        return "the models of the videos are not known"
    titles = scores.plan.names.models
    names = [str(titles.get(model, model)) for model, _ in rows]
    axes.barh(range(len(rows)), [100 * share for _, share in rows], color=COLOURS[0])
    axes.set_yticks(range(len(rows)), names, fontsize=4.5)
    axes.set_xlabel("% of pairs of stochastic videos")
    return ""


def _time(axes: Axes, scores: Scores, ask: Ask) -> str:
    axes.set_title("time (11)")
    seconds: dict[str, float] = dict(ask("SELECT network, seconds_per_video FROM {suite}_networks"))
    found = [(part, line, seconds[n]) for n, part, line in _measured(scores) if n in seconds]
    if not found:
        return "no network has looked"
    networks = sorted(seconds)
    for part, line, time in found:
        value = line.row.entries[COLUMN].value or 0.0
        network = line.cells[0].key.model.removesuffix(f"_{part}")
        colour = COLOURS[networks.index(network) % len(COLOURS)]
        axes.plot([time], [value], linestyle="none", marker="o", color=colour, label=line.model)
        axes.annotate(FEATURES[part], (time, value), (3, 2), fontsize=5, textcoords="offset points")
    axes.set_xlabel("all features of a video [s]")
    axes.set_ylabel(COLUMN)
    axes.margins(x=0.4)
    return ""
