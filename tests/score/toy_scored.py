"""A tiny data set and its predictions on disk, as prepare and predict write them."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import zarr
from conventions import defined

from stp.core.job import Job, never_interrupted
from stp.data.zarr_write import SequentialWriter, create_array, create_group
from stp.prepare.output import write_coordinate
from stp.score.run import run

LATITUDES = np.linspace(76, -76, 20)
CELL = {
    "suite": "predbench",
    "dimension": "short_term",
    "model": "persistence",
    "variant": "default",
    "trained_on": "toy",
    "train_subset": "train",
    "tested_on": "toy",
    "subset": "test",
    "setting": "default",
    "seed": None,
}


@dataclass
class Scored:
    """A prepared data set, predictions of its test split, and how to score them."""

    root: Path
    observed: np.ndarray  # (N, T, C, H, W) in units
    predicted: np.ndarray

    def run(self, *conventions: str, out: str = "out", **changes: Any) -> Path:
        """Score; ``changes`` are recipe keys, sizes of blocks of the runtime, or `interrupted`."""
        interrupted = changes.pop("interrupted", never_interrupted)
        runtime = {key: changes.pop(key, None) for key in ("block_samples", "block_leads")}
        recipe = {
            "cell": CELL,
            "conventions": defined(*conventions),
            "split": "test",
            "bootstrap": {"resamples": 200, "seed": 0},
            "threads": 1,
            **changes,
        }
        folder = self.root / out
        folder.mkdir()
        inputs = {"data": self.root / "data", "predictions": self.root / "predictions"}
        self.reported: list[tuple[str, int, int]] = []
        self.extras = run(
            Job(
                recipe,
                inputs,
                folder,
                self.root / "state",
                runtime,
                lambda *progress: self.reported.append(progress),
                interrupted,
            )
        )
        return folder


def write_scored(
    root: Path,
    clips: np.ndarray,
    predicted: np.ndarray,
    *,
    clusters: list[str] | None = None,
    units: str = "1",
    variables: list[str] | None = None,
    **columns: Any,
) -> Scored:
    """Write clips (N, T_in + T, C, H, W) as data, predictions (N, T, C, H, W) beside them.

    ``columns`` are further ones of the index.
    """
    samples, length = clips.shape[:2]
    leads = predicted.shape[1]
    video = clips.dtype == np.uint8
    scale = 1 / 255 if video else 1.0
    group = create_group(
        (folder(root / "data")) / "frames.zarr",
        {
            "dataset": "toy",
            "units": units,
            "stored_scale": scale,
            "stored_offset": 0.0,
            "shape": list(clips.shape[2:]),
            "context": length - leads,
            "horizon": leads,
            "phases": 1,
            "variables": variables,
        },
    )
    write(group, "frames", clips.reshape(-1, *clips.shape[2:]), "frame")
    index = pd.DataFrame(
        {
            "split": "test",
            "clip": [f"clip{n:03}" for n in range(samples)],
            "start": np.arange(samples, dtype=np.int64) * length,
            "stride": np.int32(1),
            "length": np.int32(length),
            "cluster": clusters or [f"video{n:03}" for n in range(samples)],
            "phase": np.int32(0),
            **columns,
        }
    )
    index.to_parquet(root / "data" / "index.parquet")
    group = create_group(folder(root / "predictions") / "predictions.zarr", {"units": units})
    write(group, "predictions", predicted, "sample", "lead")
    index.to_parquet(root / "predictions" / "index.parquet")
    observed = clips[:, length - leads :].astype(np.float64) * scale
    return Scored(root, observed, predicted)


def keep(
    scored: Scored,
    *,
    samples: list[int] | None = None,
    leads: list[int] | None = None,
    variables: list[str] | None = None,
) -> Scored:
    """Keep a part of the predictions, which say so; ``leads`` are lead times from 1."""
    store = scored.root / "predictions"
    index = pd.read_parquet(store / "index.parquet")
    attributes: dict[str, Any] = {"units": "physical", "lead_times": scored.predicted.shape[1]}
    predicted = scored.predicted
    if samples is not None:
        predicted, index = predicted[samples], index.iloc[samples]
        attributes["complete"] = False
    if leads is not None:
        predicted = predicted[:, [lead - 1 for lead in leads]]
        attributes["leads"] = leads
    if variables is not None:
        data = zarr.open_group(str(scored.root / "data" / "frames.zarr"), mode="r")
        known = list(data.attrs["variables"])  # type: ignore[arg-type, call-overload]
        predicted = predicted[:, :, [known.index(name) for name in variables]]
        attributes["variables"] = variables
    shutil.rmtree(store)
    group = create_group(folder(store) / "predictions.zarr", attributes)
    write(group, "predictions", np.ascontiguousarray(predicted), "sample", "lead")
    index.to_parquet(store / "index.parquet")
    return scored


def write_grid(scored: Scored, latitudes: np.ndarray, *levels: float) -> zarr.Group:
    """Give the data latitudes and pressure levels (hPa; NaN: none); their store."""
    group = zarr.open_group(str(scored.root / "data" / "frames.zarr"), mode="r+")
    write_coordinate(group, "lat", "y", latitudes, units="degrees_north")
    write_coordinate(group, "level", "channel", np.array(levels), units="hPa")
    return group


def write_ensemble(
    make_scored: Callable[..., Scored],
    *,
    members: int = 1,
    sea: str | None = None,
    alike: bool = False,
) -> Scored:
    """Write 40 starts, 1 -> 2 days, of two variables at `LATITUDES`.

    Args:
        make_scored: the fixture.
        members: number of forecasts of each start.
        sea: where the second variable was not observed: in the south, or everywhere.
        alike: whether all starts are equal.
    """
    rng = np.random.default_rng(0)
    clips = rng.normal(280, 3, (40, 3, 2, 20, 24)).astype(np.float32)
    noise = rng.normal(0, 2, (40, members, 2, 2, 20, 24))
    predicted = (clips[:, None, 1:] + noise).astype(np.float32)
    if alike:
        clips[:], predicted[:] = clips[0], predicted[0]
    if sea == "in the south":
        clips[:, :, 1, 10:] = np.nan
    if sea == "everywhere":
        clips[:, :, 1] = np.nan
    scored = make_scored(clips, predicted[:, 0], units="physical", variables=["t2m", "z_500"])
    write_grid(scored, LATITUDES, np.nan, 500)
    if members > 1:
        store = scored.root / "predictions" / "predictions.zarr"
        store.rename(scored.root / "one.zarr")
        write(
            create_group(store, {"units": "physical"}),
            "predictions", predicted, "sample", "member", "lead",
        )  # fmt: skip
        scored.predicted = predicted
    return scored


def scores(out: Path) -> pd.DataFrame:
    """All rows of ``scores.parquet`` as Python values, NULL as None."""
    return pd.DataFrame(pq.read_table(out / "scores.parquet").to_pylist(), dtype=object)


def rows(
    out: Path, convention: str, lead: int | None = None, statistic: str = "mean"
) -> pd.DataFrame:
    """Rows of a convention at a lead time; None: at all together."""
    table = scores(out)
    here = (table.convention == convention) & (table.statistic == statistic)
    return table[here & (table.lead.isna() if lead is None else table.lead == lead)]


def row(
    out: Path, convention: str, variable: str | None = None, lead: int | None = None
) -> dict[str, Any]:
    """The only one of `rows`, or the only one of a variable."""
    table = rows(out, convention, lead)
    (found,) = table[(table.variable == variable) | (variable is None)].to_dict("records")
    return dict(found)


def value(
    out: Path, convention: str, variable: str | None = None, lead: int | None = None
) -> float | None:
    """The value of `row`."""
    found: float | None = row(out, convention, variable, lead)["value"]
    return found


def assert_same_tables(out: Path, other: Path) -> None:
    """The three tables of two scorings are equal to the bit."""
    for name in ("scores.parquet", "sample_scores.parquet", "cluster_sums.parquet"):
        assert pq.read_table(out / name).equals(pq.read_table(other / name)), name


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def write(group: Any, name: str, rows: np.ndarray, *outer: str) -> None:
    dims = (*outer, "channel", "y", "x")
    chunk = (min(3, len(rows)), *rows.shape[1:])
    array = create_array(group, name, rows.shape, rows.dtype, dims, chunk, max_files=3)
    with SequentialWriter(array) as writer:
        writer.append(rows)
