"""Our models give what straightforward ones give: forecasts, losses and gradients.

`benchmarks/plain` holds a second implementation of each model, written as a reader of its paper
would. Norms of differences are compared with norms of what they belong to. Rounding explains them:
plain float32 convolutions are exact to some 4e-7, `stp.models.repeated_convolution` to 5e-6, and
networks and their gradients amplify both.
"""

import importlib
import sys
from pathlib import Path

import pytest
import torch
from parts import long_except
from torch import Tensor, nn

from stp.models.repeated_convolution import Kernel, RepeatedConv2d, transform_kernels, using

TOLERANCE = 1e-5
OF_GRADIENTS = 1e-4
CONTEXT, HORIZON, LONGER = 3, 2, 5

# Wide enough that the filters of large convolutions are mapped (more than 50,000 weights).
STACK = {"num_hidden": [48, 48], "filter_size": 5, "patch_size": 2}
SIMVP = {"hid_s": 4, "hid_t": 16, "n_s": 4, "n_t": 3}
MODELS = {
    "convlstm": {**STACK, "num_hidden": [48, 40]},
    "predrnn": STACK,
    "predrnnpp": STACK,
    "predrnnv2": STACK,
    "e3dlstm": {**STACK, "num_hidden": [32, 32]},
    "mau": {"num_hidden": [64, 64], "filter_size": 5, "scale": 2, "tau": 2},
    "phydnet": {"scale": 2},
    "simvpv1": {**SIMVP, "groups": 4},
    "simvpv2": SIMVP,
    "tau": SIMVP,
    "earthformer": {"enc_depth": [1, 1], "stem_channels": [16], "heads": 2, "drop": 0.0},
}
HALF_WAY = 30_000
"""An iteration in which some inputs are observed and some are the networks' own outputs."""


@pytest.fixture(scope="module", autouse=True)
def benchmarks_on_path():
    folder = str(Path(__file__).parents[2] / "benchmarks")
    sys.path.insert(0, folder)
    yield
    sys.path.remove(folder)


def pair(name: str) -> tuple[nn.Module, nn.Module, object]:
    torch.manual_seed(0)
    ours = importlib.import_module(f"stp.models.{name}").Model(
        (1, 10, 14), CONTEXT, HORIZON, **MODELS[name]
    )
    written = importlib.import_module(f"plain.{name}")
    plain = written.Model(ours)
    plain.load_state_dict(written.weights(ours.state_dict()))
    return ours, plain, written.weights


def clip(batch: int = 2) -> Tensor:
    return torch.rand(batch, CONTEXT + HORIZON, 1, 10, 14)


def distance(a: Tensor, b: Tensor) -> float:
    """Norm of the difference, relative to that of the second."""
    return ((a - b).norm() / b.norm()).item()


