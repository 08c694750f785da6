"""Section on costs: time, memory and size of what was computed, by result and in total."""

from functools import cache
from pathlib import Path

import duckdb

from stp.core.errors import StpError
from stp.core.receipts import require_receipt
from stp.report.charted_cells import NUMBERED, SAME_CELL
from stp.report.columns import by_columns, columnar, run_query

# Peaks are from the attempt that made the artefact.
CELLS = f"""
WITH {NUMBERED},
made AS (
    SELECT path, peak_mb, gpus FROM attempts WHERE how = 'done'
    QUALIFY row_number() OVER (PARTITION BY path ORDER BY attempt DESC) = 1
),
trained AS (
    SELECT m.cell, max(peak_mb) AS peak_mb, max(gpus) AS gpus
    FROM (SELECT cell, unnest(model_folders) AS folder FROM numbered) m
    JOIN made ON ends_with(m.folder, '/' || path)
    GROUP BY m.cell
),
clips AS (
    SELECT scores_fingerprint, max(n) AS clips FROM scores
    WHERE statistic = 'mean' GROUP BY ALL
)
SELECT
    n.cell, s.train_seconds, s.predict_seconds, s.score_seconds, s.perceptual_seconds,
    s.train_device, s.predict_device, s.train_host, s.predict_host,
    CASE WHEN len(n.model_folders) > 0 THEN s.model_bytes END AS model_bytes,
    t.peak_mb AS train_peak_mb, p.peak_mb AS predict_peak_mb, t.gpus AS train_gpus,
    p.gpus AS predict_gpus, c.clips, n.model_folders
FROM cost s
JOIN numbered n ON {SAME_CELL}
LEFT JOIN trained t ON t.cell = n.cell
LEFT JOIN made p ON ends_with(n.predictions_folder, '/' || p.path)
LEFT JOIN clips c ON c.scores_fingerprint = n.scores_fingerprint
ORDER BY n.cell"""

TOTALS = """
WITH made AS (
    SELECT path, gpus FROM attempts WHERE how = 'done'
    QUALIFY row_number() OVER (PARTITION BY path ORDER BY attempt DESC) = 1
)
SELECT
    a.stage, a.device, count(*) AS artefacts, sum(a.seconds) AS seconds,
    sum(a.seconds * m.gpus) AS gpu_seconds, count(*) - count(m.gpus) AS without_attempt,
    sum(a.bytes) AS bytes
FROM artefacts a LEFT JOIN made m USING (path)
GROUP BY ALL
ORDER BY min(array_position(['prepare', 'train', 'predict', 'features', 'score'], stage)), device"""

# A training run behind several cells is one artefact. Network features are part of scoring.
MODELS = """
WITH behind AS (
    SELECT DISTINCT
        model, variant, trained_on,
        CASE step WHEN 2 THEN 'train' WHEN 3 THEN 'predict' ELSE 'score' END AS work,
        path, device, seconds
    FROM lineage WHERE step > 1
),
made AS (
    SELECT path, gpus FROM attempts WHERE how = 'done'
    QUALIFY row_number() OVER (PARTITION BY path ORDER BY attempt DESC) = 1
)
SELECT
    model, variant, trained_on,
    count(*) FILTER (WHERE work = 'train') AS trainings,
    count(*) FILTER (WHERE work = 'predict') AS predictions,
    sum(seconds) FILTER (WHERE work = 'train') AS train_seconds,
    sum(seconds) FILTER (WHERE work = 'predict') AS predict_seconds,
    sum(seconds) FILTER (WHERE work = 'score') AS score_seconds,
    sum(seconds) AS seconds, sum(seconds * gpus) AS gpu_seconds,
    string_agg(DISTINCT device, ', ' ORDER BY device) AS devices
FROM behind LEFT JOIN made USING (path)
GROUP BY ALL ORDER BY trained_on, seconds DESC"""

LOST = """
SELECT
    stage, how, count(*) AS attempts, sum(seconds) AS seconds,
    sum(seconds * gpus) AS gpu_seconds, count(*) - count(seconds) AS without_end
FROM attempts WHERE how <> 'done' GROUP BY ALL ORDER BY ALL"""


def data(database: duckdb.DuckDBPyConnection, results: Path) -> dict[str, object]:
    """Query the cost of cells (one model on one dataset each), models, stages and failed attempts.

    Args:
        database: connection to the open results store.
        results: folder of the results store; not used, since all sections of the report are called
            alike.

    Returns:
        ``cells``: a row for each cell with seconds of its stages, peak memory in MB, total bytes
        and parameters of its trained models, and number of test clips; a training run that several
        cells share is in the row of each. ``models``: cost by model and training dataset over all
        tests, without preparation. ``totals``: cost by stage and device. ``models`` and ``totals``
        count each training run and prediction once. ``lost``: failed attempts by stage and kind of
        end.

    Raises:
        StpError: the store is older than the code.
    """
    names, rows = run_query(database, CELLS)
    parameters = cache(_parameters)
    counted = [(*row[:-1], _sum([parameters(folder) for folder in row[-1]])) for row in rows]
    return {
        "cells": by_columns([*names[:-1], "parameters"], counted),
        "models": columnar(database, MODELS),
        "totals": columnar(database, TOTALS),
        "lost": columnar(database, LOST),
    }


def _sum(counts: list[int | None]) -> int | None:
    """The sum of counts; None if there are no counts, or one of them is unknown."""
    present = [count for count in counts if count is not None]
    return sum(present) if counts and len(present) == len(counts) else None


def _parameters(folder: str) -> int | None:
    """Number of parameters of a trained model, from its receipt; None if the receipt is missing."""
    try:
        count: int | None = require_receipt(Path(folder)).extras.get("parameters")
    except StpError:
        return None
    return count
