"""Overview section: planned and evaluated cells, with dates, machines and versions of the code."""

from pathlib import Path

import duckdb

from stp.options.score import CELL_KEYS
from stp.report.columns import asked, columnar

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
    """Facts about the whole store, and a row for each planned cell without scores."""
    names, rows = asked(database, FACTS)
    return {
        "facts": dict(zip(names, rows[0], strict=True)),
        "commits": columnar(database, COMMITS),
        "stages": columnar(database, CODES),
        "machines": columnar(database, MACHINES),
        "missing": columnar(database, MISSING),
    }
