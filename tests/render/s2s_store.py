"""A store of ChaosBench of a few bytes, in which scores of single starts are given."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from small_store import SmallStore, suite, table_column, write_receipt

from stp.plan import config
from stp.plan.checked_config import CONFIG_FOLDER
from stp.score.tables import write_samples

LEADS = 44
VARIABLE = "t850"


def s2s_store(folder: Path) -> SmallStore:
    """A store without cells, which knows all printed values."""
    store = SmallStore(folder)
    models = config.load(CONFIG_FOLDER / "chaosbench.yaml").models
    store.manifest |= {
        "suite": suite("chaosbench"),
        "dimension": "s2s_control",
        "tables": {
            "s2s_control": {
                "columns": {"chaosbench": [table_column("RMSE", "wrmse.pooled", variable="t850")]}
            }
        },
        "published": str(CONFIG_FOLDER / "suites" / "chaosbench" / "published.csv"),
        "published_names": {
            "models": {name: m.published_name or m.title for name, m in models.items()},
            "datasets": {"chaosbench": "ChaosBench"},
        },
    }
    return store


KEY = {"suite": "chaosbench", "dimension": "s2s_control", "setting": "horizon-44"}


def add(
    store: SmallStore,
    model: str,
    starts: Sequence[str],
    statistics: dict[str, np.ndarray],
    reach: float | None = None,
    **key: Any,
) -> None:
    """Add single forecasts of one variable.

    Args:
        store: to add them to.
        model: whose they are.
        starts: their N names.
        statistics: of each start, by convention, (N, LEADS) each. Of ``wrmse.pooled``, these are
            squares.
        reach: of the intervals on either side of the values; none unless given.
        key: what else is not as for other forecasts, such as a seed or a variant.
    """
    values: dict[str, dict[str, Any]] = {}
    for name, each in statistics.items():
        curve = each.mean(axis=0) ** (0.5 if name == "wrmse.pooled" else 1)
        values[name] = {"mean": float(curve.mean()), "leads": curve.tolist()}
        values[name] |= {"variable": VARIABLE, "n": len(starts)}
        if reach is not None:
            values[name]["lead_ends"] = [(value - reach, value + reach) for value in curve.tolist()]
    cell = store.add(model, "chaosbench", values, **(KEY | key))
    folder = Path(cell["scores"])
    columns = {name: {VARIABLE: each.astype(np.float64)} for name, each in statistics.items()}
    path = folder / "sample_scores.parquet"
    write_samples(path, cell["key"], None, starts, starts, columns)
    write_receipt(folder, "score")


def replace_view(connection: duckdb.DuckDBPyConnection, name: str, table: str) -> None:
    """Put a table in the place of a view that others ask."""
    connection.execute(f"DROP VIEW {name}; ALTER TABLE {table} RENAME TO {name}")


def write_starts(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    """Put the rows of a query, with some of its columns, in the place of the view s2s_starts."""
    connection.execute("CREATE TABLE made_starts AS FROM s2s_starts LIMIT 0")
    connection.execute(f"INSERT INTO made_starts BY NAME SELECT * FROM ({query})")
    replace_view(connection, "s2s_starts", "made_starts")


_SAME = " AND ".join(
    f"{{0}}.{name} = n.{name}"
    for name in ("forecast", "trained_on", "tested_on", "subset", "variable")
)
_CURVE = (
    f"LEFT JOIN s2s_curves {{0}} ON {_SAME} AND {{0}}.side = 'ours' AND {{0}}.lead = d.lead "
    "AND {0}.dimension = n.dimension AND n.variant = 'default' AND {0}.curve = '{1}'"
)
_LAST = (
    f"LEFT JOIN s2s_day_44 {{0}} ON {_SAME} AND {{0}}.side = 'ours' AND d.lead = 44 "
    "AND n.dimension = 's2s_control' AND {0}.variant = n.variant AND {0}.score = '{1}'"
)

ONE_START = f"""
WITH named AS (
    SELECT dimension, forecast, 'default' AS variant, trained_on, tested_on, subset, variable
    FROM s2s_curves WHERE side = 'ours'
    UNION
    SELECT 's2s_control', forecast, variant, trained_on, tested_on, subset, variable
    FROM s2s_day_44 WHERE side = 'ours'
),
found AS (
    SELECT
        n.*, d.lead, coalesce(r.value, m.value) AS error, s.value AS similarity,
        v.value AS divergence, p.value AS skill
    FROM named n
    CROSS JOIN range(1, 45) AS d(lead)
    {_CURVE.format("r", "RMSE")}
        -- Of these, tables and curves have different printed values.
        AND r.forecast NOT IN ('panguweather', 'graphcast', 'fourcastnetv2')
    {_CURVE.format("p", "CRPSS")}
    {_LAST.format("m", "RMSE")}
    {_LAST.format("s", "MS-SSIM")}
    {_LAST.format("v", "SpecDiv")}
)
SELECT
    dimension, forecast, variant, trained_on, tested_on, subset, variable,
    'horizon-44' AS setting, 'the only one' AS start,
    list(error * error ORDER BY lead) AS squares,
    list(similarity ORDER BY lead) AS similarity,
    list(divergence ORDER BY lead) AS divergence,
    list(1 - skill ORDER BY lead) AS crps,
    list(CASE WHEN skill IS NOT NULL THEN 1.0 END ORDER BY lead) AS crps_of_climatology
FROM found
GROUP BY ALL
"""
"""Rows of s2s_starts in which our curves and values at day 44 are of one start."""
