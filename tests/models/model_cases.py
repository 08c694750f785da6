"""All models at tiny sizes, and moving shapes for them to learn."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from stp.core.job import Job, never_interrupted
from stp.data.moving_digits import render
from stp.data.zarr_write import create_array, create_group
from stp.models.create import create

RECURRENT = {"num_hidden": [8, 8], "filter_size": 3, "patch_size": 2}
BLOCKS = {"hid_s": 8, "hid_t": 16, "n_s": 2, "n_t": 2}
OPTIONS: dict[str, dict[str, Any]] = {
    "convlstm": RECURRENT,
    "e3dlstm": RECURRENT,
    "mau": {"num_hidden": [8, 8], "filter_size": 3, "scale": 2, "tau": 2},
    "phydnet": {"scale": 4},  # its widths are fixed
    "predrnn": RECURRENT,
    "predrnnpp": RECURRENT,
    "predrnnv2": RECURRENT,
    "simvpv1": {**BLOCKS, "groups": 2},
    "simvpv2": {**BLOCKS, "mlp_ratio": 2},
    "tau": {**BLOCKS, "mlp_ratio": 2},
    "earthformer": {"stem_channels": [8], "heads": 2},
    "mcvd": {
        "width": 8,
        "multipliers": [1, 2],
        "blocks": 1,
        "attention_widths": [4],
        "spade_width": 8,
        "noise_levels": 100,
        "sampler": {"steps": 4},
    },
}
TWELVE = list(OPTIONS)
"""Networks of PredBench."""
LEVELS = {"channels": [8, 8, 8]}
TOWER = {"widths": [4, 3, 4, 3, 5, 4, 3], "masks": 3, "kernel": 3}
OPTIONS |= {
    "small_convnet": {"width": 12, "layers": 3},
    "climax": {"patch": 2, "width": 16, "depth": 2, "heads": 2, "drop": 0.0, "drop_path": 0.0},
    "lagged_ae": LEVELS,
    "resnet": {**LEVELS, "blocks": [1, 1], "width": 4},
    "unet": LEVELS,
    "fno": {**LEVELS, "modes": [2, 2]},
    "vae": {**LEVELS, "latent": 4},
    "cdna": TOWER,
    "sv2p": {**TOWER, "latent_widths": [3, 4, 5]},
    "svg": {"widths": [3, 4], "code": 5, "latent": 3, "hidden": 4},
    "savp": {**TOWER, "encoder_width": 3, "discriminator_width": 2},
}
TRAINED = list(OPTIONS)
OPTIONS |= {"persistence": {}, "context_mean": {}, "linear_extrapolation": {}}
SHALLOW = {"stem_channels": [16], "enc_depth": [1], "dec_depth": [1], "drop": 0.0}
"""An Earthformer that learns in a few steps."""

CONTEXT, HORIZON = 3, 3


def recipe(
    name: str,
    shape: tuple[int, int, int],
    context: int = CONTEXT,
    horizon: int = HORIZON,
    **options: Any,
) -> dict[str, Any]:
    """The keys of a recipe that make up a model: the options above, overridden by `options`."""
    return {
        "model": name,
        "options": {**OPTIONS[name], **options},
        "shape": list(shape),
        "context": context,
        "horizon": horizon,
    }


def make(name: str, *sizes: Any, seed: int = 0, **options: Any) -> nn.Module:
    """A fresh model, in evaluation mode; `sizes` are shape, context and horizon."""
    torch.manual_seed(seed)
    return create(recipe(name, *sizes, **options)).eval()


@cache
def pictures() -> np.ndarray:
    """Handwritten digits, (N, 8, 8)."""
    return (load_digits().images * 15).astype(np.uint8)


def moving_digits(clips: int) -> Tensor:
    """A handwritten digit of 8 x 8 pixels that drifts and bounces: (B, T, 1, 16, 16), 0..1."""
    rows = np.arange(clips)
    stored = render(
        pictures(), rows, seed=0, epoch=0, length=CONTEXT + HORIZON, size=16, n_digits=1, step=0.2
    )
    return torch.from_numpy(stored).float() / 255


SIDE = 8
CLIPS = {"train": 40, "val": 16, "test": 8}


def write_squares(folder: Path) -> Path:
    """Prepared data: a square of half the side goes two pixels to the right in each frame.

    It leaves to the right and comes back from the left. Each clip starts from another of the 64
    places, so that no clip of validation is one of training.
    """
    places = np.random.default_rng(0).permutation(SIDE * SIDE)
    square = np.zeros((SIDE, SIDE), np.uint8)
    square[: SIDE // 2, : SIDE // 2] = 255
    length = CONTEXT + HORIZON
    frames = np.stack(
        [
            np.roll(square, (place // SIDE, place % SIDE + 2 * t), (0, 1))[None]
            for place in places
            for t in range(length)
        ]
    )
    attributes = {
        "dataset": "squares",
        "units": "1",
        "stored_scale": 1 / 255,
        "stored_offset": 0.0,
        "normalisation": {"offset": 0.0, "scale": 1.0},
        "shape": [1, SIDE, SIDE],
        "context": CONTEXT,
        "horizon": HORIZON,
        "phases": 1,
    }
    folder.mkdir(parents=True)
    group = create_group(folder / "frames.zarr", attributes)
    dims, chunks = ("frame", "channel", "y", "x"), (length, 1, SIDE, SIDE)
    create_array(group, "frames", frames.shape, frames.dtype, dims, chunks)[:] = frames
    index = pd.DataFrame(
        {
            "split": [split for split, count in CLIPS.items() for _ in range(count)],
            "clip": [f"place{place}" for place in places],
            "start": np.arange(len(places)) * length,
            "stride": 1,
            "length": length,
            "cluster": [f"place{place}" for place in places],
            "phase": 0,
        }
    )
    index.to_parquet(folder / "index.parquet", index=False)
    return folder


def job(
    folder: Path,
    data: Path,
    what: dict[str, Any],
    interrupted: Callable[[], bool] = never_interrupted,
    **runtime: Any,
) -> Job:
    """A training with its own output and state folders below `folder`."""
    for name in ("out", "state"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return Job(
        # as it comes from a file
        recipe=json.loads(json.dumps({"fit": "sgd", "seed": 0, **what})),
        inputs={"data": data},
        out=folder / "out",
        state=folder / "state",
        runtime={"device": "cpu", **runtime},
        interrupted=interrupted,
    )
