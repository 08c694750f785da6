"""Distances between sets of clips, from what a network sees of them (stage `features`)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stp.core.errors import StpError
from stp.features import table
from stp.metrics.perceptual import SetDistance, matched
from stp.score.aggregate import Row

ABSENT = "no network has looked at the clips (see `stp list weights`)"


class SetFeatures(NamedTuple):
    """Features of all observed and predicted clips of a split, from one layer of a network.

    Attributes:
        observed: float64 (N, D).
        predicted: float64 (N, D), in the order of the same samples.
        reason: why there are no features; empty if there are.
    """

    observed: np.ndarray
    predicted: np.ndarray
    reason: str = ""


def read(inputs: Mapping[str, Path], name: str | None) -> SetFeatures:
    """Read the features that a convention is made from.

    Args:
        inputs: folders of artefacts, ``<name>.observed`` and ``<name>.predicted`` among them.
        name: of the features; None if there are none.

    Raises:
        StpError: a file is missing or damaged, or the two are not of the same number of clips.
    """
    if name is None:
        return SetFeatures(np.empty((0, 1)), np.empty((0, 1)), ABSENT)
    folders = [inputs[f"{name}.{of}"] for of in ("observed", "predicted")]
    observed, predicted = map(table.read, folders)
    if observed.values.shape != predicted.values.shape:
        raise StpError(
            f"{folders[1]}: features of shape {predicted.values.shape}",
            expected=f"{observed.values.shape}, that of {folders[0]}",
            remedy="delete both folders and run again: they are made anew",
        )
    return SetFeatures(observed.values, predicted.values, observed.reason or predicted.reason)


def rows(distance: SetDistance, pair: SetFeatures) -> list[Row]:
    """The value of one convention, for all lead times together; N is the number of clips.

    There is no interval: values of resampled sets are larger, since they hold clips twice.
    """
    if pair.reason:
        return [Row(None, "mean", None, 0, pair.reason)]
    n = len(pair.observed)
    bad = ~np.isfinite(np.concatenate([pair.observed, pair.predicted], axis=1)).all(axis=1)
    if bad.any():
        said = f"not a number in {bad.sum()} of {n} clips: predictions or data are NaN"
        return [Row(None, "mean", None, n, said)]
    if n < 2:
        return [Row(None, "mean", None, n, "a single clip is no set")]
    return [Row(None, "mean", distance.distance(pair.observed, pair.predicted), n, None)]


def at_n(
    pair: SetFeatures, distance: Callable[[np.ndarray, np.ndarray], float], n: int, seed: int = 0
) -> float:
    """Compute a distance of ``n`` clips, drawn without replacement.

    The same seed draws the same clips for every model of a dataset.

    Args:
        pair: features of all clips.
        distance: of a `stp.metrics.perceptual.SetDistance`.
        n: number of clips, from 1.
        seed: of the drawing.

    Raises:
        StpError: there are fewer.
    """
    if n > len(pair.observed):
        raise StpError(
            f"{n} clips of {len(pair.observed)}",
            expected="at most as many as were scored",
            remedy="compare at the smaller number",
        )
    chosen = matched(len(pair.observed), n, seed)
    return distance(pair.observed[chosen], pair.predicted[chosen])
