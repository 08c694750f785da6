"""Values over all lead times, for sections of the report that compare tests with each other.

Only conventions (exact definitions of metrics) that tables of results show are included.
"""

from pathlib import Path

import duckdb

from stp.report.charted_cells import IN_TABLES, NUMBERED, PART, SAME_CELL
from stp.report.columns import columnar

VALUES = f"""
WITH {NUMBERED}
SELECT
    n.cell, {PART}, s.leads, s.value, ci95_low AS low, ci95_high AS high, s.n, s.clusters, s.reason
FROM overall s JOIN numbered n ON {SAME_CELL}
WHERE {IN_TABLES}
ORDER BY ALL"""

MATCHED = f"""
WITH {NUMBERED}
SELECT n.cell, s.comparison, s.convention, s.n, s.clips, s.value, s.sd, s.repeats, s.reason
FROM matched_distances s JOIN numbered n ON {SAME_CELL}
WHERE {IN_TABLES}
ORDER BY ALL"""

PRINTED = """
SELECT
    d.dimension, d.model, d.variant, d.trained_on, d.train_subset, d.tested_on, d.subset,
    d.setting, d.metric, d.convention,
    CASE WHEN d.difference IS NOT NULL THEN d.published END AS published, d.why_none
FROM deltas d JOIN dimensions m USING (suite, dimension)
WHERE m.changes_from IS NOT NULL
ORDER BY ALL"""


def data(database: duckdb.DuckDBPyConnection, results: Path) -> dict[str, object]:
    """Query the values of each result (cell), distances at equal sample size, and printed values.

    Args:
        database: connection to the open results store.
        results: folder of the results store; not used, since all sections of the report are called
            alike.

    Returns:
        ``values``: a row for each cell (one model on one dataset), convention, variable, level and
        threshold. ``matched``: distances between sets of clips, such as FVD, of equally many clips,
        so that tests with different numbers of clips can be compared. ``printed``: a row for each
        value in the paper's tables for which we also have one; NULL with a reason if the two are
        not comparable.
    """
    return {
        "values": columnar(database, VALUES),
        "matched": columnar(database, MATCHED),
        "printed": columnar(database, PRINTED),
    }
