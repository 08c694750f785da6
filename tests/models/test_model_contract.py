"""The contract of all models: shapes, precision, causality, independence, gradients, learning.

A test of one model alone, such as its equations, is in a file of its own; published sizes are in
test_model_sizes.py, and refused options in test_models_create.py.
"""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from model_cases import (
    CONTEXT,
    HORIZON,
    OPTIONS,
    SHALLOW,
    SIDE,
    TRAINED,
    TWELVE,
    job,
    make,
    moving_digits,
    recipe,
    write_squares,
)
from parts import long_except
from torch import nn

import stp.models
from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.models import mcvd, weights
from stp.models.compute import set_up_compute
from stp.models.create import create
from stp.models.normalisation import Normalisation
from stp.models.recurrent import roll
from stp.options.train import TrainOptions
from stp.train.factories import loss_of
from stp.train.run import run

NAMES = list(OPTIONS)
SMALL = (1, SIDE, SIDE)
BATCH_NORM = {"simvpv2", "tau", "lagged_ae", "resnet", "unet", "fno", "vae", "svg"}
RECURRENT = ("convlstm", "e3dlstm", "mau", "phydnet", "predrnn", "predrnnpp", "predrnnv2")
IN_BLOCKS = ("simvpv1", "simvpv2", "tau", "earthformer", "small_convnet")
STOCHASTIC = ("cdna", "sv2p", "svg", "savp")


@pytest.fixture(scope="module")
def squares(tmp_path_factory) -> Path:
    return write_squares(tmp_path_factory.mktemp("squares") / "data")


def lively(model: nn.Module) -> nn.Module:
    """Raise the weights of layers that start near zero: last layers of MCVD, blocks of SimVP."""
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d) and layer.weight.abs().max() < 1e-4:
            nn.init.xavier_uniform_(layer.weight)
    for parameter, values in model.named_parameters():
        if parameter.endswith(("attention_scale", "mixer_scale")):
            nn.init.ones_(values)
    return model


def test_every_model_is_under_contract():
    modules = [module.name for module in pkgutil.iter_modules(stp.models.__path__)]
    models = {name for name in modules if hasattr(import_module(f"stp.models.{name}"), "Model")}
    assert models == {*NAMES, "climatology"}, "a climatology is fitted, and needs a phase"


# Sizes

OTHER_STEPS = {
    **{name: {"patch_size": 4} for name in ("convlstm", "predrnn", "predrnnpp", "predrnnv2")},
    "e3dlstm": {"patch_size": 4, "window": 3},
    "mau": {"scale": 4},
    "phydnet": {"bounded": False},
    "earthformer": {"stem_scales": [[1, 3]], "decoder_frames": "context"},
    "mcvd": {"multipliers": [1, 2, 3]},
    **{name: {"n_s": 4} for name in ("simvpv1", "simvpv2", "tau")},
    "svg": {"prior": "learned"},
}
"""Options that pad and halve frames in another way."""


MANY, FEW = (18, 22), (10, 7)
"""Height and width; neither patches of 4 nor two halvings divide them."""


SIZES = (
    ((1, 2, 5, MANY), (8, 2, 1, FEW)),
    ((1, 2, 5, FEW), (2, 5, 2, MANY)),
)
"""Channels, context, horizon and sides that every other model meets."""
LONG = ((3, 3, 3, MANY), (8, 2, 1, MANY), (1, 2, 5, FEW), (2, 5, 2, FEW))


def sizes() -> Iterator[Any]:
    for number, name in enumerate(NAMES):
        short = SIZES[number % 2]
        yield from ((name, *size) for size in short)
        for size in LONG:
            if size not in short:
                yield pytest.param(name, *size, marks=pytest.mark.long(part="learning"))


@pytest.mark.parametrize(("name", "channels", "context", "horizon", "sides"), [*sizes()])
def test_any_channels_lengths_and_sides(name, channels, context, horizon, sides):
    """Forecasts of one clip, as many as trained, fewer and more."""
    options = OTHER_STEPS.get(name, {}) if sides == FEW else {}
    if name == "savp":
        sides = max(sides, (18, 13))  # its encoder halves frames three times, and normalises them
    model = make(name, (channels, *sides), context, horizon, **options)
    clip = torch.rand(1, context + horizon, channels, *sides)
    frames = clip[:, :context]
    with torch.no_grad():
        longest = model(frames, 2 * horizon + 1)  # two and a half blocks
        assert longest.shape == (1, 2 * horizon + 1, channels, *sides)
        assert longest.dtype == torch.float32
        assert longest.isfinite().all()
        if name in STOCHASTIC:
            assert longest.min() >= 0 and longest.max() <= 1
        for shorter in {1, horizon}:
            assert torch.equal(model(frames, shorter), longest[:, :shorter])
        if model.has_parts or name not in TRAINED:  # the base class has one part
            in_parts = torch.cat(list(model.parts(frames, 2 * horizon + 1)), dim=1)
            assert torch.equal(in_parts, longest)
    loss = model.train().loss(clip.repeat(2, 1, 1, 1, 1), 0)
    assert loss.shape == () and loss.isfinite()


