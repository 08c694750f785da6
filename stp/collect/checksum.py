"""A checksum of what a results store holds: the same inputs give the same, on any machine."""

import hashlib
from pathlib import Path

import duckdb

from stp.collect.connection import opened

Sums = dict[str, str]


def checksums(database: Path, threads: int | None = None) -> Sums:
    """Compute the checksum of each table and view, over its sorted rows.

    The bytes of two database files may differ where their content does not: DuckDB lays pages out
    as its threads please. Rows are written as JSON, NULL and all digits included.

    Args:
        database: results.duckdb.
        threads: of DuckDB, all cores unless given.

    Returns:
        the SHA-256 of each table and view, by name.

    Raises:
        StpError: there is no store, or it cannot be read.
    """
    with opened(database, threads=threads) as connection:
        names = connection.execute(
            "SELECT table_name FROM duckdb_tables() UNION ALL "
            "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1"
        ).fetchall()
        return {name: _of(connection, name) for (name,) in names}


def _of(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Hash the sorted hashes of the rows: DuckDB hashes each row, however many there are."""
    rows = connection.execute(
        f'SELECT sha256(to_json(r)::VARCHAR) AS sum FROM "{name}" r ORDER BY sum'
    )
    total = hashlib.sha256()
    while some := rows.fetchmany(100_000):
        total.update("\n".join(one for (one,) in some).encode() + b"\n")
    return total.hexdigest()
