"""Rows of a results store, and of CSV files."""

import csv
from pathlib import Path
from typing import Any

import duckdb


def ask(database: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of a query, for the values of its parameters."""
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(sql, list(values)).fetchall()


def csv_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, by column."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
