"""Answers of the results store as compact JSON: by columns, each word once."""

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb

from stp.core.errors import StpError

DIGITS = 7
"""Significant digits of a number in the page; the store has all of them."""

Rows = list[tuple[Any, ...]]
"""Rows of an answer: values of DuckDB."""
Value = float | str | list["Value"] | None
"""A value of JSON (true and false are numbers)."""


@dataclass(frozen=True)
class Words:
    """A column of texts.

    Attributes:
        words: distinct texts.
        codes: number of the word of each row; -1 for NULL.
    """

    words: list[str]
    codes: list[int]


@dataclass(frozen=True)
class Columnar:
    """An answer by columns; ``rows`` in page/base.js reads it.

    Attributes:
        count: number of rows.
        columns: values by name; numbers that JSON lacks are texts: ``"Infinity"``.
    """

    count: int
    columns: dict[str, Words | list[Value]]


def as_json(piece: object) -> str:
    """Write a piece of the page, dataclasses as their fields."""
    return json.dumps(
        piece, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=vars
    )


def columnar(database: duckdb.DuckDBPyConnection, sql: str) -> Columnar:
    """Ask the store, and write the answer by columns.

    Raises:
        StpError: DuckDB refuses the statement, as it does where the store is older than the code.
    """
    return by_columns(*asked(database, sql))


def asked(database: duckdb.DuckDBPyConnection, sql: str) -> tuple[list[str], Rows]:
    """Ask the store for the names of columns, and rows.

    Raises:
        StpError: DuckDB refuses the statement, as it does where the store is older than the code.
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


def by_columns(names: list[str], rows: Rows, exact: tuple[str, ...] = ()) -> Columnar:
    """Write rows by columns, as `columnar` does.

    Args:
        exact: columns whose numbers keep all digits.
    """
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    by_name = zip(names, columns, strict=True)
    return Columnar(len(rows), {name: _column(values, name in exact) for name, values in by_name})


def _column(values: tuple[Any, ...], exact: bool) -> Words | list[Value]:
    if not any(isinstance(value, str) for value in values):
        return [plain(value, exact) for value in values]
    words = {value: code for code, value in enumerate(dict.fromkeys(v for v in values if v))}
    empty = words.setdefault("", len(words)) if "" in values else -1
    codes = [-1 if v is None else words[v] if v else empty for v in values]
    return Words(list(words), codes)


def plain(value: object, exact: bool = False) -> Any:
    """Turn a value of DuckDB into one of JSON; numbers are rounded unless they are exact."""
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
        return value if exact else float(f"{value:.{DIGITS}g}")
    if isinstance(value, list | tuple):
        return [plain(item, exact) for item in value]
    return value if isinstance(value, int | str | None) else str(value)
