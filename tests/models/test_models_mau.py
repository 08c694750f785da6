"""MAU: published sizes, the cell on one pixel, what it looks back at, learning."""

import math

import pytest
import torch

from stp.models.mau import Cell, Model

SMALL = {"num_hidden": [6, 6], "filter_size": 3, "scale": 2, "tau": 2}


def small(context=3, horizon=2, **options):
    torch.manual_seed(0)
    return Model((1, 8, 8), context, horizon, **{**SMALL, **options})


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_the_cell_is_the_equation_on_two_pixels():
    """Layer normalisation of one channel of two pixels gives (1, -1) or (-1, 1)."""
    cell = Cell(1, 1, 1, 2)
    with torch.no_grad():
        for conv, _ in (cell.temporal_gate, cell.spatial_key):
            conv.weight.fill_(1.0)
            conv.bias.zero_()
    t, s = (
        torch.tensor([1.0, 3.0]).reshape(1, 1, 1, 2),
        torch.tensor([5.0, 2.0]).reshape(1, 1, 1, 2),
    )
    past_t = torch.tensor([[10.0, 20.0], [30.0, 40.0]]).reshape(2, 1, 1, 1, 2)
    past_s = torch.tensor([[1.0, 0.0], [0.0, 1.0]]).reshape(2, 1, 1, 1, 2)
    seen = []
    cell.from_temporal.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0]))
    cell(t, s, past_t, past_s)
    # key (1, -1): likeness to the two past states is 1 and -1, over sqrt(2)
    first = math.exp(1 / math.sqrt(2))
    second = math.exp(-1 / math.sqrt(2))
    weights = first / (first + second), second / (first + second)
    trend = [weights[0] * a + weights[1] * b for a, b in ((10, 30), (20, 40))]
    share = sigmoid(-1), sigmoid(1)  # of T: (1, 3) is normalised to (-1, 1)
    expected = [g * a + (1 - g) * b for g, a, b in zip(share, (1, 3), trend, strict=True)]
    assert seen[0].flatten().tolist() == pytest.approx(expected, rel=1e-3)


def test_the_states_exchange_what_their_gates_let_through():
    torch.manual_seed(0)
    cell = Cell(3, 3, 4, 4)
    t, s = torch.randn(2, 3, 4, 4), torch.randn(2, 3, 4, 4)
    past = torch.zeros(2, 2, 3, 4, 4)
    new_t, new_s = cell(t, s, past, past)
    share = torch.sigmoid(cell.temporal_gate(t))
    tg, tt, ts = cell.from_temporal(share * t).chunk(3, dim=1)
    sg, st, ss = cell.from_spatial(s).chunk(3, dim=1)
    torch.testing.assert_close(new_t, tg.sigmoid() * tt + (1 - tg.sigmoid()) * st)
    torch.testing.assert_close(new_s, sg.sigmoid() * ss + (1 - sg.sigmoid()) * ts)


def test_it_looks_back_at_the_last_tau_states():
    model, seen = small(num_hidden=[6], tau=2), []
    model.cells[0].register_forward_hook(lambda _, inputs, outputs: seen.append((inputs, outputs)))
    model(torch.rand(1, 4, 1, 8, 8), 1)
    for n, ((t, _, past_t, past_s), _) in enumerate(seen):
        before = seen[max(0, n - 2) : n]
        zeros = [torch.zeros_like(t)] * (2 - len(before))
        assert torch.equal(past_t, torch.stack(zeros + [out[0] for _, out in before]))
        assert torch.equal(past_s, torch.stack(zeros + [given[1] for given, _ in before]))
        assert torch.equal(t, past_t[-1])
