"""Check that the files of a submission bundle, and the scores in them, do not contradict."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import pyarrow as pa

from stp.core.receipts import RecordedFile
from stp.options.score import CELL_KEYS
from stp.page.safe_text import safe_row

Row = dict[str, str]
CHECKPOINTS = "checkpoints"
_OF_CELL = (
    *("release", "bytes_known_by", "protocol"),
    *("official_paper_protocol", "comparable", "leaky", "best_of"),
)
"""Columns of a cell that rows of scores repeat, besides those that identify the cell."""
_IDENTITY = (*CELL_KEYS, "source", "scale")


@dataclass(frozen=True)
class BundleManifest:
    """Content of MANIFEST.json, the file that describes a bundle.

    Attributes:
        format, version: name and version of the format of bundles.
        stp: version of stp that wrote the bundle.
        model, title: name and title of the model.
        scales: names of the scales that the scores come from.
        sources: origins of the raw files: official, sample, synthetic or own.
        cells: number of cells, which are the rows of cells.csv.
        comparable_cells: number of cells whose values are comparable with published ones.
        rows: number of values in scores.parquet.
        sample_rows: number of rows of sample_scores.parquet; None without the file.
        checkpoints: whether trained models are in the bundle.
        files: size and checksum of every other file, by path in the bundle.
    """

    format: str
    version: int
    stp: str
    model: str
    title: str
    scales: tuple[str, ...]
    sources: tuple[str, ...]
    cells: int
    comparable_cells: int
    rows: int
    sample_rows: int | None
    checkpoints: bool
    files: dict[str, RecordedFile]


class Contradiction(NamedTuple):
    """A statement of a file in a bundle that other files of the bundle contradict.

    Attributes:
        statement: the statement, e.g. "MANIFEST.json says cells 3".
        expected: what the other files say, e.g. "4, as in cells.csv".
    """

    statement: str
    expected: str


def contradictions(
    described: BundleManifest, scores: pa.Table, read: Callable[[str], bytes]
) -> Iterator[Contradiction]:
    """Compare the files of a bundle with each other, and yield all contradictions.

    Args:
        described: content of MANIFEST.json.
        scores: content of scores.parquet.
        read: function from the path of a file in the bundle to its content.

    Raises:
        ValueError, KeyError, TypeError, csv.Error: a file does not have the exported form.
    """
    rows = scores.to_pylist()
    cells = _csv_rows(read("cells.csv"))
    receipts = {receipt["fingerprint"]: receipt for receipt in json.loads(read("receipts.json"))}
    yield from _of_manifest(described, cells)
    yield from _of_cells(cells, receipts)
    yield from _of_scores(rows, cells, receipts)
    conventions = {row["convention"] for row in _csv_rows(read("conventions.csv"))}
    if unknown := sorted({row["convention"] for row in rows} - conventions):
        yield Contradiction(
            f"conventions.csv does not have {unknown[0]}", "all conventions of scores.parquet"
        )
    yield from _of_csv(scores.column_names, rows, read("scores.csv"))
    yield from _of_checkpoints(described, _csv_rows(read("checkpoints.csv")))


def _csv_rows(content: bytes) -> list[Row]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def _format_value(value: object) -> str:
    """Format a value as in the CSV files; booleans in lower case."""
    (cell,) = safe_row([value])
    return "" if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell)


def _identity(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(_format_value(row[name]) for name in _IDENTITY)


def _of_manifest(described: BundleManifest, cells: list[Row]) -> Iterator[Contradiction]:
    comparable = sum(row["comparable"].lower() == "true" for row in cells)
    for name, declared, counted in (
        ("cells", described.cells, len(cells)),
        ("comparable_cells", described.comparable_cells, comparable),
        ("scales", sorted(described.scales), sorted({row["scale"] for row in cells})),
        ("sources", sorted(described.sources), sorted({row["source"] for row in cells})),
    ):
        if declared != counted:
            expected = f"{counted}, as in cells.csv"
            yield Contradiction(f"MANIFEST.json says {name} {declared}", expected)


def _of_cells(cells: list[Row], receipts: dict[str, Any]) -> Iterator[Contradiction]:
    if len({_identity(row) for row in cells}) < len(cells):
        yield Contradiction("cells.csv has a cell twice", "every cell once")
    for row in cells:
        for part in ("data", "scores", "perceptual"):
            fingerprint = row[f"{part}_fingerprint"]
            if fingerprint and fingerprint not in receipts:
                yield Contradiction(
                    f"cells.csv names {part} {fingerprint}", "a receipt of it in receipts.json"
                )
        data = receipts.get(row["data_fingerprint"], {}).get("recipe", {})
        if data.get("source", row["source"]) != row["source"]:
            yield Contradiction(
                f"cells.csv says {row['source']} data of {row['tested_on']}",
                f"{data['source']}, as in the receipt of its data",
            )
        if row["official_paper_protocol"].lower() == "true" and not (
            row["source"] == "official" and row["comparable"].lower() == "true"
        ):
            yield Contradiction(
                f"cells.csv says official data under the paper's protocol of {row['tested_on']}",
                f"{row['source']} data, comparable {row['comparable']}",
            )


def _of_scores(
    rows: list[dict[str, Any]], cells: list[Row], receipts: dict[str, Any]
) -> Iterator[Contradiction]:
    of_cell = {_identity(row): row for row in cells}
    for row in rows:
        row_name = f"scores.parquet, {row['convention']} on {row['tested_on']}"
        cell = of_cell.get(_identity(row))
        if cell is None:
            yield Contradiction(f"{row_name}: {row['source']} data", "a cell of cells.csv")
            continue
        for name in _OF_CELL:
            if _format_value(row[name]) != (
                cell[name].lower() if isinstance(row[name], bool) else cell[name]
            ):
                yield Contradiction(
                    f"{row_name}: {name} {row[name]}", f"{cell[name] or None}, as in cells.csv"
                )
        if row["scores_fingerprint"] is not None and row["scores_fingerprint"] not in receipts:
            yield Contradiction(
                f"{row_name}: scores {row['scores_fingerprint']}",
                "a receipt of them in receipts.json",
            )
        low, high, value = row["ci95_low"], row["ci95_high"], row["value"]
        if (low is None) != (high is None) or (value is None and low is not None):
            yield Contradiction(
                f"{row_name}: {value} with the interval [{low}, {high}]",
                "a value with both ends of its interval, or none",
            )
        elif low is not None and low > high:
            yield Contradiction(f"{row_name}: the interval [{low}, {high}]", "the lower end first")
        for name, least in (("n", 0), ("clusters", 0), ("lead", 1)):
            if row[name] is not None and row[name] < least:
                yield Contradiction(f"{row_name}: {name} {row[name]}", f"{least} or more")


def _of_csv(
    names: Sequence[str], rows: list[dict[str, Any]], content: bytes
) -> Iterator[Contradiction]:
    header, *lines = csv.reader(io.StringIO(content.decode(), newline=""))
    if header != list(names):
        yield Contradiction("scores.csv has other columns than scores.parquet", ", ".join(names))
        return
    for number, (line, row) in enumerate(zip(lines, rows, strict=True), start=2):
        for name, cell in zip(names, line, strict=True):
            if not _is_same(cell, row[name]):
                yield Contradiction(
                    f"scores.csv, line {number}: {name} {cell!r}",
                    f"{row[name]!r}, as in scores.parquet",
                )


def _is_same(cell: str, value: object) -> bool:
    if isinstance(value, bool):
        return cell.lower() == str(value).lower()
    if isinstance(value, float):
        return bool(cell) and float(cell) == value
    return cell in (_format_value(value), "" if value is None else str(value))


def _of_checkpoints(described: BundleManifest, listed: list[Row]) -> Iterator[Contradiction]:
    packed = {
        str(PurePosixPath(name).relative_to(CHECKPOINTS)): file
        for name, file in described.files.items()
        if PurePosixPath(name).parts[0] == CHECKPOINTS
    }
    if bool(packed) != described.checkpoints:
        yield Contradiction(
            f"MANIFEST.json says checkpoints {described.checkpoints}", f"{len(packed)} are listed"
        )
    listed_files = {row["path"]: RecordedFile(int(row["bytes"]), row["sha256"]) for row in listed}
    for name, file in packed.items():
        if listed_files.get(name) != file:
            yield Contradiction(
                f"{CHECKPOINTS}/{name} has the SHA-256 {file.sha256}",
                "that of checkpoints.csv" if name in listed_files else "a line of checkpoints.csv",
            )
