"""Verify and summarise a submission bundle: a model's scores, with all files that explain them."""

import csv
import hashlib
import io
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from stp.collect.schema import SCORE_KINDS, OverallRow
from stp.collect.table import arrow_schema, columns_of
from stp.core.errors import FileError, StpError
from stp.core.limits import require_zip
from stp.core.receipts import RecordedFile
from stp.export.consistency import BundleManifest, contradictions
from stp.options.score import CELL_KEYS

MANIFEST = "MANIFEST.json"
FORMAT = "stp-submission"
VERSION = 2
REQUIRED = (
    *("README.md", "CITATION.bib", "CITATION.md", "scores.parquet", "scores.csv", "cells.csv"),
    *("conventions.csv", "configuration.yaml", "receipts.json", "raw_files.csv"),
    *("checkpoints.csv", "environment.json", "training_protocol.csv"),
)
"""Files of every bundle."""
_OVERALL = columns_of(OverallRow)
_AT = next(i for i, column in enumerate(_OVERALL) if column.name == "value")
_LEAD = next(column for column in SCORE_KINDS.columns if column.name == "lead")
COLUMNS = {
    field.name: field.type for field in arrow_schema([*_OVERALL[:_AT], _LEAD, *_OVERALL[_AT:]])
}
"""Columns of scores.parquet, in order."""
LATER = ("accepted",)
"""Columns that older bundles lack."""
_KEYS = (
    *(*CELL_KEYS, "convention", "variable", "level", "threshold", "leads", "lead"),
    *("source", "scale"),
)
_REMEDY = "ask for the bundle again, or export it again: stp store export --model NAME"
_SCHEMA = TypeAdapter(BundleManifest)


@dataclass(frozen=True)
class Summary:
    """Summary of a submission bundle (a model's scores, with all files that explain them).

    Attributes:
        manifest: content of MANIFEST.json.
        bytes: size of all files.
        identity: SHA-256 of MANIFEST.json, which identifies the bundle.
        dimensions: number of cells (evaluations of the model on a dataset) by dimension.
    """

    manifest: BundleManifest
    bytes: int
    identity: str
    dimensions: Mapping[str, int]


# All that zipfile raises for damaged files: offsets before the beginning, names that are no text,
# unknown compression, encryption.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)


@dataclass(frozen=True)
class _Bundle:
    """The files of a bundle: sizes by name, and a function that opens one."""

    path: Path
    sizes: Mapping[str, int]
    open: Callable[[str], IO[bytes]]

    def read(self, name: str) -> bytes:
        with self.open(name) as file:
            return file.read()


def check(path: Path) -> Summary:
    """Verify a submission bundle (a model's scores and their origin), and return its summary.

    The check covers the checksums of all files, schema and values of the scores, and the agreement
    of the files with each other.

    Raises:
        StpError: the path is not a bundle, or the bundle is damaged or incomplete, has files that
            are not listed, or contradicts itself.
    """
    try:
        with _open_bundle(path) as bundle:
            manifest = _manifest(bundle)
            _check_files(bundle, manifest.files)
            dimensions = _check_scores(bundle, manifest)
            identity = hashlib.sha256(bundle.read(MANIFEST)).hexdigest()
    except _DAMAGED as error:
        _refuse(path, f"is damaged ({error})", "a zip file as stp store export writes it")
    return Summary(manifest, sum(bundle.sizes.values()), identity, dimensions)


def _refuse(path: Path, problem: str, expected: str) -> NoReturn:
    raise StpError(f"{path}: {problem}", expected=expected, remedy=_REMEDY) from None


@contextmanager
def _open_bundle(path: Path) -> Iterator[_Bundle]:
    if path.is_dir():
        files = {
            file.relative_to(path).as_posix(): file
            for file in sorted(path.rglob("*"))
            if not file.is_dir() or file.is_symlink()
        }
        for name, file in files.items():
            if file.is_symlink():
                _refuse(path, f"{name} is a link", "plain files")
        sizes = {name: file.stat().st_size for name, file in files.items()}
        yield _Bundle(path, sizes, lambda name: files[name].open("rb"))
    elif path.is_file():
        with zipfile.ZipFile(path) as archive:
            require_zip(path, archive)
            infos = [info for info in archive.infolist() if not info.is_dir()]
            # All files are in one folder, as written, or in none.
            tops = {info.filename.partition("/")[0] for info in infos}
            top = f"{tops.pop()}/" if len(tops) == 1 and len(infos) > 1 else ""
            members = {info.filename.removeprefix(top): info for info in infos}
            if len(members) < len(infos):
                _refuse(path, "names a file twice", "every file once")
            sizes = {name: info.file_size for name, info in members.items()}
            yield _Bundle(path, sizes, lambda name: archive.open(members[name]))
    else:
        raise FileError(path, "no such file or folder")


