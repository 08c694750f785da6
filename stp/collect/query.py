"""Query results.duckdb in SQL, and format or store the result."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeVar

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from rich.text import Text

from stp.collect.connection import open_results_store
from stp.core.disk import atomic_path, writing
from stp.core.errors import StpError
from stp.page.safe_text import csv_text
from stp.page.text_table import Column, format_plain

Row = TypeVar("Row")
Format = Literal["table", "csv", "json", "markdown"]


def query(database: Path, sql: str, format: Format = "table", *, allow_files: bool = False) -> str:
    """Run a statement on a database, opened read-only, and format the rows as text.

    Args:
        database: results.duckdb.
        sql: a statement that returns rows.
        format: ``table`` and ``markdown`` show six significant digits and NULL; ``csv`` and
            ``json`` have all digits, and an empty field or ``null`` for NULL.
        allow_files: whether the statement may read and write files and use the network.

    Raises:
        StpError: the database is missing, the format is unknown, or DuckDB refuses the statement.
    """
    _check(format)
    return format_result(*run_query(database, sql, allow_files=allow_files), format)


def run_query(
    database: Path, sql: str, values: Sequence[object] = (), *, allow_files: bool = False
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run a statement and return the names of its columns, and its rows.

    Args:
        database: results.duckdb.
        sql: a statement that returns rows.
        values: values of the parameters, marked with ``?`` in the statement.
        allow_files: whether the statement may read and write files and use the network.

    Raises:
        StpError: the database is missing, or DuckDB refuses the statement.
    """
    with _open_for_reading(database, None if allow_files else []) as connection:
        result = connection.execute(sql, list(values))
        # DuckDB returns None for an empty statement, unlike its stubs.
        columns = [column[0] for column in result.description or []] if result else []
        rows = result.fetchall() if columns else []
    if not columns:
        raise _no_rows(sql)
    return columns, rows


