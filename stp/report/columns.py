"""Write results of queries as compact JSON: column by column, with each distinct text once."""

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb

from stp.core.errors import StpError

DIGITS = 7
"""Number of significant digits in the page; the store has all digits."""

Rows = list[tuple[Any, ...]]
"""Rows of a query result: values of DuckDB."""
Value = float | str | list["Value"] | None
"""A value of JSON (true and false are numbers)."""


@dataclass(frozen=True)
class Words:
    """A column of texts, in which repeated texts are stored once.

    Attributes:
        words: distinct texts.
        codes: for each row, the index of its text in `words`; -1 for NULL.
    """

    words: list[str]
    codes: list[int]


@dataclass(frozen=True)
class Columnar:
    """A query result by columns, which the function ``rows`` in page/base.js reads.

    Attributes:
        count: number of rows.
        columns: values by name of the column; numbers that JSON cannot represent are texts:
            ``"Infinity"``.
    """

    count: int
    columns: dict[str, Words | list[Value]]


def as_json(piece: object) -> str:
    """Format a part of the page's data as JSON; dataclasses become objects with their fields."""
    return json.dumps(
        piece, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=vars
    )


def columnar(
    database: duckdb.DuckDBPyConnection, sql: str, digits: int | None = DIGITS
) -> Columnar:
    """Query the results store; return the result by columns.

    Args:
        database: the open results store.
        sql: the query.
        digits: number of significant digits of numbers; None keeps all.

    Raises:
        StpError: DuckDB refuses the statement, for example because the store is older than the
            code.
    """
    return by_columns(*run_query(database, sql), digits=digits)


def run_query(database: duckdb.DuckDBPyConnection, sql: str) -> tuple[list[str], Rows]:
    """Query the results store; return names of columns, and rows.

    Raises:
        StpError: DuckDB refuses the statement, for example because the store is older than the
            code.
    """
    try:
        answer = database.execute(sql)
        return [column[0] for column in answer.description], answer.fetchall()
    except duckdb.Error as error:
        raise StpError(
            f"DuckDB: {error}",
            expected="a results store of this version",
            remedy="delete results/results.duckdb and make the report again",
        ) from None


def by_columns(
    names: list[str], rows: Rows, exact: tuple[str, ...] = (), digits: int | None = DIGITS
) -> Columnar:
    """Rearrange the rows of a query result by columns.

    Args:
        names: names of the columns.
        rows: values of each row.
        exact: names of columns whose numbers keep all digits.
        digits: number of significant digits in other columns; None keeps all.
    """
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    by_name = zip(names, columns, strict=True)
    return Columnar(
        len(rows),
        {name: _column(values, None if name in exact else digits) for name, values in by_name},
    )


def _column(values: tuple[Any, ...], digits: int | None) -> Words | list[Value]:
    if not any(isinstance(value, str) for value in values):
        return [to_json_value(value, digits) for value in values]
    words = {value: code for code, value in enumerate(dict.fromkeys(v for v in values if v))}
    empty = words.setdefault("", len(words)) if "" in values else -1
    codes = [-1 if v is None else words[v] if v else empty for v in values]
    return Words(list(words), codes)


def to_json_value(value: object, digits: int | None = DIGITS) -> Any:
    """Convert a value of DuckDB to a value of JSON.

    Args:
        value: the value.
        digits: number of significant digits of numbers; None keeps all.
    """
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
        return value if digits is None else float(f"{value:.{digits}g}")
    if isinstance(value, list | tuple):
        return [to_json_value(item, digits) for item in value]
    return value if isinstance(value, int | str | None) else str(value)
