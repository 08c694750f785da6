"""Section on significance: paired comparisons of any two models, and ranks with uncertainty."""

from pathlib import Path

import duckdb

from stp.collect.schema import ALIKE
from stp.report.charted_cells import IN_TABLES, PART
from stp.report.columns import columnar, run_query

MOST = 20_000
"""Maximum number of pairs in the page, about 100 bytes each; if there are more, only conventions of
the tables are kept."""

DIGITS = 4
"""Number of significant digits in the page; the store has all digits."""

WHERE = "suite, dimension, trained_on, train_subset, tested_on, subset, setting"


def data(database: duckdb.DuckDBPyConnection, results: Path) -> dict[str, object]:
    """Query comparisons of two models, and ranks of models.

    Args:
        database: connection to the open results store.
        results: folder of the results store; not used, since all sections of the report are called
            alike.

    Returns:
        ``comparisons`` and ``ranks``: rows of the store's tables of the same names. ``complete``:
        whether all conventions (exact definitions of metrics) are included, not only those in
        tables of results.

    Raises:
        StpError: the store is older than the code.
    """
    _, [(count,)] = run_query(database, "SELECT count(*) FROM comparisons")
    complete = count <= MOST
    which = "true" if complete else IN_TABLES
    return {
        "complete": complete,
        "comparisons": columnar(
            database,
            f"SELECT {WHERE}, {', '.join(ALIKE)}, {PART}, leads, model, variant, other, "
            "other_variant, "
            "difference, ci95_low, ci95_high, p, p_corrected, p_sign, won, skewed, better, "
            "detectable, clusters, n, reason "
            f"FROM comparisons s WHERE {which} ORDER BY rowid",
            DIGITS,
        ),
        "ranks": columnar(
            database,
            f"SELECT {WHERE}, {', '.join(ALIKE)}, {PART}, leads, model, variant, rank, rank_low, "
            "rank_high, models, clusters, reason "
            f"FROM ranks s WHERE {which} ORDER BY rowid",
            DIGITS,
        ),
    }
