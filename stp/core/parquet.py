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
        columns: names of the columns to read, or a schema, to whose types the columns are
            converted; None for all columns.
        expected: what the file should hold, for the error, e.g. ``"the scores of each test
            sample"``; by default the names of the columns.
        remedy: what the user should do, for the error; by default the advice to delete the artefact
            and make it again.

    Returns:
        the table, with the key-value metadata of the file; without metadata if a schema is given.

    Raises:
        ArtefactError: the file is missing or damaged, lacks a column, or has a column that cannot
            be converted to the type of the schema.
    """
    names = columns.names if isinstance(columns, pa.Schema) else columns
    if not expected and names:
        expected = f"columns {', '.join(names)}"
    with report_read_errors(path, expected, remedy):
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
        expected: what the file should hold, for the error, e.g. ``"the scores of each test
            sample"``.
        remedy: what the user should do, for the error; by default the advice to delete the artefact
            and make it again.

    Raises:
        ArtefactError: the file is missing or damaged.
    """
    with report_read_errors(path, expected, remedy):
        return pq.read_schema(path)


def check_pages(path: Path, *, expected: str = "", remedy: str | None = None) -> pa.Schema:
    """Verify the checksums of all pages (compressed blocks of a column) of a Parquet file.

    DuckDB, which reads the file later, ignores these checksums. The file is read in pieces, so that
    little memory is needed.

    Args:
        path: path of the file.
        expected: what the file should hold, for the error, e.g. ``"the scores of each test
            sample"``.
        remedy: what the user should do, for the error; by default the advice to delete the artefact
            and make it again.

    Returns:
        names, types and metadata of the columns.

    Raises:
        ArtefactError: the file is missing or damaged.
    """
    with (
        report_read_errors(path, expected, remedy),
        pq.ParquetFile(path, page_checksum_verification=True) as file,
    ):
        for _ in file.iter_batches():
            pass
        return file.schema_arrow


@contextmanager
def report_read_errors(path: Path, expected: str = "", remedy: str | None = None) -> Iterator[None]:
    """Context manager: report errors of a block that reads a Parquet file as `ArtefactError`.

    Example: ``with report_read_errors(path): table = pq.read_table(path)``.

    Args:
        path: file that the block reads.
        expected: what the file should hold, for the error, e.g. ``"the scores of each test
            sample"``.
        remedy: what the user should do, for the error; by default the advice to delete the artefact
            and make it again.

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
    """Describe the differences between the columns of a file and the needed columns.

    Args:
        actual: names and types of the columns of the file.
        needed: names and types of the needed columns.

    Returns:
        a text for each missing, surplus or wrongly typed column, e.g. ``"no column seed"``; empty
        without differences. A column of NULLs fits every type.
    """
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
