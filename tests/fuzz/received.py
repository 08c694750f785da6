"""What comes back from others: artefacts, bundles, predictions, answers of raters."""

import csv
import hashlib
import io
import json
import shutil
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import zarr

from stp.core import store
from stp.core.errors import StpError
from stp.core.receipts import checksum
from stp.export import checking
from stp.export.bundle import CELL_COLUMNS
from stp.external import importing
from stp.external import windows as exported
from stp.external.submitted import open_source, read_windows
from stp.plan.artefacts import fingerprint_of
from stp.predict.windows import windows_checksum
from stp.studies.answer_key import BestOfKey, Key, PairKey, RatingKey, load_key
from stp.studies.answers import COLUMNS, Answers, read_answers
from stp.studies.options import Measure
from stp.studies.pair_agreement import agreements
from stp.studies.population import TablePopulation
from stp.upkeep.receiving import receive
from stp.upkeep.sharing import SUMS

# Artefacts, for `stp store import`

CONTENT = b"frames"
CODE: dict[str, Any] = {"fingerprint": "0" * 16, "modules": {}}
RECIPE = {"dataset": "kth", "options": {"stride": 2.5}}
FINGERPRINT = fingerprint_of("prepare", CODE["fingerprint"], RECIPE, {})
FOLDER = f"data/kth/{FINGERPRINT}"


def receipt_text() -> str:
    files = {"a.txt": {"bytes": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()}}
    content = {"stage": "prepare", "path": FOLDER, "fingerprint": FINGERPRINT, "recipe": RECIPE,
               "inputs": {}, "code": CODE, "files": files}  # fmt: skip
    return json.dumps(content, indent=1)


def exported_artefact(root: Path) -> Path:
    folder = root / FOLDER
    folder.mkdir(parents=True)
    (folder / "a.txt").write_bytes(CONTENT)
    (folder / "artefact.json").write_text(receipt_text())
    sums = {f"{FOLDER}/{name}": checksum(folder / name) for name in ("a.txt", "artefact.json")}
    (root / SUMS).write_text("".join(f"{value}  {name}\n" for name, value in sums.items()))
    return root


def write_tar(path: Path) -> None:
    root = exported_artefact(path.parent / "whole")
    with tarfile.open(path, "w") as archive:
        archive.add(root, "bundle")
    shutil.rmtree(root)


def read_tar(path: Path) -> None:
    take(path, path)
    outside = {file.name for file in path.parent.iterdir()} - {path.name, "store"}
    assert not outside, outside


def write_receipt(path: Path) -> None:
    path.write_text(receipt_text())


def read_receipt(path: Path) -> None:
    root = exported_artefact(path.parent / "source")
    (root / SUMS).unlink()
    shutil.copy(path, root / FOLDER / "artefact.json")
    take(root, path)


def write_sums(path: Path) -> None:
    path.write_bytes((exported_artefact(path.parent / "whole") / SUMS).read_bytes())
    shutil.rmtree(path.parent / "whole")


def read_sums(path: Path) -> None:
    root = exported_artefact(path.parent / "source")
    shutil.copy(path, root / SUMS)
    take(root, path)


def take(source: Path, path: Path) -> None:
    """Import into an empty store: what is taken is what its receipt says, and its name fits."""
    plan: Any = SimpleNamespace(store=path.parent / "store")
    plan.store.mkdir()
    received = receive(plan, source)
    for folder in received.taken:
        store.verify(plan.store / folder)
        assert folder == FOLDER
    if received.refused:
        raise StpError(f"{path}: {next(iter(received.refused.values()))}")


# Bundles, for `stp store export --check`


