"""Combine the results stores of all scales in one database, results/results.duckdb.

A scale, such as ``demo`` or ``paper``, says which models and datasets are evaluated. Each scale has
its own store, results/<scale>/results.duckdb, whose tables and views are copied into a schema with
the name of the scale. A query therefore mixes two scales only if it names both:
``demo.leaderboard``, ``paper.leaderboard``. Names without a schema refer to the scale that was
collected last.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from stp.collect.connection import create_results_store
from stp.core.disk import atomic_path
from stp.core.errors import StpError

STORE = "results.duckdb"

ATTACHED = "attached store"
"""Name of a scale's store while it is copied; no name of a scale has a space."""


def combine(results: Path, last: str) -> dict[str, str]:
    """Build the database of all scales (such as ``demo`` and ``paper``) that have a results store.

    Views read files of artefacts, so a scale with deleted artefacts is left out.

    Args:
        results: folder of results, with a folder for each scale.
        last: name of the scale whose tables can be named without a schema.

    Returns:
        reasons why scales were left out, by name of the scale.

    Raises:
        StpError: the store of the last scale cannot be read.
    """
    stores = {path.parent.name: path for path in sorted(results.glob(f"*/{STORE}"))}
    left_out: dict[str, str] = {}
    with atomic_path(results / STORE) as temporary, create_results_store(temporary) as connection:
        for scale, store in stores.items():
            try:
                _copy(connection, scale, store)
            except duckdb.Error as error:
                reason = str(error).partition("\n")[0]
                if scale == last:
                    raise StpError(
                        f"{store}: cannot be read ({reason})",
                        expected="the results store of a scale",
                        remedy=f"build it again: stp collect --database {store}; or delete it",
                    ) from None
                connection.execute(f'DROP SCHEMA "{scale}" CASCADE')
                left_out[scale] = f"{store} cannot be read ({reason}); run it again, or delete it"
        for name in _relations(connection, last):
            connection.execute(f'CREATE VIEW main."{name}" AS FROM "{last}"."{name}"')
    return left_out


def _copy(connection: duckdb.DuckDBPyConnection, scale: str, store: Path) -> None:
    """Copy the tables and views of a store, with their comments, into a schema."""
    connection.execute(f'CREATE SCHEMA "{scale}"')
    quoted = str(store).replace("'", "''")
    connection.execute(f"ATTACH '{quoted}' AS \"{ATTACHED}\" (READ_ONLY)")
    try:
        for (name,) in connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = ? AND NOT internal "
            "ORDER BY table_oid",
            [ATTACHED],
        ).fetchall():
            connection.execute(f'CREATE TABLE "{scale}"."{name}" AS FROM "{ATTACHED}"."{name}"')
        connection.execute(f'USE "{scale}"')
        views = connection.execute(
            "SELECT sql FROM duckdb_views() WHERE database_name = ? AND NOT internal", [ATTACHED]
        ).fetchall()
        _create([sql for (sql,) in views], connection)
        with _one_commit(connection):
            connection.execute("; ".join(_comments(connection)))
    finally:
        connection.execute("USE main")
        connection.execute(f'DETACH "{ATTACHED}"')


@contextmanager
def _one_commit(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Sync the disk once for many statements; if one fails, the connection remains usable."""
    connection.begin()
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _create(views: list[str], connection: duckdb.DuckDBPyConnection) -> None:
    """Create views, given in any order, that may depend on each other."""
    while views:
        waiting = []
        for sql in views:
            try:
                connection.execute(sql)
            except duckdb.CatalogException:  # the view reads another one that does not exist yet
                waiting.append(sql)
        if len(waiting) == len(views):
            connection.execute(waiting[0])  # raises the error that says what is missing
        views = waiting


def _comments(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """SQL statements that set comments in the current schema as in the attached store."""
    comments = connection.execute(
        "SELECT 'TABLE', table_name, NULL, comment FROM duckdb_tables() "
        "WHERE database_name = $1 AND comment IS NOT NULL UNION ALL "
        "SELECT 'VIEW', view_name, NULL, comment FROM duckdb_views() "
        "WHERE database_name = $1 AND comment IS NOT NULL UNION ALL "
        "SELECT 'COLUMN', table_name, column_name, comment FROM duckdb_columns() "
        "WHERE database_name = $1 AND comment IS NOT NULL",
        [ATTACHED],
    ).fetchall()
    for kind, relation, column, comment in comments:
        name = f'"{relation}"' + (f'."{column}"' if column else "")
        yield f"COMMENT ON {kind} {name} IS '{comment.replace(chr(39), 2 * chr(39))}'"


def _relations(connection: duckdb.DuckDBPyConnection, scale: str) -> list[str]:
    """Names of all tables and views of a scale."""
    names = connection.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = ? ORDER BY ALL",
        [scale],
    ).fetchall()
    return [name for (name,) in names]