def _manifest(bundle: _Bundle) -> BundleManifest:
    if MANIFEST not in bundle.sizes:
        _refuse(bundle.path, f"has no {MANIFEST}", "a submission bundle of stp")
    text = bundle.read(MANIFEST)
    try:
        content = json.loads(text)
        if content["format"] != FORMAT:
            _refuse(bundle.path, f"is a {content['format']!r}", f"the format {FORMAT!r}")
        if content["version"] != VERSION:
            _refuse(
                bundle.path,
                f"is of version {content['version']} of its format",
                f"version {VERSION}, which this stp reads",
            )
        return _SCHEMA.validate_json(text, strict=True)
    except (ValueError, KeyError, TypeError, RecursionError):
        _refuse(bundle.path, f"{MANIFEST} is damaged", "the list that stp store export writes")


def _check_files(bundle: _Bundle, listed: Mapping[str, RecordedFile]) -> None:
    for name in REQUIRED:
        if name not in listed:
            _refuse(bundle.path, f"{MANIFEST} does not list {name}", "all files of a bundle")
    for name in sorted(listed.keys() - bundle.sizes.keys()):
        _refuse(bundle.path, f"{name} is missing", f"all {len(listed)} files of {MANIFEST}")
    for name in sorted(bundle.sizes.keys() - listed.keys() - {MANIFEST}):
        _refuse(bundle.path, f"{name} is not in {MANIFEST}", "only listed files")
    for name, entry in listed.items():
        if bundle.sizes[name] != entry.bytes:
            _refuse(
                bundle.path,
                f"{name} is damaged, {bundle.sizes[name]} bytes",
                f"{entry.bytes} bytes, as in {MANIFEST}",
            )
        with bundle.open(name) as file:
            digest = hashlib.sha256()
            while block := file.read(1 << 20):
                digest.update(block)
        if digest.hexdigest() != entry.sha256:
            _refuse(
                bundle.path,
                f"{name} is damaged, SHA-256 {digest.hexdigest()}",
                f"{entry.sha256}, as in {MANIFEST}",
            )


def _check_scores(bundle: _Bundle, manifest: BundleManifest) -> dict[str, int]:
    try:
        table = pq.read_table(io.BytesIO(bundle.read("scores.parquet")))
    except pa.ArrowException as error:
        _refuse(bundle.path, f"scores.parquet cannot be read: {error}", "a Parquet file")
    columns = {field.name: field.type for field in table.schema}
    if columns != {
        name: kind for name, kind in COLUMNS.items() if name in columns or name not in LATER
    }:
        odd = [name for name in {**COLUMNS, **columns} if columns.get(name) != COLUMNS.get(name)]
        _refuse(
            bundle.path,
            f"scores.parquet has other columns: {', '.join(odd)}",
            ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items()),
        )
    lines = sum(1 for _ in csv.reader(io.StringIO(bundle.read("scores.csv").decode()))) - 1
    if not len(table) == lines == manifest.rows:
        _refuse(
            bundle.path,
            f"scores.parquet has {len(table)} rows, scores.csv {lines}",
            f"{manifest.rows}, as in {MANIFEST}",
        )
    with duckdb.connect() as database:
        database.register("scores", table)

        def count(condition: str) -> int:
            answer = database.execute(f"SELECT count(*) FROM scores WHERE {condition}").fetchone()
            return int(answer[0]) if answer else 0

        model = manifest.model.replace("'", "''")
        numbers = ("value", "ci95_low", "ci95_high")
        odd_number = " OR ".join(f"NOT isfinite({name})" for name in numbers)
        problems = {
            f"rows of another model than {manifest.model}": f"model IS DISTINCT FROM '{model}'",
            "values that are not finite": odd_number,
            "missing values without a reason": "value IS NULL AND reason IS NULL",
        }
        for problem, condition in problems.items():
            if number := count(condition):
                _refuse(bundle.path, f"scores.parquet: {number} {problem}", "none")
        group = ", ".join(_KEYS)
        if twice := count(f"true GROUP BY {group} HAVING count(*) > 1"):
            _refuse(bundle.path, f"scores.parquet: one value {twice} times", "every value once")
        cells = database.execute(
            f"SELECT dimension, count(DISTINCT ({', '.join(CELL_KEYS)}, scale)) FROM scores "
            "GROUP BY 1 ORDER BY 1"
        ).fetchall()
    try:
        for statement, expected in contradictions(manifest, table, bundle.read):
            _refuse(bundle.path, statement, expected)
    except (ValueError, KeyError, TypeError, AttributeError, csv.Error) as error:
        _refuse(bundle.path, f"not files of an export ({error!r})", "files of stp store export")
    return {str(dimension): int(number) for dimension, number in cells}
