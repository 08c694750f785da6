"""Checksums of the rows of a results store, which do not depend on the layout of its file."""

import hashlib
from pathlib import Path

import duckdb

from stp.collect.connection import open_results_store

Sums = dict[str, str]


def checksums(database: Path, threads: int | None = None) -> Sums:
    """Compute the checksum of each table and view, over its sorted rows.

    Database files with the same content may differ, since the layout of pages depends on threads.
    Rows are therefore hashed, as JSON with NULL and all digits.

    Args:
        database: results.duckdb.
        threads: number of threads of DuckDB; None for all cores.

    Returns:
        SHA-256 of each table and view, by name.

    Raises:
        StpError: the store is missing or cannot be read.
    """
    with open_results_store(database, threads=threads) as connection:
        names = connection.execute(
            "SELECT table_name FROM duckdb_tables() UNION ALL "
            "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1"
        ).fetchall()
        return {name: _table_checksum(connection, name) for (name,) in names}


def _table_checksum(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """SHA-256 over the sorted hashes of the rows of a table; DuckDB hashes the rows."""
    rows = connection.execute(
        f'SELECT sha256(to_json(r)::VARCHAR) AS sum FROM "{name}" r ORDER BY sum'
    )
    total = hashlib.sha256()
    while some := rows.fetchmany(100_000):
        total.update("\n".join(row_hash for (row_hash,) in some).encode() + b"\n")
    return total.hexdigest()
