"""SimVPv1 and TAU: published sizes, what blocks do, TAU's loss, learning."""

import math

import pytest
import torch

from stp.core.errors import StpError
from stp.models import simvpv1, tau

SMALL = {"hid_s": 4, "hid_t": 8, "n_s": 2, "n_t": 2}
KINDS = [(simvpv1.Model, {"groups": 2}), (tau.Model, {"mlp_ratio": 2})]


def small(model, context=3, horizon=3, **options):
    torch.manual_seed(0)
    return model((1, 8, 8), context, horizon, **{**SMALL, **options})


@pytest.mark.parametrize(
    ("model", "blocks", "parameters"),
    [  # PredBench, Table 19: 57.95 M and 44.66 M with eight blocks; six as released
        (simvpv1.Model, 8, 57_946_113),
        (simvpv1.Model, 6, 43_764_737),
        (tau.Model, 8, 44_656_001),
        (tau.Model, 6, 34_483_585),
    ],
)
def test_published_size(model, blocks, parameters):
    with torch.device("meta"):
        made = model((1, 64, 64), 10, 10, n_t=blocks)
    assert sum(p.numel() for p in made.parameters()) == parameters


@pytest.mark.parametrize(("model", "options"), KINDS)
def test_gradient_reaches_every_parameter(model, options):
    made = small(model, **{**options, "hid_s": 8, "hid_t": 16}).train()
    made.loss(torch.rand(4, 6, 1, 8, 8), 0).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in made.parameters())


@pytest.mark.parametrize(("model", "options"), KINDS)
def test_any_shape_and_horizon(model, options):
    made = model((2, 10, 7), 3, 2, **{**SMALL, **options, "n_s": 4}).eval()
    frames = torch.rand(1, 3, 2, 10, 7)
    first = made(frames, 2)
    second = made(torch.cat([frames[:, 2:], first], dim=1), 2)
    torch.testing.assert_close(made(frames, 4), torch.cat([first, second], dim=1))
    assert made(frames, 1).shape == (1, 1, 2, 10, 7)


@pytest.mark.long(part="learning")
@pytest.mark.parametrize(("model", "options"), KINDS)
def test_learns_a_few_clips_by_heart(model, options):
    clip = torch.stack([torch.eye(8).roll(t, 1) for t in range(6)])[None, :, None]
    made = small(model, **{**options, "hid_s": 8, "hid_t": 16}).train()
    optimizer = torch.optim.Adam(made.parameters(), lr=0.01)
    for step in range(120):
        optimizer.zero_grad()
        made.loss(clip, step).backward()
        optimizer.step()
    # the frames have variance 1/8 - 1/64 = 0.11
    assert (made(clip[:, :3], 3) - clip[:, 3:]).square().mean() < 0.01


def test_inception_adds_up_kernels_of_four_sizes():
    torch.manual_seed(0)
    block = simvpv1.Inception(4, 4, 4, 2)
    x = torch.randn(2, 4, 9, 9)
    inner = block.enter(x)
    torch.testing.assert_close(block(x), sum(branch(inner) for branch in block.branches))
    assert [b[0].kernel_size[0] for b in block.branches] == [3, 5, 7, 11]


def test_skip_connections_join_blocks_of_one_level():
    """Down 1, 2, 3 and up 3, 2, 1: the first block up reads the last one down."""
    translator, seen = simvpv1.Translator(4, 8, 3, 2), []
    for block in translator.up:
        block.enter.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0]))
    downs = []
    for block in translator.down:
        block.register_forward_hook(lambda _, __, output: downs.append(output))
    translator(torch.randn(1, 4, 6, 6))
    assert torch.equal(seen[0], downs[2])
    assert torch.equal(seen[1][:, 8:], downs[1])
    assert torch.equal(seen[2][:, 8:], downs[0])


def test_temporal_attention_weighs_channels_by_their_means():
    torch.manual_seed(0)
    attention, x = tau.Attention(8), torch.randn(1, 8, 40, 40)
    moved = x.clone()
    moved[..., 0, 0] += 100
    # Far beyond the reach of the kernels, 11 pixels, only the means can tell.
    assert (attention(moved) - attention(x))[..., 35, 35].abs().max() > 0
    attention.excite.weight.data.zero_()
    assert (attention(moved) - attention(x))[..., 35, 35].abs().max() == 0


def test_divergence_of_changes_by_hand():
    # Two values a frame; the forecast changes by (0.1, 0) and then not at all, the truth never.
    forecast = torch.tensor([[0.0, 0.0], [0.1, 0.0], [0.1, 0.0]]).reshape(1, 3, 1, 1, 2)
    p = [math.e / (math.e + 1), 1 / (math.e + 1)]
    expected = sum(x * math.log(x / 0.5) for x in p) / 4  # mean over 2 changes of 2 values
    found = tau.change_divergence(forecast, torch.zeros_like(forecast))
    assert found.item() == pytest.approx(expected, rel=1e-5)
    assert tau.change_divergence(forecast, forecast).item() == pytest.approx(0, abs=1e-7)
    assert tau.change_divergence(forecast[:, :2], forecast[:, :2]).item() == 0


def test_the_loss_counts_changes_with_their_weight():
    clip, losses = torch.rand(1, 6, 1, 8, 8), []
    for weight in (0.0, 0.1, 0.2):
        made = small(tau.Model, mlp_ratio=2, change_weight=weight).train()
        losses.append(made.loss(clip, 0).item())
    assert losses[1] > losses[0]
    assert losses[2] - losses[1] == pytest.approx(losses[1] - losses[0], rel=1e-3)


@pytest.mark.parametrize(
    ("model", "options", "named"),
    [
        (simvpv1.Model, {"groups": 3}, "groups"),
        (simvpv1.Model, {"n_t": 1}, "n_t"),
        (tau.Model, {"change_weight": -1}, "change_weight"),
    ],
)
def test_options_out_of_range_are_refused(model, options, named):
    with pytest.raises(StpError, match=named):
        small(model, **options)
