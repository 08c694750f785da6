"""How long results.duckdb takes to build from a million score rows, and to answer questions.

Made-up score artefacts (10 models, 5 datasets, 3 seeds, 4 dimensions: 600 cells; 40 conventions at
13 lead times, each with its interval; 64 test samples) are collected, one Parquet file per
dimension, and the database is built from these, with all its tables, views, comments and checks.
The alternatives, in the same run, only bring the same rows into one table of the same columns,
without any check: DuckDB's bare load of the collected files, one statement on one thread; and from
the score artefacts DuckDB, a file and a commit at a time; pandas, all files read and concatenated,
then one insert; and rows one by one (executemany; a sample of them, since all would take many
minutes). Every measurement is a process of its own, so imports count; the fastest of several turns.
"Inside" is the wall time without the start of the process and the imports of this script. CPU time
is what it takes on a machine that is not busy and has one core; the ratio is of CPU times, which
other processes disturb least.

    python benchmarks/collect.py
    python benchmarks/collect.py --cells 60 --turns 1
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.plan.manifest_types import ConventionFacts, DatasetFacts
from stp.plan.manifests import suite_facts
from stp.plan.suite import read_suites
from stp.score.tables import SCORES, write_samples

ROOT = Path(__file__).parent.parent
DIMENSIONS = ("short_term", "long_term", "generalization", "robustness")
MODELS, SEEDS, LEADS, SAMPLES = 10, 3, 13, 64
METRICS = ("mae", "mse", "rmse", "psnr", "ssim", "lpips", "crps", "csi")
CHOICES = 5
CONVENTIONS = [f"{metric}.choice{number}" for metric in METRICS for number in range(CHOICES)]
ONE_BY_ONE = 2_000
"""Rows that are inserted one by one."""
QUESTIONS = {
    "leaderboard, one test": "FROM leaderboard WHERE tested_on = 'data1' "
    "AND dimension = 'short_term' AND convention = 'ssim.choice0'",
    "leaderboard, all": "FROM leaderboard",
    "coverage": "FROM coverage",
    "convention_effects": "FROM convention_effects",
    "overall": "FROM overall",
    "by_lead, one model": "FROM by_lead WHERE model = 'model1'",
    "cost": "FROM cost",
    "lineage": "FROM lineage",
    "runs": "FROM runs",
    "failures": "FROM failures",
    "missing": "FROM missing",
    "paper_values": "FROM paper_values",
    "paper_changes": "FROM paper_changes",
    "deltas": "FROM deltas",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", type=int, default=600, help="default: 600, of 1,680 rows each")
    parser.add_argument("--turns", type=int, default=3, help="the fastest counts (default: 3)")
    parser.add_argument("--folder", type=Path, help="keep the made-up store here, and use it again")
    parser.add_argument("--only", help="internal: measure one thing in this process")
    options = parser.parse_args()
    if options.only:
        begun = time.perf_counter()
        WAYS[options.only](options.folder)
        print(time.perf_counter() - begun)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if not (folder / "collected").is_dir():
            make(folder, options.cells)
        measure(folder, options.turns)


def measure(folder: Path, turns: int) -> None:
    """Print a line for each way, and one for each question."""
    seconds: dict[str, float] = {}
    rows = count(folder)
    print(f"{rows:,} rows on {len(os.sched_getaffinity(0))} cores")
    print(f"{'':<36} {'wall':>8} {'inside':>8} {'CPU':>8}  CPU against 'build'")
    for name in WAYS:
        costs = [process(folder, name) for _ in range(turns)]
        scale = rows / ONE_BY_ONE if name == "rows one by one" else 1
        wall, inside, cpu = (min(cost) * scale for cost in zip(*costs, strict=True))
        seconds[name] = cpu
        about = f"{cpu / seconds['build']:.2f}x" + (" (extrapolated)" if scale > 1 else "")
        print(f"{name:<36} {wall:>6.2f} s {inside:>6.2f} s {cpu:>6.2f} s  {about}", flush=True)
    ask(folder, turns)


def process(folder: Path, name: str) -> tuple[float, float, float]:
    """Seconds of a process that goes one way: wall, wall inside, CPU."""
    command = [sys.executable, __file__, "--folder", str(folder), "--only", name]
    begun = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    _, status, usage = os.wait4(started.pid, 0)
    wall = time.perf_counter() - begun
    assert started.stdout is not None
    printed = started.stdout.read()
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        sys.exit(f"{name} failed")
    return wall, float(printed.split()[-1]), usage.ru_utime + usage.ru_stime


def build(folder: Path) -> None:
    """Build the database from collected rows."""
    from stp.collect.refresh import build_database

    build_database(folder / "collected", folder / "results.duckdb")


def collect(folder: Path) -> None:
    """Collect all score artefacts: read, check, sort, write."""
    from stp.collect.refresh import collect_dimension

    for dimension in DIMENSIONS:
        collect_dimension(
            folder / "plan" / f"{dimension}.json", folder / "collected" / f"{dimension}.parquet"
        )


def bare(folder: Path) -> None:
    """DuckDB loads the collected files as they are; the floor of a table with all columns."""
    files = [str(folder / "collected" / f"{dimension}.parquet") for dimension in DIMENSIONS]
    with empty(folder) as database:
        database.execute("SET threads = 1")
        database.execute(f"CREATE OR REPLACE TABLE scores AS FROM read_parquet({files})")


def file_by_file(folder: Path) -> None:
    """DuckDB reads one score artefact after the other; each insert is a commit."""
    with empty(folder) as database:
        for path in score_files(folder):
            database.execute(f"INSERT INTO scores SELECT * FROM read_parquet('{path}')")


def with_pandas(folder: Path) -> None:
    """pandas reads all score artefacts; one insert."""
    import pandas as pd

    with empty(folder) as database:
        frame = pd.concat([pd.read_parquet(path) for path in score_files(folder)])
        database.register("frame", frame)
        database.execute("INSERT INTO scores SELECT * FROM frame")


def one_by_one(folder: Path) -> None:
    """A sample of the rows, one statement each, in one transaction."""
    rows = pq.read_table(next(score_files(folder))).to_pylist()
    values = [list(rows[number % len(rows)].values()) for number in range(ONE_BY_ONE)]
    places = ", ".join("?" for _ in SCORES)
    with empty(folder) as database:
        database.begin()
        database.executemany(f"INSERT INTO scores VALUES ({places})", values)
        database.commit()


WAYS = {
    "build": build,
    "DuckDB, bare load of collected rows": bare,
    "collect all artefacts before it": collect,
    "DuckDB, a file and commit at a time": file_by_file,
    "pandas, one insert": with_pandas,
    "rows one by one": one_by_one,
}


def empty(folder: Path) -> Any:
    """A new database with an empty table of the columns of score artefacts."""
    import duckdb

    path = folder / "alternative.duckdb"
    path.unlink(missing_ok=True)
    database = duckdb.connect(str(path))
    database.register("empty", SCORES.empty_table())
    database.execute("CREATE TABLE scores AS FROM empty")
    return database


def score_files(folder: Path) -> Iterator[Path]:
    """The score artefacts, in a fixed order."""
    yield from sorted((folder / "store" / "scores").rglob("scores.parquet"))


def count(folder: Path) -> int:
    """How many rows were collected."""
    return sum(
        pq.read_metadata(path).num_rows
        for dimension in DIMENSIONS
        if (path := folder / "collected" / f"{dimension}.parquet").is_file()
    )


def ask(folder: Path, turns: int) -> None:
    """Time questions on the database, each to its last row."""
    import duckdb

    print(f"\n{'question':<36} {'wall':>6} {'CPU':>7} {'rows':>9}")
    with duckdb.connect(str(folder / "results.duckdb"), read_only=True) as database:
        for name, sql in QUESTIONS.items():
            taken = []
            for _ in range(turns):
                begun = time.perf_counter(), time.process_time()
                found = database.sql(sql).to_arrow_table()
                taken.append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
            wall, cpu = map(min, zip(*taken, strict=True))
            print(f"{name:<36} {wall:>4.2f} s {cpu:>5.2f} s {len(found):>9,}", flush=True)


def make(folder: Path, cells: int) -> None:
    """Write made-up artefacts, manifests and collected rows."""
    random = np.random.default_rng(0)
    per_dimension = -(-cells // len(DIMENSIONS))
    print("making up score artefacts ...", file=sys.stderr, flush=True)
    for dimension in DIMENSIONS:
        keys = [
            {
                "suite": "predbench",
                "dimension": dimension,
                "model": f"model{number // SEEDS % MODELS}",
                "variant": "default",
                "trained_on": f"data{number // SEEDS // MODELS}",
                "train_subset": "all",
                "tested_on": f"data{number // SEEDS // MODELS}",
                "subset": "test",
                "setting": f"horizon-{LEADS}",
                "seed": number % SEEDS,
            }
            for number in range(per_dimension)
        ]
        entries = [artefacts(folder / "store", key, random) for key in keys]
        path = folder / "plan" / f"{dimension}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(manifest(folder / "store", dimension, entries)))
    collect(folder)


def artefacts(store: Path, key: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Write all artefacts of a cell; return its entry in the manifest."""
    path = "/".join(str(value) for value in key.values())
    name = hashlib.sha256(path.encode()).hexdigest()[:16]
    data = hashlib.sha256(key["tested_on"].encode()).hexdigest()[:16]
    folders = {
        "data": f"data/{key['tested_on']}/{data}",
        "model": f"models/{path}/{name}",
        "predictions": f"predictions/{path}/{name}",
        "scores": f"scores/{path}/{name}",
    }
    for part, folder in folders.items():
        (store / folder).mkdir(parents=True, exist_ok=True)
        if part == "scores":
            write_artefact_scores(store / folder, key, random)
        write_receipt(store, folder, part)
    return {
        "key": key,
        "source": "synthetic",
        "release": "made_up",
        "protocol": "demo",
        "follows_paper": False,
        "bytes_of": [],
        "leaky": False,
        "best_of": 1,
        "subset_note": "",
        **{part: str(store / folder) for part, folder in folders.items()},
    }


