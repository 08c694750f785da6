"""Load collected rows into the database, and refuse invalid ones.

An error names the file and row. The database under construction is then discarded, and the previous
one stays.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

import duckdb

from stp.collect.schema import ABOUT, SCORE_KINDS
from stp.collect.scores import COLLECTED
from stp.core.errors import StpError
from stp.core.parquet import check_pages, schema_problems
from stp.options.score import CELL_KEYS
from stp.plan.cell_key import CellKey
from stp.plan.manifest import Manifest, describe

EXPECTED = "the rows of all cells, as `stp collect` writes them"
STATISTICS = ("mean", "median", "ci95_low", "ci95_high", "sd")

_KEYS = ", ".join(CELL_KEYS)
_SAME_KEY = " AND ".join(
    f"r.{name} IS NOT DISTINCT FROM c.{name}" if name == "seed" else f"r.{name} = c.{name}"
    for name in CELL_KEYS
)
_SAME_CELL = " AND ".join(
    [_SAME_KEY, *(f"r.{name} IS NOT DISTINCT FROM c.{name}" for name in ABOUT)]
)
_KIND = ", ".join(name for name in SCORE_KINDS.comments if name != "number")
_SAME_KIND = " AND ".join(f"r.{name} IS NOT DISTINCT FROM k.{name}" for name in _KIND.split(", "))
_ROW = "convention, variable, level, threshold, leads, lead, statistic"
_LISTED = ", ".join(f"'{name}'" for name in STATISTICS)
_INCOMPLETE = "a part of the key is NULL", "a complete key; only seed may be NULL"
_UNLISTED = "rows of a cell that its manifest does not list"

_BAD_VALUES = {
    "a value is NaN or infinite": (
        "NOT isfinite(value)",
        "a finite value, or NULL with a reason",
    ),
    "a value is NULL without a reason": (
        "value IS NULL AND coalesce(reason, '') = ''",
        "a reason wherever there is no value",
    ),
}
"""For each problem of a value, its condition in SQL and the expected value."""
_BAD_KINDS = {
    _INCOMPLETE[0]: ("convention IS NULL", _INCOMPLETE[1]),
    "the metric is not that of the convention": (
        "metric IS DISTINCT FROM split_part(convention, '.', 1)",
        "the part of the convention before the dot",
    ),
    "an unknown statistic": (
        f"coalesce(statistic, '') NOT IN ({_LISTED})",
        f"one of {', '.join(STATISTICS)}",
    ),
}
"""Problems of kinds of score. `check` compares the other columns with the cell."""


class Claim(NamedTuple):
    """A cell (one model on one dataset in one setting), and the file that should have its scores.

    A manifest that lists a cell claims it; two manifests must not claim the same one.

    Attributes:
        where: position in the manifest, for error messages, e.g. ``short_term.json: cells[3]``.
        key: key of the cell.
        path: Parquet file of the manifest's collected rows, which should have those of the cell.
    """

    where: str
    key: CellKey
    path: Path


def claims(plans: list[Manifest], manifests: list[Path], files: list[Path]) -> list[Claim]:
    """List all cells of all manifests, in the order of their numbers in table ``cells``.

    Args:
        plans: the manifests.
        manifests: paths of the manifests, in the same order.
        files: files of collected rows, in the same order.

    Returns:
        for each cell its key, its position in a manifest, and the file that should have its scores.

    Raises:
        StpError: two manifests list the same cell.
    """
    claimed: dict[CellKey, Claim] = {}
    for plan, manifest, path in zip(plans, manifests, files, strict=True):
        for number, cell in enumerate(plan.cells):
            key = cell.key
            claim = Claim(f"{manifest}: cells[{number}]", key, path)
            if key in claimed:
                raise StpError(
                    f"{claim.where} claims the same cell as {claimed[key].where} ({describe(key)})",
                    expected="one score artefact for each cell",
                    remedy="keep one of the two, and collect again: "
                    f"`stp collect {manifest} --out {path}`",
                )
            claimed[key] = claim
    return list(claimed.values())


def fill(database: duckdb.DuckDBPyConnection, files: list[Path]) -> None:
    """Insert collected rows into table ``score_rows``, and kinds of score into ``score_kinds``.

    A kind of score is a combination of convention, variable, level, lead times, threshold and
    statistic, which rows of ``score_rows`` refer to by its number. Rows keep their order. A row
    gets the number of the cell in table ``cells`` that agrees with it in all columns about the
    cell; without such a cell it gets NULL, which `check` refuses.

    Args:
        database: open database, whose table ``cells`` is filled.
        files: Parquet files of collected rows, in the order of the manifests.

    Raises:
        StpError: a file is missing, damaged, or has other columns.
    """
    # One thread writes whole row groups as it goes; two are slower, compress at the end, and make a
    # file half as large again. Receipts are read at the same time.
    database.execute("SET threads = 1")
    # Row groups are written when they are full, so that the commit has nothing to compress.
    database.execute("SET write_buffer_row_group_count = 1")
    # Rows keep their order only if cells are the hashed side of the join.
    database.execute("SET disabled_optimizers = 'build_side_probe_side'")
    for path in files:
        check_schema(path)
        try:
            database.execute(
                "INSERT INTO score_kinds SELECT "
                f"(SELECT count(*) FROM score_kinds) + row_number() OVER (ORDER BY {_KIND}), * "
                f"FROM (SELECT {_KIND} FROM {_read(path)} EXCEPT SELECT {_KIND} FROM score_kinds)"
            )
            database.execute(
                "INSERT INTO score_rows BY NAME SELECT "
                "c.number AS cell, k.number AS kind, value, n, reason, r.scores_fingerprint "
                f"FROM {_read(path)} r LEFT JOIN cells c ON {_SAME_CELL} "
                f"LEFT JOIN score_kinds k ON {_SAME_KIND}"
            )
        except duckdb.Error as error:
            raise StpError(
                f"{path}: cannot be read ({error})",
                expected=EXPECTED,
                remedy=_deletion_advice(path),
            ) from None
    for setting in ("disabled_optimizers", "write_buffer_row_group_count", "threads"):
        database.execute(f"RESET {setting}")


def check_schema(path: Path) -> None:
    """Check the columns of a collected file and the checksums of its pages, which DuckDB ignores.

    Raises:
        StpError: the file is missing, damaged, or has other columns.
    """
    schema = check_pages(path, expected=EXPECTED, remedy=_deletion_advice(path))
    problems = schema_problems(schema, COLLECTED)
    if problems:
        raise StpError(
            f"{path}: wrong columns: {'; '.join(problems)}",
            expected=", ".join(f"{field.name} {field.type}" for field in COLLECTED),
            remedy=_deletion_advice(path),
        )


def check(
    database: duckdb.DuckDBPyConnection,
    plans: list[Manifest],
    claimed: list[Claim],
    files: list[Path],
) -> None:
    """Check collected rows against each other and against the manifests (lists of planned cells).

    Args:
        database: open database with the tables ``cells``, ``score_kinds`` and ``score_rows``.
        plans: the manifests.
        claimed: all cells of the manifests, each with the file that should have its scores
            (`claims`).
        files: files of collected rows, in the order of the manifests.

    Raises:
        StpError: a value is invalid, a row is duplicated, a convention is not in the manifest, or
            manifests and rows disagree about a cell.
    """
    for table, looks in (("score_rows", _BAD_VALUES), ("score_kinds", _BAD_KINDS)):
        conditions = ", ".join(f"bool_or({condition})" for condition, _ in looks.values())
        answers = database.execute(f"SELECT {conditions} FROM {table}").fetchall()[0]
        for (problem, (condition, expected)), bad in zip(looks.items(), answers, strict=True):
            if bad:
                raise _bad_row(database, files, problem, condition, expected)
    (kinds,) = database.execute("SELECT count(*) FROM score_kinds").fetchall()[0]
    # A bit for each kind of a cell: six times as fast as a search for equal rows.
    is_distinct = {
        cell: rows == different
        for cell, rows, different in database.execute(
            f"SELECT cell, count(*), bit_count(bitstring_agg(kind, 1, {max(1, kinds)})) "
            "FROM score_rows GROUP BY cell"
        ).fetchall()
    }
    _check_cells(database, is_distinct.keys(), claimed, files)
    _check_conventions(database, plans, files)
    if not all(is_distinct.values()):
        _check_twice(database, files)


def _check_cells(
    database: duckdb.DuckDBPyConnection,
    numbers: Collection[int | None],
    claimed: list[Claim],
    files: list[Path],
) -> None:
    """Check that each cell has rows, and that each row belongs to a cell.

    Args:
        numbers: numbers in table ``cells`` of the cells that have rows.
    """
    if None in numbers:
        raise _of_no_cell(database, files)
    for number, claim in enumerate(claimed, start=1):
        if number not in numbers:
            raise StpError(
                f"{claim.path}: no rows of {claim.where} ({describe(claim.key)})",
                expected=EXPECTED,
                remedy=_deletion_advice(claim.path),
            )


def _of_no_cell(database: duckdb.DuckDBPyConnection, files: list[Path]) -> StpError:
    incomplete = " OR ".join(f"{name} IS NULL" for name in CELL_KEYS if name != "seed")
    unlisted = f"NOT EXISTS (FROM cells c WHERE {_SAME_KEY})"
    looks = {
        _INCOMPLETE[0]: (incomplete, _INCOMPLETE[1]),
        _UNLISTED: (unlisted, "the cells of the manifest beside it"),
    }
    for name in ABOUT:
        same = f"{_SAME_KEY} AND r.{name} IS NOT DISTINCT FROM c.{name}"
        problem = f"{name} is not what its manifest says"
        looks[problem] = (f"NOT EXISTS (FROM cells c WHERE {same})", "what was collected from it")
    errors = (_find_row_error(database, files, problem, *look) for problem, look in looks.items())
    not_found = StpError(_UNLISTED, expected=EXPECTED, remedy="collect again")
    return next(filter(None, errors), not_found)


def _check_conventions(
    database: duckdb.DuckDBPyConnection, plans: list[Manifest], files: list[Path]
) -> None:
    for dimension, convention in database.execute(
        "SELECT DISTINCT dimension, convention FROM "
        "(SELECT DISTINCT dimension, kind FROM score_rows JOIN cells c ON c.number = cell) "
        "JOIN score_kinds k ON k.number = kind ORDER BY ALL"
    ).fetchall():
        conventions = {
            name for plan in plans if plan.dimension == dimension for name in plan.conventions
        }
        if conventions and convention not in conventions:
            condition = f"dimension = {_literal(dimension)} AND convention = {_literal(convention)}"
            problem = f"convention {convention}, which the manifest does not know"
            expected = f"one of {', '.join(sorted(conventions))}"
            raise _bad_row(database, files, problem, condition, expected)


def _check_twice(database: duckdb.DuckDBPyConnection, files: list[Path]) -> None:
    twice = database.execute(
        f"SELECT {_KEYS}, {_ROW}, list(file || ', row ' || (row + 1) ORDER BY file, row) "
        f"FROM ({' UNION ALL '.join(_numbered_rows_sql(path) for path in files)}) "
        "GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
    ).fetchall()
    for *row, places in twice:
        about = f"{describe(CellKey(*row[: len(CELL_KEYS)]))}, {row[len(CELL_KEYS)]}"
        raise StpError(
            f"{places[1]}: appears twice, first in {places[0]} ({about})",
            expected=f"one row for each cell, {_ROW}",
            remedy="collect the manifest of each file again: `stp collect MANIFEST --out FILE`",
        )


def _bad_row(
    database: duckdb.DuckDBPyConnection,
    files: Iterable[Path],
    problem: str,
    condition: str,
    expected: str,
) -> StpError:
    """Search the files for the first invalid row, and make an error that names it."""
    error = _find_row_error(database, files, problem, condition, expected)
    return error or StpError(problem, expected=expected, remedy="collect again")


def _find_row_error(
    database: duckdb.DuckDBPyConnection,
    files: Iterable[Path],
    problem: str,
    condition: str,
    expected: str,
) -> StpError | None:
    """Make an error for the first row that fulfils a condition; None if no row does."""
    for path in files:
        rows = database.execute(
            f"SELECT row, {_KEYS}, convention FROM ({_numbered_rows_sql(path)}) r "
            f"WHERE {condition} ORDER BY row LIMIT 1"
        ).fetchall()
        for row, *key, convention in rows:
            return StpError(
                f"{path}, row {row + 1}: {problem} ({describe(CellKey(*key))}, {convention})",
                expected=expected,
                remedy=_deletion_advice(path),
            )
    return None


def _numbered_rows_sql(path: Path) -> str:
    """Make SQL that selects the rows of a file with row numbers, from 0."""
    return f"SELECT *, {_literal(str(path))} AS file, file_row_number AS row FROM " + _read(
        path, "file_row_number=true"
    )


def _read(path: Path, *options: str) -> str:
    arguments = ", ".join([_literal(str(path)), "hive_partitioning=false", *options])
    return f"read_parquet({arguments})"


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def _deletion_advice(path: Path) -> str:
    return f"delete {path} and run again"
