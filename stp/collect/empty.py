"""Create an empty results.duckdb with all tables, views and comments.

Its seven hundred statements take longer than inserting the rows of a small run. The empty database
is therefore cached beside Python's bytecode. A cached file is used only for the same schema, code
and release of DuckDB.
"""

import contextlib
import gzip
import hashlib
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb

from stp.collect import connection, sample_files, schema, views
from stp.collect.settings import with_keys
from stp.collect.table import Column, Table
from stp.collect.views import View
from stp.core.disk import atomic_path
from stp.core.errors import StpError

Keys = tuple[Column, ...]
"""A column for each key of a setting, such as ``horizon`` (`stp.collect.settings.key_columns`)."""
MEMORY = Path(__file__).parent / "__pycache__"
REMEMBERED = 8
"""Number of cached files: scales with other keys of settings have other schemas."""


def write_empty(path: Path, keys: Keys) -> None:
    """Write an empty results store.

    Args:
        path: path of the database.
        keys: a column for each key of a setting, such as ``horizon`` in ``horizon-30``; tables and
            views about settings get these columns.
    """
    tables, described = tables_with_keys(keys), list(views.with_keys(key for key, *_ in keys))
    modules = (__file__, connection.__file__, sample_files.__file__, views.__file__)
    code = [Path(module).read_bytes() for module in modules]
    made_by = (duckdb.__version__, hashlib.sha256(b"".join(code)).hexdigest())
    layouts = repr((made_by, tables, described)).encode()
    name = f"empty-{hashlib.sha256(layouts).hexdigest()[:16]}.duckdb.gz"
    cached = MEMORY / name
    # gzip verifies a checksum; an empty file decompresses to nothing.
    with contextlib.suppress(OSError, EOFError, zlib.error):
        if content := gzip.decompress(cached.read_bytes()):
            path.write_bytes(content)
            return
    with connection.create_results_store(path) as database:
        create(database, tables, described)
    with contextlib.suppress(OSError, StpError):
        with atomic_path(cached) as temporary:
            temporary.write_bytes(gzip.compress(path.read_bytes(), compresslevel=1))
        cached_files = sorted(
            cached.parent.glob("empty-*.duckdb.gz"), key=lambda file: file.stat().st_mtime
        )
        for old in cached_files[:-REMEMBERED]:
            old.unlink()


def tables_with_keys(keys: Keys) -> list[Table]:
    """List all tables; those of settings and published values get further columns.

    Args:
        keys: the further columns, one for each key of a setting, such as ``horizon``.
    """
    keyed = (schema.SETTINGS, schema.PUBLISHED)
    return [with_keys(table, keys) if table in keyed else table for table in schema.TABLES]


def create(
    database: duckdb.DuckDBPyConnection, tables: Iterable[Table], views_to_create: Iterable[View]
) -> None:
    """Create empty tables and views with their comments.

    Args:
        database: connection to a database without tables.
        tables: tables to create.
        views_to_create: views to create; a view comes after the views that it reads.
    """
    # One transaction and few calls, since there are seven hundred statements.
    database.begin()
    statements = []
    for table in tables:
        columns = ", ".join(f"{identifier(column)} {kind}" for column, kind, _ in table.columns)
        statements.append(f"CREATE TABLE {identifier(table.name)} ({columns})")
        comments = {column: comment for column, _, comment in table.columns}
        statements += comment_statements("TABLE", table.name, table.comment, comments)
    described = {view.name: view for view in views_to_create}
    statements += [
        f"CREATE VIEW {identifier(view.name)} AS {view.sql}" for view in described.values()
    ]
    database.execute(";\n".join(statements))
    columns_of_views: dict[str, dict[str, str]] = {name: {} for name in described}
    for name, column in database.execute(
        "SELECT table_name, column_name FROM duckdb_columns() "
        "WHERE list_contains(?, table_name) ORDER BY column_index",
        [list(described)],
    ).fetchall():
        # Columns of tables keep their comments.
        columns_of_views[name][column] = views.comment_of(described[name], column)
    statements = []
    for name, view in described.items():
        statements += comment_statements("VIEW", name, view.comment, columns_of_views[name])
    database.execute(";\n".join(statements))
    database.commit()


def comment_statements(kind: str, name: str, comment: str, columns: Mapping[str, str]) -> list[str]:
    """Make SQL statements that set the comments of a table or view and of its columns."""
    relation = identifier(name)
    return [f"COMMENT ON {kind} {relation} IS {sample_files.quote_literal(comment)}"] + [
        f"COMMENT ON COLUMN {relation}.{identifier(column)} IS {sample_files.quote_literal(about)}"
        for column, about in columns.items()
    ]


def identifier(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'
