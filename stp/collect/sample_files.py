"""Find the files of per-sample scores, check their schemas, and make the view that reads them."""

import os
import re
import struct
from pathlib import Path

import pyarrow as pa

from stp.collect.schema import SAMPLE_SCORES as VIEW
from stp.core.errors import ArtefactError
from stp.core.parquet import read_schema
from stp.plan.manifest import Manifest

SampleFiles = dict[str, list[list[Path]]]
"""Files of per-sample scores by kind of score artefact (``scores`` or ``perceptual``). The files of
a kind are divided into lists of files with equal schemas."""

SAMPLE_SCORES = "sample_scores.parquet"
COLUMNS = tuple(column.name for column in VIEW.columns)
"""Columns of all files, before those of conventions."""


def quote_literal(text: str) -> str:
    """Quote a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def sample_files(plans: list[Manifest]) -> SampleFiles:
    """Find the files of per-sample scores, check their schemas, and sort them by schema.

    A Parquet file states its Arrow schema in its footer. Only the first of several files whose
    footers state the same schema is opened and checked.

    Args:
        plans: manifests, each with the cells of one dimension.

    Returns:
        lists of files with equal schemas, by kind of artefact: ``perceptual`` for metrics that
        compare network features, ``scores`` for all others.

    Raises:
        StpError: a file is missing or damaged, or lacks columns.
    """
    files: SampleFiles = {"scores": [], "perceptual": []}
    for kind, groups in files.items():
        schemas: list[pa.Schema] = []
        group_of_schema: dict[bytes, int] = {}
        for folder in (
            folder for plan in plans for cell in plan.cells for folder in cell.folders([kind])
        ):
            path = (folder / SAMPLE_SCORES).absolute()
            stated = read_arrow_schema(path)
            group = group_of_schema.get(stated) if stated else None
            if group is None:
                sample_file(folder)
                schema = read_schema(path).remove_metadata()
                if schema not in schemas:
                    schemas.append(schema)
                    groups.append([])
                group = schemas.index(schema)
                group_of_schema |= {stated: group} if stated else {}
            groups[group].append(path)
    return files


def read_arrow_schema(path: Path) -> bytes | None:
    """Cut out the serialised Arrow schema in the footer of a Parquet file.

    Parsing the footer would take ten times as long.

    Returns:
        the schema in base64; None if the file cannot be read or states no schema.
    """
    try:
        with path.open("rb") as file:
            file.seek(-8, os.SEEK_END)
            length, magic = struct.unpack("<I4s", file.read())
            file.seek(-8 - length, os.SEEK_END)
            stated = _STATED.search(file.read(length))
    except OSError:
        return None
    return stated[1] if stated and magic == b"PAR1" else None


_STATED = re.compile(rb"ARROW:schema\x18[\x80-\xff]*[\x00-\x7f]([A-Za-z0-9+/]+=*)")
"""A name and its value in base64 in the encoding of Thrift: a type byte, the length (in groups of
seven bits) and the text."""


def schema_of(folder: Path, name: str, expected: str) -> tuple[Path, pa.Schema]:
    """Read the schema of a Parquet file of a score artefact.

    Args:
        folder: folder of the artefact.
        name: name of the file.
        expected: description of the file's content, for error messages.

    Returns:
        absolute path and schema of the file.

    Raises:
        StpError: the file is missing or damaged.
    """
    path = (folder / name).absolute()
    return path, read_schema(path, expected=expected)


def sample_file(folder: Path) -> Path:
    """Check the schema of the file of per-sample scores, and return its absolute path.

    Args:
        folder: folder of a score artefact.

    Raises:
        StpError: the file is missing or damaged, or lacks columns.
    """
    path, schema = schema_of(folder, SAMPLE_SCORES, "the scores of each test sample")
    problems = [f"no column {name}" for name in COLUMNS if name not in schema.names]
    problems += [
        f"{field.name} is {field.type}"
        for field in schema
        if field.name not in COLUMNS
        and not (pa.types.is_list(field.type) and field.type.value_type == pa.float64())
    ]
    if problems:
        raise ArtefactError(
            path,
            f"wrong schema: {'; '.join(problems)}",
            expected=f"columns {', '.join(COLUMNS)}, and lists of double",
        )
    return path


def samples_query(files: SampleFiles) -> str:
    """Make the SQL of the view ``sample_scores``, which reads all files of per-sample scores.

    The rows of all files follow one another; a column that a file lacks is NULL in its rows.
    Columns of perceptual scores, which are in separate files, follow the other columns.

    Args:
        files: absolute paths of the files, from `sample_files`. All files in one list must have the
            same schema, because DuckDB reads the schema of the first file only; different lists may
            have different schemas.
    """

    def read(kind: str) -> str:
        listed = (", ".join(quote_literal(str(path)) for path in group) for group in files[kind])
        return " UNION ALL BY NAME ".join(
            f"SELECT * FROM read_parquet([{paths}], hive_partitioning=false)" for paths in listed
        )

    rows = read("scores")
    if files["perceptual"]:
        same = " AND ".join(f"a.{key} IS NOT DISTINCT FROM b.{key}" for key in COLUMNS)
        keys = ", ".join(COLUMNS)
        rows = (
            f"SELECT a.*, b.* EXCLUDE ({keys}) FROM ({read('scores')}) a "
            f"LEFT JOIN ({read('perceptual')}) b ON {same}"
        )
    return rows
