"""Mean squared error plus spectral divergence, which penalises blur."""

import torch
import torch.nn.functional as F
from torch import Tensor

from stp.core.options import number, require

LEAST = 1e-9
"""Lower bound of shares of power: a logarithm has no gradient at 0."""


def loss(
    predicted: Tensor, observed: Tensor, *, weight: float = 0.1, finest: float = 1.0
) -> Tensor:
    """Mean squared error of normalised frames (B, T, C, H, W), plus the divergence of their
    spectra.

    This is the Kullback-Leibler divergence between observed and predicted power, each divided by
    its sum (ChaosBench, section 4.2 and equation 2), over the coefficients of the two-dimensional
    Fourier transform, without bins, as in the released code for training.

    Args:
        predicted: predicted frames.
        observed: observed frames with the same shape.
        weight: weight of the divergence relative to the mean squared error.
        finest: only wavenumbers of at least (1 - finest) times the largest one count; 1 for all.
            Wavenumber 0 never counts.

    Raises:
        StpError: an option is out of range.
    """
    ok = number(weight) and weight >= 0
    require(ok, "train.loss: spectral: weight", weight, "a number from 0")
    ok = number(finest) and 0 < finest <= 1
    require(ok, "train.loss: spectral: finest", finest, "a number above 0, at most 1")
    error = F.mse_loss(predicted, observed)
    counts = _counts(predicted, finest)
    of_observed, of_predicted = _power_shares(observed, counts), _power_shares(predicted, counts)
    divergence = (of_observed * (of_observed / of_predicted).log()).sum(dim=(-2, -1))
    return error + weight * divergence.mean()


def _counts(like: Tensor, finest: float) -> Tensor:
    """Mask of the wavenumbers that count, bool (H, W)."""
    height, width = like.shape[-2:]
    down = torch.fft.fftfreq(height, 1 / height, device=like.device)
    along = torch.fft.fftfreq(width, 1 / width, device=like.device)
    wavenumber = torch.hypot(down[:, None], along[None])
    return (wavenumber >= (1 - finest) * wavenumber.max()) & (wavenumber > 0)


def _power_shares(frames: Tensor, counts: Tensor) -> Tensor:
    """Shares of power at the wavenumbers that count, (..., H, W); ``LEAST`` elsewhere."""
    power = torch.view_as_real(torch.fft.fft2(frames)).square().sum(dim=-1) * counts
    return (power / power.sum(dim=(-2, -1), keepdim=True).clamp_min(LEAST)).clamp_min(LEAST)
