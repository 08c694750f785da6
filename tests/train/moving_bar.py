"""A tiny data set whose future is known: a bright column that moves right by one in each frame."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stp.core.fingerprint import Sources
from stp.core.job import Job
from stp.data.zarr_write import create_array, create_group
from stp.options import named
from stp.run.read_audit import ReadAudit

SIDE, CONTEXT, HORIZON = 8, 3, 2
SPLITS = {"train": 22, "val": 6, "test": 5}


def write_data(
    folder: Path,
    *,
    frames: np.ndarray | None = None,
    length: int = CONTEXT + HORIZON,
    **attrs: Any,
) -> Path:
    """Write prepared data: clips of 5 frames, 8 x 8 pixels, that start one frame apart."""
    if frames is None:
        count = sum(SPLITS.values()) + CONTEXT + HORIZON
        frames = np.zeros((count, 1, SIDE, SIDE), np.uint8)
        for t in range(count):
            frames[t, 0, :, t % SIDE] = 255
    attributes = {
        "dataset": "moving_bar",
        "units": "1",
        "stored_scale": 1 / 255,
        "stored_offset": 0.0,
        "normalisation": {"offset": 0.0, "scale": 1.0},
        "shape": list(frames.shape[1:]),
        "context": CONTEXT,
        "horizon": HORIZON,
        "phases": 1,
        **attrs,
    }
    folder.mkdir(parents=True)
    group = create_group(folder / "frames.zarr", attributes)
    dims = ("frame", "channel", "y", "x")
    array = create_array(group, "frames", frames.shape, frames.dtype, dims, (5, *frames.shape[1:]))
    array[:] = frames
    splits = [split for split, count in SPLITS.items() for _ in range(count)]
    start = np.arange(len(splits))
    index = pd.DataFrame(
        {
            "split": splits,
            "clip": [f"clip{k}" for k in start],
            "start": start,
            "stride": 1,
            "length": length,
            "cluster": [f"cluster{k // 2}" for k in start],
            "phase": start % attributes["phases"],
        }
    )
    index.to_parquet(folder / "index.parquet", index=False)
    return folder


def recipe(**train: Any) -> dict[str, Any]:
    """A training of a tiny ConvLSTM: 5 steps an epoch, 2 of 22 clips left out."""
    return {
        "model": "convlstm",
        "options": {
            "num_hidden": [6],
            "filter_size": 3,
            "patch_size": 2,
            "scheduled_sampling": {"stop": 30, "rate": 0.03},
        },
        "shape": [1, SIDE, SIDE],
        "context": CONTEXT,
        "horizon": HORIZON,
        "fit": "sgd",
        "seed": 0,
        "train": {"epochs": 3, "batch_size": 4, "lr": 0.01, **train},
    }


def simvp_recipe(**train: Any) -> dict[str, Any]:
    """The same with a tiny SimVPv2, which has batch norms."""
    options = {"hid_s": 4, "hid_t": 8, "n_s": 2, "n_t": 2, "mlp_ratio": 2}
    return {**recipe(**train), "model": "simvpv2", "options": options}


OF_CHAOSBENCH: dict[str, dict[str, Any]] = {
    "lagged_ae": {"channels": [4, 4]},
    "resnet": {"blocks": [1, 1], "width": 4, "channels": [4, 4]},
    "unet": {"channels": [4, 4]},
    "fno": {"channels": [4, 4], "modes": [2, 2]},
    "vae": {"channels": [4, 4], "latent": 2},
    "climax": {"patch": 2, "width": 8, "depth": 1, "heads": 2},
}
"""Tiny networks: model -> options."""


def chaosbench_recipe(model: str, **train: Any) -> dict[str, Any]:
    """The same with a tiny network of ChaosBench; the VAE draws codes, ClimaX lead times."""
    return {**recipe(**train), "model": model, "options": OF_CHAOSBENCH[model]}


def write_fields(folder: Path) -> Path:
    """Write three named fields, of which one day is shown and five are forecast."""
    frames = np.random.default_rng(0).normal(size=(38, 3, SIDE, SIDE)).astype(np.float32)
    names = ["z_500", "t_850", "q_700"]
    about = {"units": "physical", "variables": names, "context": 1, "horizon": 5}
    return write_data(folder, frames=frames, length=6, stored_scale=1.0, **about)


def fields_recipe(*, lead: int | None = None, **train: Any) -> dict[str, Any]:
    """A training of a tiny UNet on these: of one lead time alone, or of as many as `horizon`."""
    what = chaosbench_recipe("unet", **{"horizon": 1, **train})
    what |= {"shape": [3, SIDE, SIDE], "context": 1, "horizon": what["train"]["horizon"]}
    return what if lead is None else {**what, "lead": lead}


def job(folder: Path, data: Path, what: dict[str, Any], **runtime: Any) -> Job:
    """A job with its own output and state folders below `folder`."""
    for name in ("out", "state"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return Job(
        # as it comes from a file
        recipe=json.loads(json.dumps(what)),
        inputs={"data": data},
        out=folder / "out",
        state=folder / "state",
        runtime={"device": "cpu", **runtime},
    )


def audit(of: Job) -> ReadAudit:
    """What the core of a training may read."""
    chosen = [f"stp.models.{of.recipe['model']}", *named.modules(of.recipe["train"])]
    modules = Sources().closure(["stp.train.run", *chosen])
    folders = [str(path) for path in (of.out, of.state, *of.inputs.values())]
    return ReadAudit("train", list(modules), folders, [], "declare it")
