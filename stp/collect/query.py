"""Ask results.duckdb a question in SQL and print the answer."""

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import duckdb

from stp.errors import StpError

Format = Literal["table", "csv", "json", "markdown"]


def query(database: Path, sql: str, format: Format = "table") -> str:
    """Run ``sql`` on a database opened for reading only and return the rows as text.

    Args:
        database: results.duckdb.
        sql: a statement that returns rows.
        format: ``table`` and ``markdown`` are for reading: floats with six significant digits,
            NULL written out. ``csv`` and ``json`` are for programs: all digits; NULL is an empty
            field or ``null``.

    Raises:
        StpError: there is no database, the format is unknown, or DuckDB refuses the statement.
    """
    _check(format)
    return written(*answer(database, sql), format)


def answer(
    database: Path, sql: str, values: Sequence[Any] = ()
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run a statement and return the names of its columns, and its rows.

    Args:
        values: of the places marked with ``?``.

    Raises:
        StpError: there is no database, or DuckDB refuses the statement.
    """
    if not database.is_file():
        raise StpError(
            f"{database}: no such database",
            expected="the results of a finished run",
            remedy="run the table command first: it builds the database; one that was deleted "
            f"comes back with `stp collect --database {database}`",
        )
    try:
        with duckdb.connect(str(database), read_only=True) as connection:
            found = connection.execute(sql, list(values))
            # DuckDB answers None to an empty statement, whatever its stubs say.
            columns = [column[0] for column in found.description or []] if found else []
            rows = found.fetchall() if columns else []
    except duckdb.Error as error:
        raise StpError(
            f"DuckDB: {error}",
            expected="one SQL statement that reads",
            remedy="'SHOW ALL TABLES' lists tables and columns; 'FROM duckdb_columns()' explains",
        ) from None
    if not columns:
        raise StpError(
            f"the statement {sql!r} returns no columns",
            expected="one SQL statement that reads, such as SELECT",
            remedy="'SHOW ALL TABLES' lists tables and columns",
        )
    return columns, rows


def written(columns: list[str], rows: list[tuple[Any, ...]], format: Format = "table") -> str:
    """Write an answer as text, see `query`.

    Raises:
        StpError: the format is unknown.
    """
    _check(format)
    return _WRITERS[format](columns, rows)


def _check(format: str) -> None:
    if format not in _WRITERS:
        raise StpError(
            f"unknown format {format!r}",
            expected=f"one of {', '.join(_WRITERS)}",
            remedy="choose one of them",
        )


def _readable(value: Any) -> str:
    """Write a value for people."""
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_readable, value)) + "]"
    return str(value)


def _table(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    cells = [columns] + [[_readable(value) for value in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    numeric = [
        all(isinstance(row[i], (int, float)) or row[i] is None for row in rows)
        for i in range(len(columns))
    ]
    lines = [
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines) + "\n"


def _markdown(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    def line(values: list[str]) -> str:
        # A bar or a line break inside a value would end its cell.
        clean = [value.replace("|", "\\|").replace("\n", " ") for value in values]
        return "| " + " | ".join(clean) + " |"

    body = [line([_readable(value) for value in row]) for row in rows]
    return "\n".join([line(columns), "|" + "---|" * len(columns), *body]) + "\n"


def _csv(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def _json(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    if len(set(columns)) < len(columns):
        raise StpError(
            f"several columns have one name: {', '.join(columns)}",
            expected="distinct names, because they are the keys in JSON",
            remedy="name columns with AS",
        )
    records = [dict(zip(columns, map(_plain, row), strict=True)) for row in rows]
    return json.dumps(records, indent=2, ensure_ascii=False, default=str) + "\n"


def _plain(value: Any) -> Any:
    """Turn what JSON cannot say (NaN and infinity) into text, inside lists too."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


_WRITERS = {"table": _table, "csv": _csv, "json": _json, "markdown": _markdown}