def write_artefact_scores(folder: Path, key: dict[str, Any], random: np.random.Generator) -> None:
    """Write ``scores.parquet`` and ``sample_scores.parquet``."""
    leads = [None, *range(1, LEADS + 1)]
    statistics = ("mean", "ci95_low", "ci95_high")
    rows = [
        {
            **key,
            "metric": convention.partition(".")[0],
            "convention": convention,
            "lead": lead,
            "statistic": statistic,
            "value": value,
            "n": SAMPLES,
        }
        for convention in CONVENTIONS
        for lead in leads
        for statistic, value in zip(statistics, np.sort(random.random(3)).tolist(), strict=True)
    ]
    pq.write_table(pa.Table.from_pylist(rows, SCORES), folder / "scores.parquet")
    clips = [f"clip{number}" for number in range(SAMPLES)]
    columns = {name: {None: random.random((SAMPLES, LEADS))} for name in CONVENTIONS}
    write_samples(folder / "sample_scores.parquet", key, None, clips, clips, columns)


def write_receipt(store: Path, folder: str, part: str) -> None:
    """Write a receipt of about the size of a real one."""
    files = {
        path.name: {
            "bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        for path in (store / folder).glob("*.parquet")
    }
    attempt = {"attempt": 1, "how": "done", "host": "node1", "time": 0.0, "ended": 60.0, "gpus": 1}
    receipt = {
        "stage": {"data": "prepare", "model": "train", "predictions": "predict"}.get(part, "score"),
        "path": folder,
        "fingerprint": folder.rpartition("/")[2],
        "recipe": {"model": folder, "options": {str(number): number for number in range(40)}},
        "inputs": {},
        "code": {
            "fingerprint": "c" * 16,
            "modules": {f"stp.module{number}": "d" * 16 for number in range(40)},
            "definitions": {f"definition{number}": "e" * 16 for number in range(300)},
        },
        "provenance": {"host": "node1", "device": "cpu", "started": 0.0, "finished": 60.0},
        "attempts": [attempt],
        "files": files,
    }
    (store / folder / "artefact.json").write_text(json.dumps(receipt))


def manifest(store: Path, dimension: str, cells: list[dict[str, Any]]) -> dict[str, Any]:
    """The manifest of a dimension."""
    up = {"psnr", "ssim", "csi"}
    columns = {"SSIM": "ssim.choice0", "LPIPS": "lpips.choice0"}
    datasets = {cell["key"]["tested_on"]: cell["key"]["tested_on"] for cell in cells}
    models = {cell["key"]["model"]: cell["key"]["model"] for cell in cells}
    return {
        "dimension": dimension,
        "suite": asdict(suite_facts("predbench", read_suites()["predbench"])),
        "scale": "benchmark",
        "code": "c" * 16,
        "store": str(store),
        "cells": cells,
        "raw": {},
        "unavailable": {},
        "conventions": {
            name: asdict(
                ConventionFacts(name, "1", name.partition(".")[0] in up, None, True, "", "")
            )
            for name in CONVENTIONS
        },
        "tables": {dimension: {"columns": dict.fromkeys(datasets, columns)}},
        "names": {"models": models, "datasets": datasets},
        "models": {},
        "datasets": {
            name: asdict(DatasetFacts(None, "own", (1, 8, 8), 10, 10, "1", "", "", ""))
            for name in datasets
        },
        "reproduction": {},
        "published_sha256": None,
        "published_clips": {},
        "published": str(ROOT / "config" / "suites" / "predbench" / "published.csv"),
        "published_names": {"models": {}, "datasets": {}},
    }


if __name__ == "__main__":
    main()
