"""Sensitivity of distances between sets to motion and content (Ge et al. 2024, arXiv 2404.12391).

Temporal distortions (`stp.data.distortions`: swaps, and frames of other clips) do not change single
frames; spatial distortions do not change their order. Let v be the metric's value for a temporal
distortion, and e the mean squared error per frame of its clips against the real ones. Let w be the
metric's value for a spatial distortion with the same error e, interpolated linearly between its
intensities (no distortion has error 0 and value 0). The ratio v / w is 1 for a metric that rates
both as equally bad, and 0 for a metric that does not notice motion.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from stp.collect.sensitivity import Curve, curves
from stp.collect.trust_card import is_temporal
from stp.plan.manifest import Manifest

ERROR = "psnr.pooled"
"""Convention that the error per frame is computed from."""
NO_ERROR = f"{ERROR}, which gives the error per frame, is not scored here"
BEYOND = "no distortion of space has so large an error"


class Compared(NamedTuple):
    """Comparison of a temporal distortion at one intensity with spatial ones of the same error.

    Attributes:
        dataset: name of the test dataset.
        convention: convention of the metric, a distance between sets such as ``fvd.pooled``.
        distortion: name of the temporal distortion.
        intensity: index of the intensity, from 1.
        error: mean squared error per frame of the temporal distortion, for pixels in [0, 1]; None
            if unknown.
        value: value of the metric for the temporal distortion; None if it has none.
        of_space: value of the metric at the same error, by spatial distortion; distortions that
            never reach this error are left out.
        ratio: ratio of ``value`` to the mean of ``of_space``; None if it cannot be computed.
        why: reason why ``ratio`` is None; empty otherwise.
    """

    dataset: str
    convention: str
    distortion: str
    intensity: int
    error: float | None
    value: float | None
    of_space: dict[str, float]
    ratio: float | None
    why: str


def compare(plan: Manifest) -> list[Compared]:
    """Compare how strongly distances between sets react to temporal and to spatial distortions.

    A value of a distance, such as FVD, for a temporal distortion is divided by its mean value for
    spatial distortions that have the same mean squared error per frame. The ratio is 1 for a
    distance that rates both as equally bad, and 0 for one that does not notice motion.

    Args:
        plan: manifest of a study of distortions. The models of its cells are distortions, which are
            applied to true clips at several intensities.

    Returns:
        a comparison for each dataset, each distance between sets, and each temporal distortion at
        each of its intensities.

    Raises:
        StpError: a file is missing or damaged.
    """
    all_curves = curves(plan, resamples=0)
    errors = {
        (c.dataset, c.distortion): [_error(v) for v in c.values]
        for c in all_curves
        if c.convention == ERROR
    }
    distances = [c for c in all_curves if plan.conventions[c.convention].compares_sets]
    compared = []
    for curve in distances:
        if not is_temporal(curve):
            continue
        errors_of_distortion = errors.get((curve.dataset, curve.distortion))
        space = [
            (c, errors[c.dataset, c.distortion])
            for c in distances
            if (c.dataset, c.convention) == (curve.dataset, curve.convention)
            and not is_temporal(c)
            and (c.dataset, c.distortion) in errors
        ]
        for i, intensity in enumerate(curve.intensities):
            error = None if errors_of_distortion is None else errors_of_distortion[i]
            compared.append(_compare_with_spatial(curve, intensity, curve.values[i], error, space))
    return compared


def _error(psnr: float | None) -> float | None:
    """Convert a PSNR (dB, pixels in [0, 1]) to a mean squared error."""
    return None if psnr is None else math.pow(10, -psnr / 10)


def _compare_with_spatial(
    curve: Curve,
    intensity: int,
    value: float | None,
    error: float | None,
    space: list[tuple[Curve, list[float | None]]],
) -> Compared:
    place = curve.dataset, curve.convention, curve.distortion, intensity
    if value is None or error is None:
        why = (curve.why or "no value") if value is None else NO_ERROR
        return Compared(*place, error, value, {}, None, why)
    at = {c.distortion: _read(error, errors, c.values) for c, errors in space}
    of_space = {name: w for name, w in at.items() if w is not None}
    mean = float(np.mean(list(of_space.values()))) if of_space else 0.0
    if not of_space:
        return Compared(*place, error, value, {}, None, BEYOND)
    if mean <= 0:
        return Compared(
            *place, error, value, of_space, None, "it does not notice spatial distortions either"
        )
    return Compared(*place, error, value, of_space, value / mean, "")


def _read(
    error: float, errors: Iterable[float | None], values: Iterable[float | None]
) -> float | None:
    """Interpolate values at an error; None if it exceeds the error of the strongest intensity."""
    points = sorted(
        (e, v) for e, v in zip(errors, values, strict=True) if e is not None and v is not None
    )
    if not points or error > points[-1][0]:
        return None
    x, y = zip((0.0, 0.0), *points, strict=True)
    return float(np.interp(error, x, y))
