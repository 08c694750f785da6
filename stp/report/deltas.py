"""Section on deltas: our values beside printed values; comparable values come first."""

from pathlib import Path

import duckdb

from stp.report.columns import columnar

DELTAS = """
SELECT
    d.* EXCLUDE (
        metric, convention, variable, threshold, value, published, difference, why_none, n, bytes
    ),
    d.metric, d.convention, d.variable, d.threshold, d.value, d.published, d.difference,
    d.why_none, d.n, d.bytes
FROM deltas d
ORDER BY d.difference IS NULL, d.dimension, d.tested, d.metric, d.model, d.trained_on, d.subset,
    d.setting"""


def data(database: duckdb.DuckDBPyConnection, results: Path) -> dict[str, object]:
    """Query our values beside those that papers print.

    Args:
        database: connection to the open results store.
        results: folder of the results store; not used, since all sections of the report are called
            alike.

    Returns:
        ``deltas``: a row for each of our values with a printed value, from the view ``deltas``.
    """
    return {"deltas": columnar(database, DELTAS)}
