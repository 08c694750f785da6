"""Distances between sets of clips: features of all clips first, then one value.

The features stay beside the scores (`stp.score.features`).
"""

from typing import NamedTuple

import numpy as np

from stp.core.job import Job
from stp.metrics.perceptual import SetDistance
from stp.score.aggregate import Row
from stp.score.features import Features, choice_of
from stp.score.learned import Ready, why_absent
from stp.score.members import Members
from stp.score.predictions import Samples

BLOCK = 16
"""Clips that are read at a time."""


class Seen(NamedTuple):
    """What is known of a split's clips after the network has looked at them.

    Attributes:
        features: by choice of frames, such as ``with_context``.
        reasons: by convention, why it has no features.
    """

    features: dict[str, Features]
    reasons: dict[str, str]


def look(job: Job, predictions: Samples, ready: Ready, members: Members) -> Seen:
    """Look at all clips once for each choice of frames.

    Args:
        job: for its progress.
        ready: distances by the names of their conventions, such as ``fvd.with_context``.
        members: what to do with several forecasts of a sample.
    """
    reasons, chosen = {}, {}
    for name, distance in ready.distances.items():
        if members.statistic == "best_of_members":
            reasons[name] = "the best of several forecasts is not defined for sets of clips"
        elif name not in ready.embeds:
            reasons[name] = why_absent(distance.weights)
        elif too_short := _why_too_short(distance, predictions):
            reasons[name] = too_short
        else:
            chosen[choice_of(name)] = distance.clip, ready.embeds[name]
    parts: dict[str, list[Features]] = {choice: [] for choice in chosen}
    total = predictions.shape[0]
    for start in range(0, total if chosen else 0, BLOCK):
        stop = min(start + BLOCK, total)
        predicted, observed = predictions.read(start, stop)
        context, one = predictions.read_context(start, stop), members.single(predicted)
        for choice, (clip, embed) in chosen.items():
            seen = [embed(clip(context, frames)) for frames in (observed, one)]
            parts[choice].append(Features(*seen))
        job.report("clips seen", stop, total)
    features = {
        choice: Features(*(np.concatenate(arrays) for arrays in zip(*blocks, strict=True)))
        for choice, blocks in parts.items()
    }
    return Seen(features, reasons)


def _why_too_short(distance: SetDistance, predictions: Samples) -> str:
    """Say how many frames there are and have to be; nothing if there are enough."""
    context, frames = (np.empty((1, n, 1, 1, 1)) for n in (predictions.context, predictions.leads))
    length = distance.clip(context, frames).shape[1]
    if length >= distance.shortest:
        return ""
    return f"clips of {length} frames; the network needs {distance.shortest}"


def rows(name: str, distance: SetDistance, seen: Seen) -> list[Row]:
    """The value of one convention, for all lead times together; N is the number of clips.

    There is no interval: values of resampled sets are larger, since they hold clips twice.
    """
    if name in seen.reasons:
        return [Row(None, "mean", None, 0, seen.reasons[name])]
    features = seen.features[choice_of(name)]
    n = len(features.observed)
    bad = ~np.isfinite(np.concatenate(features, axis=1)).all(axis=1)
    if bad.any():
        said = f"not a number in {bad.sum()} of {n} clips: predictions or data are NaN"
        return [Row(None, "mean", None, n, said)]
    if n < 2:
        return [Row(None, "mean", None, n, "a single clip is no set")]
    return [Row(None, "mean", distance.distance(*features), n, None)]
