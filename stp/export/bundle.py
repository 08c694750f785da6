"""Write a submission bundle: a model's scores, with all files needed to judge and reproduce them.

The same store gives the same files: the bundle does not contain date and place of the export.
"""

import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from stp.collect.connection import open_results_store
from stp.collect.schema import CellRow, ConventionRow, RawFileRow
from stp.core.disk import writing
from stp.core.errors import StpError
from stp.core.job import Report, report_nothing
from stp.core.project import ORIGIN
from stp.core.receipts import Receipt, RecordedFile, check_file, checksum
from stp.export import cite, contents, lineage
from stp.export.card import card
from stp.export.checking import FORMAT, MANIFEST, VERSION, Summary, check
from stp.export.consistency import BundleManifest
from stp.export.contents import Checkpoint, Contents
from stp.options.score import CELL_KEYS
from stp.page.safe_text import csv_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

CELL_COLUMNS = (
    *CELL_KEYS,
    *("tested", "source", "release", "bytes_known_by", "lacking", "accepted"),
    *("scale", "protocol"),
    *("official_paper_protocol", "comparable", "leaky", "best_of"),
    *("subset_note", "external", "samples", "statistic"),
    *("model_fingerprints", *(f"{part}_fingerprint" for part in lineage.PARTS)),
)
_STORED = (".parquet", ".pt", ".npy", ".gz")
"""Suffixes of compressed formats, which are not compressed again in a zip file."""
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, kw_only=True)
class ProtocolRow:
    """A setting of a training run beside the printed one: a line of training_protocol.csv.

    Attributes:
        trained_on: name of the training dataset.
        train_subset: name of the training subset.
        path: path of the trained model.
        setting: name of the setting.
        here: value of the setting in this project.
        published: printed value of the setting; None if it is not printed.
        differs: yes or no; None if nothing is printed.
    """

    trained_on: str
    train_subset: str
    path: str
    setting: str
    here: str
    published: str | None
    differs: str | None


@dataclass(frozen=True)
class Options:
    """Optional parts of a submission bundle (a model's scores, with all files that explain them).

    Attributes:
        samples: whether to include the scores of every test sample.
        checkpoints: whether to include the trained models.
    """

    samples: bool = False
    checkpoints: bool = False


def export(
    database: Path,
    model: str,
    out: Path,
    options: Options | None = None,
    report: Report = report_nothing,
) -> Summary:
    """Write the submission bundle of a model: its scores, and all files needed to judge them.

    Args:
        database: results.duckdb; the store behind it is read for receipts and checkpoints.
        model: name in the table models.
        out: path of a new folder, or of a new file that ends with ``.zip``.
        options: optional parts.
        report: callback for the progress, in files.

    Returns:
        summary from the check of the written bundle.

    Raises:
        StpError: the model has no scores, an artefact is missing or damaged, ``out`` exists, or a
            file cannot be written.
    """
    options = options or Options()
    if out.exists():
        raise StpError(f"{out} exists", expected="a new name")
    content = contents.contents(database, model)
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as beside:
            folder = Path(beside) / out.stem
            folder.mkdir()
            _fill(folder, database, content, options, report)
            summary = check(folder)
            packed = folder
            if out.suffix == ".zip":
                packed = Path(beside) / out.name
                _zip(folder, packed)
            packed.rename(out)
    return summary


def _fill(
    folder: Path, database: Path, content: Contents, options: Options, report: Report
) -> None:
    """Write all files, and their list last."""
    model = content.model.model
    rows = _query_to_files(database, contents.SCORES, model, folder / "scores", csv=True)
    samples = None
    if options.samples:
        samples = _query_to_files(database, contents.SAMPLES, model, folder / "sample_scores")
    checkpoints = _checkpoints(content)
    citations = cite.of_results(database, model)
    constraints = ORIGIN / "constraints.txt"
    texts = {
        "README.md": card(
            content,
            citations,
            checkpoints,
            with_samples=options.samples,
            with_checkpoints=options.checkpoints and bool(checkpoints),
        ),
        "CITATION.md": cite.as_markdown(citations),
        "CITATION.bib": cite.as_bibtex(citations),
        "cells.csv": _cells(content.cells),
        "conventions.csv": _csv(ConventionRow, content.conventions),
        "training_protocol.csv": _csv(ProtocolRow, _protocol(content)),
        "configuration.yaml": _configuration(content),
        "receipts.json": _json(
            list(map(lineage.public_receipt, content.lineage.receipts.values()))
        ),
        "raw_files.csv": _csv(RawFileRow, lineage.raw_files(content.lineage)),
        "checkpoints.csv": _csv(Checkpoint, checkpoints),
        "environment.json": _json(
            {
                "commits": lineage.commits(content.lineage),
                "environments": lineage.environments(content.lineage),
            }
        ),
    }
    if constraints.is_file():
        texts["constraints.txt"] = constraints.read_text(encoding="utf-8")
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    if options.checkpoints:
        for number, receipt in enumerate(receipts := content.lineage.of_stage("train")):
            report("checkpoints", number, len(receipts))
            _copy_checkpoint(folder, content, receipt)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    described = BundleManifest(
        format=FORMAT,
        version=VERSION,
        stp=metadata.version("stp"),
        model=model,
        title=content.model.title,
        scales=tuple(content.scales),
        sources=tuple(content.sources),
        cells=len(content.cells),
        comparable_cells=content.comparable,
        rows=rows,
        sample_rows=samples,
        checkpoints=options.checkpoints and bool(checkpoints),
        files={
            path.relative_to(folder).as_posix(): RecordedFile(path.stat().st_size, checksum(path))
            for path in files
        },
    )
    (folder / MANIFEST).write_text(_json(asdict(described)), encoding="utf-8", newline="\n")


