"""Which cells and conventions the sections with charts read."""

from stp.options.score import CELL_KEYS

NUMBERED = "numbered AS (SELECT *, row_number() OVER (ORDER BY rowid) - 1 AS cell FROM cells)"
"""Cells with their number in the page: that of the row in `stp.report.core.CELLS`."""

SAME_CELL = " AND ".join(f"n.{key} IS NOT DISTINCT FROM s.{key}" for key in CELL_KEYS)
"""That a row ``s`` of a view is of the cell ``n``; seeds may be NULL."""

PART = "convention, variable, level, threshold"
"""What has a value of its own in a cell."""

IN_TABLES = "(s.tested_on, s.convention) IN (SELECT (dataset, convention) FROM paper_columns)"
"""That the convention of a row ``s`` stands in a table of results for the dataset of the test."""
