"""The one way to read a Parquet file that a stage has written.

Checksums of its pages are verified, and its columns are compared with those that are needed.
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
    """Read a file.

    Args:
        columns: names, or a schema; others are left out. None: all that there are.
        expected: what the file holds, for the error; the columns unless given.
        remedy: for the error; that of `ArtefactError` unless given.

    Returns:
        the table, with the metadata of the file unless a schema is given.

    Raises:
        ArtefactError: the file is missing or damaged, or lacks a column; with a schema also if a
            column is of another type.
    """
    names = columns.names if isinstance(columns, pa.Schema) else columns
    if not expected and names:
        expected = f"columns {', '.join(names)}"
    with reading(path, expected, remedy):
        # pq.read_table would import pandas, half a second of every build of the results store.
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
    """Read names, types and metadata of the columns of a file.

    Raises:
        ArtefactError: the file is missing or damaged.
    """
    with reading(path, expected, remedy):
        return pq.read_schema(path)


def check_pages(path: Path, *, expected: str = "", remedy: str | None = None) -> pa.Schema:
    """Read a whole file in pieces, for the checksums of its pages: DuckDB ignores them.

    Returns:
        its schema.

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
    """What goes wrong inside, while a file is read and taken apart, is damage of this file.

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


def schema_problems(found: pa.Schema, needed: pa.Schema) -> list[str]:
    """Say how the columns of a file differ from those that it should have."""
    problems = [f"no column {name}" for name in needed.names if name not in found.names]
    problems += [f"column {name}" for name in found.names if name not in needed.names]
    return problems + [
        f"{name} is {found.field(name).type}, not {needed.field(name).type}"
        for name in needed.names
        if name in found.names and not _same(found.field(name).type, needed.field(name).type)
    ]


def _same(found: pa.DataType, needed: pa.DataType) -> bool:
    """Tell whether two types mean the same: an all-NULL column, or another kind of string."""
    text = pa.types.is_large_string(found) or pa.types.is_string_view(found)
    return found.equals(needed) or pa.types.is_null(found) or (text and needed == pa.string())
