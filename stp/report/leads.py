"""Lead time: values at each lead time, and how much time a lead time is."""

from pathlib import Path
from typing import Any

import duckdb

from stp.render.figures.time_step import seconds_per_step
from stp.report.columns import asked, columnar
from stp.report.numbered import IN_TABLES, NUMBERED, PART, SAME_CELL

MOST = 400_000
"""Numbers in the page, about 12 bytes each; with more, only conventions of the tables are in."""

DIGITS = 5
"""Significant digits: a chart shows no more."""


def _leads(which: str) -> str:
    """One row per cell and part of a convention, with lists over lead times."""
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


def data(database: duckdb.DuckDBPyConnection, results: Path) -> dict[str, Any]:
    """Values over lead times.

    Returns:
        ``lines``: one row per cell and part of a convention; ``values``, ``low`` and ``high`` are
        lists, NULL where there are none and ``reason`` says why; ``at_leads`` is the first lead
        time of consecutive ones, else a list. ``complete``:
        whether all conventions are in, or those of the tables of results only. ``steps``: seconds
        of one lead time by number of the cell, where the data say so.
    """
    _, [(size,)] = asked(
        database, "SELECT count(value) + count(ci95_low) + count(ci95_high) FROM by_lead"
    )
    complete = size <= MOST
    lines = columnar(database, _leads("true" if complete else IN_TABLES))
    for name in ("values", "low", "high"):
        lines["columns"][name] = [_short(values) for values in lines["columns"][name]]
    lines["columns"]["at_leads"] = [_first(leads) for leads in lines["columns"]["at_leads"]]
    return {"lines": lines, "complete": complete, "steps": _steps(database)}


def _short(values: list[Any] | None) -> list[Any] | None:
    return values and [float(f"{v:.{DIGITS}g}") if isinstance(v, float) else v for v in values]


def _first(leads: list[int] | None) -> int | list[int] | None:
    if leads and leads == list(range(leads[0], leads[-1] + 1)):
        return leads[0]
    return leads


def _steps(database: duckdb.DuckDBPyConnection) -> dict[int, float]:
    """Seconds of one lead time, by number of the cell."""
    found: dict[int, float] = {}
    for folder, subset, setting, cells in asked(database, STEPS)[1]:
        seconds = seconds_per_step(Path(folder), subset, setting)
        if seconds is not None:
            found |= dict.fromkeys(cells, seconds)
    return found
