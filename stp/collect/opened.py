"""Open results.duckdb for reading."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from stp.core.errors import StpError


@contextmanager
def opened(
    database: Path, wanted: str = "a results store", threads: int | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a results store; what goes wrong with it inside is one error.

    Args:
        database: results.duckdb.
        wanted: what is expected of it, for people.
        threads: of DuckDB, all cores unless given. With one, rows that share a place in an order
            come in the same order every time.

    Raises:
        StpError: there is no store, or it is damaged or an older one.
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
            yield connection
    except duckdb.Error as error:
        raise StpError(
            f"{database}: cannot be read ({error})",
            expected=f"{wanted}, and the artefacts that it names where they were",
            remedy=f"build it again: stp collect --database {database}",
        ) from None
