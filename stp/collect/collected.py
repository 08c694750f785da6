"""Bring collected rows into the database, and refuse what cannot be right.

What is refused is named with its file and row; the database that is being built is thrown away, and
the last good one stays where it is.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from stp.collect.manifest import Manifest, describe_key
from stp.collect.scores import COLLECTED, schema_problems
from stp.errors import StpError
from stp.score.options import CELL_KEYS

EXPECTED = "the rows of all cells, as `stp collect` writes them"
STATISTICS = ("mean", "ci95_low", "ci95_high")

_KEYS = ", ".join(CELL_KEYS)
_ROW = "convention, variable, level, threshold, lead, statistic"
_LISTED = ", ".join(f"'{name}'" for name in STATISTICS)

BAD_ROWS = {
    "a value is NaN or infinite": (
        "NOT isfinite(value)",
        "a finite value, or NULL with a reason",
    ),
    "a value is NULL without a reason": (
        "value IS NULL AND coalesce(reason, '') = ''",
        "a reason wherever there is no value",
    ),
    "a part of the key is NULL": (
        " OR ".join(f"{name} IS NULL" for name in (*CELL_KEYS, "convention") if name != "seed"),
        "a complete key; only seed may be NULL",
    ),
    "the metric is not that of the convention": (
        "metric IS DISTINCT FROM split_part(convention, '.', 1)",
        "the part of the convention before the dot",
    ),
    "an unknown statistic": (
        f"coalesce(statistic, '') NOT IN ({_LISTED})",
        f"one of {', '.join(STATISTICS)}",
    ),
}
"""What is wrong with a row -> condition in SQL, and what is expected."""


def fill(database: duckdb.DuckDBPyConnection, files: list[Path]) -> None:
    """Insert the rows of collected files into the table ``scores``, in their order.

    Raises:
        StpError: a file is missing, damaged, or has other columns.
    """
    columns = ", ".join(f'"{name}"' for name in COLLECTED.names)
    # One thread writes whole row groups as it goes: two take longer together, compress at the end,
    # and make a file that is half as large again. Receipts are read meanwhile.
    database.execute("SET threads = 1")
    for path in files:
        check_schema(path)
        try:
            database.execute(f"INSERT INTO scores ({columns}) SELECT {columns} FROM {_read(path)}")
        except duckdb.Error as error:
            raise StpError(
                f"{path}: cannot be read ({error})", expected=EXPECTED, remedy=_again(path)
            ) from None
    database.execute("RESET threads")


def check_schema(path: Path) -> None:
    """Look at the columns of a collected file.

    Raises:
        StpError: the file is missing, damaged, or has other columns.
    """
    try:
        found = pq.read_schema(path)
    except FileNotFoundError:
        remedy = "collect the cells of its manifest first"
        raise StpError(f"{path} is missing", expected=EXPECTED, remedy=remedy) from None
    except (pa.ArrowException, OSError) as error:
        raise StpError(
            f"{path}: cannot be read ({error})", expected=EXPECTED, remedy=_again(path)
        ) from None
    problems = schema_problems(found, COLLECTED)
    if problems:
        raise StpError(
            f"{path}: wrong columns: {'; '.join(problems)}",
            expected=", ".join(f"{field.name} {field.type}" for field in COLLECTED),
            remedy=_again(path),
        )


def check(
    database: duckdb.DuckDBPyConnection,
    plans: list[Manifest],
    manifests: list[Path],
    files: list[Path],
) -> None:
    """Check the rows in ``scores`` against each other and against the manifests.

    Args:
        database: with the table ``scores``.
        plans: the manifests.
        manifests: their files, in the same order.
        files: of collected rows, in the same order.

    Raises:
        StpError: a value that cannot be, a row that appears twice, a convention that the manifest
            does not know, a cell that two manifests claim, or that is in one of a manifest and its
            rows alone.
    """
    asked = ", ".join(f"bool_or({condition})" for condition, _ in BAD_ROWS.values())
    answers = database.execute(f"SELECT {asked} FROM scores").fetchall()[0]
    for (what, (condition, expected)), bad in zip(BAD_ROWS.items(), answers, strict=True):
        if bad:
            raise _bad_row(database, files, what, condition, expected)
    _check_cells(database, plans, manifests, files)
    _check_conventions(database, plans, files)
    # Equal hashes are almost certainly equal rows; the exact look is ten times as dear.
    counted = f"SELECT count(*), count(DISTINCT hash({_KEYS}, {_ROW})) FROM scores"
    (rows, different) = database.execute(counted).fetchall()[0]
    if different < rows:
        _check_twice(database, files)


def _check_cells(
    database: duckdb.DuckDBPyConnection,
    plans: list[Manifest],
    manifests: list[Path],
    files: list[Path],
) -> None:
    """Each cell stands in one manifest, once, and in the rows that were collected from it."""
    claimed: dict[tuple[Any, ...], str] = {}
    of_file: dict[tuple[Any, ...], Path] = {}
    for plan, manifest, path in zip(plans, manifests, files, strict=True):
        for number, cell in enumerate(plan["cells"]):
            key = tuple(cell["key"][name] for name in CELL_KEYS)
            where = f"{manifest}: cells[{number}]"
            if key in claimed:
                raise StpError(
                    f"{where} claims the same cell as {claimed[key]} ({describe_key(key)})",
                    expected="one score artefact for each cell",
                    remedy="keep one of the two, and collect again: "
                    f"`stp collect {manifest} --out {path}`",
                )
            claimed[key], of_file[key] = where, path
    found = set(database.execute(f"SELECT DISTINCT {_KEYS} FROM scores").fetchall())
    for key in found - claimed.keys():
        same = " AND ".join(
            f"{name} IS NULL" if value is None else f"{name} = {_literal(value)}"
            for name, value in zip(CELL_KEYS, key, strict=True)
        )
        what = f"rows of a cell that its manifest does not list ({describe_key(key)})"
        raise _bad_row(database, files, what, same, "the cells of the manifest beside it")
    for key in claimed.keys() - found:
        raise StpError(
            f"{of_file[key]}: no rows of {claimed[key]} ({describe_key(key)})",
            expected=EXPECTED,
            remedy=_again(of_file[key]),
        )


def _check_conventions(
    database: duckdb.DuckDBPyConnection, plans: list[Manifest], files: list[Path]
) -> None:
    for dimension, convention in database.execute(
        "SELECT DISTINCT dimension, convention FROM scores ORDER BY ALL"
    ).fetchall():
        known = {
            name
            for plan in plans
            if plan["dimension"] == dimension
            for name in plan.get("conventions", {})
        }
        if known and convention not in known:
            condition = f"dimension = {_literal(dimension)} AND convention = {_literal(convention)}"
            what = f"convention {convention}, which the manifest does not know"
            expected = f"one of {', '.join(sorted(known))}"
            raise _bad_row(database, files, what, condition, expected)


def _check_twice(database: duckdb.DuckDBPyConnection, files: list[Path]) -> None:
    """Look exactly which row appears twice.

    Raises:
        StpError: one does.
    """
    twice = database.execute(
        f"SELECT {_KEYS}, {_ROW}, list(file || ', row ' || (row + 1) ORDER BY file, row) "
        f"FROM ({' UNION ALL '.join(_numbered(path) for path in files)}) "
        "GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
    ).fetchall()
    for *row, places in twice:
        about = f"{describe_key(row[: len(CELL_KEYS)])}, {row[len(CELL_KEYS)]}"
        raise StpError(
            f"{places[1]}: appears twice, first in {places[0]} ({about})",
            expected=f"one row for each cell, {_ROW}",
            remedy="collect the manifest of each file again: `stp collect MANIFEST --out FILE`",
        )


def _bad_row(
    database: duckdb.DuckDBPyConnection,
    files: Iterable[Path],
    what: str,
    condition: str,
    expected: str,
) -> StpError:
    """Name the first bad row: only now is it looked for in its file."""
    for path in files:
        found = database.execute(
            f"SELECT row, {_KEYS}, convention FROM ({_numbered(path)}) "
            f"WHERE {condition} ORDER BY row LIMIT 1"
        ).fetchall()
        for row, *key, convention in found:
            return StpError(
                f"{path}, row {row + 1}: {what} ({describe_key(key)}, {convention})",
                expected=expected,
                remedy=_again(path),
            )
    return StpError(what, expected=expected, remedy="collect again")


def _numbered(path: Path) -> str:
    """Rows of a file with their numbers, from 0."""
    return f"SELECT *, {_literal(str(path))} AS file, file_row_number AS row FROM " + _read(
        path, "file_row_number=true"
    )


def _read(path: Path, *options: str) -> str:
    given = ", ".join([_literal(str(path)), "hive_partitioning=false", *options])
    return f"read_parquet({given})"


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def _again(path: Path) -> str:
    return f"delete {path} and run again"
