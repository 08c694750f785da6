"""E3D-LSTM: published sizes, the cell on one pixel, recall, learning."""

import math

import pytest
import torch

from stp.core.errors import StpError
from stp.models.e3dlstm import Eidetic3DLSTM, Model, tokens

SMALL = {"num_hidden": [6, 6], "filter_size": 3, "patch_size": 2}


def small(context=3, horizon=2, **options):
    torch.manual_seed(0)
    return Model((1, 8, 8), context, horizon, **{**SMALL, **options})


@pytest.mark.parametrize(
    ("shape", "hidden", "parameters"),
    [
        ((1, 64, 64), 128, 51_347_456),  # PredBench, Table 19: "51.35 M"
        ((1, 64, 64), 64, 13_148_160),  # counted in the released configurations
        ((1, 384, 384), 64, 22_323_200),
        ((2, 32, 32), 64, 13_312_000),
    ],
)
def test_published_size(shape, hidden, parameters):
    with torch.device("meta"):
        model = Model(shape, 10, 10, num_hidden=[hidden] * 4)
    assert sum(p.numel() for p in model.parameters()) == parameters


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_the_cell_is_the_equation_on_one_pixel():
    """A film of one frame of one pixel: layer normalisation of a single value gives its bias."""
    cell = Eidetic3DLSTM(1, 1, 1, 1, 1, 1)
    wx, wh = [0.5, -0.3, 0.8, 0.1, 0.7, -0.4, 0.2], [1.0, 2.0, 3.0, 4.0]
    wm, wc, wn, last, bias = [0.6, -0.5, 0.9, 0.35], 0.25, -0.15, [1.1, 0.4], 0.3
    with torch.no_grad():
        for conv, factors in (
            (cell.from_input, wx),
            (cell.from_hidden, wh),
            (cell.from_memory, wm),
            (cell.gate_of_cell, [wc]),
            (cell.gate_of_memory, [wn]),
            (cell.to_hidden, last),
        ):
            conv.weight.copy_(torch.tensor(factors).reshape(conv.weight.shape))
        cell.norm.bias.fill_(bias)
    h = m = 0.0
    states = [torch.zeros(1, 1, 1, 1, 1)] * 3
    for x in (1.0, -2.0, 0.5):
        states = list(cell(torch.full((1, 1, 1, 1, 1), x), *states, torch.zeros(1, 1, 1)))
        c = bias + sigmoid(wx[0] * x + wh[0] * h) * math.tanh(wx[1] * x + wh[1] * h)
        forget = sigmoid(wx[6] * x + wm[1] * m + 1)
        new = sigmoid(wx[4] * x + wm[0] * m) * math.tanh(wx[5] * x + wm[2] * m)
        m = forget * math.tanh(wm[3] * m) + new
        gate = sigmoid(math.tanh(wx[3] * x + wh[3] * h + wc * c + wn * m))
        h = gate * math.tanh(last[0] * c + last[1] * m)
        assert [t.item() for t in states] == pytest.approx([h, c, m], rel=1e-5)


def test_what_is_recalled_is_what_is_most_alike():
    """Two positions of the past with orthogonal memories; the query points at the second."""
    from stp.models.e3dlstm import _recall

    past = torch.tensor([[[50.0, 0.0], [0.0, 50.0]]])  # (B, 2 positions, 2 channels)
    query = torch.tensor([0.0, 1.0]).reshape(1, 2, 1, 1, 1)
    torch.testing.assert_close(_recall(query, past).flatten(), torch.tensor([0.0, 50.0]))


def test_positions_are_tokens_and_channels_are_not_mixed():
    film = torch.arange(2 * 3 * 2 * 4 * 5.0).reshape(2, 3, 2, 4, 5)
    found = tokens(film)
    assert found.shape == (2, 2 * 4 * 5, 3)
    assert torch.equal(found[1, 1 * 20 + 2 * 5 + 3], film[1, :, 1, 2, 3])


def test_the_whole_past_is_recalled():
    model, seen = small(num_hidden=[6]), []
    model.cells[0].register_forward_hook(lambda _, inputs, __: seen.append(inputs[4].shape[1]))
    model(torch.rand(1, 3, 1, 8, 8), 2)
    film = 2 * 4 * 4
    assert seen == [film, 2 * film, 3 * film, 4 * film]


def test_the_loss_is_that_of_squares_and_that_of_absolute_errors():
    # With nothing to read out every forecast is 0, so the errors are the frames themselves.
    clip = torch.full((2, 5, 1, 8, 8), 0.5)
    for weight in (0.0, 1.0):
        model = small(l1_weight=weight)
        torch.nn.init.zeros_(model.readout.weight)
        assert model.loss(clip, 0).item() == pytest.approx(0.5**2 + weight * 0.5)


def test_gradient_reaches_every_parameter():
    model = small()
    model.loss(torch.rand(2, 5, 1, 8, 8), 0).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_each_output_sees_the_last_window_and_what_came_before():
    model, frames = small(), torch.rand(1, 4, 1, 8, 8)
    before = model(frames, 1)
    for t in range(4):
        moved = frames.clone()
        moved[:, t] += 1
        assert (model(moved, 1) != before).any()


def test_longer_forecasts_begin_like_shorter_ones_and_sizes_need_not_divide():
    model = Model((2, 10, 7), 3, 2, num_hidden=[4, 4], filter_size=3, patch_size=4, window=3)
    frames = torch.rand(1, 3, 2, 10, 7)
    longer = model(frames, 6)
    assert longer.shape == (1, 6, 2, 10, 7)
    assert torch.equal(longer[:, :2], model(frames, 2))


@pytest.mark.long(part="learning")
def test_learns_a_few_clips_by_heart():
    clip = torch.stack([torch.eye(8).roll(t, 1) for t in range(5)])[None, :, None]
    model = small(num_hidden=[12], scheduled_sampling={"stop": 0})
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(150):
        optimizer.zero_grad()
        model.loss(clip, step).backward()
        optimizer.step()
    # the frames have variance 1/8 - 1/64 = 0.11
    assert (model(clip[:, :3], 2) - clip[:, 3:]).square().mean() < 0.01


@pytest.mark.parametrize(
    "options", [{"num_hidden": [4, 5]}, {"filter_size": 4}, {"window": 0}, {"l1_weight": -1.0}]
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(StpError, match=next(iter(options))):
        small(**options)
