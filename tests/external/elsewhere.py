"""Two small datasets of one's own, prepared; and what somebody elsewhere returns for them."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from stp.external.evaluation import choose
from stp.external.importing import Imported, Statement, import_predictions, without_external
from stp.external.windows import export
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.checked_config import merge
from stp.run import runner

ROOT = Path(__file__).parents[2]
SEQUENCES, FRAMES = 30, 11
SCALE: dict[str, Any] = {
    "scale": "elsewhere",
    "dimensions": {
        "short_term": {"models": ["persistence"], "datasets": ["dots", "field"]},
        "robustness": {
            "models": ["persistence"],
            "cells": [{"trained_on": "dots", "setting": {"horizon": 1, "interval": 2}}],
        },
    },
    "datasets": {
        "dots": {  # video: a bright dot on its way, twelve sequences to be tested
            "title": "Dots",
            "shape": [1, 16, 16],
            "context": 4,
            "horizon": 3,
            "metrics": ["mse.pixel_mean", "crps.pixel_mean"],
            "reader": "own.reader",
            "release": "own",
            "releases": {"own": {"source": "own", "files": [{"path": "dots.npy"}]}},
            "prepare": {
                "kind": "arrays",
                "axes": "NTHW",
                "divide_by": 255,
                "span": FRAMES,  # longer than a clip: room for intervals
                "splits": {"by": "sequence", "train": 0.4, "val": 0.2, "test": 0.4},
            },
        },
        "field": {  # weather: Kelvin and wind on a grid, times that follow one another
            "title": "Field",
            "shape": [2, 6, 8],
            "context": 2,
            "horizon": 2,
            "metrics": ["mse.pixel_mean"],
            "reader": "own.reader",
            "release": "own",
            "releases": {"own": {"source": "own", "files": [{"path": "field.nc"}]}},
            "prepare": {
                "kind": "grids",
                "variables": {"t2m": None, "u10": None},
                "splits": {"by": "time", "train": 0.4, "val": 0.2, "test": 0.4},
                "normalisation": {"method": "zscore"},
                "stride": 2,
            },
        },
    },
    "bootstrap": {"resamples": 100, "seed": 0},
    "runtime": {"device": "cpu"},
}


def dots() -> np.ndarray:
    """Sequences of a dot that flies straight on, uint8 (N, T, 16, 16)."""
    random = np.random.default_rng(1)
    place, step = random.uniform(4, 11, (SEQUENCES, 2)), random.uniform(-0.7, 0.7, (SEQUENCES, 2))
    at = place[:, None] + step[:, None] * np.arange(FRAMES)[:, None]
    y, x = np.arange(16)[:, None], np.arange(16)
    squares = (y - at[..., 0, None, None]) ** 2 + (x - at[..., 1, None, None]) ** 2
    return np.rint(255 * np.exp(-squares / 4)).astype(np.uint8)


def field(hours: int = 120) -> xr.Dataset:
    """Temperature in K with a wave that travels, and a wind in m/s."""
    random = np.random.default_rng(2)
    t, lat, lon = np.ix_(np.arange(hours), np.linspace(60, 10, 6), np.arange(8) * 45.0)
    noise = random.normal(0, 1, (2, hours, 6, 8)).cumsum(axis=1)
    kelvin = 300 - 0.5 * lat + 5 * np.cos(np.deg2rad(lon) - t / 9) + 0.4 * noise[0]
    wind = 6 * np.sin(np.deg2rad(2 * lon) - t / 7) + 0.4 * noise[1]
    dims = ("time", "lat", "lon")
    return xr.Dataset(
        {
            "t2m": (dims, kelvin.astype(np.float32), {"units": "K"}),
            "u10": (dims, wind.astype(np.float32), {"units": "m s-1"}),
        },
        {
            "time": np.datetime64("2020-01-01", "ns") + np.arange(hours) * np.timedelta64(6, "h"),
            "lat": lat.ravel(),
            "lon": lon.ravel(),
        },
    )


@dataclass
class World:
    """A scale with prepared data, and a copy of the folder of facts.

    Attributes:
        folder: holds store, raw files and the copy of config/.
    """

    folder: Path

    @property
    def facts(self) -> Path:
        return self.folder / "config"

    def config(self, **changes: Any) -> config.Config:
        """The configuration; changes are laid over the scale."""
        return config.load(merge(SCALE, changes), self.facts)

    def plan(self, *models: str, **changes: Any) -> Plan:
        """The plan, with models beside persistence in the short-term table."""
        if models:
            changes["dimensions"] = {"short_term": {"models": ["persistence", *models]}}
        return Plan(self.config(**changes))

    def prepare(self, plan: Plan, *names: str) -> None:
        """Fetch and prepare, as Snakemake's rules do."""
        for name in names:
            runner.fetch(plan, plan.raw(name))
            runner.make(plan, plan.data(name))

    def export(self, dataset: str, out: Path, **more: Any) -> Path:
        """`stp external windows`."""
        kind = {key: more.pop(key) for key in ("kind", "with_truth") if key in more}
        loaded = self.config()
        dimension = {"dimension": "short_term"} if "subset" not in more else {}
        chosen = choose(loaded, dataset, **{**dimension, **more})
        export(Plan(loaded), chosen, out, **kind)
        return out

    def submit(self, folder: Path, name: str = "theirs", **more: Any) -> Imported:
        """`stp external import`."""
        plan = Plan(without_external(self.config(**more.pop("changes", {}))))
        said = Statement("Theirs", "https://example.org/theirs", "dots of 1999")
        return import_predictions(
            plan, folder, name, statement=said, models=self.facts / "models", **more
        )


def forecast(windows: Path, leads: int) -> np.ndarray:
    """Persistence of the latest frame, (sample, lead, C, H, W)."""
    context = np.load(windows / "windows.npz")["context"]
    return np.repeat(context[:, -1:], leads, axis=1)


def returned(windows: Path, out: Path, predictions: np.ndarray, **more: np.ndarray) -> Path:
    """What comes back: both files of the export, and predictions.npz."""
    out.mkdir()
    for name in ("windows.json", "index.csv"):
        shutil.copy(windows / name, out)
    np.savez(out / "predictions.npz", predictions=predictions, **more)
    return out
