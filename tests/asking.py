"""Rows of a results store, and of CSV files."""

import csv
from pathlib import Path
from typing import Any

import duckdb


def ask(database: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of a query, for the values of its parameters."""
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(sql, list(values)).fetchall()


def table_for(view: str, rows: str = "") -> str:
    """SQL that puts a table in the place of a view, so that a test can write values.

    Args:
        view: name of the view; views that read it read the table.
        rows: WHERE or LIMIT clause of the rows to keep.
    """
    return (
        f"CREATE TABLE written_{view} AS FROM {view} {rows}; DROP VIEW {view}; "
        f"ALTER TABLE written_{view} RENAME TO {view}"
    )


def csv_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, by column."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
