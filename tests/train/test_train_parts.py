"""Losses and callbacks: named in a recipe, one file each; and trainings that diverge."""

import json
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from moving_bar import job, recipe, simvp_recipe

from stp.core.errors import StpError
from stp.core.job import Interrupted
from stp.data.prepared import Prepared
from stp.models.compute import set_up_compute
from stp.models.normalisation import Normalisation
from stp.options.train import TrainOptions
from stp.train import gradient_descent
from stp.train.callbacks.early_stopping import Callback as EarlyStopping
from stp.train.checkpoint import Checkpoint
from stp.train.distributed import Ranks
from stp.train.gradient_descent import GradientDescent, Progress
from stp.train.losses import huber, l1, mse
from stp.train.run import run


def train(folder, data, what, callbacks=(), **runtime):
    """Run a training with callbacks of the test's own; gives the training."""
    prepared = Prepared(data)
    options = TrainOptions.from_recipe(what["train"])
    with set_up_compute("cpu", 1, "float32") as compute:
        training = GradientDescent(
            job(folder, data, what, **runtime),
            options,
            prepared,
            Normalisation.of(prepared.attrs),
            compute,
            Ranks(),
            callbacks=callbacks,
        )
        training.train()
    return training


def test_losses_by_hand():
    predicted, observed = torch.tensor([0.0, 1.0, 3.0]), torch.zeros(3)
    assert mse.loss(predicted, observed).item() == pytest.approx(10 / 3)
    assert l1.loss(predicted, observed).item() == pytest.approx(4 / 3)
    # squares of errors up to 2, halved; 2 * (3 - 1) beyond
    assert huber.loss(predicted, observed, delta=2.0).item() == pytest.approx((0.5 + 4) / 3)
    with pytest.raises(StpError, match="delta is 0"):
        huber.loss(predicted, observed, delta=0)


def test_the_loss_of_a_recipe_is_that_of_free_running_forecasts(tmp_path, data):
    one_step = {"epochs": 1, "max_clips": 4, "schedule": "constant"}
    training = train(tmp_path, data, simvp_recipe(**one_step, loss="l1"))
    training.model.train()
    clips = torch.from_numpy(Prepared(data).clips("train").read(range(4)))
    expected = (training.model(clips[:, :3], 2) - clips[:, 3:]).abs().mean()
    assert training.loss(clips, 0).item() == pytest.approx(expected.item(), rel=1e-6)


def test_the_mean_squared_error_is_simvps_own_loss(tmp_path, data):
    own = run(job(tmp_path / "own", data, simvp_recipe(epochs=1)))
    named = run(job(tmp_path / "named", data, simvp_recipe(epochs=1, loss="mse")))
    assert named["selection"] == own["selection"]


def test_a_loss_gets_its_options(tmp_path, data):
    small, large = (
        run(
            job(
                tmp_path / str(delta),
                data,
                simvp_recipe(epochs=1, loss={"huber": {"delta": delta}}),
            )
        )
        for delta in (0.1, 10)
    )
    assert small["selection"]["val_mse"] != large["selection"]["val_mse"]
    with pytest.raises(StpError, match="'dleta'"):
        run(job(tmp_path / "none", data, simvp_recipe(loss={"huber": {"dleta": 1}})))


def test_a_model_that_compares_no_frames_refuses_a_loss(tmp_path, data):
    what = {**recipe(loss="l1"), "model": "mcvd", "options": {"width": 8}}
    what["options"] |= {"multipliers": [1], "blocks": 1, "attention_widths": []}
    with pytest.raises(StpError, match="mcvd"):
        run(job(tmp_path, data, what))


class Watch:
    """Writes down what it is told."""

    def __init__(self):
        self.steps, self.epochs = [], []

    def after_step(self, training, loss):
        self.steps.append((training.progress.step, loss))

    def after_epoch(self, training, row):
        self.epochs.append(row["epoch"])


def test_callbacks_are_told_of_steps_and_epochs(tmp_path, data):
    watch = Watch()
    training = train(tmp_path, data, recipe(epochs=2), callbacks=[watch])
    assert [step for step, _ in watch.steps] == list(range(1, 11))
    mean = sum(loss for _, loss in watch.steps[:5]) / 5
    assert mean == pytest.approx(training.progress.history[0]["train_loss"])
    assert watch.epochs == [1, 2]


def test_early_stopping_ends_after_validations_without_improvement(tmp_path, data, monkeypatch):
    values = iter([0.5, 0.3, 0.4, 0.3, 0.2])
    monkeypatch.setattr(GradientDescent, "_validate", lambda self: next(values))
    what = recipe(epochs=50, callbacks={"early_stopping": {"patience": 2}})
    extras = run(job(tmp_path, data, what))
    assert len(pd.read_parquet(tmp_path / "out" / "history.parquet")) == 4
    assert "2" in extras["ended_early"]
    assert extras["selection"]["epoch"] == 2


