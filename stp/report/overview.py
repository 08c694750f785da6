"""Overview: how much was evaluated of what was planned, and whose bytes."""

from pathlib import Path
from typing import Any

import duckdb

from stp.report.columns import columnar


def data(database: duckdb.DuckDBPyConnection, results: Path) -> dict[str, Any]:
    """One row per model and evaluation; see the view coverage."""
    return {
        "coverage": columnar(
            database,
            "SELECT dimension, tested, model, any_value(c.source) AS source, "
            "any_value(c.protocol) AS protocol, bool_or(leaky) AS leaky, count(*) AS cells, "
            "bool_and(c.official_paper_protocol) AS official_paper_protocol "
            "FROM cells c GROUP BY ALL ORDER BY min(rowid)",
        )
    }
