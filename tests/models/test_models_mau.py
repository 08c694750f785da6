"""MAU: published sizes, the cell on one pixel, what it looks back at, learning."""

import math

import pytest
import torch

from stp.core.errors import StpError
from stp.models.mau import Cell, Model

SMALL = {"num_hidden": [6, 6], "filter_size": 3, "scale": 2, "tau": 2}


def small(context=3, horizon=2, **options):
    torch.manual_seed(0)
    return Model((1, 8, 8), context, horizon, **{**SMALL, **options})


@pytest.mark.parametrize(
    ("shape", "scale", "parameters"),
    [
        ((1, 64, 64), 4, 4_475_329),  # PredBench, Table 19: "4.475 M"
        ((1, 64, 64), 2, 7_547_201),  # counted in the released configurations
        ((1, 384, 384), 2, 154_347_841),
        ((2, 32, 32), 2, 4_401_602),
    ],
)
def test_published_size(shape, scale, parameters):
    with torch.device("meta"):
        model = Model(shape, 10, 10, scale=scale)
    assert sum(p.numel() for p in model.parameters()) == parameters


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


def test_gradient_reaches_every_parameter():
    model = small()
    model.loss(torch.rand(2, 6, 1, 8, 8), 0).backward()
    silent = {n for n, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum()}
    # A constant added to the key changes no weight of a softmax over equal sums... but it does
    # where the past states differ; all parameters matter.
    assert not silent


def test_longer_forecasts_begin_like_shorter_ones_and_sizes_need_not_divide():
    model = Model((2, 10, 7), 3, 2, num_hidden=[4, 4], filter_size=3, patch_size=2, scale=4)
    frames = torch.rand(1, 3, 2, 10, 7)
    longer = model(frames, 6)
    assert longer.shape == (1, 6, 2, 10, 7)
    assert torch.equal(longer[:, :2], model(frames, 2))


@pytest.mark.long(part="learning")
def test_learns_a_few_clips_by_heart():
    clip = torch.stack([torch.eye(8).roll(t, 1) for t in range(5)])[None, :, None]
    model = small(num_hidden=[12], scheduled_sampling={"stop": 0})
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(200):
        optimizer.zero_grad()
        model.loss(clip, step).backward()
        optimizer.step()
    # the frames have variance 1/8 - 1/64 = 0.11
    assert (model(clip[:, :3], 2) - clip[:, 3:]).square().mean() < 0.01


@pytest.mark.parametrize("options", [{"scale": 3}, {"tau": 0}, {"num_hidden": [4, 5]}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(StpError, match=next(iter(options))):
        small(**options)
