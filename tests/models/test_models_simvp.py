"""SimVPv1 and TAU: published sizes, what blocks do, TAU's loss, learning."""

import math

import pytest
import torch

from stp.models import simvpv1, tau

SMALL = {"hid_s": 4, "hid_t": 8, "n_s": 2, "n_t": 2}


def small(model, context=3, horizon=3, **options):
    torch.manual_seed(0)
    return model((1, 8, 8), context, horizon, **{**SMALL, **options})


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
    actual = tau.change_divergence(forecast, torch.zeros_like(forecast))
    assert actual.item() == pytest.approx(expected, rel=1e-5)
    assert tau.change_divergence(forecast, forecast).item() == pytest.approx(0, abs=1e-7)
    assert tau.change_divergence(forecast[:, :2], forecast[:, :2]).item() == 0


def test_the_loss_counts_changes_with_their_weight():
    clip, losses = torch.rand(1, 6, 1, 8, 8), []
    for weight in (0.0, 0.1, 0.2):
        made = small(tau.Model, mlp_ratio=2, change_weight=weight).train()
        losses.append(made.loss(clip, 0).item())
    assert losses[1] > losses[0]
    assert losses[2] - losses[1] == pytest.approx(losses[1] - losses[0], rel=1e-3)
