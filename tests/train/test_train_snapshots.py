"""Weights that a training keeps after some updates, besides those that the validation chooses."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from moving_bar import CONTEXT, HORIZON, job, recipe, write_data
from test_train_resume import OFTEN, STEPS_PER_EPOCH, Killed, start

from stp.core.errors import StpError
from stp.core.job import Interrupted
from stp.data.prepared import Prepared
from stp.models import weights
from stp.options.train import TrainOptions
from stp.train.gradient_descent import GradientDescent
from stp.train.run import run

SNAPSHOTS = [2, 5, 12]


def state(path):
    return torch.load(path, weights_only=True)["state_dict"]


def snapshots(folder):
    return {path.name: state(path) for path in (folder / "out" / "snapshots").iterdir()}


def assert_equal(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, tensors in ours.items():
        assert all(torch.equal(tensors[key], theirs[name][key]) for key in tensors), name


@pytest.mark.parametrize("make", [recipe, partial(recipe, ema=0.2)], ids=["plain", "averaged"])
def test_snapshots_are_the_weights_after_so_many_updates(tmp_path, data, make):
    what = make(schedule="constant", snapshots=SNAPSHOTS)
    extras = run(job(tmp_path, data, what))
    assert extras["snapshots"] == SNAPSHOTS
    found = snapshots(tmp_path)
    assert set(found) == {f"update-{n}.pt" for n in SNAPSHOTS}
    for update in SNAPSHOTS:  # a training that ends there has just these weights
        short = make(schedule="constant", iterations=update, validate_every=99)
        run(job(tmp_path / str(update), data, short))
        alone = state(tmp_path / str(update) / "out" / "model.pt")
        assert_equal({"": found[f"update-{update}.pt"]}, {"": alone})
        read, _ = weights.load(tmp_path / "out" / weights.snapshot_name(update), what)
        assert_equal({"": read}, {"": found[f"update-{update}.pt"]})


def test_snapshots_change_nothing_else(tmp_path, data):
    run(job(tmp_path / "with", data, recipe(snapshots=SNAPSHOTS)))
    run(job(tmp_path / "without", data, recipe()))
    ours, theirs = (state(tmp_path / name / "out" / "model.pt") for name in ("with", "without"))
    assert_equal({"": ours}, {"": theirs})
    assert not (tmp_path / "without" / "out" / "snapshots").exists()


def test_a_training_that_is_stopped_leaves_the_same_snapshots(tmp_path, data):
    what, steps = recipe(snapshots=SNAPSHOTS), []

    def every_third():
        steps.append(None)
        return len(steps) % 3 == 0

    stops = 0
    while True:  # stopped again and again
        stopped = job(tmp_path / "stopped", data, what)
        object.__setattr__(stopped, "interrupted", every_third)
        try:
            run(stopped)
            break
        except Interrupted:
            stops += 1
    run(job(tmp_path / "straight", data, what))
    assert stops > 3
    assert_equal(snapshots(tmp_path / "stopped"), snapshots(tmp_path / "straight"))


@pytest.mark.timeout(300)
@pytest.mark.long(part="processes")
def test_a_training_that_is_killed_leaves_the_same_snapshots(tmp_path, data):
    what = recipe(snapshots=SNAPSHOTS)
    second = tmp_path / "killed" / "state" / "snapshots" / "update-5.pt"
    # the state is saved at the end of an epoch: what came after is computed, and kept, again
    process = start(tmp_path / "killed", data, what, slow_step_s=0.3)
    try:
        while not second.exists():
            assert process.poll() is None, "the training ended before it could be killed"
    finally:
        process.kill()
        process.wait()
    run(job(tmp_path / "killed", data, what))
    run(job(tmp_path / "straight", data, what))
    assert_equal(snapshots(tmp_path / "killed"), snapshots(tmp_path / "straight"))


@pytest.mark.parametrize("damage", ["lost", "torn"])
def test_a_training_that_lost_a_snapshot_starts_anew(tmp_path, data, monkeypatch, damage):
    what = recipe(snapshots=SNAPSHOTS)

    def die(self):
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(GradientDescent, "_validate", die)
        run(job(tmp_path / "lost", data, what, **OFTEN))
    kept = tmp_path / "lost" / "state" / "snapshots" / "update-2.pt"
    kept.unlink() if damage == "lost" else kept.write_bytes(kept.read_bytes()[:-9])
    assert run(job(tmp_path / "lost", data, what))["resumes"] == []
    run(job(tmp_path / "straight", data, what))
    assert_equal(snapshots(tmp_path / "lost"), snapshots(tmp_path / "straight"))


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ({"snapshots": [0, 3]}, "snapshots"),
        ({"snapshots": [3, 2]}, r"\(3, 2\)"),
        ({"snapshots": list(range(1, 92))}, "90"),
        ({"snapshots": [9], "iterations": 8}, "snapshots(.|\n)*8"),
        ({"snapshots": [9], "callbacks": {"early_stopping": {"patience": 1}}}, "early_stopping"),
    ],
)
def test_snapshots_that_cannot_be_are_refused(train, message):
    with pytest.raises(StpError, match=message):
        TrainOptions.from_recipe(train)


def test_snapshots_after_the_last_epoch_are_refused(tmp_path, data):
    with pytest.raises(StpError, match=rf"16(.|\n)* {3 * STEPS_PER_EPOCH}"):
        run(job(tmp_path, data, recipe(snapshots=[16])))


class Stops:
    def after_epoch(self, training, row):
        training.stop_early("enough")


def test_a_callback_cannot_end_a_training_before_its_last_snapshot(tmp_path, data, monkeypatch):
    monkeypatch.setattr("stp.train.gradient_descent.load", lambda *_: Stops, raising=True)
    what = recipe(snapshots=[7], callbacks={"early_stopping": {}})
    monkeypatch.setattr(TrainOptions, "_check_snapshots", lambda self: None)
    monkeypatch.setattr(TrainOptions, "learning_rate", lambda *_: 1e-3)
    with pytest.raises(StpError, match=r"5 \(enough\)"):
        run(job(tmp_path, data, what))


# Networks that forecast one lead time alone


def test_a_network_for_one_lead_time_is_trained_on_the_frame_of_that_lead(tmp_path):
    """As if the frames between were not there."""
    data = write_data(tmp_path / "data")
    clips = Prepared(data).clips("train")
    whole = clips.read([3, 4], length=CONTEXT + HORIZON)
    picked = clips.read([3, 4], length=CONTEXT + HORIZON, frames=[0, 1, 2, 4])
    assert np.array_equal(picked, whole[:, [0, 1, 2, 4]])

    direct = recipe() | {"horizon": 1, "lead": HORIZON}
    run(job(tmp_path / "direct", data, direct))

    # the same clips with the frame of lead 1 cut out: each clip a copy of its own
    index = pd.read_parquet(data / "index.parquet")
    whole = Prepared(data).frames.read(0, 38)
    frames = np.concatenate([whole[s : s + 5][[0, 1, 2, 4]] for s in index["start"]])
    other = write_data(tmp_path / "other", frames=frames, horizon=1)
    index = index.assign(start=4 * index["start"], length=4)
    index.to_parquet(other / "index.parquet", index=False)
    run(job(tmp_path / "cut", other, recipe() | {"horizon": 1}))
    ours, theirs = (state(tmp_path / name / "out" / "model.pt") for name in ("direct", "cut"))
    assert_equal({"": ours}, {"": theirs})


def test_a_lead_beyond_the_clips_is_refused(tmp_path, data):
    with pytest.raises(StpError, match="6 frames"):
        run(job(tmp_path, data, recipe() | {"horizon": 1, "lead": 3}))
