"""What trainings on fields of the globe are asked for: losses, targets, short horizons."""

from pathlib import Path

import numpy as np
import pytest
import torch
import zarr
from moving_bar import job, write_data

from stp.core.errors import StpError
from stp.data.prepared import Clips, Prepared
from stp.data.zarr_write import create_array
from stp.models import climax
from stp.models.create import create
from stp.models.normalisation import Normalisation
from stp.options.train import TrainOptions
from stp.train.factories import loss_of
from stp.train.gradient_descent import GradientDescent
from stp.train.losses import crps, spectral, wrmse
from stp.train.order import LeadDraws
from stp.train.run import run

LATITUDES = np.linspace(78.75, -78.75, 8)


@pytest.fixture
def globe(tmp_path: Path) -> Path:
    """Three named fields on eight latitudes, of one frame of context and four of horizon."""
    frames = np.random.default_rng(0).normal(size=(38, 3, 8, 8)).astype(np.float32)
    attrs = {
        "units": "physical",
        "variables": ["z_500", "t_850", "q_700"],
        "context": 1,
        "horizon": 4,
        "stored_scale": 1.0,
    }
    folder = write_data(tmp_path / "globe", frames=frames, **attrs)
    group = zarr.open_group(folder / "frames.zarr")
    create_array(group, "lat", (8,), np.float64, ("y",), (8,))[:] = LATITUDES
    return folder


def unet(**train) -> dict:
    return {
        "model": "unet",
        "options": {"channels": [4, 4]},
        "shape": [3, 8, 8],
        "context": 1,
        "horizon": train.get("horizon", 4),
        "fit": "sgd",
        "seed": 0,
        "train": {"epochs": 1, "batch_size": 4, "lr": 0.01, **train},
    }


# Losses


def test_wrmse_by_hand(globe):
    """An error of 1 everywhere is 1; one at a latitude counts with its cosine."""
    data = Prepared(globe)
    observed = torch.zeros(2, 2, 3, 8, 8)
    assert wrmse.loss(observed + 1, observed, data).item() == pytest.approx(1)
    predicted = observed.clone()
    predicted[..., 0, :] = 2.0
    share = np.cos(np.deg2rad(LATITUDES[0])) / np.cos(np.deg2rad(LATITUDES)).sum()
    assert wrmse.loss(predicted, observed, data, root=False).item() == pytest.approx(4 * share)
    assert wrmse.loss(predicted, observed, data).item() == pytest.approx(2 * share**0.5)


def test_spectral_loss_sees_shapes_of_spectra_alone():
    observed = torch.randn(2, 1, 3, 8, 10)
    assert spectral.loss(observed, observed).item() == pytest.approx(0, abs=1e-6)
    # Of fields twice as large only the errors count; of others moved to the side, too.
    for other in (2 * observed, observed.roll(3, -1)):
        expected = (other - observed).square().mean().item()
        assert spectral.loss(other, observed).item() == pytest.approx(expected, rel=1e-4)
    blurred = (observed + observed.roll(1, -1)) / 2
    plain = spectral.loss(blurred, observed, weight=0.0)
    assert plain.item() == pytest.approx((blurred - observed).square().mean().item())
    assert spectral.loss(blurred, observed) > plain + 0.01
    assert spectral.loss(blurred, observed, finest=0.3) > plain + 0.01


@pytest.mark.parametrize("is_fair", [True, False])
def test_crps_by_its_definition(tmp_path, is_fair):
    """All pairs of members; without latitudes each point has the same weight."""
    data = Prepared(write_data(tmp_path / "data"))
    predicted, observed = torch.randn(2, 5, 3, 1, 8, 8), torch.randn(2, 3, 1, 8, 8)
    found = crps.loss(predicted, observed, data, members=5, fair=is_fair).item()
    expected = [
        np.abs(p - o).mean() - np.abs(p[:, None] - p[None]).sum() / (2 * 5 * (4 if is_fair else 5))
        for p, o in zip(
            np.moveaxis(predicted.numpy(), 1, -1).reshape(-1, 5),
            observed.numpy().reshape(-1),
            strict=True,
        )
    ]
    assert found == pytest.approx(np.mean(expected), rel=1e-5)


