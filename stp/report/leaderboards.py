"""Section of leaderboards: every value with its rank, its uncertainty and the printed value."""

from pathlib import Path

import duckdb

from stp.collect.schema import EVALUATION
from stp.report.columns import by_columns, run_query
from stp.report.row_keys import ALIKE, PART, Numbers, evaluations

_PLACE = (*ALIKE, *PART)
_MODEL = ("model", "variant")
SHOWN = (
    "value", "ci95_low", "ci95_high", "seed_sd", "seeds", "n", "clusters", "reason",
    "rank", "rank_low", "rank_high", "rank_reason",
    "p", "p_sign", "worse", "published", "difference",
)  # fmt: skip


def _equal_columns_sql(alias: str, other: str, names: tuple[str, ...]) -> str:
    """SQL condition that two tables have equal values in some columns; NULL equals NULL."""
    return " AND ".join(f"{alias}.{name} IS NOT DISTINCT FROM {other}.{name}" for name in names)


BOARD = f"""
WITH interval_of AS (
    -- Each of several seeds has its own interval; the page shows them with the values of seeds.
    SELECT
        {", ".join(_PLACE)}, {", ".join(_MODEL)}, any_value(ci95_low) AS ci95_low,
        any_value(ci95_high) AS ci95_high, any_value(clusters) AS clusters
    FROM overall GROUP BY ALL HAVING count(*) = 1
),
winner AS (
    SELECT {", ".join(_PLACE)}, min_by(model, (model, variant)) AS model,
        min_by(variant, (model, variant)) AS variant
    FROM ranks WHERE rank = 1 GROUP BY ALL
),
against_winner AS (
    SELECT {", ".join(f"c.{name}" for name in _PLACE)},
        CASE WHEN c.model = w.model AND c.variant = w.variant THEN c.other ELSE c.model END
            AS model,
        CASE WHEN c.model = w.model AND c.variant = w.variant THEN c.other_variant ELSE c.variant
        END AS variant,
        c.p_corrected AS p, c.p_sign,
        CASE WHEN c.p_corrected IS NOT NULL THEN c.better IS NOT DISTINCT FROM w.model END AS worse
    FROM comparisons c JOIN winner w
    ON {_equal_columns_sql("c", "w", _PLACE)} AND (
        (c.model = w.model AND c.variant = w.variant)
        OR (c.other = w.model AND c.other_variant = w.variant)
    )
),
printed AS (
    SELECT
        {", ".join(f"d.{name}" for name in (*EVALUATION, *_MODEL))},
        d.convention, d.variable, d.threshold, d.leads, d.value,
        min(d.published) AS published, min(d.difference) AS difference
    FROM deltas d
    GROUP BY ALL
)
SELECT
    {", ".join(f"l.{name}" for name in (*_PLACE, *_MODEL))},
    l.value, i.ci95_low, i.ci95_high, l.seed_sd, l.seeds, l.n, i.clusters, l.reason,
    l.rank, r.rank_low, r.rank_high, r.reason AS rank_reason,
    a.p, a.p_sign, a.worse, p.published, p.difference
FROM leaderboard l
LEFT JOIN ranks r ON {_equal_columns_sql("l", "r", (*_PLACE, *_MODEL))}
LEFT JOIN interval_of i ON {_equal_columns_sql("l", "i", (*_PLACE, *_MODEL))}
LEFT JOIN against_winner a ON {_equal_columns_sql("l", "a", (*_PLACE, *_MODEL))}
LEFT JOIN printed p
ON {
    _equal_columns_sql(
        "p", "l", (*EVALUATION, *_MODEL, "convention", "variable", "threshold", "leads")
    )
}
    AND p.value IS NOT DISTINCT FROM l.value AND l.level IS NULL
ORDER BY l.convention, l.variable, l.level, l.threshold, l.leads, l.rank NULLS LAST, l.model,
    l.variant"""


def data(database: duckdb.DuckDBPyConnection, results: Path) -> dict[str, object]:
    """Query the ranks of all models.

    Args:
        database: connection to the open results store.
        results: folder of the results store; not used, since all sections of the report are called
            alike.

    Returns:
        ``board``: a row for each model in each ranking, with value, interval, rank and printed
        value. ``evaluations`` and ``parts``: what the indices in these rows stand for. Models are
        ranked within an evaluation (such as a test dataset and setting) for one part (a metric's
        exact definition, with variable, level, threshold and lead times).
    """
    numbers, parts = evaluations(database), Numbers(PART)
    _, board = run_query(database, BOARD)
    first, behind = len(ALIKE), len(_PLACE)
    rows = [(numbers.of(row[:first]), parts.of(row[first:behind]), *row[behind:]) for row in board]
    rows.sort(key=lambda row: row[:2])
    return {
        "evaluations": numbers.columnar(),
        "parts": parts.columnar(),
        "board": by_columns(["evaluation", "part", *_MODEL, *SHOWN], rows),
    }
