"""Section on lead times: values at each lead time, and the duration of a lead time."""

from pathlib import Path

import duckdb

from stp.render.figures.time_step import seconds_per_step
from stp.report.charted_cells import IN_TABLES, NUMBERED, PART, SAME_CELL
from stp.report.columns import Value, columnar, run_query

MOST = 400_000
"""Maximum number of values in the page, about 12 bytes each; if there are more, only conventions of
the tables are kept."""

DIGITS = 5
"""Number of significant digits; more are invisible in a chart."""


def _leads(which: str) -> str:
    """SQL that selects a row for each cell and part of a convention, with lists over lead times."""
    at = "FILTER (WHERE lead IS NOT NULL)"
    return f"""
WITH {NUMBERED},
all_leads AS (
    SELECT * FROM by_lead UNION ALL BY NAME
    SELECT * EXCLUDE (leads) FROM overall WHERE leads IS NULL
)
SELECT
    n.cell, {PART}, list(lead ORDER BY lead) {at} AS at_leads,
    list(value ORDER BY lead) {at} AS values,
    CASE WHEN count(ci95_low) {at} > 0 THEN list(ci95_low ORDER BY lead) {at} END AS low,
    CASE WHEN count(ci95_high) {at} > 0 THEN list(ci95_high ORDER BY lead) {at} END AS high,
    max(s.n) AS n, max(clusters) AS clusters, max(s.reason) AS reason
FROM all_leads s JOIN numbered n ON {SAME_CELL}
WHERE {which}
GROUP BY ALL
ORDER BY ALL"""


# All cells of a test have the frames of the same clips.
STEPS = f"""
WITH {NUMBERED}
SELECT data_folder, subset, setting, list(cell ORDER BY cell) AS cells
FROM numbered GROUP BY ALL ORDER BY ALL"""


def data(database: duckdb.DuckDBPyConnection, results: Path) -> dict[str, object]:
    """Query values at each lead time.

    Args:
        database: connection to the open results store.
        results: folder of the results store; not used, since all sections of the report are called
            alike.

    Returns:
        ``lines``: a row for each cell (one model on one dataset), convention (exact definition of a
        metric), variable, level and threshold. Its ``values``, ``low`` and ``high`` are lists over
        lead times, or NULL with a ``reason``; ``at_leads`` is the first lead time if lead times
        are consecutive, else a list. ``complete``: whether all conventions are included, not only
        those in tables of results. ``steps``: seconds from one lead time to the next by index of
        the cell, if known.
    """
    _, [(size,)] = run_query(
        database, "SELECT count(value) + count(ci95_low) + count(ci95_high) FROM by_lead"
    )
    complete = size <= MOST
    lines = columnar(database, _leads("true" if complete else IN_TABLES), DIGITS)
    leads = lines.columns["at_leads"]
    assert isinstance(leads, list), "lists of numbers are no texts"
    lines.columns["at_leads"] = [_first_if_consecutive(value) for value in leads]
    return {"lines": lines, "complete": complete, "steps": _steps(database)}


def _first_if_consecutive(leads: Value) -> Value:
    """The first lead time if all are consecutive; otherwise all, unchanged."""
    if isinstance(leads, list) and leads and isinstance(first := leads[0], int):
        return first if leads == list(range(first, first + len(leads))) else leads
    return leads


def _steps(database: duckdb.DuckDBPyConnection) -> dict[int, float]:
    steps: dict[int, float] = {}
    for folder, subset, setting, cells in run_query(database, STEPS)[1]:
        seconds = seconds_per_step(Path(folder), subset, setting)
        if seconds is not None:
            steps |= dict.fromkeys(cells, seconds)
    return steps