# Precision


@pytest.mark.parametrize("name", [n for n in TRAINED if n not in ("earthformer", "mcvd", "savp")])
def test_mixed_precision_is_finite_and_near_float32(name):
    """Earthformer and MCVD are compared in their own files; SAVP's losses need larger frames."""
    model, clip = make(name, SMALL), torch.rand(2, 6, *SMALL)
    with torch.no_grad():
        exact = model(clip[:, :3], 4)
    with torch.autocast("cpu", torch.bfloat16):
        with torch.no_grad():
            mixed = model(clip[:, :3], 4)
        loss = model.train().loss(clip, 0)
        loss.backward()
    assert loss.dtype == torch.float32 and loss.isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    # a bfloat16 has 8 bits; errors add up over layers and over lead times
    assert (mixed - exact).abs().mean() < 0.03 * exact.abs().mean()


# What forecasts depend on


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_forecasts_are_a_function_of_the_context(name):
    """Not of torch's generator, of what was computed before, or of frames after the context."""
    model, clip = lively(make(name, SMALL)), torch.rand(2, 6, *SMALL)
    before = model(clip[:, :3], 4)
    state = torch.get_rng_state()
    model(torch.rand(2, 3, *SMALL), 4)
    torch.manual_seed(99)
    clip[:, 3:] = torch.nan
    assert torch.equal(model(clip[:, :3], 4), before)
    torch.set_rng_state(state)
    model(clip[:, :3], 1)
    assert torch.equal(torch.get_rng_state(), state), "nothing is drawn from it"


@pytest.mark.parametrize("name", [n for n in NAMES if n != "lagged_ae"])
@torch.no_grad()
def test_every_context_frame_matters_that_a_model_reads(name):
    """The narrow level of a tiny lagged autoencoder can be blind to a frame."""
    model, frames = lively(make(name, SMALL)), torch.rand(1, 3, *SMALL)
    if name == "svg":  # its initial weights are so small that float32 loses the first frame
        for values in model.parameters():
            nn.init.normal_(values, std=0.3)
    before = model(frames, 3)
    for t in range(3):
        moved = frames.clone()
        moved[:, t] += 0.5
        differs = ((model(moved, 3) - before).abs().amax(dim=(0, 2, 3, 4)) > 0).tolist()
        unread = {"persistence": (0, 1), "linear_extrapolation": (0,)}.get(name, ())
        is_read = t not in unread
        assert differs == [is_read] * 3


@pytest.mark.parametrize("name", [n for n in NAMES if n != "mcvd"])
@torch.no_grad()
def test_neighbours_in_a_batch_do_not_matter(name):
    """MCVD's noise is made from each clip: tests/models/test_model_mcvd.py."""
    model, frames = lively(make(name, SMALL)), torch.rand(3, 3, *SMALL)
    every = model(frames, 2)
    rounding = {"atol": 1e-5 * every.abs().max().item(), "rtol": 0.0}
    torch.testing.assert_close(model(frames[1:2], 2), every[1:2], **rounding)
    frames[0] = 9.0
    torch.testing.assert_close(model(frames, 2)[1:], every[1:], **rounding)


@pytest.mark.parametrize("name", ["mcvd", "vae", "sv2p", "svg", "savp"])
@torch.no_grad()
def test_members_differ_and_come_again(name):
    model, frames = make(name, SMALL), torch.rand(2, 3, *SMALL)
    assert model.is_sampled
    for values in model.parameters():
        nn.init.normal_(values, std=0.3)
    first, again, other = (model(frames, 3, member) for member in (0, 0, 1))
    assert torch.equal(first, again)
    assert (first - other).abs().max() > 1e-6


