"""PhyDNet: filters that are derivatives, its loss, one draw for a batch, bounded forecasts."""

import math

import pytest
import torch
import torch.nn.functional as F

from stp.models.phydnet import Model, moments
from stp.models.recurrent import roll


def small(**options):
    torch.manual_seed(0)
    return Model((1, 8, 8), 3, 2, **options)


def test_moments_of_central_differences_are_derivatives():
    kernel = torch.zeros(7, 7)
    kernel[3, 2], kernel[3, 4] = -0.5, 0.5  # (f(x+1) - f(x-1)) / 2 = f' + f'''/6 + ...
    actual = moments(kernel)
    assert actual[0, 1].item() == pytest.approx(1)
    assert actual[0, 3].item() == pytest.approx(1 / 6)
    assert actual[0, [0, 2, 4]].abs().max() == 0 and actual[1:].abs().max() == 0


def test_a_filter_with_the_moments_of_a_derivative_is_that_derivative():
    """The filter whose only moment is (2, 1), applied to a polynomial, gives d3/dy2dx exactly."""
    place = torch.arange(7, dtype=torch.float64) - 3
    matrix = torch.stack([place**i / math.factorial(i) for i in range(7)])
    expected = torch.zeros(7, 7, dtype=torch.float64)
    expected[2, 1] = 1
    inverse = torch.linalg.inv(matrix)
    kernel = inverse @ expected @ inverse.T
    torch.testing.assert_close(moments(kernel), expected, atol=1e-9, rtol=0)
    y, x = torch.meshgrid(*[torch.linspace(-2, 2, 15, dtype=torch.float64)] * 2, indexing="ij")
    step = 4 / 14
    field = y**3 * x**2 + 2 * y**2 * x
    actual = F.conv2d(field[None, None], kernel[None, None])[0, 0] / step**3
    # d3/dy2dx of y^3 x^2 + 2 y^2 x = 12 y x + 4
    torch.testing.assert_close(actual, (12 * y * x + 4)[3:-3, 3:-3], atol=1e-6, rtol=1e-6)


def test_the_moment_loss_vanishes_for_derivatives_and_counts_all_features():
    model = small()
    place = torch.arange(7, dtype=torch.float64) - 3
    matrix = torch.stack([place**i / math.factorial(i) for i in range(7)])
    inverse = torch.linalg.inv(matrix)
    expected = torch.eye(49, dtype=torch.float64).reshape(49, 7, 7)
    perfect = (inverse @ expected @ inverse.T)[:, None].expand(-1, 64, -1, -1)
    model.physics.derivatives.weight.data = perfect.float()
    assert model.moment_loss().item() < 1e-4
    model.physics.derivatives.weight.data.zero_()
    # each of 64 features misses 49 ones: 64 * 49 / (49 * 49)
    assert model.moment_loss().item() == pytest.approx(64 / 49)


def test_the_loss_is_a_sum_over_all_steps():
    model, clip = small(moment_weight=0.0, teacher_forcing=0.0), torch.rand(2, 5, 1, 8, 8)
    outputs = roll(model.following(), clip, 4, 4)  # always the truth
    expected = sum((outputs[:, t] - clip[:, t + 1]).square().mean() for t in range(4))
    assert model.loss(clip, 0).item() == pytest.approx(expected.item(), rel=1e-5)


def test_one_draw_decides_for_all_parts_of_a_batch():
    torch.manual_seed(1)
    model, other = Model((1, 8, 8), 3, 2), Model((1, 8, 8), 3, 2)
    model.begin_epoch(100)  # with a probability of 0.7
    other.begin_epoch(100)
    drawn = [model.shows_truth(step) for step in range(1000)]
    torch.manual_seed(2)  # as in another process, or after another part of the batch
    assert [model.shows_truth(step) for step in range(1000)] == drawn
    assert sum(drawn) == pytest.approx(700, abs=60)
    assert [other.shows_truth(step) for step in range(1000)] != drawn


def test_only_a_bounded_forecast_is_never_negative():
    frames = torch.rand(1, 3, 1, 8, 8)
    assert small(bounded=False)(frames, 6).min() < 0
    assert small()(frames, 6).min() >= 0
