"""A killed training goes on as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
import torch
from moving_bar import (
    OF_CHAOSBENCH,
    chaosbench_recipe,
    fields_recipe,
    job,
    recipe,
    simvp_recipe,
    write_fields,
)
from standstill import slow_steps

from stp.train.checkpoint import Checkpoint
from stp.train.gradient_descent import GradientDescent
from stp.train.run import run

STEPS_PER_EPOCH = 5
OFTEN = {"checkpoint_every_s": 0}
TASK_2 = {"loss": "mse", "targets": ["t_850", "q_700"]}


@pytest.fixture
def data_of(tmp_path, data):
    """The data of a recipe: those of a moving bar, or fields with names."""
    return lambda what: write_fields(tmp_path / "fields") if what["shape"][0] > 1 else data


def weights(folder):
    return torch.load(folder / "out" / "model.pt", weights_only=True)["state_dict"]


def assert_same_result(folder, other):
    ours, theirs = weights(folder), weights(other)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    without = ["seconds", "resumed"]
    pd.testing.assert_frame_equal(
        pd.read_parquet(folder / "out" / "history.parquet").drop(columns=without),
        pd.read_parquet(other / "out" / "history.parquet").drop(columns=without),
    )


def saved_step(folder, what):
    state = Checkpoint(folder / "state" / "training.pt", what).load(lambda _: None)
    return state["progress"]["step"] if state else 0


def start(folder, data, what, slow_step_s, **runtime):
    """Start a training in another process, with a pause before each step."""
    script = Path(__file__).with_name("train_once.py")
    arguments = [folder, data, json.dumps(what), json.dumps(runtime)]
    slow_steps(folder.parent, slow_step_s)
    environment = {**os.environ, "PYTHONPATH": str(folder.parent)}
    return subprocess.Popen([sys.executable, script, *arguments], env=environment)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "make_recipe",  # and those of ChaosBench that draw codes, or lead times and what is dropped
    [
        pytest.param(recipe, id="convlstm"),
        *(
            pytest.param(make, id=name, marks=pytest.mark.long(part="learning"))
            for name, make in {
                "vae": partial(chaosbench_recipe, "vae"),
                "climax": partial(chaosbench_recipe, "climax"),
                "task2_steps5": partial(fields_recipe, horizon=5, **TASK_2),
                "task2_direct": partial(fields_recipe, lead=5, **TASK_2),
            }.items()
        ),
    ],
)
def test_killed_in_the_middle_of_an_epoch(tmp_path, data_of, make_recipe):
    what = make_recipe()
    data = data_of(what)
    process = start(tmp_path / "killed", data, what, slow_step_s=0.5, **OFTEN)
    try:
        # until the second epoch has begun: two of its five steps, half a second each
        while saved_step(tmp_path / "killed", what) < STEPS_PER_EPOCH + 2:
            assert process.poll() is None, "the training ended before it could be killed"
            time.sleep(0.1)
    finally:
        process.kill()
    assert process.wait() == -signal.SIGKILL
    step = saved_step(tmp_path / "killed", what)
    assert step % STEPS_PER_EPOCH != 0, "not at the end of an epoch"

    extras = run(job(tmp_path / "killed", data, what))
    assert extras["resumes"] == [step]
    history = pd.read_parquet(tmp_path / "killed" / "out" / "history.parquet")
    assert history["resumed"].tolist() == [False, True, False]

    run(job(tmp_path / "straight", data, what))
    assert_same_result(tmp_path / "killed", tmp_path / "straight")


class Killed(BaseException):
    """Stands for a signal."""


@pytest.mark.parametrize(
    "make_recipe",
    [
        *(recipe, simvp_recipe, partial(recipe, ema=0.1)),
        *(
            pytest.param(partial(chaosbench_recipe, model), marks=pytest.mark.long(part="learning"))
            for model in OF_CHAOSBENCH
        ),
        # five steps, targets, one lead time
        *(partial(fields_recipe, **about) for about in ({"horizon": 5}, TASK_2, {"lead": 5})),
    ],
)
def test_stopped_between_the_last_step_and_validation(tmp_path, data_of, monkeypatch, make_recipe):
    what = make_recipe(epochs=2, max_clips=8)  # 2 steps an epoch
    data = data_of(what)

    def die(self):
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(GradientDescent, "_validate", die)
        run(job(tmp_path / "killed", data, what, **OFTEN))
    extras = run(job(tmp_path / "killed", data, what))
    assert extras["resumes"] == [2]
    run(job(tmp_path / "straight", data, what))
    assert_same_result(tmp_path / "killed", tmp_path / "straight")


def test_finished_state_only_has_to_be_written_out(tmp_path, data):
    first = run(job(tmp_path, data, recipe()))
    (tmp_path / "out" / "model.pt").unlink()
    again = run(job(tmp_path, data, recipe()))
    assert again == first and (tmp_path / "out" / "model.pt").is_file()


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
        lambda path: path.write_bytes(b""),
        flip_a_bit,
    ],
    ids=["truncated", "empty", "one bit"],
)
def test_damaged_state_is_moved_aside(tmp_path, data, damage):
    what = recipe(epochs=1)
    run(job(tmp_path / "damaged", data, what))
    damage(tmp_path / "damaged" / "state" / "training.pt")
    said = []
    again = job(tmp_path / "damaged", data, what)
    extras = run(replace(again, report=lambda text, done, total: said.append(text)))
    assert extras["resumes"] == []
    assert any("damaged" in text for text in said)
    assert (tmp_path / "damaged" / "state" / "training.pt.unused").is_file()
    run(job(tmp_path / "straight", data, what))
    assert_same_result(tmp_path / "damaged", tmp_path / "straight")


def test_state_of_another_recipe_is_not_used(tmp_path, data):
    run(job(tmp_path, data, recipe(lr=0.1, epochs=1)))
    said = []
    other = job(tmp_path, data, recipe(epochs=1))
    run(replace(other, report=lambda text, done, total: said.append(text)))
    assert any("another recipe" in text for text in said)
    run(job(tmp_path / "straight", data, recipe(epochs=1)))
    assert_same_result(tmp_path, tmp_path / "straight")


def test_a_full_disk_leaves_the_old_state_and_nothing_else(tmp_path, monkeypatch):
    checkpoint = Checkpoint(tmp_path / "training.pt", {})
    checkpoint.save({"step": 1})

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        checkpoint.save({"step": 2})
    assert checkpoint.load(print) == {"step": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["training.pt"]
