"""Open results.duckdb for reading, or create an empty one."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from stp.collect.schema import TABLES, About
from stp.collect.table import columns_of
from stp.core.errors import StpError

_FILE_OF_VIEW = re.compile(r"'((?:[^'*]|'')+/(?:sample_scores|errors|quality|ratings)\.parquet)'")
"""Files of sample scores and of `stp.collect.artefact_views`, which is slow to import."""

STORAGE = "v1.0.0"
"""Version of DuckDB's storage format, which older releases read as well: 1.1.3 of November 2024
reads every view. The default would be the newest format."""


def create_results_store(path: Path) -> duckdb.DuckDBPyConnection:
    """Create an empty results store, and open it for writing."""
    return duckdb.connect(str(path), config={"storage_compatibility_version": STORAGE})


@contextmanager
def open_results_store(
    database: Path,
    wanted: str = "a results store",
    threads: int | None = None,
    *,
    locked: Iterable[Path] | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Context manager: open a results store for reading; report errors of DuckDB as `StpError`.

    In a store of an older version, columns that were added later are NULL.

    Args:
        database: results.duckdb.
        wanted: description of the file, for error messages.
        threads: number of threads of DuckDB; None for all cores. With one thread, the order of rows
            with equal sort keys is deterministic.
        locked: files that statements may read and write, besides the files of the store's own
            views; access to other files, network and extensions is refused. None for no
            restriction.

    Raises:
        StpError: the store is missing or damaged.
    """
    if not database.is_file():
        raise StpError(
            f"{database}: no such database",
            expected="the results of a finished run",
            remedy="run the table command first: it builds the database; one that was deleted "
            f"comes back with `stp collect --database {database}`",
        )
    settings: dict[str, str | bool | int | float | list[str]] = {}
    if threads is not None:
        settings["threads"] = threads
    try:
        with duckdb.connect(str(database), read_only=True, config=settings) as connection:
            _add_missing_columns(connection)
            if locked is not None:
                _lock(connection, locked)
            yield connection
    except duckdb.Error as error:
        raise StpError(
            f"{database}: cannot be read ({error})",
            expected=f"{wanted}, and the artefacts that it names where they were",
            remedy=f"build it again: stp collect --database {database}",
        ) from None


def _add_missing_columns(connection: duckdb.DuckDBPyConnection) -> None:
    """Add columns of later versions to the tables of an older store, for this connection only."""
    counts = dict(
        connection.execute(
            "SELECT table_name, column_count FROM duckdb_tables() "
            "WHERE schema_name = 'main' AND NOT internal"
        ).fetchall()
    )
    expected = [("TABLE", table.name, table.columns) for table in TABLES]
    if all(counts.get(name, 0) >= len(columns) for _, name, columns in expected):
        return
    expected += [("VIEW", name, columns_of(About)) for name in ("scores", "overall", "by_lead")]
    views = connection.execute(
        "SELECT view_name FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal"
    ).fetchall()
    for kind, name, columns in expected:
        if name not in counts and (name,) not in views:
            continue  # the file is not a results store: queries will fail
        store = connection.execute("SELECT current_database()").fetchall()[0][0]
        relation = f'"{store}".main."{name}"'
        existing = {column for column, *_ in connection.execute(f"DESCRIBE {relation}").fetchall()}
        later = [
            f'NULL::{column.sql_type} AS "{column.name}"'
            for column in columns
            if column.name not in existing
        ]
        if later:
            connection.execute(
                f'CREATE TEMP {kind} "{name}" AS SELECT *, {", ".join(later)} FROM {relation}'
            )


def _lock(connection: duckdb.DuckDBPyConnection, allowed: Iterable[Path]) -> None:
    """Forbid access to files and network for the rest of a connection."""
    views = connection.execute("SELECT sql FROM duckdb_views() WHERE NOT internal").fetchall()
    read = {path.replace("''", "'") for (sql,) in views for path in _FILE_OF_VIEW.findall(sql)}
    # SET does not accept parameters.
    listed = ", ".join(
        "'" + path.replace("'", "''") + "'" for path in sorted({*read, *map(str, allowed)})
    )
    connection.execute(f"SET allowed_paths = [{listed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
