"""Read Parquet files that stages have written.

The checksums of pages are verified, and the columns are compared with those expected.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from stp.core.errors import ArtefactError

_DAMAGE = (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException)


def read_table(
    path: Path,
    columns: Sequence[str] | pa.Schema | None = None,
    *,
    expected: str = "",
    remedy: str | None = None,
) -> pa.Table:
    """Read columns of a Parquet file.

    Args:
        path: path of the file.
        columns: names, or a schema, of the columns to read; None for all.
        expected: description of the expected content, for the error; by default the names of the
            columns.
        remedy: remedy in the error; by default that of `ArtefactError`.

    Returns:
        the table, with the metadata of the file unless a schema is given.

    Raises:
        ArtefactError: the file is missing or damaged, lacks a column, or has a column that cannot
            be converted to the type of the schema.
    """
    names = columns.names if isinstance(columns, pa.Schema) else columns
    if not expected and names:
        expected = f"columns {', '.join(names)}"
    with reading(path, expected, remedy):
        # pq.read_table imports pandas, which takes half a second of every build of a results store.
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            lacking = [name for name in names or () if name not in file.schema_arrow.names]
            if lacking:
                raise ValueError(f"no column {', '.join(lacking)}")
            table = file.read(None if names is None else list(names))
            if names is not None:
                table = table.select(names)  # Arrow reads a.b beside a
        if isinstance(columns, pa.Schema):
            table = table.cast(columns).replace_schema_metadata()
        return table


def read_schema(path: Path, *, expected: str = "", remedy: str | None = None) -> pa.Schema:
    """Read the names, types and metadata of the columns of a Parquet file.

    Args:
        path: path of the file.
        expected: description of the expected content, for the error.
        remedy: remedy in the error; by default that of `ArtefactError`.

    Raises:
        ArtefactError: the file is missing or damaged.
    """
    with reading(path, expected, remedy):
        return pq.read_schema(path)


def check_pages(path: Path, *, expected: str = "", remedy: str | None = None) -> pa.Schema:
    """Read a Parquet file in pieces, to verify the checksums of its pages, which DuckDB ignores.

    Returns:
        schema of the file.

    Raises:
        ArtefactError: the file is missing or damaged.
    """
    with (
        reading(path, expected, remedy),
        pq.ParquetFile(path, page_checksum_verification=True) as file,
    ):
        for _ in file.iter_batches():
            pass
        return file.schema_arrow


@contextmanager
def reading(path: Path, expected: str = "", remedy: str | None = None) -> Iterator[None]:
    """Context manager: report errors of reading and parsing a Parquet file as an `ArtefactError`.

    Args:
        path: file that the block reads.
        expected: description of the expected content, for the error.
        remedy: remedy in the error; by default that of `ArtefactError`.

    Raises:
        ArtefactError: the file is missing or damaged.
    """
    try:
        yield
    except FileNotFoundError:
        raise ArtefactError(path, "missing", expected=expected, remedy=remedy) from None
    except _DAMAGE as error:
        raise ArtefactError(
            path, f"cannot be read ({error})", expected=expected, remedy=remedy
        ) from None


def schema_problems(actual: pa.Schema, needed: pa.Schema) -> list[str]:
    """Describe the differences between the columns of a file and those needed; empty if none."""
    problems = [f"no column {name}" for name in needed.names if name not in actual.names]
    problems += [f"column {name}" for name in actual.names if name not in needed.names]
    return problems + [
        f"{name} is {actual.field(name).type}, not {needed.field(name).type}"
        for name in needed.names
        if name in actual.names and not _is_same(actual.field(name).type, needed.field(name).type)
    ]


def _is_same(actual: pa.DataType, needed: pa.DataType) -> bool:
    """Whether a column's type fits the needed one: equal, all NULL, or another kind of string."""
    is_text = pa.types.is_large_string(actual) or pa.types.is_string_view(actual)
    is_same = actual.equals(needed) or pa.types.is_null(actual)
    return bool(is_same or (is_text and needed == pa.string()))