@pytest.mark.parametrize("name", RECURRENT)
@torch.no_grad()
def test_an_output_never_sees_later_frames(name):
    """With the truth shown all the time, as in early training."""
    model, clip = make(name, SMALL).train(), torch.rand(2, 6, *SMALL)
    shown = torch.ones(2, 2, dtype=torch.bool)
    before = roll(model.following(), clip, 3, 5, shown)
    for later in range(1, 6):
        moved = clip.clone()
        moved[:, later] += 1
        after = roll(model.following(), moved, 3, 5, shown)
        same = [torch.equal(before[:, t], after[:, t]) for t in range(5)]
        assert same == [t < later for t in range(5)]


@pytest.mark.parametrize("name", IN_BLOCKS)
@pytest.mark.parametrize(("context", "horizon"), [(3, 2), (2, 3)])
@torch.no_grad()
def test_more_lead_times_than_trained_go_block_by_block(name, context, horizon):
    model, frames = make(name, SMALL, context, horizon), torch.rand(1, context, *SMALL)
    first = model(frames, horizon)
    second = model(torch.cat([frames, first], dim=1)[:, -context:], horizon)
    expected = torch.cat([first, second], dim=1)
    torch.testing.assert_close(model(frames, 2 * horizon), expected)
    torch.testing.assert_close(model(frames, horizon + 1), expected[:, : horizon + 1])


# Losses

FREE_RUNNING = {
    **{
        name: {"scheduled_sampling": {"stop": 0}}
        for name in ("convlstm", "e3dlstm", "mau", "predrnn", "predrnnpp")
    },
    "predrnnv2": {"scheduled_sampling": {"start": 0, "stop": 0}, "decouple_beta": 0},
}


@pytest.mark.parametrize("name", FREE_RUNNING)
@torch.no_grad()
def test_without_truth_the_loss_is_that_of_the_forecast_and_of_the_context(name):
    model, clip = make(name, SMALL, **FREE_RUNNING[name]).train(), torch.rand(2, 6, *SMALL)
    of_context = [model(clip[:, :t], 1) for t in (1, 2)]  # outputs that predict context frames
    outputs = torch.cat([*of_context, model(clip[:, :3], 3)], dim=1)
    expected = (outputs - clip[:, 1:]).square().mean()
    assert model.loss(clip, 0).item() == pytest.approx(expected.item(), rel=1e-5)


HALF_TRUE = {
    **{name: {"scheduled_sampling": {"rate": 0.5}} for name in FREE_RUNNING},
    "predrnnv2": {"decouple_beta": 0.0},
    "phydnet": {"moment_weight": 0.0},
}


@pytest.mark.parametrize(
    ("name", "loss"),
    [*((name, "mse") for name in HALF_TRUE), ("convlstm", "l1"), ("phydnet", "l1")],
)
@torch.no_grad()
def test_a_named_loss_of_a_recurrent_model_compares_all_that_it_is_trained_on(name, loss):
    """The same frames, shown the same truths, as in its own loss; without the terms of that."""
    model, clip = make(name, SMALL, **HALF_TRUE[name]).train(), torch.rand(3, 6, *SMALL)
    named = loss_of(model, TrainOptions.from_recipe({"loss": loss}), CONTEXT, name, None)
    torch.manual_seed(4)
    own = model.loss(clip, 0)
    torch.manual_seed(4)
    value = named(clip, 0)
    if loss == "mse":  # PhyDNet's own is a sum over five steps
        torch.testing.assert_close(value * (5 if name == "phydnet" else 1), own)
    torch.manual_seed(4)
    predicted, observed = model.outputs(clip, 0)
    assert predicted.dtype == torch.float32 and torch.equal(observed, clip[:, 1:])
    expected = {"mse": torch.square, "l1": torch.abs}[loss](predicted - observed).mean()
    torch.testing.assert_close(value, expected)


@pytest.mark.parametrize("name", IN_BLOCKS)
@torch.no_grad()
def test_the_loss_of_a_block_is_that_of_a_forecast_from_the_context(name):
    options = {"tau": {"change_weight": 0}, "earthformer": {"drop": 0.0}}.get(name, {})
    model, clip = make(name, SMALL, **options).train(), torch.rand(3, 6, *SMALL)
    expected = (model(clip[:, :3], 3) - clip[:, 3:]).square().mean()
    assert model.loss(clip, 0).item() == pytest.approx(expected.item(), rel=1e-5)


# Gradients

HALF_DEAD = {"resnet", "vae", "sv2p", "savp"}
"""Branches multiplied by zero at first, and variances bounded by a ReLU, have no gradient."""
GRADIENTS = {
    **{name: (name, {}) for name in TRAINED if name not in HALF_DEAD},
    "e3dlstm, released attention": ("e3dlstm", {"attention": "released"}),
    "earthformer, deep": ("earthformer", {"enc_depth": [2, 1], "dec_depth": [1, 2]}),
    "svg, learned prior": ("svg", {"prior": "learned"}),
}


