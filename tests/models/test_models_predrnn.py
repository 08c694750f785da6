"""PredRNN, PredRNN++ and PredRNNv2: published sizes, equations on one pixel, memory, learning."""

import math

import pytest
import torch

from stp.models import predrnnpp, predrnnv2
from stp.models.reverse_scheduled_sampling import ReverseScheduledSampling
from stp.models.st_lstm import SpatioTemporalLSTM

SMALL = {"num_hidden": [6, 6], "filter_size": 3, "patch_size": 2}


def small(model, context=3, horizon=2, **options):
    torch.manual_seed(0)
    return model((1, 8, 8), context, horizon, **{**SMALL, **options})


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def fill(conv, factors):
    """Make a 1x1 convolution plain factors: (output, input)."""
    with torch.no_grad():
        conv.weight.copy_(torch.tensor(factors).reshape(conv.weight.shape))


def test_the_cell_of_predrnn_is_the_equation_on_one_pixel():
    cell = SpatioTemporalLSTM(1, 1, 1)
    wx, wh, wm = [0.5, -0.3, 0.8, 0.1, 0.7, -0.4, 0.2], [1.0, 2.0, 3.0, 4.0], [0.6, -0.5, 0.9]
    fill(cell.from_input, wx)
    fill(cell.from_hidden, wh)
    fill(cell.from_memory, wm)
    fill(cell.to_gate, [0.3, -0.7])
    fill(cell.to_hidden, [1.1, 0.4])
    h = c = m = 0.0
    states = [torch.zeros(1, 1, 1, 1)] * 3
    for x in (1.0, -2.0, 0.5):
        actual = cell(torch.full((1, 1, 1, 1), x), *states)
        states = list(actual[:3])
        new_c = sigmoid(wx[0] * x + wh[0] * h) * math.tanh(wx[2] * x + wh[2] * h)
        c = sigmoid(wx[1] * x + wh[1] * h + 1) * c + new_c
        new_m = sigmoid(wx[3] * x + wm[0] * m) * math.tanh(wx[5] * x + wm[2] * m)
        m = sigmoid(wx[4] * x + wm[1] * m + 1) * m + new_m
        o = sigmoid(wx[6] * x + wh[3] * h + 0.3 * c - 0.7 * m)
        h = o * math.tanh(1.1 * c + 0.4 * m)
        assert [t.item() for t in actual] == pytest.approx([h, c, m, new_c, new_m], rel=1e-5)


def test_the_cell_of_predrnnpp_is_the_equation_on_one_pixel():
    cell = predrnnpp.CausalLSTM(1, 1, 1)
    wx = [0.5, -0.3, 0.8, 0.1, 0.7, -0.4, 0.2]
    wh, wc, wm = [1.0, 2.0, 3.0, 4.0], [0.4, -0.6, 0.9], [0.6, -0.5, 0.9]
    wn, wo = [0.2, 0.3, -0.4, 0.5], 0.8
    for conv, factors in (
        (cell.from_input, wx),
        (cell.from_hidden, wh),
        (cell.from_temporal, wc),
        (cell.from_spatial, wm),
        (cell.from_new_temporal, wn),
        (cell.from_new_spatial, [wo]),
        (cell.to_hidden, [1.1, 0.4]),
    ):
        fill(conv, factors)
    h = c = m = 0.0
    states = [torch.zeros(1, 1, 1, 1)] * 3
    for x in (1.0, -2.0, 0.5):
        states = list(cell(torch.full((1, 1, 1, 1), x), *states))
        i = sigmoid(wx[0] * x + wh[0] * h + wc[0] * c)
        f = sigmoid(wx[1] * x + wh[1] * h + wc[1] * c + 1)
        g = math.tanh(wx[2] * x + wh[2] * h + wc[2] * c)
        c = f * c + i * g
        # of the new temporal memory: input, candidate, forget and output gate, in this order
        i = sigmoid(wx[3] * x + wm[0] * m + wn[0] * c)
        f = sigmoid(wx[4] * x + wm[1] * m + wn[2] * c + 1)
        g = math.tanh(wx[5] * x + wn[1] * c)
        kept = math.tanh(wm[2] * m)
        m = f * kept + i * g
        h = math.tanh(wx[6] * x + wh[3] * h + wn[3] * c + wo * m) * math.tanh(1.1 * c + 0.4 * m)
        assert [t.item() for t in states] == pytest.approx([h, c, m], rel=1e-5)