def _query_to_files(
    database: Path, sql: str, model: str, target: Path, *, csv: bool = False
) -> int:
    """Write the result of a query as Parquet, and optionally as CSV; return the number of rows.

    DuckDB's COPY takes no parameters, so the statement contains the name of the model.
    """
    query = sql.replace("$1", "'" + model.replace("'", "''") + "'")
    path = str(target).replace("'", "''")
    # One thread, so that rows keep their order and their row groups.
    with open_results_store(database, threads=1) as connection:
        connection.execute(f"COPY ({query}) TO '{path}.parquet' (FORMAT parquet)")
        if csv:
            rows = connection.execute(f"FROM '{path}.parquet'")
            header = [name for name, *_ in rows.description or ()]
            text = csv_text([header, *rows.fetchall()])
            target.with_suffix(".csv").write_text(text, encoding="utf-8", newline="\n")
        counted = connection.execute(f"SELECT count(*) FROM '{path}.parquet'").fetchone()
    return int(counted[0]) if counted else 0


def _cells(cells: Iterable[CellRow]) -> str:
    """CSV text of the cells, without folders of this machine; trained models joined by spaces."""
    lines = []
    for cell in cells:
        row = vars(cell) | {"model_fingerprints": " ".join(cell.model_fingerprints)}
        lines.append([lineage.without_paths(row[name]) for name in CELL_COLUMNS])
    return csv_text([CELL_COLUMNS, *lines])


def _csv(kind: type["DataclassInstance"], rows: Iterable["DataclassInstance"]) -> str:
    names = [field.name for field in fields(kind)]
    lines = (map(lineage.without_paths, vars(row).values()) for row in rows)
    return csv_text([names, *lines])


def _json(value: object) -> str:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _protocol(content: Contents) -> Iterable[ProtocolRow]:
    for training in content.trainings:
        for name, ours in training.settings.items():
            printed = training.published[name] if training.published else None
            yield ProtocolRow(
                trained_on=training.dataset,
                train_subset=training.subset,
                path=training.receipt.path,
                setting=name,
                here=ours,
                published=printed,
                differs=None if printed is None else "yes" if ours != printed else "no",
            )


def _configuration(content: Contents) -> str:
    head = (
        "# Recipes of all artefacts behind the scores, resolved from datasets, models, scale file\n"
        "# and overrides, as they entered the fingerprints at the end of their paths.\n"
    )
    recipes = {
        receipt.path: lineage.without_paths(receipt.recipe)
        for receipt in content.lineage.receipts.values()
    }
    described = {"model": vars(content.model), "scales": content.scales, "recipes": recipes}
    # Through JSON: YAML would write parts that two recipes share as anchors.
    plain = json.loads(json.dumps(described))
    return head + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100)


def _checkpoints(content: Contents) -> list[Checkpoint]:
    trained = {training.receipt.path: training for training in content.trainings}
    return [
        Checkpoint(
            trained_on=trained[receipt.path].dataset if receipt.path in trained else None,
            train_subset=trained[receipt.path].subset if receipt.path in trained else None,
            fingerprint=receipt.fingerprint,
            path=f"{receipt.path}/{name}",
            bytes=entry.bytes,
            sha256=entry.sha256,
        )
        for receipt in content.lineage.of_stage("train")
        for name, entry in sorted(receipt.files.items())
    ]


def _copy_checkpoint(folder: Path, content: Contents, receipt: Receipt) -> None:
    source = content.lineage.folder(receipt)
    for name in receipt.files:
        target = folder / "checkpoints" / receipt.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(check_file(source, receipt, name), target)


def _zip(folder: Path, out: Path) -> None:
    """Pack a folder reproducibly: sorted names, constant times and permissions."""
    with zipfile.ZipFile(out, "x", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = f"{folder.name}/{path.relative_to(folder).as_posix()}"
            info = zipfile.ZipInfo(name, _ZIP_TIME)
            info.external_attr = 0o644 << 16
            info.create_system = 3  # Unix, on every system
            info.file_size = path.stat().st_size
            packed = path.suffix in _STORED
            info.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
            with path.open("rb") as reader, archive.open(info, "w") as writer:
                shutil.copyfileobj(reader, writer, 1 << 20)