@pytest.mark.parametrize("case", GRADIENTS)
def test_gradient_reaches_every_parameter_and_steps_lower_the_loss(case):
    name, options = GRADIENTS[case]
    model, clip = make(name, SMALL, **options).train(), torch.rand(4, 6, *SMALL)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        torch.manual_seed(4)
        loss = model.loss(clip, 200_000)
        loss.backward()
        losses.append(loss.item())
        silent = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
        assert not silent
        optimizer.step()
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", TRAINED)
def test_a_step_repeats_bit_by_bit(name):
    """On a CPU, and on a GPU where there is one: then also that all of it can be deterministic."""
    runs = []
    sides = (16, 16) if name == "savp" else (SIDE, SIDE)
    with set_up_compute("auto", 1, "bf16") as compute:
        for _ in range(2):
            model = make(name, (1, *sides)).train().to(compute.device)
            clip = moving_digits(2)[..., :: 16 // sides[0], :: 16 // sides[1]].to(compute.device)
            with compute.autocast():
                loss = model.loss(clip, 0)
            loss.backward()
            runs.append([loss, *[p.grad for p in model.parameters()]])
    for first, second in zip(*runs, strict=True):
        assert (first is None and second is None) or torch.equal(first, second)


def gradient(folder: Path, data: Path, name: str, monkeypatch, **runtime) -> list[torch.Tensor]:
    """The gradient of a training's only step, on 7 clips."""
    gradients: list[torch.Tensor] = []

    def note(optimizer):
        for group in optimizer.param_groups:
            gradients.extend(p.grad.clone() for p in group["params"])

    options = {"drop": 0.0} if name == "earthformer" else {"dropout": 0.0} if name == "mcvd" else {}
    train = {"batch_size": 7, "max_clips": 7, "epochs": 1}
    with monkeypatch.context() as patch:
        patch.setattr(torch.optim.Adam, "step", note)
        # Of noise drawn for each clip in turn, parts of a batch would draw other noise.
        patch.setattr(mcvd.Model, "loss", noise_of_the_clip)
        run(job(folder, data, {**recipe(name, SMALL, **options), "train": train}, **runtime))
    return gradients


def noise_of_the_clip(model: nn.Module, clip: torch.Tensor, step: int) -> torch.Tensor:
    return model.validation_errors(clip).mean()


@pytest.mark.parametrize(
    "name",
    long_except(["convlstm"], [n for n in TWELVE if n not in BATCH_NORM], part="learning"),
)
def test_a_batch_in_parts_has_the_gradient_of_the_whole(tmp_path, squares, monkeypatch, name):
    """Exactly where nothing is drawn for a clip; dropout and MCVD's noise are others in parts."""
    whole = gradient(tmp_path / "whole", squares, name, monkeypatch)
    parts = gradient(tmp_path / "parts", squares, name, monkeypatch, micro_batch=3)
    largest = max(g.abs().max() for g in whole)
    for ours, theirs in zip(whole, parts, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5 * largest.item())


@pytest.mark.parametrize("name", TRAINED)
def test_batch_norm_is_where_it_is_said_and_cannot_be_computed_in_parts(tmp_path, squares, name):
    model = make(name, SMALL)
    has = any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in model.modules())
    assert has == (name in BATCH_NORM)
    if has:
        what = {**recipe(name, SMALL), "train": {"batch_size": 7, "epochs": 1}}
        with pytest.raises(StpError, match="micro_batch"):
            run(job(tmp_path, squares, what, micro_batch=3))


@pytest.mark.parametrize("name", TRAINED)
def test_saved_weights_give_the_same_forecasts(tmp_path, name):
    shape = (1, 16, SIDE) if name == "savp" else SMALL
    what, trained = recipe(name, shape), lively(make(name, shape)).train()
    frames = torch.rand(1, 3, *shape)
    optimizer = torch.optim.Adam(trained.parameters(), lr=0.01)
    trained.loss(torch.rand(2, 6, *shape), 0).backward()
    optimizer.step()  # batch norms have moved, too
    trained.eval()
    path = tmp_path / "model.pt"
    weights.save(path, trained.state_dict(), what, Normalisation())
    loaded, _ = weights.load(path, what)
    other = make(name, shape, seed=1)
    with torch.no_grad():
        forecast = trained(frames, 2)
        assert not torch.equal(other(frames, 2), forecast)
        other.load_state_dict(loaded)
        assert torch.equal(other(frames, 2), forecast)


