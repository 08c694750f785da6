"""Fragments of SQL that several sections with charts use.

They number cells (results of one model on one dataset), and select the conventions (exact
definitions of metrics) that tables of results show.
"""

from stp.options.score import CELL_KEYS

NUMBERED = "numbered AS (SELECT *, row_number() OVER (ORDER BY rowid) - 1 AS cell FROM cells)"
"""SQL for cells with their index in the page, which is that of the row in
`stp.report.core.CELLS`."""

SAME_CELL = " AND ".join(f"n.{key} IS NOT DISTINCT FROM s.{key}" for key in CELL_KEYS)
"""Condition that a row ``s`` of a view belongs to the cell ``n``; seeds may be NULL."""

PART = "convention, variable, level, threshold"
"""Columns that identify a value within a cell."""

IN_TABLES = "(s.tested_on, s.convention) IN (SELECT (dataset, convention) FROM paper_columns)"
"""Condition that a row ``s`` has a convention of the tables of results for its dataset."""
