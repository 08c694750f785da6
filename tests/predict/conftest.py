"""A tiny data set and a job, for tests that predict."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from stp.core.job import Job
from stp.data.zarr_write import create_array, create_group
from stp.models import weights
from stp.models.create import create
from stp.models.normalisation import Normalisation

NORMALISATION = {"offset": 280.0, "scale": 10.0}


@pytest.fixture
def make_data(tmp_path: Path) -> Callable[..., Path]:
    """Write prepared data: 7 test clips of 2 context frames and 3 lead times, 2 x 4 x 6 kelvin."""

    def make(name: str = "data", **attrs: Any) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        frames = np.random.default_rng(0).normal(285, 5, (40, 2, 4, 6)).astype(np.float32)
        attributes = {
            "dataset": "toy",
            "source": "synthetic",
            "release": "synthetic",
            "units": "K",
            "variables": ["t2m", "sst"],
            "normalisation": NORMALISATION,
            "shape": [2, 4, 6],
            "context": 2,
            "horizon": 3,
            "phases": 12,
            **attrs,
        }
        group = create_group(folder / "frames.zarr", attributes)
        dims = ("frame", "channel", "y", "x")
        array = create_array(group, "frames", frames.shape, frames.dtype, dims, (5, 2, 4, 6))
        array[:] = frames
        start = np.arange(9) * 4
        index = pd.DataFrame(
            {
                "split": ["train", "val"] + ["test"] * 7,
                "clip": [f"clip{k}" for k in range(9)],
                "start": start,
                "stride": 1,
                "length": 5,
                "cluster": [f"year{k // 3}" for k in range(9)],
                "phase": start % 12,
            }
        )
        index.to_parquet(folder / "index.parquet", index=False)
        return folder

    return make


@pytest.fixture
def make_job(tmp_path: Path) -> Callable[..., Job]:
    """A job that predicts from `data` with a trained model, into a folder of its own."""

    def make(data: Path, trained: Path | None = None, **recipe: Any) -> Job:
        out = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        out.mkdir()
        return Job(
            recipe={
                "model": "persistence",
                "options": {},
                "shape": [2, 4, 6],
                "context": 2,
                "horizon": 3,
                "lead_times": 3,
                "split": "test",
                "predict": {"batch_size": 3},
                **recipe,
            },
            inputs={"data": data, **({"model": trained} if trained else {})},
            out=out,
            state=tmp_path,
            runtime={"device": "cpu"},
        )

    return make


@pytest.fixture
def make_trained(
    tmp_path: Path, make_data: Callable[..., Path], make_job: Callable[..., Job]
) -> Callable[..., tuple[Path, Path]]:
    """A folder with a network that has its first weights, and the data that it belongs to."""

    def make(what: dict[str, Any]) -> tuple[Path, Path]:
        data, folder = make_data(), tmp_path / "model"
        folder.mkdir()
        recipe = {**make_job(data, **what).recipe, "fit": "sgd", "seed": 0}
        torch.manual_seed(0)
        state = create(recipe).state_dict()
        weights.save(folder / "model.pt", state, recipe, Normalisation(280.0, 10.0))
        return data, folder

    return make