# Learning

NOISE = {"betas": [0.2, 0.001], "dropout": 0.0}  # 100 levels up to almost pure noise
OVERFIT = {  # steps, learning rate, options
    "convlstm": (120, 0.01, {"scheduled_sampling": {"stop": 0}}),
    "e3dlstm": (60, 0.01, {"scheduled_sampling": {"stop": 0}}),
    "mau": (120, 0.01, {"scheduled_sampling": {"stop": 0}}),
    "phydnet": (40, 0.004, {"teacher_forcing": 1.0}),
    "predrnn": (80, 0.01, {"scheduled_sampling": {"stop": 0}}),
    "predrnnpp": (80, 0.01, {"scheduled_sampling": {"stop": 0}}),
    "predrnnv2": (80, 0.01, {"scheduled_sampling": {"start": 0, "stop": 0}}),
    "simvpv1": (100, 0.01, {}),
    "simvpv2": (80, 0.01, {}),
    "tau": (80, 0.01, {}),
    "earthformer": (240, 0.005, SHALLOW),
    "mcvd": (120, 0.005, NOISE),
    "small_convnet": (100, 0.01, {}),
}


@pytest.mark.parametrize("name", long_except(["small_convnet"], OVERFIT, part="learning"))
def test_learns_four_moving_digits_by_heart(name):
    steps, rate, options = OVERFIT[name]
    clips = moving_digits(4)
    model = make(name, (1, 16, 16), **options).train()
    if name == "phydnet":
        model.begin_epoch(1)  # it never sees the truth after the context
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for step in range(steps):
        optimizer.zero_grad()
        model.loss(clips, step).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
    model.eval()
    with torch.inference_mode():
        if name == "mcvd":  # it learns to find noise of variance 1
            assert model.validation_errors(clips).mean() < 0.2
        else:
            # half of what the best picture for all of them errs by; persistence errs by 0.07
            assert (model(clips[:, :3], 3) - clips[:, 3:]).square().mean() < 0.025


ONE_EPOCH = {"batch_size": 8, "lr": 0.01, "schedule": "onecycle"}  # 5 steps
BUDGET = {name: ({**ONE_EPOCH, "epochs": 15}, {}) for name in TWELVE} | {
    "simvpv2": ({**ONE_EPOCH, "epochs": 8}, {}),
    "phydnet": ({"epochs": 4, "batch_size": 4, "lr": 0.004}, {}),
    "earthformer": ({"epochs": 15, "batch_size": 4, "lr": 0.004}, SHALLOW),
    "mcvd": ({**ONE_EPOCH, "lr": 0.005, "epochs": 20}, {**NOISE, "sampler": {"steps": 10}}),
}
"""Training and other options of each model: 40 to 150 steps on 40 clips."""


@pytest.mark.long(part="learning")
@pytest.mark.parametrize("name", TWELVE)
def test_beats_persistence_on_clips_that_it_was_not_trained_on(tmp_path, squares, name):
    train, options = BUDGET[name]
    what = {**recipe(name, SMALL, **options), "train": {**train, "validate_every": 5}}
    run(job(tmp_path, squares, what))
    model = create(what).eval()
    loaded, normalisation = weights.load(tmp_path / "out" / "model.pt", what)
    model.load_state_dict(loaded)
    clips = Prepared(squares).clips("val")
    frames = normalisation.apply_(torch.from_numpy(clips.read(range(len(clips)))))
    context, future = frames[:, :CONTEXT], frames[:, CONTEXT:]
    with torch.inference_mode():
        error = (model(context, HORIZON) - future).square().mean().item()
    persistence = (context[:, -1:] - future).square().mean().item()
    assert persistence == pytest.approx(1 / 3)
    # 0.13; a forecast that is the same for all clips errs by 3/16 at least
    assert error < 0.4 * persistence


@pytest.mark.long(part="learning")
@pytest.mark.parametrize(("name", "rate"), [("convlstm", 5e-4), ("simvpv2", 1e-3)])
def test_a_step_of_the_published_size_lowers_the_loss(name, rate):
    torch.manual_seed(0)
    what = {"model": name, "options": {}, "shape": (1, 64, 64), "context": 10, "horizon": 10}
    model, clip = create(what), torch.rand(1, 20, 1, 64, 64)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate / 25)  # the first of onecycle
    before = model.loss(clip, 0)
    before.backward()
    optimizer.step()
    with torch.inference_mode():
        assert model.loss(clip, 0) < before
