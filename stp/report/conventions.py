"""Section on conventions: effects of the exact definition of a metric on values and ranks."""

from pathlib import Path

import duckdb

from stp.report.columns import columnar

EFFECTS = """
SELECT
    e.dimension, c.tested, e.metric, e.convention, e.other, e.variable, e.level, e.threshold,
    e.leads,
    e.source, e.models, e.rank_correlation, e.largest_move, e.moved, e.best_model,
    e.best_variant, e.other_best_model, e.other_best_variant, e.another_wins, e.relative_difference
FROM convention_effects e
JOIN (
    SELECT dimension, suite, trained_on, train_subset, tested_on, subset, setting,
        min(tested) AS tested
    FROM cells GROUP BY ALL
) c USING (dimension, suite, trained_on, train_subset, tested_on, subset, setting)
WHERE e.models > 1
ORDER BY e.metric, e.convention, e.other, e.dimension, c.tested, e.setting, e.variable, e.level,
    e.threshold, e.leads, e.source, e.scale, e.leaky, e.best_of, e.set_size"""


def data(database: duckdb.DuckDBPyConnection, results: Path) -> dict[str, object]:
    """Query how ranks and values of models differ between two exact definitions of a metric.

    Args:
        database: connection to the open results store.
        results: folder of the results store; not used, since all sections of the report are called
            alike.

    Returns:
        ``effects``: a row for each pair of conventions (exact definitions) of a metric and each
        evaluation (models that are ranked together), from the view ``convention_effects``.
    """
    return {"effects": columnar(database, EFFECTS)}
