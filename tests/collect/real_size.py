"""A store of the size of ChaosBench in all but the grid: 60 variables, 44 lead times, 320 starts.

``python real_size.py FOLDER`` scores three models, collects them, builds the results store and
writes the table, and prints what it took as JSON.
"""

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import zarr
from small_store import SmallStore, convention_facts, table_column, write_receipt

from stp.collect.database import build
from stp.collect.scores import collect
from stp.core.job import Job
from stp.data.zarr_write import SequentialWriter, create_array, create_group
from stp.plan.metric import read_convention
from stp.prepare.output import write_coordinate
from stp.render.tables.paper_table import render_table
from stp.score.run import run

VARIABLES, LEADS, STARTS, BLOCK = 60, 44, 320, 8
GRID = (3, 4)
SPREAD = {"good": 0.3, "fair": 0.5, "persistence": 0.9}
"""How much faster errors of a model grow than the truth moves."""
CONVENTIONS = ("wrmse.pooled", "wrmse.per_frame", "mse.pixel_mean", "rmse.pooled")
COLUMNS = [
    table_column("RMSE", "wrmse.pooled", variable="v3"),
    table_column("RMSE week 1", "wrmse.pooled", variable="v3", lead="1-7"),
    table_column("RMSE week 2", "wrmse.pooled", variable="v3", lead="8-14"),
    table_column("RMSE weeks 5-6", "wrmse.pooled", variable="v3", lead="29-42"),
    table_column("RMSE day 44", "wrmse.pooled", variable="v3", lead="44"),
    table_column("RMSE day 1", "wrmse.pooled", variable="v7", lead="1"),
    table_column("spread day 1", "wrmse.per_frame", variable="v3", lead="1", statistic="sd"),
    table_column("MSE-week-1", "mse.pixel_mean", lead="1-7"),
]


def names() -> list[str]:
    return [f"v{number}" for number in range(VARIABLES)]


def write_data(folder: Path) -> np.ndarray:
    """Prepared data, a frame a day; returns all frames."""
    rng = np.random.default_rng(0)
    days = STARTS + LEADS
    frames = rng.normal(size=(days, VARIABLES, *GRID)).astype(np.float32)
    for day in range(1, days):  # weather remembers
        frames[day] = 0.9 * frames[day - 1] + np.sqrt(1 - 0.9**2) * frames[day]
    folder.mkdir(parents=True)
    attributes = {
        "dataset": "weatherbench", "units": "K", "shape": [VARIABLES, *GRID], "context": 1,
        "horizon": LEADS, "phases": 1, "variables": names(),
    }  # fmt: skip
    group = create_group(folder / "frames.zarr", attributes)
    _write(group, "frames", frames, "frame")
    write_coordinate(group, "lat", "y", np.array([-50.0, 0, 50]), units="degrees_north")
    index(STARTS).to_parquet(folder / "index.parquet")
    write_receipt(folder, "prepare")
    return frames


def index(starts: int) -> pd.DataFrame:
    number = np.arange(starts)
    return pd.DataFrame(
        {
            "split": "test",
            "clip": [f"day{n:03}" for n in number],
            "start": number,
            "stride": np.int32(1),
            "length": np.int32(1 + LEADS),
            "cluster": [f"block{n:02}" for n in number // BLOCK],
            "phase": np.int32(0),
            "cluster_start": number // BLOCK * BLOCK,
            "cluster_length": BLOCK,
        }
    )


def write_predictions(folder: Path, frames: np.ndarray, growth: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (STARTS, LEADS, VARIABLES, *GRID)
    folder.mkdir(parents=True, exist_ok=True)
    group = create_group(folder / "predictions.zarr", {"units": "K", "variables": names()})
    array = create_array(
        group, "predictions", shape, np.float32, ("sample", "lead", "channel", "y", "x"),
        (1, *shape[1:]),
    )  # fmt: skip
    error = growth * np.sqrt(np.arange(1, LEADS + 1, dtype=np.float32))[:, None, None, None]
    with SequentialWriter(array) as writer:
        for start in range(STARTS):
            noise = rng.normal(size=shape[1:]).astype(np.float32)
            writer.append((frames[start + 1 : start + 1 + LEADS] + error * noise)[None])
    index(STARTS).to_parquet(folder / "index.parquet")
    write_receipt(folder, "predict")


def _write(group: zarr.Group, name: str, rows: np.ndarray, outer: str) -> None:
    dims = (outer, "channel", "y", "x")
    array = create_array(group, name, rows.shape, rows.dtype, dims, (1, *rows.shape[1:]))
    with SequentialWriter(array) as writer:
        writer.append(rows)


def make(folder: Path) -> dict[str, Any]:
    """Everything from data to table; returns seconds by step, and the most memory in MB."""
    store = SmallStore(folder)
    took: dict[str, Any] = {}
    frames = None
    for number, (model, growth) in enumerate(SPREAD.items()):
        cell = store.add(model, "weatherbench", {}, setting=f"horizon-{LEADS}")
        if frames is None:
            for path in Path(cell["data"]).iterdir():
                path.unlink()
            Path(cell["data"]).rmdir()
            frames = write_data(Path(cell["data"]))
        write_predictions(Path(cell["predictions"]), frames, growth, number)
        began = time.monotonic()
        out = Path(cell["scores"])
        for path in out.iterdir():
            path.unlink()
        recipe = {
            "cell": cell["key"],
            "conventions": {
                name: read_convention(name, "a test")[1].definition for name in CONVENTIONS
            },
            "bootstrap": {"resamples": 200},
        }
        inputs = {"data": Path(cell["data"]), "predictions": Path(cell["predictions"])}
        run(Job(recipe, inputs, out, folder / f"state-{model}"))
        write_receipt(out, "score", recipe=recipe)
        took["score"] = took.get("score", 0) + time.monotonic() - began
    for convention in CONVENTIONS:
        store.manifest["conventions"][convention] = convention_facts(False)
    columns = {"weatherbench": COLUMNS}
    store.manifest["tables"] = {"short_term": {"columns": columns}}
    manifest, rows = store.write(), folder / "short_term.parquet"
    for name, step in (
        ("collect", lambda: collect(manifest, rows)),
        ("build", lambda: build([manifest], [rows], folder / "results.duckdb")),
        ("table", lambda: render_table(manifest, folder / "results.duckdb", folder / "table.csv")),
    ):
        began = time.monotonic()
        step()
        took[name] = time.monotonic() - began
    # Not ru_maxrss, which begins with what the parent held.
    (most,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return took | {"mb": int(most) / 1024}


if __name__ == "__main__":
    print(json.dumps(make(Path(sys.argv[1]))))