def bundle(root: Path) -> Path:
    root.mkdir()
    values: dict[str, Any] = {
        "model": "mine", "dimension": "short_term", "value": 0.5, "convention": "mse.pixel_mean",
        "source": "synthetic", "scale": "demo", "comparable": False, "leaky": False, "best_of": 1,
        "official_paper_protocol": False,
    }  # fmt: skip
    table = pa.table({name: pa.array([values.get(name)], kind)
                      for name, kind in checking.COLUMNS.items()})  # fmt: skip
    pq.write_table(table, root / "scores.parquet")
    pa.csv.write_csv(table, root / "scores.csv")
    for name in checking.REQUIRED:
        (root / name).touch()
    cell = {name: values.get(name) for name in CELL_COLUMNS}
    with (root / "cells.csv").open("w", newline="") as file:
        csv.writer(file).writerows([cell.keys(), cell.values()])
    (root / "conventions.csv").write_text("convention\nmse.pixel_mean\n")
    (root / "receipts.json").write_text("[]")
    files = {path.name: {"bytes": path.stat().st_size, "sha256": checksum(path)}
             for path in sorted(root.iterdir())}  # fmt: skip
    described = {"format": checking.FORMAT, "version": checking.VERSION, "stp": "0.1",
                 "model": "mine",
                 "title": "Mine", "scales": ["demo"], "sources": ["synthetic"], "cells": 1,
                 "comparable_cells": 0, "rows": 1, "sample_rows": None, "checkpoints": False,
                 "files": files}  # fmt: skip
    (root / checking.MANIFEST).write_text(json.dumps(described))
    return root


def write_bundle(path: Path) -> None:
    root = bundle(path.parent / "whole")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(root.iterdir()):
            archive.write(file, f"mine/{file.name}")
    shutil.rmtree(root)


def write_bundle_list(path: Path) -> None:
    path.write_bytes((bundle(path.parent / "whole") / checking.MANIFEST).read_bytes())
    shutil.rmtree(path.parent / "whole")


def read_bundle_list(path: Path) -> None:
    root = bundle(path.parent / "bundle")
    shutil.copy(path, root / checking.MANIFEST)
    read_bundle(root)


def read_bundle(path: Path) -> None:
    summary = checking.check(path)
    assert summary.manifest.rows == 1 and sum(summary.dimensions.values()) == 1


# Predictions, for `stp external import`

CLIPS = [("clip one", "0" * 16), ("clip two", "1" * 16)]
PREDICTIONS = np.linspace(0, 1, 96, dtype=np.float32).reshape(2, 3, 1, 4, 4)


def zarr_store(folder: Path, version: int) -> Path:
    group = zarr.open_group(str(folder), mode="w", zarr_format=version)  # type: ignore[arg-type]
    array = group.create_array("predictions", shape=PREDICTIONS.shape, dtype="f4",
                               chunks=PREDICTIONS.shape)  # fmt: skip
    array[...] = PREDICTIONS
    return folder


def part_of(folder: Path, part: str) -> Path:
    """The metadata of the array, or its only chunk."""
    array = folder / "predictions"
    if part == "metadata":
        return next(array / name for name in ("zarr.json", ".zarray") if (array / name).exists())
    return next(p for p in array.rglob("*") if p.is_file() and p.name[0] in "0")


def write_zarr(path: Path, version: int, part: str) -> None:
    folder = zarr_store(path.parent / "whole", version)
    path.write_bytes(part_of(folder, part).read_bytes())
    shutil.rmtree(folder)


def read_zarr(path: Path, version: int, part: str) -> None:
    folder = path.parent / "submitted"
    folder.mkdir()
    shutil.copy(path, part_of(zarr_store(folder / path.name, version), part))
    windows: Any = SimpleNamespace(name=lambda n: f"sample {n}", order=[0, 1])
    source = open_source(folder, windows, folder)
    if source.shape == PREDICTIONS.shape:
        assert importing._read(source, windows, [0, 1], range(2)).shape == source.shape


def write_windows(path: Path) -> None:
    described = {
        "format": exported.VERSION, "shape": [1, 4, 4], "context": 2, "horizon": 3, "units": "1",
        "values": {"low": [0.0], "high": [1.0], "mean": [0.5], "std": [0.25]},
        "data": {"fingerprint": "0" * 16}, "samples": 2, "index_sha256": windows_checksum(CLIPS),
        "evaluation": {"dimension": "short_term", "trained_on": "kth", "train_subset": "all",
                       "tested_on": "kth", "subset": "test", "setting": "horizon-3"},
    }  # fmt: skip
    path.write_text(json.dumps(described))


def write_index(path: Path) -> None:
    text = io.StringIO()
    lines = [(sample, clip, window) for sample, (clip, window) in enumerate(CLIPS)]
    csv.writer(text).writerows([("sample", "clip", "window"), *lines])
    path.write_text(text.getvalue())


