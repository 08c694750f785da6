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
from stp.external import importing
from stp.external import windows as exported
from stp.external.submitted import open_source, read_windows
from stp.human_study.answers import COLUMNS, read_answers
from stp.human_study.key import Asked, Key, Source, load_key
from stp.human_study.pair_agreement import agreements
from stp.human_study.pair_key import Compared, PairKey, Rated, Scenario, Scored, load_pair_key
from stp.human_study.pair_options import Measure
from stp.human_study.population import TablePopulation
from stp.human_study.rating_key import RatedVideo, RatingKey, Seat, load_rating_key
from stp.plan.artefacts import fingerprint_of
from stp.predict.windows import identity
from stp.upkeep.receiving import receive
from stp.upkeep.sharing import SUMS

# Artefacts, for `stp import`

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


# Bundles, for `stp export --check`


def bundle(root: Path) -> Path:
    root.mkdir()
    values: dict[str, Any] = {"model": "mine", "dimension": "short_term", "value": 0.5}
    table = pa.table({name: pa.array([values.get(name)], kind)
                      for name, kind in checking.COLUMNS.items()})  # fmt: skip
    pq.write_table(table, root / "scores.parquet")
    pa.csv.write_csv(table, root / "scores.csv")
    for name in checking.REQUIRED:
        (root / name).touch()
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
    held = checking.check(path)
    assert held.rows == 1 and sum(held.dimensions.values()) == 1


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
        "values": "0..1", "data": "0" * 16, "samples": 2, "index_sha256": identity(CLIPS),
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
    assert list(zip(found.clips, found.shown, strict=True)) == CLIPS


# Answers of raters

KEY = Key(
    study="0" * 16, scale="demo", question="Which is best?", cannot_tell=True, age_groups=["18-24"],
    genders=["female"], seed=1, pictures="lossless", models={"mau": "MAU", "tau": "TAU"},
    datasets={"kth": "KTH"},
    sources=[Source("kth", name, 0, "synthetic", "synthetic", "demo", False, "x")
             for name in ("mau", "tau")],
    questions=[Asked("q1", "kth", 0, "a", "v", {"c1": "mau", "c2": "tau"})],
)  # fmt: skip


def write_answers(path: Path) -> None:
    line = ["0" * 16, "1" * 16, "18-24", "female", "1", "q1", "c2", "c1 c2", "2.5",
            "2026-01-31T12:00:00Z"]  # fmt: skip
    path.write_text(",".join(COLUMNS) + "\n" + ",".join(line) + "\n")


def read_the_answers(path: Path) -> None:
    for answer in read_answers([path], KEY, path.with_name("key.json")).answers:
        assert answer.model in (None, "mau", "tau") and np.isfinite(answer.seconds)


PAIR_KEY = PairKey(
    study="0" * 16, scale="demo", population="results.duckdb", size=2, question="Which is better?",
    seed=1, pictures="lossless", metrics={"FVD": Scored("fvd.predicted_only", False)},
    models={name: Rated({"FVD": 200.5 + n}, "synthetic", "demo", "x")
            for n, name in enumerate(("mau", "tau"))},
    scenarios=[Scenario("spr. FVD", "spread", "FVD", ["mau", "tau"], low=200.5, high=201.5)],
    questions=[Compared("q1", "a", ["spr. FVD"], {"c1": "mau", "c2": "tau"})],
)  # fmt: skip


def read_pair_key(path: Path) -> None:
    found = load_pair_key(path)
    if found is None:
        load_key(path)
        return
    for asked in found.questions:
        for metric in found.metrics:
            assert found.better(metric, asked) in (None, *found.models)
    agreements(found, None, [])


RATING_KEY = RatingKey(
    study="0" * 16, folder="pvqa", question="How good is it?", seed=1, hours=24.0,
    pictures="lossless", questions=[RatedVideo(f"q{n}", f"{n}.mp4", {f"c{n}": f"{n}"})
                                    for n in (1, 2)],
    seats=[Seat("0" * 12 + "0001", [["q1"], ["q2"]])],
)  # fmt: skip


def read_rating_key(path: Path) -> None:
    found = load_rating_key(path)
    if found is None:
        load_key(path)
        return
    names = {asked.id: asked.video for asked in found.questions}
    for seat in found.seats:
        assert all(isinstance(names[name], str) for own in seat.sessions for name in own)


def write_population(path: Path) -> None:
    path.write_text("model,clips,FVD\nmau,a,200.5\ntau,b,\n")


def read_population(path: Path) -> None:
    found = TablePopulation(path, {"FVD": Measure(convention="fvd.x", higher_is_better=False)})
    for model in found.models.values():
        assert model.values["FVD"] is None or np.isfinite(model.values["FVD"])


def read_key(path: Path) -> None:
    found = load_key(path)
    assert all(isinstance(asked, Asked) for asked in found.questions)
    assert all(isinstance(title, str) for title in found.models.values())
