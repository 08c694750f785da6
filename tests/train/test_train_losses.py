"""Losses that are scores: values as the metrics, and gradients as finite differences say."""

from functools import partial

import numpy as np
import pytest
import torch

from stp.core.errors import StpError
from stp.metrics.crps import crps_ensemble
from stp.metrics.latitude import cosine_weights
from stp.metrics.spectral_divergence import divergence
from stp.metrics.wrmse import weighted_squares
from stp.train.losses import fair_crps, latitude, spectral

SHAPE = (2, 2, 3, 5, 8)
MEMBERS = 3


def frames(count: int = SHAPE[0]) -> torch.Tensor:
    return torch.randn((count, *SHAPE[1:]), dtype=torch.float64)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def test_weighted_squares_are_those_of_the_metric() -> None:
    predicted, observed = frames(), frames()
    weights = cosine_weights(np.linspace(90, -90, SHAPE[-2]))
    expected = weighted_squares(predicted.numpy(), observed.numpy(), weights).mean()
    assert latitude.loss(predicted, observed).item() == pytest.approx(expected, rel=1e-6)
    with pytest.raises(StpError, match="latitudes"):
        latitude.loss(predicted, observed, latitudes=(91.0, 0.0))


def test_the_spectral_part_is_the_divergence_of_whole_spectra() -> None:
    predicted, observed = frames(), frames()
    power = [np.abs(np.fft.fft2(f.numpy())) ** 2 for f in (observed, predicted)]
    spectra = [p.reshape(*SHAPE[:3], -1)[..., 1:] for p in power]
    squares = ((predicted - observed) ** 2).mean().item()
    expected = squares + 0.3 * divergence(*spectra).mean()
    assert spectral.loss(predicted, observed, weight=0.3).item() == pytest.approx(expected)
    # A constant, and a change of amplitude, have no part in it.
    same = spectral.loss(2 * observed + 1, observed, weight=1.0) - ((observed + 1) ** 2).mean()
    assert same.item() == pytest.approx(0, abs=1e-9)


def test_crps_is_that_of_the_metric() -> None:
    predicted, observed = frames(MEMBERS * SHAPE[0]), frames()
    members = predicted.numpy().reshape(SHAPE[0], MEMBERS, *SHAPE[1:])
    expected = crps_ensemble(members, observed.numpy(), axis=1, fair=True).mean()
    assert fair_crps.loss(predicted, observed).item() == pytest.approx(expected)
    one = fair_crps.loss(frames(), observed)
    assert one.item() >= 0
    with pytest.raises(StpError, match="5 forecasts of 2 clips"):
        fair_crps.loss(frames(5), observed)


@pytest.mark.parametrize(
    ("loss", "count"),
    [(latitude.loss, 1), (partial(spectral.loss, weight=0.5), 1), (fair_crps.loss, MEMBERS)],
)
def test_gradients_are_those_of_finite_differences(loss: object, count: int) -> None:
    assert callable(loss)
    predicted = torch.randn((count, 1, 1, 4, 5), dtype=torch.float64, requires_grad=True)
    observed = torch.randn((1, 1, 1, 4, 5), dtype=torch.float64)
    found = torch.autograd.grad(loss(predicted, observed), predicted)[0]
    step = 1e-6
    for at in np.ndindex(*predicted.shape):
        moved = torch.zeros_like(predicted)
        moved[at] = step
        with torch.no_grad():
            up, down = (loss(predicted + sign * moved, observed).item() for sign in (1, -1))
        assert found[at].item() == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-7)