@pytest.mark.parametrize(
    ("compare", "members"),
    [
        (lambda p, o, data: wrmse.loss(p, o, data), ()),
        (lambda p, o, data: wrmse.loss(p, o, data, root=False), ()),
        (lambda p, o, data: spectral.loss(p, o, weight=0.5), ()),
        (lambda p, o, data: spectral.loss(p, o, weight=0.5, finest=0.5), ()),
        (lambda p, o, data: crps.loss(p, o, data, members=3), (3,)),
        (lambda p, o, data: crps.loss(p, o, data, members=3, fair=False), (3,)),
    ],
)
def test_gradients_are_finite_differences(globe, compare, members):
    data = Prepared(globe)
    torch.manual_seed(0)
    observed = torch.randn(1, 1, 3, 8, 8, dtype=torch.float64)
    predicted = torch.randn(1, *members, 1, 3, 8, 8, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(compare(predicted, observed, data), predicted)
    with torch.no_grad():
        for direction in torch.randn(4, *predicted.shape, dtype=torch.float64):
            step = 1e-6 * direction
            change = compare(predicted + step, observed, data)
            change -= compare(predicted - step, observed, data)
            expected = change.item() / 2e-6
            assert (gradient * direction).sum().item() == pytest.approx(expected, rel=1e-4)


def test_gradients_are_finite_where_there_is_no_error(globe):
    data, observed = Prepared(globe), torch.zeros(1, 1, 3, 8, 8)
    for compare in (
        lambda p: wrmse.loss(p, observed, data),
        lambda p: spectral.loss(p, observed),
        lambda p: crps.loss(p[:, None].expand(1, 2, 1, 3, 8, 8), observed, data),
    ):
        predicted = torch.zeros_like(observed, requires_grad=True)
        compare(predicted).backward()
        assert predicted.grad is not None and predicted.grad.isfinite().all()


def test_losses_refuse_options_and_data_that_do_not_fit(tmp_path):
    flat, frames = Prepared(write_data(tmp_path / "data")), torch.zeros(1, 1, 1, 8, 8)
    with pytest.raises(StpError, match="lat"):
        wrmse.loss(frames, frames, flat)
    with pytest.raises(StpError, match="finest"):
        spectral.loss(frames, frames, finest=0)
    with pytest.raises(StpError, match="members"):
        crps.loss(frames[:, None], frames, flat, members=1)


@pytest.mark.parametrize("loss", ["wrmse", {"wrmse": {"root": False}}, "spectral"])
def test_a_training_for_another_loss_is_another_training(tmp_path, globe, loss):
    weights = []
    for name, one in (("plain", "mse"), ("other", loss)):
        work = job(tmp_path / name, globe, unet(loss=one, horizon=1))
        assert np.isfinite(run(work)["selection"]["val_mse"])
        weights.append(torch.load(work.out / "model.pt", weights_only=True)["state_dict"])
    plain, other = weights
    assert all(tensor.isfinite().all() for tensor in other.values())
    assert any(not torch.equal(plain[name], tensor) for name, tensor in other.items())


@pytest.mark.parametrize("targets", [[], ["t_850"]])
@pytest.mark.parametrize("loss", ["mse", "wrmse", "spectral", {"crps": {"members": 3}}])
def test_a_named_loss_takes_the_place_of_errors_and_not_of_the_divergence_of_codes(
    globe, loss, targets
):
    """Twice the divergence of a code for each value that is compared, times its weight."""
    options = {"channels": [4, 4], "latent": 2}
    clips = torch.randn(4, 2, 3, 8, 8)

    def of(kl_weight: float, named: object) -> float:
        torch.manual_seed(0)
        what = {**unet(), "model": "vae", "options": {**options, "kl_weight": kl_weight}}
        about = {"loss": named, "targets": targets} if named else {}
        model = create(what).train()
        compare = loss_of(model, TrainOptions.from_recipe(about), 1, "vae", Prepared(globe))
        value = compare(clips, 0).item()
        divergences.append(model._draw_next_frame(clips[:, 0], torch.zeros_like)[1].mean().item())
        return value

    divergences: list[float] = []
    values = 64 * (len(targets) or 3)
    added = of(100.0, loss) - of(0.0, loss)
    assert divergences[0] == divergences[1] > 0.01
    assert added == pytest.approx(200 * divergences[0] / values, rel=1e-3)
    if loss == "mse" and not targets:
        assert of(100.0, None) == of(100.0, loss)


def test_points_where_a_variable_does_not_exist_count_as_forecasts_of_its_mean(tmp_path, globe):
    """As values of 0, once normalised; scores leave these points out."""
    data = Prepared(globe)
    loss = loss_of(create(unet()).train(), TrainOptions.from_recipe({"loss": "mse"}), 1, "u", data)
    clips = torch.randn(4, 2, 3, 8, 8)
    missing, filled = clips.clone(), clips.clone()
    missing[:, :, 2, :4], filled[:, :, 2, :4] = torch.nan, 0
    shown = Normalisation().apply_(missing)
    assert torch.equal(shown, filled)
    assert loss(shown, 0).item() == loss(filled, 0).item() != loss(clips, 0).item()


# Targets and horizons


def test_targets_are_all_that_loss_and_validation_compare(tmp_path, globe):
    """An error of the other fields changes nothing; all fields are forecast and fed back."""
    data = Prepared(globe)
    options = TrainOptions.from_recipe({"loss": "mse", "targets": ["t_850"]})
    model = create(unet()).train()
    loss = loss_of(model, options, 1, "unet", data)
    clips = torch.randn(4, 3, 3, 8, 8)
    expected = (model(clips[:, :1], 2) - clips[:, 1:])[:, :, 1].square().mean()
    assert loss(clips, 0).item() == pytest.approx(expected.item(), rel=1e-5)
    others = clips.clone()
    others[:, 1:, [0, 2]] += 9
    assert loss(others, 0).item() == pytest.approx(expected.item(), rel=1e-5)
    shown = clips.clone()
    shown[:, :1, [0, 2]] += 9
    assert loss(shown, 0).item() != pytest.approx(expected.item(), rel=1e-3)

    extras = run(job(tmp_path / "one", globe, unet(loss="mse", targets=["t_850"])))
    assert extras["selection"]["targets"] == ["t_850"]
    every = run(job(tmp_path / "all", globe, unet(loss="mse")))
    assert extras["selection"]["val_mse"] != every["selection"]["val_mse"]


def test_targets_that_the_data_or_the_loss_do_not_know_are_refused(tmp_path, globe):
    with pytest.raises(StpError, match="t_85"):
        run(job(tmp_path, globe, unet(loss="mse", targets=["t_85"])))
    with pytest.raises(StpError, match=r"train\.loss"):
        TrainOptions.from_recipe({"targets": ["t_850"]})


def test_a_training_sees_as_many_lead_times_as_it_is_told(tmp_path, globe, monkeypatch):
    seen = []
    step = GradientDescent._step

    def note(self, clips, leads):
        seen.append(clips.shape[1])
        return step(self, clips, leads)

    monkeypatch.setattr(GradientDescent, "_step", note)
    run(job(tmp_path / "short", globe, unet(horizon=2)))
    run(job(tmp_path / "long", globe, unet()))
    assert set(seen[:5]) == {3} and set(seen[5:]) == {5}
    with pytest.raises(StpError, match="4"):
        run(job(tmp_path / "longer", globe, unet(horizon=9)))


def test_forecasts_that_are_all_the_same_have_no_crps(tmp_path, globe):
    with pytest.raises(StpError, match="unet"):
        run(job(tmp_path, globe, unet(loss="crps")))


def test_a_vae_is_trained_for_the_crps_of_its_draws(tmp_path, globe):
    what = {**unet(loss={"crps": {"members": 3}}, horizon=1), "model": "vae"}
    what["options"] = {"channels": [4, 4], "latent": 2, "bounded": False}
    extras = run(job(tmp_path, globe, what))
    assert np.isfinite(extras["selection"]["val_mse"])


def test_a_network_that_is_told_lead_times_reads_one_day_of_each_clip(tmp_path, globe, monkeypatch):
    """The day of the lead time that is drawn for the clip: of 4 days ahead, one."""
    told, read = [], Clips.read

    def note(self, rows, **given):
        found = read(self, rows, **given)
        if self.split == "train":
            whole = read(self, rows, length=given["length"])
            told.extend(
                (row, frames[-1]) for row, frames in zip(rows, given["frames"], strict=True)
            )
            assert given["frames"].shape == (len(rows), 2)
            for clip, shown, frames in zip(whole, found, given["frames"], strict=True):
                assert np.array_equal(shown, clip[frames])
        return found

    monkeypatch.setattr(Clips, "read", note)
    what = {**unet(epochs=2), "model": "climax"}
    what["options"] = {"patch": 4, "width": 8, "depth": 1, "heads": 2, "leads": [1, 2, 4]}
    run(job(tmp_path / "out", globe, what))
    assert {lead for _, lead in told} == {1, 2, 4}
    drawn = LeadDraws((1, 2, 4), context=1, seed=0)
    first = dict(told[: len(told) // 2])
    rows = np.array(sorted(first))
    assert np.array_equal([first[row] for row in rows], drawn.draw(rows, epoch=0))
    assert not np.array_equal(drawn.draw(rows, epoch=0), drawn.draw(rows, epoch=1))


@pytest.mark.parametrize("loss", [None, "mse"])
def test_a_network_of_one_lead_time_alone_is_told_and_shown_that_one(
    tmp_path, globe, monkeypatch, loss
):
    """Of two clips before the first step, in each step, and in the validation."""
    told, compared = [], []
    forecast, outputs = climax.Model._forecast, climax.Model.outputs

    def note_lead(self, frames, tokens, lead):
        told.extend(lead.tolist())
        return forecast(self, frames, tokens, lead)

    def note_frames(self, clip, step, leads=None):
        found = outputs(self, clip, step, leads)
        compared.append(torch.cat([clip[:, :1], found[1]], dim=1))
        return found

    monkeypatch.setattr(climax.Model, "_forecast", note_lead)
    monkeypatch.setattr(climax.Model, "outputs", note_frames)
    options = {"patch": 4, "width": 8, "depth": 1, "heads": 2}
    what = {**unet(loss=loss, batch_size=22), "model": "climax", "options": options}
    run(job(tmp_path, globe, {**what, "horizon": 1, "lead": 3}))
    assert set(told) == {3} and len(told) == 2 + 22 + 6
    clips = torch.from_numpy(Prepared(globe).clips("train").read(range(22)))[:, [0, 3]]
    (found,) = compared
    assert {tuple(one) for one in found.flatten(1).tolist()} == {
        tuple(one) for one in clips.flatten(1).tolist()
    }


@pytest.mark.parametrize("loss", ["mse", "wrmse", "spectral"])
def test_a_network_that_is_told_lead_times_is_trained_for_any_loss_of_some_fields(
    tmp_path, globe, loss
):
    """Of the one day that each clip has; an error of another field changes nothing."""
    about = {"loss": loss, "targets": ["t_850"]}
    options = {"patch": 2, "width": 8, "depth": 1, "heads": 2, "drop": 0, "drop_path": 0}
    what = {**unet(**about), "model": "climax", "options": options}
    model, data = create(what).train(), Prepared(globe)
    compare = loss_of(model, TrainOptions.from_recipe(about), 1, "climax", data)
    clips, leads = torch.randn(4, 2, 3, 8, 8), torch.tensor([1, 2, 3, 4])
    others, own = clips.clone(), clips.clone()
    others[:, 1, [0, 2]] += 9
    own[:, 1, 1] += 9
    value = compare(clips, 0, leads).item()
    assert compare(others, 0, leads).item() == pytest.approx(value, rel=1e-5)
    assert compare(own, 0, leads).item() > value + 1
    assert np.isfinite(run(job(tmp_path, globe, what))["selection"]["val_mse"])


def test_a_training_may_be_shown_some_channels_alone(globe, tmp_path):
    """The network has these two, in the order of the data, and their normalisation."""
    one = job(tmp_path / "some", globe, unet(max_clips=4) | {"channels": ["[zq]_*"]})
    run(one)
    found = torch.load(one.out / "model.pt", weights_only=True)
    assert found["recipe"]["shape"] == [2, 8, 8]
    create(found["recipe"]).load_state_dict(found["state_dict"])
