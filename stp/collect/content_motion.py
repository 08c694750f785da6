"""Does a metric see motion, or only what is in the frames? (Ge et al. 2024, arXiv 2404.12391)

Distortions of time alone (`stp.data.distortions`: swaps, and frames of other clips) leave every
frame a real one; distortions of space alone leave the order. Both are brought to the same error by
frame: the mean squared error to the real clip, frame by frame, as PSNR has it. Where a metric has a
value v of a distortion of time, and a distortion of space has the values w at its intensities, w is
read at the same error, in a straight line between intensities and from 0 at no error. The ratio
v / w is 1 for a metric that holds both for equally bad, and 0 for one that sees no motion.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from stp.collect.sensitivity import Curve, curves
from stp.collect.trust_card import is_temporal
from stp.plan.manifest import Manifest

ERROR = "psnr.pooled"
"""What the error by frame is read from."""
NO_ERROR = f"{ERROR} is not scored here, from which the error by frame is read"
BEYOND = "no distortion of space has so large an error"


class Compared(NamedTuple):
    """One distortion of time at one intensity, beside distortions of space with the same error.

    Attributes:
        dataset: of the test.
        convention: of a distance between sets.
        distortion: of time.
        intensity: from 1.
        error: mean squared error by frame, of values in [0, 1]; None for the reason `why`.
        value: of the metric; None likewise.
        of_space: distortion of space -> value at the same error, of those that reach it.
        ratio: of the value to the mean of `of_space`; None likewise.
        why: there is no ratio; empty if there is.
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
    """Compare time with space for all distances between sets of a study.

    Args:
        plan: manifest of a dimension whose models are distortions.

    Raises:
        StpError: a file is missing or damaged.
    """
    found = curves(plan, resamples=0)
    errors = {
        (c.dataset, c.distortion): [_error(v) for v in c.values]
        for c in found
        if c.convention == ERROR
    }
    distances = [c for c in found if plan.conventions[c.convention].compares_sets]
    compared = []
    for curve in distances:
        if not is_temporal(curve):
            continue
        own = errors.get((curve.dataset, curve.distortion))
        space = [
            (c, errors[c.dataset, c.distortion])
            for c in distances
            if (c.dataset, c.convention) == (curve.dataset, curve.convention)
            and not is_temporal(c)
            and (c.dataset, c.distortion) in errors
        ]
        for i, intensity in enumerate(curve.intensities):
            error = None if own is None else own[i]
            compared.append(_compared(curve, intensity, curve.values[i], error, space))
    return compared


def _error(psnr: float | None) -> float | None:
    """Mean squared error of a PSNR with range 1."""
    return None if psnr is None else math.pow(10, -psnr / 10)


def _compared(
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
        return Compared(*place, error, value, of_space, None, "it does not see space either")
    return Compared(*place, error, value, of_space, value / mean, "")


def _read(
    error: float, errors: Iterable[float | None], values: Iterable[float | None]
) -> float | None:
    """The value at an error, between those of intensities; None beyond the strongest."""
    known = sorted(
        (e, v) for e, v in zip(errors, values, strict=True) if e is not None and v is not None
    )
    if not known or error > known[-1][0]:
        return None
    x, y = zip((0.0, 0.0), *known, strict=True)
    return float(np.interp(error, x, y))