def gradients(model: nn.Module, frames: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Loss and gradients; what is random is drawn alike each time."""
    torch.manual_seed(1)
    model.zero_grad()
    loss = model.loss(frames, HALF_WAY)
    loss.backward()
    return loss.detach(), {n: p.grad for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("name", MODELS)
def test_forecasts_are_those_of_a_plain_implementation(name):
    ours, plain, _ = pair(name)
    frames = clip(1)[:, :CONTEXT]
    with torch.inference_mode():
        assert distance(ours.eval()(frames, LONGER), plain.eval()(frames, LONGER)) < TOLERANCE


@pytest.mark.parametrize("name", MODELS)
def test_loss_and_gradients_are_those_of_a_plain_implementation(name):
    ours, plain, weights = pair(name)
    frames = clip()
    (loss, actual), (expected_loss, expected) = gradients(ours, frames), gradients(plain, frames)
    assert loss.item() == pytest.approx(expected_loss.item(), rel=TOLERANCE)
    actual = weights(actual)
    assert actual.keys() == expected.keys()
    # A gradient that is zero but for rounding has no relative error of its own.
    scale = max(g.norm().item() for g in expected.values())
    for key, gradient in expected.items():
        off = (actual[key] - gradient).norm().item()
        assert off < OF_GRADIENTS * gradient.norm().item() + 1e-6 * scale, key


@pytest.mark.parametrize(
    "name",
    long_except(
        ["convlstm", "earthformer with dropout"],
        [*MODELS, "earthformer with dropout"],
        part="learning",
    ),
)
def test_recomputing_in_the_backward_pass_changes_no_gradient(name):
    name, _, dropout = name.partition(" ")
    ours, _, _ = pair(name)
    for layer in ours.modules():
        if dropout and isinstance(layer, nn.Dropout):
            layer.p = 0.3
    frames = clip()
    loss, kept = gradients(ours, frames)
    buffers = {n: b.clone() for n, b in ours.named_buffers()}
    ours, _, _ = pair(name)
    for layer in ours.modules():
        if dropout and isinstance(layer, nn.Dropout):
            layer.p = 0.3
    assert not ours.recompute  # unless it is asked for
    ours.recompute = True
    again, recomputed = gradients(ours, frames)
    assert torch.equal(loss, again)
    assert kept.keys() == recomputed.keys()
    assert all(torch.equal(kept[key], recomputed[key]) for key in kept)
    assert all(torch.equal(b, buffers[n]) for n, b in ours.named_buffers())


@pytest.mark.parametrize("name", long_except(["convlstm"], MODELS, part="learning"))
def test_recomputing_keeps_less(name):
    kept = {}
    for recompute in (False, True):
        ours, _, _ = pair(name)
        ours.recompute = recompute
        seen: dict[int, int] = {}

        def note(tensor: Tensor, seen: dict[int, int] = seen) -> Tensor:
            storage = tensor.untyped_storage()
            seen[storage.data_ptr()] = storage.nbytes()
            return tensor

        torch.manual_seed(1)
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            loss = ours.loss(clip(), HALF_WAY)
        kept[recompute] = sum(seen.values())
        loss.backward()
    assert kept[True] < 0.8 * kept[False]


@pytest.mark.parametrize(
    ("side", "height", "width"), [(3, 9, 16), (5, 13, 5), (7, 4, 11), (5, 1, 2)]
)
def test_mapped_filters_convolve(side, height, width):
    """Against torch's convolution in double precision; sizes that tiles do not divide."""
    torch.manual_seed(0)
    weight = torch.randn(7, 6, side, side, requires_grad=True)
    frames = torch.randn(3, 6, height, width, requires_grad=True)
    upstream = torch.randn(3, 7, height, width)
    kernel = Kernel(weight)
    actual = kernel(frames) + kernel(2 * frames)  # the gradient of the filters is a sum
    actual.backward(upstream)
    exact_weight, exact = (t.detach().double().requires_grad_() for t in (weight, frames))
    expected = 3 * nn.functional.conv2d(exact, exact_weight, padding=side // 2)
    expected.backward(upstream.double())
    assert distance(actual, expected) < TOLERANCE
    assert distance(frames.grad, exact.grad) < TOLERANCE
    assert distance(weight.grad, exact_weight.grad) < TOLERANCE


def test_filters_are_mapped_where_it_pays_and_only_within_a_step():
    wide, narrow = RepeatedConv2d(64, 64, 5), RepeatedConv2d(8, 8, 5)
    both = nn.ModuleList([wide, narrow])
    assert list(transform_kernels(both)) == [wide]
    with torch.autocast("cpu", torch.bfloat16):
        assert not transform_kernels(both), "only in float32"
    with using(transform_kernels(both)):
        assert wide.kernel is not None
    assert wide.kernel is None


def test_what_is_compiled_keeps_torchs_convolutions():
    convolution = RepeatedConv2d(128, 128, 5)
    network = torch.nn.ModuleDict({"cell": convolution})
    assert list(transform_kernels(network)) == [convolution]
    network["cell"].compile(backend="aot_eager")
    assert not transform_kernels(network)


def test_a_frozen_convolution_gets_no_gradient():
    ours, _, _ = pair("convlstm")
    ours.cells[0].from_hidden.weight.requires_grad_(False)
    _, actual = gradients(ours, clip())
    assert "cells.0.from_hidden.weight" not in actual
    assert actual["cells.0.from_input.weight"].abs().sum() > 0


def test_a_gradient_of_inputs_alone_leaves_nothing_behind():
    torch.manual_seed(0)
    weight = torch.randn(7, 6, 3, 3, requires_grad=True)
    frames = torch.randn(2, 6, 8, 8, requires_grad=True)
    result = Kernel(weight)(frames)
    torch.autograd.grad(result.sum(), frames, retain_graph=True)
    result.sum().backward()
    expected = torch.autograd.grad(nn.functional.conv2d(frames, weight, padding=1).sum(), weight)[0]
    assert distance(weight.grad, expected) < TOLERANCE
