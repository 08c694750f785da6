"""Several processes train as one does: on CPUs here, with gloo in place of NCCL."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch
from moving_bar import audit, job, recipe, simvp_recipe
from standstill import slow_steps
from torch import nn

from stp.core.errors import StpError
from stp.core.job import Interrupted, Job
from stp.run.cluster import launch
from stp.train.run import run


def in_ranks(of: Job, ranks: int):
    return launch.run_ranks("stp.train.run", of, ranks, audit(of))


def weights(folder):
    return torch.load(folder / "out" / "model.pt", weights_only=True)["state_dict"]


def assert_nearly_equal(folder, other):
    """Up to the order of additions in float32, amplified by 15 steps of Adam."""
    ours, theirs = weights(folder), weights(other)
    assert ours.keys() == theirs.keys()
    for name in ours:
        torch.testing.assert_close(ours[name], theirs[name], rtol=2e-3, atol=2e-5)


@pytest.mark.timeout(300)
@pytest.mark.long(part="learning")
@pytest.mark.parametrize("what", [simvp_recipe(), simvp_recipe(batch_size=5, clip_norm=0.1)])
def test_two_processes_train_as_one_with_the_same_batch(tmp_path, data, what):
    """SimVPv2 has batch norms; a batch of 5 is shared unevenly, 3 clips and 2."""
    run(job(tmp_path / "one", data, what))
    extras = in_ranks(job(tmp_path / "two", data, what), ranks=2)
    assert extras["processes"] == 2
    assert_nearly_equal(tmp_path / "two", tmp_path / "one")


@pytest.mark.timeout(300)
@pytest.mark.long(part="learning")
def test_two_processes_stop_together_and_go_on(tmp_path, data, monkeypatch):
    what = simvp_recipe()
    interrupted = threading.Event()
    slow_steps(tmp_path, 0.2)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # of both processes
    stopped = job(tmp_path / "two", data, what)
    object.__setattr__(stopped, "interrupted", interrupted.is_set)
    # the first report comes after the first step
    object.__setattr__(stopped, "report", lambda *_: interrupted.set())
    with pytest.raises(Interrupted, match="step"):
        in_ranks(stopped, ranks=2)
    assert not (tmp_path / "two" / "out" / "model.pt").exists()

    extras = in_ranks(job(tmp_path / "two", data, what), ranks=2)
    assert len(extras["resumes"]) == 1
    run(job(tmp_path / "one", data, what))
    assert_nearly_equal(tmp_path / "two", tmp_path / "one")


@pytest.mark.timeout(300)
@pytest.mark.long(part="learning")
def test_what_one_process_says_is_said(tmp_path, data):
    with pytest.raises(StpError, match=r"3 .*2 "):
        in_ranks(job(tmp_path, data, recipe(batch_size=2)), ranks=3)


@pytest.mark.timeout(300)
@pytest.mark.long(part="learning")
def test_a_process_that_dies_takes_the_others_along(tmp_path, data):
    what = recipe(epochs=1000)
    script = (
        "import json, sys; sys.path[:0] = json.loads(sys.argv[1])\n"
        "from pathlib import Path; from moving_bar import job, audit\n"
        "from stp.run.cluster import launch\n"
        "one = job(Path(sys.argv[2]), Path(sys.argv[3]), json.loads(sys.argv[4]))\n"
        "launch.run_ranks('stp.train.run', one, 2, audit(one))"
    )
    paths = [str(Path(__file__).parent), str(Path(launch.__file__).parents[3])]
    parent = subprocess.Popen(
        [sys.executable, "-c", script, json.dumps(paths), tmp_path, data, json.dumps(what)],
        stderr=subprocess.PIPE,
        text=True,
    )
    found: list[str] = []
    while len(found) < 2 or not (tmp_path / "state" / "ranks" / "report.json").exists():
        assert parent.poll() is None
        time.sleep(0.1)
        listed = subprocess.run(
            ["pgrep", "-P", str(parent.pid)], capture_output=True, text=True
        ).stdout
        found = listed.split()
    subprocess.run(["kill", "-9", found[1]], check=True)
    parent.communicate()
    assert parent.returncode != 0
    assert subprocess.run(["kill", "-0", found[0]], stderr=subprocess.DEVNULL).returncode != 0


def test_only_plain_batch_norms_are_shared():
    from stp.train.distributed import share_batch_norms

    network = nn.Sequential(nn.BatchNorm2d(2), nn.GroupNorm(1, 2), nn.BatchNorm1d(2))
    share_batch_norms(network)
    kinds = [type(module).__name__ for module in network]
    assert kinds == ["_SharedBatchNorm", "GroupNorm", "BatchNorm1d"]


@pytest.mark.parametrize("norm", [nn.BatchNorm1d, nn.BatchNorm3d])
def test_batch_norms_that_are_not_shared_are_refused(norm):
    """Each process would normalise by its own clips."""
    from stp.train.distributed import check_shared_norms

    check_shared_norms(nn.Sequential(nn.BatchNorm2d(2), nn.GroupNorm(1, 2)))
    with pytest.raises(StpError, match=norm.__name__):
        check_shared_norms(nn.Sequential(norm(2)))


@pytest.mark.parametrize("ours", [False, True])
@pytest.mark.parametrize("theirs", [False, True])
def test_all_stop_if_any_process_wants_to(monkeypatch, ours, theirs):
    """The other process has the loss 2, and gradients of ones."""
    from stp.train.distributed import Ranks

    others = torch.tensor([2.0, theirs, 1, 1, 1])
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda flat: flat.add_(others))
    weight = nn.Parameter(torch.zeros(3))
    loss = (weight * torch.tensor([1.0, 2.0, 3.0])).sum() + 5
    loss.backward()
    assert Ranks(size=2).add_gradients([weight], loss, ours) == (7, ours or theirs)
    assert weight.grad.tolist() == [2, 3, 4]


def test_gradients_are_sums_and_of_unused_parameters_there_are_none(monkeypatch):
    """The other process uses the first, the second and the last, whose gradients cancel out."""
    from stp.train.distributed import Ranks

    others = torch.tensor([2.0, 0, 1, 4, 0, -3])
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda flat: flat.add_(others))
    parameters = [nn.Parameter(torch.zeros(1)) for _ in range(4)]
    loss = (2 * parameters[0] + 3 * parameters[3]).sum()
    loss.backward()
    Ranks(size=2).add_gradients(parameters, loss, stop=False)
    gradients = [None if p.grad is None else p.grad.item() for p in parameters]
    assert gradients == [3, 4, None, 0]