def test_early_stopping_does_not_count_epochs_without_validation():
    stopping = EarlyStopping(patience=1)
    stopping.after_epoch(None, {"epoch": 1, "val_mse": None})
    assert stopping.state() == {"without": 0}


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_the_epoch_that_a_callback_ends_is_validated_as_the_last(tmp_path, data, is_interrupted):
    """Before any other was: the training has weights all the same."""

    class Stop:
        def after_epoch(self, training, row):
            if row["epoch"] == 3:
                training.stop_early("enough")
                if is_interrupted:
                    object.__setattr__(training.job, "interrupted", lambda: True)

    what = recipe(epochs=10, validate_every=5, max_clips=8)
    if is_interrupted:
        with pytest.raises(Interrupted, match="validation"):
            train(tmp_path, data, what, [Stop()])
    training = train(tmp_path, data, what, [Stop()])
    values = [row["val_mse"] for row in training.progress.history]
    assert values[:2] == [None, None] and values[2] == training.progress.best_mse < 1
    assert training.progress.best_epoch == len(values) == 3
    assert training.best_weights.keys() == training.model.state_dict().keys()


def test_what_callbacks_counted_survives_an_interruption(tmp_path, data, monkeypatch):
    values = iter([0.5, 0.6, 0.7, 0.8])
    monkeypatch.setattr(GradientDescent, "_validate", lambda self: next(values))
    what = recipe(epochs=50, callbacks={"early_stopping": {"patience": 3}})
    first = job(tmp_path, data, what)
    steps = iter([False] * 13 + [True])  # in the third epoch
    object.__setattr__(first, "interrupted", lambda: next(steps))
    with pytest.raises(BaseException, match="step 14"):
        run(first)
    assert run(job(tmp_path, data, what))["ended_early"]


def test_a_callback_refuses_its_options(tmp_path, data):
    for options, problem in (({"patience": 0}, "patience"), ({"wait": 1}, "wait")):
        with pytest.raises(StpError, match=problem):
            run(job(tmp_path, data, recipe(callbacks={"early_stopping": options})))


def test_losses_that_grow_beyond_all_bounds_end_the_training(tmp_path, data):
    class Spoil:
        def after_step(self, training, loss):
            if training.progress.step == 20:
                training._save()
            if training.progress.step > 20:
                with torch.no_grad():
                    for parameter in training.model.parameters():
                        parameter.mul_(3)

    what = recipe(epochs=30, explodes=50, batch_size=4)
    with pytest.raises(StpError, match=r"training\.pt") as failed:
        train(tmp_path, data, what, [Spoil()], checkpoint_every_s=1e9)
    state = tmp_path / "state" / "training.pt"
    assert str(state) in str(failed.value)
    saved = Checkpoint(state, json.loads(json.dumps(what))).load(print)
    assert saved["progress"]["step"] == 20
    assert all(tensor.isfinite().all() for tensor in saved["model"].values())


def test_losses_may_grow_as_far_as_said(monkeypatch):
    monkeypatch.setattr(gradient_descent, "FIRST_STEPS", 2)
    training = SimpleNamespace(
        progress=Progress(), options=SimpleNamespace(explodes=4), _diverges=RuntimeError
    )
    for step, loss in enumerate((0.01, 0.03, 0.13)):  # a mean of 0.02, then 0.075
        GradientDescent._check_loss(training, loss, step)
    with pytest.raises(RuntimeError, match=r"0\.02 .*0\.09 .*3"):
        GradientDescent._check_loss(training, 0.09, 3)


def test_a_state_that_is_no_longer_good_does_not_replace_the_last(tmp_path, data):
    class Break:
        def after_step(self, training, loss):
            if training.progress.step == 8:
                with torch.no_grad():
                    next(training.model.parameters()).fill_(float("nan"))
                training._save()

    what = recipe(epochs=3)
    with pytest.raises(StpError, match="step 7"):
        train(tmp_path, data, what, [Break()])
    saved = Checkpoint(tmp_path / "state" / "training.pt", what).load(print)
    assert saved["progress"]["step"] == 5  # that of the end of the first epoch


@pytest.mark.parametrize("make_recipe", [recipe, simvp_recipe])
def test_channels_beside_each_other_change_rounding_only(tmp_path, data, make_recipe):
    plain = run(job(tmp_path / "plain", data, make_recipe(epochs=1)))
    beside = run(job(tmp_path / "beside", data, make_recipe(epochs=1, channels_last=True)))
    expected = plain["selection"]["val_mse"]
    assert beside["selection"]["val_mse"] == pytest.approx(expected, rel=1e-3)


@pytest.mark.long(part="learning")
def test_compiled_parts_change_rounding_only(tmp_path, data, monkeypatch):
    compiled = []
    original = torch.nn.Module.compile

    def compile_for_test(module, *args, **kwargs):
        compiled.append(type(module).__name__)
        original(module, backend="aot_eager")  # traced and split like any, without a C++ compiler

    monkeypatch.setattr(torch.nn.Module, "compile", compile_for_test)
    plain = run(job(tmp_path / "plain", data, recipe(epochs=1)))
    assert not compiled
    traced = run(job(tmp_path / "traced", data, recipe(epochs=1, compiled=True)))
    assert compiled == ["Cell", "Conv2d"]
    expected = plain["selection"]["val_mse"]
    assert traced["selection"]["val_mse"] == pytest.approx(expected, rel=1e-4)
