"""Overview section: what was evaluated, when, on which machines, and by which code."""

from pathlib import Path

import duckdb

from stp.options.score import CELL_KEYS
from stp.report.columns import columnar, run_query

FACTS = """
SELECT
    (SELECT count(*) FROM scores) AS scores,
    strftime(min(started), '%Y-%m-%d %H:%M') AS started,
    strftime(max(finished), '%Y-%m-%d %H:%M') AS finished,
    count(*) AS artefacts, sum(seconds) AS seconds, sum(bytes)::BIGINT AS bytes
FROM artefacts"""

COMMITS = """
SELECT
    "commit", count(*) AS artefacts, strftime(max(finished), '%Y-%m-%d %H:%M') AS finished
FROM artefacts GROUP BY "commit" ORDER BY max(finished) DESC, "commit" """

CODES = """
SELECT stage, count(DISTINCT code_fingerprint) AS codes, count(*) AS artefacts,
    sum(seconds) AS seconds
FROM artefacts GROUP BY stage ORDER BY min(rowid)"""

MACHINES = """
SELECT host, device, count(*) AS artefacts, sum(seconds) AS seconds
FROM artefacts GROUP BY host, device ORDER BY count(*) DESC, host, device"""

MISSING = f"""
SELECT
    {", ".join(CELL_KEYS)}, tested, source, scale, protocol, bytes_known_by, lacking,
    official_paper_protocol, comparable, leaky, stage, how, detail, attempts, log,
    strftime(ended, '%Y-%m-%d %H:%M') AS ended
FROM missing ORDER BY rowid"""


def data(database: duckdb.DuckDBPyConnection, results: Path) -> dict[str, object]:
    """Query facts about the whole store.

    Args:
        database: connection to the open results store.
        results: folder of the results store; not used, since all sections of the report are called
            alike.

    Returns:
        ``facts``: numbers of scores and artefacts, first and last date, total time and size.
        ``commits``, ``stages``, ``machines``: artefacts by commit, stage and machine. ``missing``:
        a row for each planned cell (one model on one dataset) without scores, and why.
    """
    names, rows = run_query(database, FACTS)
    return {
        "facts": dict(zip(names, rows[0], strict=True)),
        "commits": columnar(database, COMMITS),
        "stages": columnar(database, CODES),
        "machines": columnar(database, MACHINES),
        "missing": columnar(database, MISSING),
    }