def test_the_temporal_memory_is_read():
    """In PredBench's release the gates read the spatial memory in its place."""
    cell = predrnnpp.CausalLSTM(1, 4, 3)
    x, h, m = torch.rand(1, 1, 5, 5), torch.rand(1, 4, 5, 5), torch.rand(1, 4, 5, 5)
    c = torch.rand(1, 4, 5, 5, requires_grad=True)
    cell.from_temporal.weight.data.zero_()
    without = cell(x, h, c, m)[1]
    torch.nn.init.normal_(cell.from_temporal.weight)
    assert (cell(x, h, c, m)[1] - without).abs().max() > 0
    assert torch.equal(cell(x, h, c * 0, m)[1], predrnn_like(cell, x, h, m))


def predrnn_like(cell, x, h, m):
    """The temporal memory after a step from zero: its convolution has nothing to read."""
    weight = cell.from_temporal.weight.data.clone()
    cell.from_temporal.weight.data.zero_()
    c = cell(x, h, torch.zeros_like(h), m)[1]
    cell.from_temporal.weight.data.copy_(weight)
    return c


def test_the_highway_mixes_its_input_with_its_state():
    highway = predrnnpp.GradientHighway(1, 1)
    fill(highway.from_input, [0.5, -0.3])
    fill(highway.from_state, [2.0, 0.7])
    z = highway(torch.full((1, 1, 1, 1), 1.5), torch.full((1, 1, 1, 1), -0.4)).item()
    p, s = math.tanh(0.75 - 0.8), sigmoid(-0.45 - 0.28)
    assert z == pytest.approx(s * p + (1 - s) * -0.4, rel=1e-5)


def test_decoupling_punishes_memories_that_change_alike():
    model = small(predrnnv2.Model)
    pattern = torch.rand(2, 6, 4, 4)
    assert model._similarity(pattern, -3 * pattern).item() == pytest.approx(1, abs=1e-5)
    with torch.no_grad():
        model.adapter.weight.copy_(torch.eye(6).reshape(6, 6, 1, 1))
    stripes, checks = torch.zeros(2, 1, 6, 4, 4)
    stripes[..., ::2] = 1
    stripes[..., 1::2] = -1
    checks[..., ::2, :] = 1
    checks[..., 1::2, :] = -1
    assert model._similarity(stripes, checks).item() == pytest.approx(0, abs=1e-6)


def test_decoupling_has_its_weight():
    clip, losses = torch.rand(1, 5, 1, 8, 8), []
    for weight in (0.0, 1.0, 2.0):
        model = small(predrnnv2.Model, decouple_beta=weight)
        torch.manual_seed(1)  # the same inputs are shown
        losses.append(model.loss(clip, 0).item())
    assert losses[1] > losses[0]
    assert losses[2] - losses[1] == pytest.approx(losses[1] - losses[0], rel=1e-4)


def test_the_context_is_ever_more_and_the_rest_ever_less_often_true():
    published = ReverseScheduledSampling()
    assert published.probabilities(0) == published.probabilities(24_999) == (0.5, 0.5)
    context, later = published.probabilities(30_000)
    assert context == pytest.approx(1 - 0.5 * math.exp(-1))
    assert later == pytest.approx(0.4)
    assert published.probabilities(50_000) == (1.0, 0.0)
    shown = ReverseScheduledSampling(start=0, stop=0).draw(0, 50, 3, 4)
    assert shown[:, :3].all() and not shown[:, 3:].any()
    torch.manual_seed(0)
    assert published.draw(0, 400, 5, 5).float().mean().item() == pytest.approx(0.5, abs=0.04)
