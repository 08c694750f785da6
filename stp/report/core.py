"""Data that all sections of the report use: what was evaluated, on which data, by which metrics."""

from pathlib import Path

import duckdb

from stp.options.score import CELL_KEYS
from stp.page.figure_style import styles
from stp.report.columns import columnar

CELLS = f"""
SELECT
    {", ".join(CELL_KEYS)}, tested, case_name, source, release, scale, protocol,
    bytes_known_by, lacking, accepted, official_paper_protocol, comparable, leaky, best_of,
    subset_note, external, samples, statistic,
    scores_fingerprint, perceptual_fingerprint
FROM cells ORDER BY rowid"""


TRUST = """
SELECT
    convention, tested_on, count(*) AS distortions,
    count(*) FILTER (correlation IS NOT NULL OR is_constant) AS known,
    count(*) FILTER (correlation > 0) AS worse,
    string_agg(distortion, ', ' ORDER BY distortion) FILTER (is_constant) AS blind,
    min(bytes) AS bytes
FROM noise_correlations GROUP BY convention, tested_on ORDER BY convention, tested_on"""
"""Summary of a study of distortions by convention; stores without such a study lack the view."""


def data(database: duckdb.DuckDBPyConnection, results: Path) -> dict[str, object]:
    """Query descriptions of what was evaluated.

    Args:
        database: connection to the open results store.
        results: folder of the results store; not used, since all sections of the report are called
            alike.

    Returns:
        by name, tables of the store such as ``cells`` (one model on one dataset each), ``models``,
        ``datasets`` and ``conventions`` (exact definitions of metrics); ``trust``, what metrics
        notice, if the store has such a study; and ``styles``, the look of each model in charts.
    """
    named = database.execute(
        # Models without a seed are baselines, except those that are calibrated, or were trained or
        # run by others.
        "SELECT model, bool_and(seed IS NULL) AND model NOT IN (SELECT model FROM models WHERE "
        "fit = 'calibrate' OR training IS NOT NULL OR is_archived) "
        "FROM cells GROUP BY model ORDER BY min(rowid)"
    ).fetchall()
    has_study = database.execute(
        "SELECT count(*) FROM duckdb_views() WHERE view_name = 'noise_correlations'"
    ).fetchone()
    style_of = styles([name for name, _ in named], [name for name, plain in named if plain])
    return {
        "suites": columnar(database, "SELECT title FROM suites ORDER BY rowid"),
        "finished": _last_finish_date(database),
        "cells": columnar(database, CELLS),
        "dimensions": columnar(database, "FROM dimensions ORDER BY rowid"),
        "settings": columnar(database, "FROM settings ORDER BY rowid"),
        "models": columnar(database, "FROM models ORDER BY rowid"),
        "datasets": columnar(database, "FROM datasets ORDER BY rowid"),
        "conventions": columnar(database, "FROM conventions ORDER BY rowid"),
        "trust": columnar(database, TRUST) if has_study and has_study[0] else None,
        "paper_columns": columnar(database, "FROM paper_columns ORDER BY rowid"),
        "styles": {name: style._asdict() for name, style in style_of.items()},
    }


def _last_finish_date(database: duckdb.DuckDBPyConnection) -> str | None:
    """The day on which the last artefact was finished, in UTC."""
    row = database.execute("SELECT strftime(max(finished), '%Y-%m-%d') FROM artefacts").fetchone()
    return row[0] if row else None
