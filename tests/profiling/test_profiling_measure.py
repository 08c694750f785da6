"""`stp profile`: what it measures, what it says, what it refuses."""

import json
import os
from pathlib import Path

import pytest
import torch
import yaml
from test_profiling_size import CONVNET, MCVD, PAPER
from torch import nn
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.plan import config
from stp.plan.profiled_networks import network
from stp.profiling import memory, report, timing
from stp.profiling.measure import _least_memory, measure
from stp.profiling.size import Size

CPU = torch.device("cpu")


def quick(recipe=CONVNET, **how):
    return measure(recipe, device="cpu", **{"seconds": 1e-3, **how})


def profile(*words):
    return CliRunner().invoke(app, ["profile", *words, "--seconds", "0.001", "--threads", "1"])


@pytest.fixture
def small_scale(tmp_path):
    """A scale with a ConvLSTM of four channels."""
    scale = {
        "scale": "small",
        "dimensions": {"short_term": {"models": ["convlstm"], "datasets": ["taxibj"]}},
        "models": {"convlstm": {"options": {"num_hidden": [4], "patch_size": 8}}},
    }
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(scale))
    return str(path)


def test_the_peak_is_what_was_there_and_what_was_given_out():
    held = torch.zeros(1000)

    def work():
        first = torch.empty(5000)
        del first
        second, third = torch.empty(3000), torch.empty(4000)
        del second, third

    assert memory.peak(work, CPU, [held, held[10:]]) == 4 * (1000 + 3000 + 4000)


def test_the_peak_of_a_second_run_is_that_of_the_first():
    layer, x = nn.Conv2d(8, 8, 3), torch.rand(2, 8, 32, 32)
    peaks = {memory.peak(lambda: layer(x), CPU, [*layer.parameters(), x]) for _ in range(2)}
    assert len(peaks) == 1 and peaks.pop() > x.nbytes


def test_what_a_loss_keeps_is_counted_without_memory():
    with torch.device("meta"):
        model, x = nn.Sequential(nn.Linear(8, 16), nn.Sigmoid()), torch.empty(4, 8)
        kept = memory.activation_bytes(model, lambda: model(x).sum())
    assert kept == 4 * (4 * 8 + 4 * 16), "the input of the layer, and the output of the sigmoid"


def test_durations_have_a_median_and_a_spread():
    found = timing.Timing.of([1.0, 2.0, 9.0, 4.0])
    assert (found.median, found.low, found.high, found.repetitions) == (3.0, 1.75, 5.25, 4)
    assert found.times(0.5) == timing.Timing(1.5, 0.875, 2.625, 4)


def test_slow_work_is_repeated_three_times_all_the_same():
    runs, told = [], []
    found = timing.time_repetitions(
        lambda: runs.append(1),
        lambda: None,
        1e-9,
        "work",
        lambda what, done, total: told.append(what),
    )
    assert found.repetitions == timing.LEAST and len(runs) >= timing.LEAST
    assert told[-1] == "work: repetition 3"


def test_laps_tell_the_context_from_the_steps():
    network, calls = nn.Identity(), []
    laps = timing.Laps(network, lambda: calls.append(1))

    def forecast():
        for _ in range(3):
            network(torch.zeros(1))

    with laps.watching():
        laps.lap(forecast)
        laps.lap(forecast)
    forecast()  # nobody is watching
    assert (len(laps.before), len(laps.inside), len(laps.between)) == (2, 6, 6)
    assert all(inside <= step for inside, step in zip(laps.inside, laps.between, strict=True))


def test_a_network_is_measured():
    found = quick(batch=2)
    speed, used = found["speed"], found["memory"]
    assert speed["forecast"]["repetitions"] >= 3 and speed["batch"] == 2
    assert speed["forecast"]["basis"] == "measured"
    rate = speed["forecast"]["forecasts_per_s"]
    assert rate == pytest.approx(2 / speed["forecast"]["median"])
    assert speed["forecast"]["frames_per_s"] == pytest.approx(2 * rate)
    # a step holds weights, gradients and two moments
    assert used["training_bytes"] > 4 * 4 * found["size"]["parameters"]
    assert used["training_bytes"] > used["forward_bytes"]
    assert used["process_bytes_after_training"] > used["training_bytes"]
    assert found["compute"] == {
        "device": "cpu",
        "threads": 1,
        "precision": {"requested": "float32", "used": "float32", "why": "as requested"},
    }


def test_more_clips_take_more_memory():
    few, many = (quick(batch=batch)["memory"] for batch in (1, 8))
    assert many["training_bytes"] > few["training_bytes"]
    assert many["forward_bytes"] > few["forward_bytes"]


def test_a_long_forecast_is_derived_from_short_ones_and_says_so():
    speed = quick(MCVD, training=False)["speed"]
    assert speed["forecast"]["basis"].startswith("derived from steps of forecasts of 5 evaluations")
    # the context once, and each of seven evaluations takes what a step takes, draws included
    assert speed["forecast"]["median"] > speed["context"]["median"]
    assert speed["forecast"]["median"] > 7 * 0.9 * speed["evaluation"]["low"]
    measured = quick(MCVD, training=False, seconds=0.3)["speed"]
    assert measured["forecast"]["basis"] == "measured"


