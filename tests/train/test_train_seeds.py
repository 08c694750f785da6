"""One seed gives one set of weights, to the bit; another seed gives another: all twelve models."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from model_cases import SIDE, TWELVE, job, recipe, write_squares
from parts import long_except
from torch import Tensor

from stp.models.weights import digest
from stp.train.run import run

STEPS, BATCH, SEED = 3, 4, 3
TRAIN = {"iterations": STEPS, "batch_size": BATCH, "lr": 0.01, "max_val_clips": 4}
SAMPLING = {"scheduled_sampling": {"stop": 30, "rate": 0.2}}
"""Chance in the first steps: the published one shows only the truth for hundreds of them."""
SAMPLED = ("convlstm", "e3dlstm", "mau", "predrnn", "predrnnpp")

Trained = tuple[dict[str, Tensor], list[float]]
"""Weights after the last step; mean loss of the steps, and error on validation clips."""


def train(folder: Path, data: Path, name: str, seed: int) -> Trained:
    """Train for three steps."""
    what = recipe(name, (1, SIDE, SIDE), **(SAMPLING if name in SAMPLED else {}))
    run(job(folder, data, {**what, "seed": seed, "train": TRAIN}))
    history = pd.read_parquet(folder / "out" / "history.parquet")
    assert history["step"].tolist() == [STEPS]
    weights = torch.load(folder / "out" / "model.pt", weights_only=True)["state_dict"]
    return weights, history[["train_loss", "val_mse"]].iloc[0].tolist()


@pytest.fixture(scope="module")
def squares(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_squares(tmp_path_factory.mktemp("squares") / "data")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, squares: Path) -> Callable[[str], Trained]:
    """A model, trained once."""
    folder = tmp_path_factory.mktemp("first")
    return cache(lambda name: train(folder / name, squares, name, SEED))


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory, squares: Path) -> dict[str, list]:
    """All models, trained with the same seed by another process with other hashes of strings."""
    done = subprocess.run(
        [sys.executable, __file__, str(tmp_path_factory.mktemp("elsewhere")), str(squares)],
        env={**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def train_all(folder: Path, data: Path) -> dict[str, list]:
    """Train in the reverse order, from global generators in a state that no seed led to."""
    found = {}
    for name in reversed(TWELVE):
        torch.seed()
        np.random.seed(None)
        random.seed()
        weights, losses = train(folder / name, data, name, SEED)
        found[name] = [digest(weights), *losses]
    return found


@pytest.mark.long(part="learning")
@pytest.mark.parametrize("name", TWELVE)
def test_one_seed_gives_one_set_of_weights(first, elsewhere, name: str) -> None:
    weights, losses = first(name)
    assert elsewhere[name] == [digest(weights), *losses]


@pytest.mark.parametrize("name", long_except(TWELVE[:3], TWELVE, part="learning"))
def test_another_seed_gives_other_weights(first, tmp_path: Path, squares: Path, name: str) -> None:
    weights, losses = first(name)
    others, other_losses = train(tmp_path, squares, name, SEED + 1)
    assert weights.keys() == others.keys()
    learned = [key for key, value in weights.items() if value.is_floating_point()]
    differing = [key for key in learned if not torch.equal(weights[key], others[key])]
    assert len(differing) > len(learned) / 2
    assert losses[0] != other_losses[0]


if __name__ == "__main__":
    print(json.dumps(train_all(Path(sys.argv[1]), Path(sys.argv[2]))))
