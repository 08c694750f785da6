"""Training from a prepared folder to model.pt and history.parquet."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from moving_bar import HORIZON, SIDE, SPLITS, job, recipe, simvp_recipe, write_data
from parts import long_except

from stp.core.errors import StpError
from stp.core.job import Interrupted
from stp.data.prepared import Prepared
from stp.models import cdna, savp
from stp.models.compute import set_up_compute
from stp.models.convlstm import Model
from stp.models.create import create
from stp.models.normalisation import Normalisation
from stp.options.train import TrainOptions
from stp.train import gradient_descent
from stp.train.distributed import Ranks
from stp.train.gradient_descent import GradientDescent
from stp.train.run import run


def load(folder):
    return torch.load(folder / "out" / "model.pt", weights_only=True)


def same(weights, others):
    return weights.keys() == others.keys() and all(
        torch.equal(weights[name], others[name]) for name in weights
    )


@pytest.mark.long(part="learning")
def test_training_learns(tmp_path, data):
    what = recipe(epochs=30, lr=0.02)
    extras = run(job(tmp_path, data, what))
    history = pd.read_parquet(tmp_path / "out" / "history.parquet")
    # A column of 8 moves on: persistence errs by 1 in two columns of eight, MSE 2 / 8.
    assert history["val_mse"].min() < 0.05 < 0.25
    assert extras["selection"]["val_mse"] == history["val_mse"].min()
    assert extras["precision"]["used"] == "float32"
    assert extras["parameters"] == sum(p.numel() for p in create(what).parameters())


@pytest.mark.parametrize("make_recipe", [recipe, simvp_recipe])
def test_selection_is_by_free_running_forecasts_of_the_best_epoch(tmp_path, data, make_recipe):
    what = make_recipe(epochs=4)
    extras = run(job(tmp_path, data, what))
    model = create(what)
    model.load_state_dict(load(tmp_path)["state_dict"])
    clips = torch.from_numpy(Prepared(data).clips("val").read(range(SPLITS["val"])))
    with torch.inference_mode():
        errors = model.eval()(clips[:, :3], HORIZON) - clips[:, 3:]
    history = pd.read_parquet(tmp_path / "out" / "history.parquet")
    best = history.set_index("epoch").loc[extras["selection"]["epoch"], "val_mse"]
    assert errors.square().mean().item() == pytest.approx(best, rel=1e-5)


def test_batch_norms_learn_in_every_step_and_in_no_validation(tmp_path, data):
    extras = run(job(tmp_path, data, simvp_recipe(epochs=3)))
    counted = load(tmp_path)["state_dict"]["translator.0.mixer_norm.num_batches_tracked"]
    assert counted.item() == 5 * extras["selection"]["epoch"]


def test_of_equal_epochs_the_first_is_kept(tmp_path, data, monkeypatch):
    values = iter([0.5, 0.3, 0.4, 0.3])
    monkeypatch.setattr(GradientDescent, "_validate", lambda self: next(values))
    extras = run(job(tmp_path, data, recipe(epochs=4)))
    assert (extras["selection"]["epoch"], extras["selection"]["val_mse"]) == (2, 0.3)


def test_history_has_one_row_per_epoch(tmp_path, data):
    extras = run(job(tmp_path, data, recipe(schedule="constant")))
    history = pd.read_parquet(tmp_path / "out" / "history.parquet")
    columns = ["epoch", "step", "lr", "train_loss", "val_mse", "seconds", "resumed"]
    assert list(history.columns) == columns
    # 22 clips in batches of 4: 5 steps, 2 clips left out
    assert history["step"].tolist() == [5, 10, 15]
    assert history["lr"].tolist() == [0.01] * 3
    assert not history["resumed"].any()
    assert extras["clips"] == {"train": 22, "val": 6, "left_out_per_epoch": 2}
    assert extras["resumes"] == []


def test_a_batch_larger_than_the_data_is_one_step(tmp_path, data):
    extras = run(job(tmp_path, data, recipe(batch_size=64, epochs=1)))
    assert extras["steps"] == 1 and extras["clips"]["left_out_per_epoch"] == 0


def test_options_reach_the_optimizer(tmp_path, data):
    plain = {"epochs": 1, "schedule": "constant"}
    variants = [
        {},
        {"weight_decay": 0.1},
        {"optimizer": "adamw", "weight_decay": 0.1},
        {"clip_norm": 1e-4, "lr": 0.02},
        {"schedule": "cosine"},
    ]
    found = []
    for k, variant in enumerate(variants):
        run(job(tmp_path / str(k), data, recipe(**plain | variant)))
        found.append(load(tmp_path / str(k))["state_dict"]["readout.weight"].sum().item())
    assert len(set(found)) == len(variants)


def test_fewer_clips(tmp_path, data):
    extras = run(job(tmp_path, data, recipe(max_clips=8, max_val_clips=2, epochs=1)))
    assert extras["clips"] == {"train": 8, "val": 2, "left_out_per_epoch": 0}
    assert extras["steps"] == 2


def test_clips_that_are_drawn_on_demand_differ_between_epochs(tmp_path, data, monkeypatch):
    asked = []
    read = type(Prepared(data).clips("train")).read

    def spy(self, rows, **how):
        if self.split == "train":
            asked.append(how["epoch"])
        return read(self, rows, **how)

    monkeypatch.setattr("stp.data.prepared.Clips.read", spy)
    run(job(tmp_path, data, recipe(epochs=2)))
    assert asked == [0] * 5 + [1] * 5


@pytest.mark.parametrize(
    ("step", "lr", "advised"), [(7, 0.01, True), (0, 0.01, False), (7, 1e-8, False)]
)
def test_a_lower_rate_is_advised_where_it_can_help(tmp_path, data, monkeypatch, step, lr, advised):
    def loss(self, clip, now):
        value = self(clip[:, :3], 2).mean()
        return value * float("nan") if now == step else value

    monkeypatch.setattr(Model, "loss", loss)
    message = rf"convlstm on moving_bar.*nan .*{step}\b"
    with pytest.raises(StpError, match=message) as caught:
        run(job(tmp_path, data, recipe(lr=lr, schedule="constant")))
    assert ("train.lr" in caught.value.remedy) == advised
    assert "convlstm.py" in caught.value.remedy


def test_climatology_is_the_mean_training_frame(tmp_path):
    rng = np.random.default_rng(0)
    count = sum(SPLITS.values()) + 5
    frames = rng.normal(290, 3, (count, 1, SIDE, SIDE)).astype(np.float32)
    data = write_data(
        tmp_path / "data",
        frames=frames,
        stored_scale=1.0,
        units="K",
        phases=4,
        normalisation={"offset": 280.0, "scale": 10.0},
    )
    what = {**recipe(), "model": "climatology", "options": {}, "fit": "closed_form"}
    extras = run(job(tmp_path, data, {**what, "seed": None, "train": {"threads": 1}}))
    assert extras["clips"] == {"train": 22}
    assert pd.read_parquet(tmp_path / "out" / "history.parquet").empty

    clips = np.stack([frames[k : k + 5] for k in range(22)])
    phase = (np.arange(22)[:, None] + np.arange(5)) % 4
    means = np.stack([clips[phase == p].mean(axis=0, dtype=np.float64) for p in range(4)])
    stored = load(tmp_path)["state_dict"]["means"]
    np.testing.assert_allclose(stored, (means - 280) / 10, rtol=1e-4)


@pytest.mark.parametrize(("key", "value"), [("shape", [3, 8, 8]), ("context", 4), ("horizon", 9)])
def test_data_of_another_shape_are_refused(tmp_path, data, key, value):
    with pytest.raises(StpError, match=key):
        run(job(tmp_path, data, {**recipe(), key: value}))


def test_other_kinds_of_fitting_are_refused(tmp_path, data):
    with pytest.raises(StpError, match="'magic'"):
        run(job(tmp_path, data, {**recipe(), "fit": "magic"}))


def test_a_network_without_seed_is_refused(tmp_path, data):
    with pytest.raises(StpError, match="seed"):
        run(job(tmp_path, data, {**recipe(), "seed": None}))


def test_iterations_count_steps_instead_of_epochs(tmp_path, data):
    # 5 steps an epoch: 12 steps are two whole epochs and two steps of the third
    extras = run(job(tmp_path, data, recipe(iterations=12, schedule="constant")))
    history = pd.read_parquet(tmp_path / "out" / "history.parquet")
    assert history["step"].tolist() == [5, 10, 12]
    assert extras["steps"] == 12


def test_validation_every_few_epochs_and_at_the_end(tmp_path, data):
    extras = run(job(tmp_path, data, recipe(epochs=5, validate_every=2)))
    history = pd.read_parquet(tmp_path / "out" / "history.parquet")
    assert history["val_mse"].notna().tolist() == [False, True, False, True, True]
    assert extras["selection"]["epoch"] in (2, 4, 5)


def test_averaged_weights_are_validated_and_kept(tmp_path, data):
    what = recipe(epochs=1, ema=0.25, schedule="constant", max_clips=8)  # two steps
    after = []
    step = GradientDescent._step

    def spy(self, clips, leads):
        stop = step(self, clips, leads)
        after.append({name: value.clone() for name, value in self.model.state_dict().items()})
        return stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GradientDescent, "_step", spy)
        run(job(tmp_path / "average", data, what))
    run(job(tmp_path / "start", data, {**what, "train": {**what["train"], "lr": 1e-30}}))
    start = load(tmp_path / "start")["state_dict"]
    for name, kept in load(tmp_path / "average")["state_dict"].items():
        # average of a quarter of each step's weights
        expected = 0.75 * (0.75 * start[name] + 0.25 * after[0][name]) + 0.25 * after[1][name]
        torch.testing.assert_close(kept, expected, rtol=1e-5, atol=1e-7)


def test_a_model_may_say_what_is_compared_in_validation(tmp_path, data, monkeypatch):
    def errors(self, clips):
        return torch.full((len(clips), 2), 7.0)

    monkeypatch.setattr(Model, "validation_errors", errors, raising=False)
    monkeypatch.setattr(Model, "criterion", "seven", raising=False)
    extras = run(job(tmp_path, data, recipe(epochs=2)))
    assert extras["selection"] == {"criterion": "seven", "epoch": 1, "val_mse": 7.0}


TOWER = {"widths": [2, 2, 2, 2, 2, 2, 2], "masks": 2, "kernel": 3, "sampling_k": 2.0}
OF_TOWER = {
    "cdna": {},
    "sv2p": {"latent_widths": [2, 2, 2]},
    "savp": {"encoder_width": 2, "discriminator_width": 2},
}


def tower_recipe(name: str, **train) -> dict:
    return {**recipe(**train), "model": name, "options": TOWER | OF_TOWER[name]}


def shown_in_training(data, folder, name, monkeypatch, ranks=1, **runtime) -> torch.Tensor:
    """Which clips of a batch of 7 are shown in two steps, by whoever computes them."""
    found, draw = [[] for _ in range(ranks)], cdna.draw_true_inputs
    prepared = Prepared(data)
    what = {
        **tower_recipe(name, batch_size=7, iterations=2, max_val_clips=2),
        "shape": list(prepared.shape),
    }
    options = TrainOptions.from_recipe(what["train"])
    about = options, prepared, Normalisation.of(prepared.attrs)
    for rank, own in enumerate(found):

        def note(*given, own=own):
            own.append(draw(*given))
            return own[-1]

        with monkeypatch.context() as patch, set_up_compute("cpu", 1, "float32") as compute:
            patch.setattr(savp if name == "savp" else cdna, "draw_true_inputs", note)
            patch.setattr(Ranks, "add_gradients", lambda self, _, loss, stop: (loss.item(), stop))
            patch.setattr(Ranks, "sum", lambda self, *values: list(values))
            one = job(folder / str(rank), data, what, **runtime)
            GradientDescent(one, *about, compute, Ranks(rank, ranks)).train()
    return torch.cat([torch.cat(own).unflatten(0, (2, -1)) for own in found], dim=1)


@pytest.mark.parametrize("name", long_except(["cdna", "savp"], OF_TOWER, part="learning"))
def test_as_many_clips_are_shown_however_a_batch_is_split(tmp_path, monkeypatch, name):
    """Of 7 clips, two processes have 4 and 3."""
    frames = np.zeros((38, 1, 16, 16), np.uint8)
    data = write_data(tmp_path / "data", frames=frames)
    whole = shown_in_training(data, tmp_path / "whole", name, monkeypatch)
    assert whole.sum(dim=1)[:, 0].tolist() == [5, 4]  # 7 times 2 / (2 + exp(step / 2))
    alone = [{"micro_batch": 3}] if name == "cdna" else []
    for about in (*alone, {"ranks": 2, "micro_batch": 3}):
        found = shown_in_training(data, tmp_path / str(about), name, monkeypatch, **about)
        assert torch.equal(found, whole)


def test_a_split_batch_has_the_gradient_of_the_whole_where_clips_are_shown(
    tmp_path, data, monkeypatch
):
    """Which clips CDNA is shown is all that it draws."""
    found = []

    def note(optimizer):
        found[-1].extend(
            p.grad.clone() for group in optimizer.param_groups for p in group["params"]
        )

    monkeypatch.setattr(torch.optim.Adam, "step", note)
    for at_once in (7, 3):
        found.append([])
        what = tower_recipe("cdna", epochs=1, batch_size=7, max_clips=7)
        extras = run(job(tmp_path / str(at_once), data, what, micro_batch=at_once))
        assert extras["micro_batch"] == at_once
    for whole, parts in zip(*found, strict=True):
        torch.testing.assert_close(parts, whole, rtol=1e-4, atol=1e-6)


def test_a_batch_that_is_normalised_as_a_whole_is_not_cut(tmp_path, data):
    with pytest.raises(StpError, match="micro_batch"):
        run(job(tmp_path, data, simvp_recipe(epochs=1), micro_batch=2))


def test_a_batch_that_is_normalised_as_a_whole_is_not_shared_unless_its_norms_are(
    tmp_path, data, monkeypatch
):
    made = gradient_descent.create
    monkeypatch.setattr(
        gradient_descent,
        "create",
        lambda what: torch.nn.Sequential(made(what), torch.nn.BatchNorm3d(2)),
    )
    prepared, one = Prepared(data), job(tmp_path, data, recipe())
    about = TrainOptions.from_recipe(recipe()["train"]), prepared, Normalisation.of(prepared.attrs)
    with (
        set_up_compute("cpu", 1, "float32") as compute,
        pytest.raises(StpError, match="BatchNorm3d"),
    ):
        GradientDescent(one, *about, compute, Ranks(0, 2))


def test_a_step_that_does_not_fit_says_what_to_do(tmp_path, data, monkeypatch):
    def too_large(self, clip, step):
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr(Model, "loss", too_large)
    with pytest.raises(StpError, match="micro_batch to 2"):
        run(job(tmp_path, data, recipe(epochs=1)))


def test_progress_tells_which_epoch_is_trained(tmp_path, data, monkeypatch):
    monkeypatch.setattr(gradient_descent, "REPORT_SECONDS", -1)  # after each step
    told = []
    one = job(tmp_path, data, recipe(max_clips=8))
    run(replace(one, report=lambda *line: told.append(line)))
    steps = [(what.partition(" loss")[0], *of) for what, *of in told if " loss " in what]
    assert steps == [(f"epoch {1 + step // 2}/3", step + 1, 6) for step in range(6)]


@pytest.mark.parametrize("rank", [0, 1])
def test_the_first_of_two_processes_alone_stops_in_a_validation(tmp_path, data, monkeypatch, rank):
    """The other one goes on to where the first waits for its errors, or ends with it."""
    monkeypatch.setattr(Ranks, "sum", lambda self, *values: list(values))
    prepared = Prepared(data)
    one = replace(job(tmp_path, data, recipe()), interrupted=lambda: True)
    options, normalisation = TrainOptions.from_recipe({}), Normalisation.of(prepared.attrs)
    with set_up_compute("cpu", 1, "float32") as compute:
        training = GradientDescent(
            one, options, prepared, normalisation, compute, Ranks(rank, size=2)
        )
        if rank:
            assert training._validate() > 0
        else:
            with pytest.raises(Interrupted, match="validation"):
                training._validate()
