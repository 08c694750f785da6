"""Stores of an older version."""

from pathlib import Path

import duckdb

TABLES_AND_VIEWS = Path(__file__).with_suffix(".sql")


def as_before(database: Path) -> None:
    """Replace a results store by one with the same rows that commit 68fd97e9 could have made."""
    now = database.rename(database.with_name("now.duckdb"))
    with duckdb.connect(str(database)) as store:
        store.execute(TABLES_AND_VIEWS.read_text())
        store.execute(f"ATTACH '{now}' AS now (READ_ONLY)")
        tables = store.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name <> 'now' AND NOT internal"
        ).fetchall()
        for (table,) in tables:
            names = [f'"{name}"' for name, *_ in store.execute(f"DESCRIBE {table}").fetchall()]
            columns = ", ".join(names)
            store.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM now.{table}")
        views = store.execute(
            "SELECT sql FROM duckdb_views() WHERE database_name = 'now' AND view_name IN "
            "('sample_scores', 'person_errors', 'predicted_opinions', 'opinion_ratings')"
        ).fetchall()
        for (sql,) in views:
            store.execute(sql)
    now.unlink()
