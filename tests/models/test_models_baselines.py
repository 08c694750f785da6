"""Forecasts without a network, against NumPy."""

import numpy as np
import pytest
import torch

from stp.core.errors import StpError
from stp.models import (
    climatology,
    context_mean,
    linear_extrapolation,
    persistence,
)


def test_persistence_repeats_the_last_frame():
    frames = torch.rand(2, 3, 1, 4, 5)
    forecast = persistence.Model((1, 4, 5), 3, 2)(frames, 4)
    assert forecast.shape == (2, 4, 1, 4, 5)
    assert all(torch.equal(forecast[:, t], frames[:, 2]) for t in range(4))


def test_context_mean_repeats_the_mean():
    frames = torch.rand(2, 3, 1, 4, 5)
    forecast = context_mean.Model((1, 4, 5), 3, 2)(frames, 2)
    expected = np.repeat(frames.numpy().mean(axis=1, keepdims=True), 2, axis=1)
    np.testing.assert_allclose(forecast, expected, rtol=1e-6)


@pytest.mark.parametrize("phases", [1, 4])
def test_climatology_is_the_mean_of_each_phase(phases):
    rng = np.random.default_rng(0)
    clips = rng.normal(20, 3, (7, 5, 2, 3, 4)).astype(np.float32)
    first = rng.integers(0, phases, 7)
    model = climatology.Model((2, 3, 4), 2, 3)
    batches = [
        (torch.from_numpy(clips[k : k + 3]), torch.from_numpy(first[k : k + 3])) for k in (0, 3, 6)
    ]
    model.fit(batches, phases)

    # frame t of a clip has phase (first + t) mod phases
    phase_of = (first[:, None] + np.arange(5)) % phases
    means = np.stack([clips[phase_of == p].mean(axis=0, dtype=np.float64) for p in range(phases)])
    start = torch.tensor([0, phases - 1])
    forecast = model(torch.zeros(2, 2, 2, 3, 4), 3, phase=start)
    for sample in range(2):
        for lead in range(3):
            expected = means[(start[sample] + 2 + lead) % phases]
            np.testing.assert_allclose(forecast[sample, lead], expected, rtol=1e-6)


def test_climatology_at_every_second_frame_is_that_of_every_second_phase():
    model, frames = climatology.Model((1, 1, 1), 2, 1), torch.arange(6.0).reshape(1, 6, 1, 1, 1)
    model.fit([(frames, torch.tensor([0]))], 6)
    forecast = model(frames[:, :2], 3, torch.tensor([1]), interval=2)
    assert forecast.flatten().tolist() == [5, 1, 3]  # phases 1 + 2 * (2, 3, 4), modulo 6


def test_climatology_sums_in_double_precision():
    # In single precision 2^24 + 1 = 2^24: a running sum of ones after it would stand still.
    frames = torch.ones(1, 4001, 1, 1, 1)
    frames[0, 0] = 2.0**24
    model = climatology.Model((1, 1, 1), 1, 1)
    model.fit([(frames, torch.tensor([0]))], 1)
    assert model.means.item() == pytest.approx((2**24 + 4000) / 4001, rel=1e-7)


def test_climatology_with_any_number_of_phases_comes_back_from_its_state():
    model = climatology.Model((1, 2, 2), 2, 1)
    model.fit([(torch.rand(1, 12, 1, 2, 2), torch.tensor([3]))], 12)
    again = climatology.Model((1, 2, 2), 2, 1)
    again.load_state_dict(model.state_dict())
    assert torch.equal(again.means, model.means)


def test_climatology_names_a_phase_without_frames():
    """Windows at fixed times of a day leave some out, in training and in tests alike."""
    model, frames = climatology.Model((1, 2, 2), 2, 1), torch.rand(1, 5, 1, 2, 2)
    model.fit([(frames, torch.tensor([0]))], 12)
    assert torch.equal(model(frames[:, :2], 3, torch.tensor([0])), frames[:, 2:])
    with pytest.raises(StpError, match=r"phase 5[\s\S]*max_clips"):
        model(frames[:, :2], 4, torch.tensor([0]))


def test_linear_extrapolation_goes_on_changing():
    frames = torch.tensor([5.0, 1.0, 2.0]).reshape(1, 3, 1, 1, 1)
    forecast = linear_extrapolation.Model((1, 1, 1), 3, 2)(frames, 4)
    assert forecast.flatten().tolist() == [3, 4, 5, 6]


def test_linear_extrapolation_of_one_frame_is_persistence():
    frames = torch.rand(2, 1, 1, 4, 5)
    forecast = linear_extrapolation.Model((1, 4, 5), 1, 2)(frames, 3)
    assert torch.equal(forecast, persistence.Model((1, 4, 5), 1, 2)(frames, 3))
