"""ConvLSTM: published size, the cell's equation, what reads what, learning."""

import math

import numpy as np
import pytest
import torch

from stp.core.errors import StpError
from stp.models.convlstm import Cell, Model
from stp.models.recurrent import roll
from stp.models.scheduled_sampling import ScheduledSampling

SMALL = {"num_hidden": [6, 5], "filter_size": 3, "patch_size": 2}


def small(context: int = 3, horizon: int = 2, **options: object) -> Model:
    torch.manual_seed(0)
    return Model((1, 8, 8), context, horizon, **{**SMALL, **options})


@pytest.mark.parametrize(
    ("shape", "patch", "parameters"),
    [
        ((3, 64, 64), 4, 12_089_344),  # PredBench, table 19: "12.09 M" is the size for C = 3
        ((1, 64, 64), 2, 11_520_512),  # counted in the released configurations
        ((69, 128, 256), 2, 15_036_928),
    ],
)
def test_published_size(shape, patch, parameters):
    model = Model(shape, 10, 10, patch_size=patch)
    assert sum(p.numel() for p in model.parameters()) == parameters


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_cell_is_the_equation_on_one_pixel():
    cell = Cell(1, 1, 1)
    # 1x1 filters on a 1x1 frame are plain factors, in the order i, f, g, o.
    for conv, factors in (
        (cell.from_input, [0.5, -0.3, 0.8, 0.2]),
        (cell.from_hidden, [1, 2, 3, 4]),
    ):
        conv.weight.data = torch.tensor(factors, dtype=torch.float32).reshape(4, 1, 1, 1)
    state, h, c = None, 0.0, 0.0
    for x in (1.0, -2.0, 0.5):
        state = cell(torch.full((1, 1, 1, 1), x), state)
        i, f = sigmoid(0.5 * x + h), sigmoid(-0.3 * x + 2 * h)
        g, o = math.tanh(0.8 * x + 3 * h), sigmoid(0.2 * x + 4 * h)
        c = f * c + i * g
        h = o * math.tanh(c)
        assert [t.item() for t in state] == pytest.approx([h, c], rel=1e-5)


def test_hidden_state_depends_on_the_cell_state():
    cell, x, h = Cell(1, 4, 3), torch.rand(1, 1, 5, 5), torch.rand(1, 4, 5, 5)
    with_zero, _ = cell(x, (h, torch.zeros_like(h)))
    with_one, _ = cell(x, (h, torch.ones_like(h)))
    assert (with_one - with_zero).abs().min() > 0


def test_patches_become_channels_in_the_published_order():
    # b c (hp p1) (wp p2) -> b (c p1 p2) hp wp
    frame = np.arange(2 * 3 * 4 * 6, dtype=np.float32).reshape(2, 3, 4, 6)
    expected = frame.reshape(2, 3, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4).reshape(2, 12, 2, 3)
    model = Model((3, 4, 6), 1, 1, num_hidden=[2], patch_size=2)
    seen = []
    model.cells[0].from_input.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0]))
    model(torch.from_numpy(frame)[:, None], 1)
    np.testing.assert_array_equal(seen[0], expected)


def test_gradient_reaches_every_parameter():
    model = small()
    model.loss(torch.rand(2, 5, 1, 8, 8), 0).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_an_output_never_sees_later_frames():
    model, clip = small(), torch.rand(2, 6, 1, 8, 8)
    shown = torch.ones(2, 2, dtype=torch.bool)
    before = roll(model.following(), clip, 3, 5, shown)
    clip[:, 4] += 1
    after = roll(model.following(), clip, 3, 5, shown)
    assert torch.equal(before[:, :4], after[:, :4])
    assert (before[:, 4] != after[:, 4]).any()


def test_longer_forecasts_begin_like_shorter_ones():
    model, frames = small(), torch.rand(1, 3, 1, 8, 8)
    assert torch.equal(model(frames, 7)[:, :2], model(frames, 2))


def test_sizes_that_the_patch_does_not_divide():
    model = Model((2, 10, 7), 3, 2, num_hidden=[4], filter_size=3, patch_size=4)
    assert model(torch.rand(1, 3, 2, 10, 7), 2).shape == (1, 2, 2, 10, 7)
    assert model.loss(torch.rand(1, 5, 2, 10, 7), 0).isfinite()


def test_probability_of_the_truth_falls_with_the_iteration():
    published = ScheduledSampling()
    # 1 - 2e-5 (n + 1): half after 25,000 iterations, nothing after 50,000
    assert published.probability(0) == pytest.approx(1 - 2e-5)
    assert published.probability(24_999) == pytest.approx(0.5)
    assert published.probability(49_999) == pytest.approx(0, abs=1e-12)
    assert ScheduledSampling(stop=10, rate=0.0).probability(9) == 1
    assert ScheduledSampling(stop=10, rate=0.0).probability(10) == 0


def test_truth_is_drawn_for_each_sample_and_input():
    torch.manual_seed(0)
    shown = ScheduledSampling().draw(24_999, 200, 50)
    # 10,000 draws with probability 1/2: standard deviation 0.005
    assert shown.float().mean().item() == pytest.approx(0.5, abs=0.02)
    assert shown.float().mean(dim=0).std() > 0, "inputs differ"
    assert shown.float().mean(dim=1).std() > 0, "samples differ"


def test_without_truth_the_loss_is_that_of_free_running_outputs():
    model, clip = small(scheduled_sampling={"stop": 0}), torch.rand(2, 5, 1, 8, 8)
    # outputs 1, 2 predict context frames; the forecast is outputs 3, 4
    outputs = torch.cat([roll(model.following(), clip[:, :3], 3, 2), model(clip[:, :3], 2)], dim=1)
    expected = (outputs - clip[:, 1:]).square().mean()
    assert model.loss(clip, 0).item() == pytest.approx(expected.item(), rel=1e-5)
    assert model.loss(clip, 0) != small().loss(clip, 0), "with truth it is another one"


@pytest.mark.long(part="learning")
def test_learns_a_few_clips_by_heart():
    # A bright pixel that moves one step to the right in each frame.
    clip = torch.stack([torch.eye(8).roll(t, 1) for t in range(5)])[None, :, None]
    model = small(num_hidden=[16], scheduled_sampling={"stop": 0})
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(150):
        optimizer.zero_grad()
        model.loss(clip, step).backward()
        optimizer.step()
    # the frames have variance 1/8 - 1/64 = 0.11
    assert (model(clip[:, :3], 2) - clip[:, 3:]).square().mean() < 0.01


@pytest.mark.long(part="learning")
def test_a_step_of_the_published_size_lowers_the_loss():
    torch.manual_seed(0)
    model, clip = Model((1, 64, 64), 10, 10), torch.rand(1, 20, 1, 64, 64)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4 / 25)  # the first of onecycle
    before = model.loss(clip, 0)
    before.backward()
    optimizer.step()
    with torch.inference_mode():
        assert model.loss(clip, 0) < before


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"num_hidden": []}, "num_hidden"),
        ({"num_hidden": 64}, "num_hidden"),
        ({"filter_size": 4}, "filter_size"),
        ({"patch_size": 0}, "patch_size"),
        ({"scheduled_sampling": {"stop": -1}}, "scheduled_sampling.stop"),
        ({"scheduled_sampling": {"rate": 2}}, "scheduled_sampling.rate"),
        ({"scheduled_sampling": {"step": 1}}, "stop"),
    ],
)
def test_options_out_of_range_are_refused(options, named):
    with pytest.raises(StpError, match=named):
        small(**options)
