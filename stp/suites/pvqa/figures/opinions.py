"""Figure of raters' opinions and of measures of quality: Figures 3, 4, 7, 8, 9 and 11 of PVQA."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stp.collect.artefact_views import QUALITY, RATINGS, files, query
from stp.core.receipts import require_receipt
from stp.plan.manifest import Manifest
from stp.render.figures.panels import panels
from stp.render.figures.reading import Line, Scores

FIGURE = {
    "of_case": False,
    "about": "opinions of raters, and what measures of quality say of them",
    "caption": "Opinion scores and those of two halves of the raters; correlations of features, "
    "errors of MCS and RFD, pairs of videos that measures rank the other way, and time",
}

BIN = 5  # points of opinion
FAR = 15  # points; the threshold of the paper
COLUMN = "SROCC"
REVERSED_PAIR = "reversed_pair"  # the dimension of printed values of Figure 9
SPLIT_HALF = "inter-subject split-half PLCC median"  # as published values call it
FEATURES = {
    "mcs_rfd": "MCS + RFD",
    "ssa_rfd": "SSA + RFD",
    "mcs": "MCS",
    "rfd": "RFD",
    "ssa": "SSA",
}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
GROUPS = {
    "full_reference": ("full reference", "#d55e00"),
    "no_reference": ("no reference", "#0072b2"),
    "both": (FEATURES["mcs_rfd"], "#009e73"),
    "baseline": ("baseline", "#999999"),
}
"""Groups of measures in Figure 11, each with a name and a colour: measures of the paper, and
baselines."""


def draw(scores: Scores) -> tuple[Figure, list[str]]:
    """Draw six panels, after six figures of PVQA; a panel without data states the reason.

    - Figure 3: histogram of the opinion scores of videos.
    - Figure 4: opinion scores from one half of the raters (x) and from the other half (y).
    - Figure 7: bars with the SROCC of measures on one or two kinds of features of networks: MCS
      (motion-compensated cosine similarity), RFD (of rescaled frame differences) and SSA (simple
      spatial averages).
    - Figure 8: errors of a measure on MCS alone (x) and of one on RFD alone (y), points.
    - Figure 9: for each measure, the share of pairs of videos that it ranks otherwise than people.
    - Figure 11: time of a measure for a video (x), and its SROCC (y).

    Args:
        scores: scores of all models in all tests of a table.

    Returns:
        the figure, and notes to print below it.
    """
    figure, panel_axes = panels(6, 2.2, extra=0.1)
    with _views(scores) as ask:
        for axes, panel in zip(
            panel_axes,
            (_spread, _halves, _features, _errors, _draw_reversed_pairs, _time),
            strict=True,
        ):
            missing = panel(axes, scores, ask)
            if missing:
                axes.text(0.5, 0.5, missing, ha="center", va="center", transform=axes.transAxes)
                axes.set_xticks([])
                axes.set_yticks([])
    return figure, ["numbers in parentheses: figures of the paper", *_published_pair_note(scores)]


def _published_pair_note(scores: Scores) -> list[str]:
    printed: dict[str, list[str]] = {}
    for value in scores.published:
        if value.dimension == REVERSED_PAIR:
            printed.setdefault(value.model, []).append(value.raw)
    text = ", ".join(f"{measure} {' and '.join(pair)}" for measure, pair in printed.items())
    return [f"printed of two videos (9): {text}"] if text else []


Ask = Callable[[str], list[tuple[Any, ...]]]
"""Function from SQL, in which ``{suite}`` stands for the suite, to rows."""


@contextmanager
def _views(scores: Scores) -> Iterator[Ask]:
    """The views of the suite, computed from the files of these scores.

    Views are left out if they need tables of the results store other than cells, models and
    receipts.
    """
    plan = scores.plan
    with duckdb.connect() as database:
        for stored_rows in (QUALITY, RATINGS):
            sql_of_rows = query(files([plan], stored_rows), stored_rows)
            database.execute(f"CREATE VIEW {stored_rows.view.name} AS {sql_of_rows}")
        _fill(database, plan)
        for name, sql in plan.suite.views.items():
            try:
                database.execute(f"CREATE VIEW {name} AS {sql}")
            except duckdb.CatalogException:
                continue
        yield lambda sql: database.execute(sql.format(suite=plan.suite.name)).fetchall()


def _fill(database: duckdb.DuckDBPyConnection, plan: Manifest) -> None:
    """Create tables of cells, models and artefacts, with the columns that views query."""
    database.execute(
        "CREATE TABLE cells (suite VARCHAR, model VARCHAR, variant VARCHAR, "
        "predictions_fingerprint VARCHAR, feature_fingerprints VARCHAR[])"
    )
    folders: set[Path] = set()
    for cell in plan.cells:
        features, predictions = cell.folders(["features"]), cell.demand_predictions()
        folders |= {*features, predictions}
        names = [cell.key.suite, cell.key.model, cell.key.variant, predictions.name]
        feature_fingerprints = [folder.name for folder in features]
        database.execute("INSERT INTO cells VALUES (?, ?, ?, ?, ?)", [*names, feature_fingerprints])
    database.execute(
        "CREATE TABLE models (model VARCHAR, title VARCHAR, role VARCHAR, network VARCHAR, "
        "parts VARCHAR[], learns BOOLEAN)"
    )
    for name, facts in plan.models.items():
        further = [facts.role, facts.network, list(facts.parts or ()), facts.learns]
        titled = [name, plan.names.models.get(name, name)]
        database.execute("INSERT INTO models VALUES (?, ?, ?, ?, ?, ?)", [*titled, *further])
    database.execute(
        "CREATE TABLE artefacts (stage VARCHAR, fingerprint VARCHAR, recipe JSON, extras JSON)"
    )
    for folder in sorted(folders):
        receipt = require_receipt(folder)
        values = [
            receipt.stage,
            receipt.fingerprint,
            json.dumps(receipt.recipe),
            json.dumps(receipt.extras),
        ]
        database.execute("INSERT INTO artefacts VALUES (?, ?, ?, ?)", values)


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
    published = [value.raw for value in scores.published if value.model == SPLIT_HALF]
    text = "".join([f"median PLCC {median:.3f}", *(f", printed {raw}" for raw in published)])
    axes.text(0.05, 0.92, text, transform=axes.transAxes)
    return ""


def _default_lines(scores: Scores) -> dict[str, Line]:
    """Lines of the first test by measure; variants and measures without a value are left out."""
    return {
        line.cells[0].key.model: line
        for line in scores.lines(next(iter(scores.cases)))
        if line.cells[0].key.variant == "default" and line.row.entries[COLUMN].value is not None
    }


def _network_measures(scores: Scores) -> list[tuple[str, str, Line]]:
    """Network, features and line of each measure that is made of one of `FEATURES`."""
    measures = []
    for model, line in _default_lines(scores).items():
        facts = scores.plan.models.get(model)
        if facts is None or facts.network is None:
            continue
        part = "_".join(facts.parts or ())
        if part in FEATURES:
            measures.append((facts.network, part, line))
    return measures


def _features(axes: Axes, scores: Scores, ask: Ask) -> str:
    axes.set_title("features (7)")
    measures = _network_measures(scores)
    networks = sorted({network for network, _, _ in measures})
    if not networks:
        return "no measure of MCS, RFD or SSA"
    width = 0.8 / len(networks)
    for number, network in enumerate(networks):
        entries = {
            part: line.row.entries[COLUMN]
            for of_network, part, line in measures
            if of_network == network
        }
        values = [entries[part].value or 0.0 if part in entries else 0.0 for part in FEATURES]
        positions = np.arange(len(FEATURES)) + width * (number - (len(networks) - 1) / 2)
        axes.bar(positions, values, width, color=COLOURS[number % len(COLOURS)], label=network)
        for position, part in zip(positions, FEATURES, strict=True):
            entry = entries.get(part)
            if entry and entry.low is not None and entry.high is not None:
                axes.plot(
                    [position, position], [entry.low, entry.high], color="black", linewidth=0.6
                )
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
        position = (0.3 + 0.65 * right, 0.3 + 0.62 * above)
        axes.text(*position, f"{share:.0%}", transform=axes.transAxes, ha="right")
    axes.set_xlabel(f"MCS, {network}: error [points]")
    axes.set_ylabel("RFD: error [points]")
    return ""


def _draw_reversed_pairs(axes: Axes, scores: Scores, ask: Ask) -> str:
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
    lines = _default_lines(scores)
    rows = ask(
        "SELECT model, seconds, CASE WHEN proposed = 'both' THEN proposed ELSE role END "
        "FROM {suite}_times JOIN {suite}_measures USING (model) ORDER BY ALL"
    )
    timed = [row for row in rows if row[0] in lines]
    if not timed:
        return "no measure was timed"
    named: set[str] = set()
    for model, seconds, group in timed:
        line, (name, colour) = lines[model], GROUPS[group]
        value = line.row.entries[COLUMN].value or 0.0
        label = "" if name in named else name
        named.add(name)
        axes.plot([seconds], [value], linestyle="none", marker=".", color=colour, label=label)
        position = (seconds, value)
        axes.annotate(line.model, position, (2, 1), fontsize=3.5, textcoords="offset points")
    axes.set_xscale("log")
    axes.set_xlabel("time of a video [s]")
    axes.set_ylabel(COLUMN)
    axes.margins(x=0.2)
    axes.legend(frameon=False, fontsize=5)
    return ""
