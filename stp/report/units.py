"""Determine the units of values for readers, such as ``K`` or ``m² s⁻²``."""

from pathlib import Path

import duckdb

from stp.render.data_units import unit_of_value
from stp.report.columns import Columnar, by_columns, run_query

VALUES = """
SELECT s.tested_on, s.convention, s.variable, s.level, c.unit, d.units, f.folder
FROM (SELECT DISTINCT tested_on, convention, variable, level FROM overall) s
JOIN conventions c USING (convention)
JOIN datasets d ON d.dataset = s.tested_on
JOIN (SELECT tested_on, min(data_folder) AS folder FROM cells GROUP BY tested_on) f
    ON f.tested_on = s.tested_on
ORDER BY ALL"""


def data(database: duckdb.DuckDBPyConnection, results: Path) -> Columnar:
    """Determine the unit of each dataset, convention (exact definition of a metric) and variable.

    Args:
        database: connection to the open results store.
        results: folder of the results store; not used, since all sections of the report are called
            alike.

    Returns:
        a row for each dataset, convention, variable and level; values without a unit are left out.
    """
    _, rows = run_query(database, VALUES)
    units = []
    for tested_on, convention, variable, level, declared, stated, folder in rows:
        unit = unit_of_value(Path(folder), declared, convention, variable, level, stated or "")
        if unit:
            units.append((tested_on, convention, variable, level, unit))
    return by_columns(["tested_on", "convention", "variable", "level", "unit"], units)
