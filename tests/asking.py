"""Questions to a results store."""

from pathlib import Path
from typing import Any

import duckdb


def ask(database: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of a query, for the values of its parameters."""
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(sql, list(values)).fetchall()
