"""Metrics that look through a network: what they need before they can be computed.

Shape letters: N samples, K components, T lead times, C channels, H, W, D features.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stp.metrics.metric import Metric, needs_data

Embed = Callable[[np.ndarray], np.ndarray]
"""Clips float32 (N, T, C, H, W) in [0, 1] to features float64 (N, D)."""


class Weights(NamedTuple):
    """A file of weights, and the device of its network.

    Attributes:
        path: path of the file of weights.
        declared: its checksums (`stp.core.file_identity`); a file with another one is refused.
        device: "auto", "cpu" or "cuda".
        threads: number of CPU threads.
    """

    path: Path
    declared: Mapping[str, str]
    device: str = "auto"
    threads: int = 1


class LearnedMetric(NamedTuple):
    """A convention whose statistics a network computes.

    Attributes:
        weights: name in config/weights.yaml.
        build: reads the weights, and makes the metric.
        of_means: how values follow from means of its statistics, for which no weights are needed;
            by default they are these means.
    """

    weights: str
    build: Callable[[Weights], Metric]
    of_means: Metric = Metric(needs_data)


class SetDistance(NamedTuple):
    """A convention that compares two sets of clips, not clip by clip.

    Its value is no mean over samples: it is computed from network features of all clips (stage
    `features`; config/conventions names network, layer and frames). It has one value for all
    lead times, which depends on the number of clips.

    Attributes:
        distance: (features of observed clips, features of predicted clips), float64 (N, D) each,
            to the value.
    """

    distance: Callable[[np.ndarray, np.ndarray], float]


def matched(count: int, size: int, seed: int = 0) -> np.ndarray:
    """Choose ``size`` of ``count`` samples for a comparison at equal N.

    Returns:
        sorted indices, without repetition; the same for the same arguments.
    """
    chosen = np.random.default_rng(seed).permutation(count)[:size]
    return np.sort(chosen)