def read_submission(path: Path) -> None:
    for name, write in ((exported.DESCRIPTION, write_windows), (exported.INDEX, write_index)):
        if path.name != name:
            write(path.parent / name)
    found = read_windows(path.parent)
    assert list(zip(found.clips, found.checksums, strict=True)) == CLIPS


# Answers of raters

WORDS = {"question": "Which is best?", "consent": "I take part.", "seed": 1}
FVD = {"convention": "fvd.predicted_only", "higher_is_better": False}
SOURCE = {"dataset": "kth", "seed": 0, "source": "synthetic", "release": "synthetic",
          "protocol": "demo", "official_paper_protocol": False, "predictions": "x"}  # fmt: skip
TWO = ("mau", "tau")
KEY = BestOfKey.model_validate({
    "study": "0" * 16, "pictures": "lossless", "scale": "demo",
    "about": {"item": "best_of", "age_groups": ["18-24"], "genders": ["female"], "models": TWO,
              "clips": {"kth": 1}, **WORDS},
    "models": {"mau": "MAU", "tau": "TAU"}, "datasets": {"kth": "KTH"},
    "sources": [{**SOURCE, "model": name} for name in TWO],
    "questions": [{"id": "q1", "dataset": "kth", "sample": 0, "clip": "a", "cluster": "v",
                   "choices": {"c1": "mau", "c2": "tau"}}],
})  # fmt: skip


def write_answers(path: Path) -> None:
    line = ["0" * 16, "1" * 16, "18-24", "female", "1", "q1", "c2", "c1 c2", "2.5",
            "2026-01-31T12:00:00Z"]  # fmt: skip
    path.write_text(",".join(COLUMNS) + "\n" + ",".join(line) + "\n")


def read_the_answers(path: Path) -> None:
    for answer in read_answers([path], KEY, path.with_name("key.json")).answers:
        assert answer.model in (None, "mau", "tau") and np.isfinite(answer.seconds)


PAIR_KEY = PairKey.model_validate({
    "study": "0" * 16, "pictures": "lossless", "scale": "demo", "population": "results.duckdb",
    "size": 2, "about": {"item": "pair", "metrics": {"FVD": FVD}, "spread": ["FVD"], **WORDS},
    "models": {name: {"values": {"FVD": 200.5 + n}, "source": "synthetic", "protocol": "demo",
                      "predictions": "x"} for n, name in enumerate(TWO)},
    "scenarios": [{"name": "spr. FVD", "kind": "spread", "metric": "FVD", "models": TWO,
                   "low": 200.5, "high": 201.5}],
    "questions": [{"id": "q1", "clip": "a", "scenarios": ["spr. FVD"],
                   "choices": {"c1": "mau", "c2": "tau"}}],
})  # fmt: skip
RATING_KEY = RatingKey.model_validate({
    "study": "0" * 16, "pictures": "lossless", "folder": "pvqa",
    "about": {"item": "rating", "raters": 1, "videos": 2, "classes": {"people": ["KTH"]}, **WORDS},
    "questions": [{"id": f"q{n}", "natural": f"{n}.mp4", "choices": {f"c{n}": f"{n}"}}
                  for n in (1, 2)],
    "sessions": {"0" * 12 + "0001": [["q1"], ["q2"]]},
})  # fmt: skip


def read_key(path: Path) -> None:
    key = load_key(path, Key)
    names = {asked.id for asked in key.questions}
    if isinstance(key, PairKey):
        for asked in key.questions:
            for metric in key.about.metrics:
                assert key.better(metric, asked) in (None, *key.models)
        agreements(key, Answers({}, []), [])
    elif isinstance(key, RatingKey):
        assert all(names.issuperset(own) for both in key.sessions.values() for own in both)
    else:
        assert isinstance(key, BestOfKey) and {q.dataset for q in key.questions} <= {*key.datasets}


def write_population(path: Path) -> None:
    path.write_text("model,clips,FVD\nmau,a,200.5\ntau,b,\n")


def read_population(path: Path) -> None:
    found = TablePopulation(path, {"FVD": Measure(convention="fvd.x", higher_is_better=False)})
    for model in found.models.values():
        assert model.values["FVD"] is None or np.isfinite(model.values["FVD"])
