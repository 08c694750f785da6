"""What all sections of the report share: cells, dimensions, names, conventions, bytes."""

from pathlib import Path

import duckdb

from stp.options.score import CELL_KEYS
from stp.page.figure_style import styles
from stp.report.columns import columnar

CELLS = f"""
SELECT
    {", ".join(CELL_KEYS)}, tested, case_name, source, release, scale, protocol,
    bytes_known_by, lacking, official_paper_protocol, comparable, leaky, best_of, subset_note,
    external, samples, statistic,
    scores_fingerprint, perceptual_fingerprint
FROM cells ORDER BY rowid"""


def data(database: duckdb.DuckDBPyConnection, results: Path) -> dict[str, object]:
    """Describe cells, dimensions, settings, models, datasets and conventions.

    Args:
        database: the results store.
        results: the folder it lies in.
    """
    named = database.execute(
        # Neither calibrated models, nor those that others trained or ran, have a seed; they are
        # no baselines.
        "SELECT model, bool_and(seed IS NULL) AND model NOT IN (SELECT model FROM models WHERE "
        "fit = 'calibrate' OR training IS NOT NULL OR is_archived) "
        "FROM cells GROUP BY model ORDER BY min(rowid)"
    ).fetchall()
    drawn = styles([name for name, _ in named], [name for name, plain in named if plain])
    return {
        "cells": columnar(database, CELLS),
        "dimensions": columnar(database, "FROM dimensions ORDER BY rowid"),
        "settings": columnar(database, "FROM settings ORDER BY rowid"),
        "models": columnar(database, "FROM models ORDER BY rowid"),
        "datasets": columnar(database, "FROM datasets ORDER BY rowid"),
        "conventions": columnar(database, "FROM conventions ORDER BY rowid"),
        "paper_columns": columnar(database, "FROM paper_columns ORDER BY rowid"),
        "styles": {name: style._asdict() for name, style in drawn.items()},
    }