def of_answer(
    kind: type[Row], columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> list[Row]:
    """Convert the rows of a query's result to objects of a class.

    Args:
        kind: class of a row; its fields are the columns.
        columns: names of the columns.
        rows: values of each row, in the order of the columns.

    Raises:
        TypeError: the fields of the class differ from the columns.
    """
    return [kind(**dict(zip(columns, row, strict=True))) for row in rows]


def query_rows(
    database: Path, kind: type[Row], sql: str, values: Sequence[object] = ()
) -> list[Row]:
    """Run a statement on a database, and return the rows as objects.

    Args:
        database: results.duckdb.
        kind: class of a row; its fields are the columns of the result.
        sql: a statement that returns rows.
        values: values of the parameters, marked with ``?`` in the statement.

    Raises:
        StpError: the database is missing, DuckDB refuses the statement, or the result lacks a field
            of ``kind``, because another version made the database.
    """
    columns, rows = run_query(database, sql, values)
    try:
        return of_answer(kind, columns, rows)
    except TypeError as error:
        raise StpError(
            f"{database}: {error}",
            expected="a results store that this version made",
            remedy="run the tables again, which builds it again",
        ) from None


def save(
    database: Path,
    sql: str,
    path: Path,
    values: Sequence[object] = (),
    *,
    allow_files: bool = False,
) -> int:
    """Write the result of a statement to a Parquet file.

    Columns keep their DuckDB types (times, lists, JSON).

    Args:
        database: results.duckdb.
        sql: a statement that returns rows.
        path: the Parquet file.
        values: values of the placeholders in the statement, in order.
        allow_files: whether the statement may read and write files and use the network.

    Returns:
        number of rows.

    Raises:
        StpError: as in `run_query`, or the file cannot be written.
    """
    with writing(path), atomic_path(path) as temporary:
        with _open_for_reading(
            database, None if allow_files else [temporary.absolute()]
        ) as connection:
            result = connection.sql(sql, params=list(values) or None)
            # DuckDB returns None for a statement without rows, unlike its stubs.
            if result is None:
                raise _no_rows(sql)
            result.write_parquet(str(temporary.absolute()))
        return int(pq.read_metadata(temporary).num_rows)


@contextmanager
def _open_for_reading(
    database: Path, files: list[Path] | None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Context manager: open a database for reading; errors quote DuckDB's message.

    Args:
        database: results.duckdb.
        files: files that a statement may access; None for any.
    """
    with open_results_store(database, locked=files) as connection:
        try:
            yield connection
        except duckdb.PermissionException as error:
            raise StpError(
                f"DuckDB: {error}",
                expected="a statement about the results store only, without files, network and "
                "extensions",
                remedy="if you trust the statement and the store: stp query --allow-files",
            ) from None
        except duckdb.Error as error:
            raise StpError(
                f"DuckDB: {error}",
                expected="one SQL statement that reads",
                remedy="`stp list store` lists tables and columns; a store of an older version "
                f"that lacks one is built again by `stp collect --database {database}`",
            ) from None


def _no_rows(sql: str) -> StpError:
    return StpError(
        f"the statement {sql!r} returns no columns",
        expected="one SQL statement that reads, such as SELECT",
        remedy="`stp list store` lists tables and columns",
    )


def save_rows(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    path: Path,
    types: Mapping[str, pa.DataType],
) -> None:
    """Write rows to a Parquet file.

    Args:
        columns: names of the columns.
        rows: values of each row.
        path: the Parquet file.
        types: types of columns that may be empty; other types are inferred from the values.

    Raises:
        StpError: two columns have the same name, or the file cannot be written.
    """
    _check_distinct(columns)
    arrays = [pa.array([row[i] for row in rows], types.get(name)) for i, name in enumerate(columns)]
    with writing(path), atomic_path(path) as temporary:
        pq.write_table(pa.table(arrays, names=list(columns)), temporary, write_page_checksum=True)


def format_result(columns: list[str], rows: list[tuple[Any, ...]], format: Format = "table") -> str:
    """Format the result of a statement as text, as `query` does.

    Args:
        columns: names of the columns.
        rows: values of each row.
        format: ``table`` or ``markdown`` for people; ``csv`` or ``json`` with all digits.

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
        )


def format_value(value: object) -> str:
    """Format a value of a query's result as text for people.

    None becomes ``NULL``. Floating-point numbers get six significant digits. Lists are written in
    brackets, such as ``[1, 2.5]``, and other values as Python prints them.
    """
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return "[" + ", ".join(map(format_value, value)) + "]"
    return str(value)


def _table(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    return format_plain(text_columns(columns, rows))


def text_columns(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[Column]:
    """Make the columns of a text table from the rows of a query.

    Columns of numbers are aligned to the right. NULL is printed dimmed on terminals.

    Args:
        columns: names of the columns.
        rows: values of each row.

    Returns:
        for each column, its heading, alignment and cells, from which `stp.page.text_table` makes
        the table.
    """
    return [
        Column(
            name,
            all(isinstance(row[i], (int, float, Decimal)) or row[i] is None for row in rows),
            [Text(format_value(row[i]), style="dim" if row[i] is None else "") for row in rows],
        )
        for i, name in enumerate(columns)
    ]


def _markdown(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    def line(values: list[str]) -> str:
        # A bar or a line break in a value would end the cell.
        clean = [value.replace("|", "\\|").replace("\n", " ") for value in values]
        return "| " + " | ".join(clean) + " |"

    body = [line([format_value(value) for value in row]) for row in rows]
    return "\n".join([line(columns), "|" + "---|" * len(columns), *body]) + "\n"


def _csv(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    return csv_text([columns, *rows])


def _json(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    _check_distinct(columns)
    records = [dict(zip(columns, map(for_json, row), strict=True)) for row in rows]
    return json.dumps(records, indent=2, ensure_ascii=False) + "\n"


def of_csv(path: Path) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Read the columns and rows of a CSV file; types are inferred from the values.

    Raises:
        StpError: DuckDB cannot read the file.
    """
    try:
        with duckdb.connect() as connection:
            result = connection.execute("FROM read_csv(?, sample_size = -1)", [str(path)])
            return [column[0] for column in result.description or []], result.fetchall()
    except duckdb.Error as error:
        raise StpError(
            f"{path}: cannot be read ({error})",
            expected="the CSV file of a table",
            remedy="delete it and make it again",
        ) from None


def _check_distinct(columns: Sequence[str]) -> None:
    if len(set(columns)) < len(columns):
        raise StpError(
            f"several columns have one name: {', '.join(columns)}",
            expected="distinct names, because they are the keys in JSON and Parquet",
            remedy="name columns with AS",
        )


def for_json(value: Any) -> Any:
    """Convert a value to a value that JSON can represent.

    NaN, infinity and times become texts; decimals become numbers if no digit is lost. Lists,
    dictionaries and dataclasses are converted recursively.
    """
    if isinstance(value, Decimal) and Decimal(repr(float(value))) == value:
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list | tuple):
        return [for_json(item) for item in value]
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        return {str(key): for_json(item) for key, item in value.items()}
    return value if value is None or isinstance(value, str | int | float) else str(value)


_WRITERS = {"table": _table, "csv": _csv, "json": _json, "markdown": _markdown}