def test_the_verb_tells_machines_and_writes_a_file(tmp_path, small_scale):
    out = tmp_path / "deep" / "convlstm.json"
    done = profile(
        "convlstm", "taxibj", "--configfile", small_scale, "--device", "cpu", "--format", "json",
        "--out", str(out),
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_text())
    assert json.loads(done.stdout) == found
    assert found["network"]["options"]["num_hidden"] == [4], "of the scale"
    assert found["machine"]["torch"] == torch.__version__ and found["machine"]["processor"]
    assert "as_published" not in found, "the paper counts on Moving-MNIST only"
    assert "profile  convlstm on taxibj: counting" in done.stderr


def test_the_verb_tells_people_which_machine_it_is(small_scale):
    done = profile("convlstm", "taxibj", "--configfile", small_scale, "--device", "cpu")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "ConvLSTM (convlstm) on taxibj: 4 -> 4 frames of 2 x 32 x 32"
    assert lines[1].startswith("measured on ") and f"torch {torch.__version__}" in lines[1]
    assert "floating point operations" in done.stdout and "forecasts/s" in done.stdout


@pytest.mark.parametrize(("others", "cautious"), [(0.0, False), (0.5, True)])
def test_other_work_on_the_machine_is_told(monkeypatch, small_scale, others, cautious):
    clock = iter([100.0, 100.0 + others * 10])
    monkeypatch.setattr(report, "_others_seconds", lambda: next(clock))
    monkeypatch.setattr(report.time, "monotonic", iter([50.0, 60.0]).__next__)
    monkeypatch.setattr(report, "measure", lambda recipe, precision, report: {
        "compute": {"threads": os.cpu_count()}
    })  # fmt: skip
    found = report.profile(config.load(Path(small_scale)), "convlstm", "taxibj")
    assert found["machine"]["other_work_cpus"] == others
    assert found["machine"]["busy"] is cautious


def test_other_work_is_all_that_is_neither_idle_nor_ours(monkeypatch, tmp_path):
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 20 50 90000 7000 5 5 20 3 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
    monkeypatch.setattr(report, "Path", lambda name: stat if name == "/proc/stat" else Path(name))
    monkeypatch.setattr(report.time, "process_time", lambda: 0.5)
    assert report._others_seconds() == 200 / os.sysconf("SC_CLK_TCK") - 0.5
    stat.unlink()
    assert report._others_seconds() is None, "no such file on this system"


@pytest.mark.parametrize(
    ("words", "what", "remedy"),
    [
        (["convlst", "kth"], "unknown model 'convlst'", "did you mean convlstm?"),
        (["convlstm", "kht"], "unknown dataset 'kht'", "did you mean kth?"),
        (["persistence", "kth"], "persistence is not a network", "convlstm"),
        (["convlstm", "kth", "--device", "gpu"], "--device is 'gpu'", "auto, cpu or cuda"),
    ],
)
def test_unknown_words(words, what, remedy):
    done = profile(*words)
    assert done.exit_code != 0 and isinstance(done.exception, StpError)
    assert what in str(done.exception) and remedy in str(done.exception)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there():
    with pytest.raises(StpError, match="torch finds no GPU") as error:
        measure(CONVNET, device="cuda")
    assert "--device cpu" in error.value.remedy


@pytest.mark.parametrize("how", [{"batch": 0}, {"threads": 0}, {"seconds": 0}])
def test_arguments_out_of_range(how):
    with pytest.raises(StpError, match=f"--{next(iter(how))} is 0"):
        quick(**how)


def test_too_little_memory_for_a_training_step_is_known_before(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda device: 10_000)
    with pytest.raises(StpError, match="a training step on 4 clips needs more than") as error:
        quick(batch=4)
    assert "--batch 2" in error.value.remedy and "--forward-only" in error.value.remedy
    quick(batch=4, training=False)


@pytest.mark.parametrize("name", ["phydnet", "mau", "mcvd", "earthformer", "predrnnv2", "tau"])
def test_what_a_training_step_keeps_is_known_of_each_kind_of_network(monkeypatch, name):
    """On TaxiBJ, in the sizes of the paper: activations are more than the weights' share."""
    recipe = network(config.load(PAPER), name, "taxibj")
    losses = []
    monkeypatch.setattr(
        memory,
        "activation_bytes",
        lambda model, loss, real=memory.activation_bytes: losses.append(real(model, loss)) or 0,
    )
    _least_memory(recipe, 1, Size(0, 0, 0, 1, 0))
    assert len(losses) == 1 and losses[0] > 10**6


def test_running_out_of_memory_is_one_clear_error():
    with (
        pytest.raises(StpError, match="a forecast of 1 clips does not fit") as error,
        memory.out_of_memory("a forecast of 1 clips", "use a machine with more memory"),
    ):
        torch.empty(2**60)
    assert error.value.remedy == "use a machine with more memory"


def test_other_errors_are_no_lack_of_memory():
    with pytest.raises(RuntimeError, match="mat1"), memory.out_of_memory("it", "none"):
        torch.zeros(2, 3) @ torch.zeros(2, 3)
