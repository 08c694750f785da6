"""The loss of TAU."""

import math

import pytest
import torch

from stp.models import tau


def test_divergence_of_changes_by_hand():
    # Two values a frame; the forecast changes by (0.1, 0) and then not at all, the truth never.
    forecast = torch.tensor([[0.0, 0.0], [0.1, 0.0], [0.1, 0.0]]).reshape(1, 3, 1, 1, 2)
    p = [math.e / (math.e + 1), 1 / (math.e + 1)]
    expected = sum(x * math.log(x / 0.5) for x in p) / 4  # mean over 2 changes of 2 values
    actual = tau.change_divergence(forecast, torch.zeros_like(forecast))
    assert actual.item() == pytest.approx(expected, rel=1e-5)
    assert tau.change_divergence(forecast, forecast).item() == pytest.approx(0, abs=1e-7)
    assert tau.change_divergence(forecast[:, :2], forecast[:, :2]).item() == 0
