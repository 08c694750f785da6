"""Metrics whose statistics a network computes.

Shape letters: N samples, T lead times, C channels, H, W, D features.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stp.core.errors import StpError
from stp.metrics.metric import Metric, NetworkInputs, needs_data

Embed = Callable[[np.ndarray], np.ndarray]
"""Clips float32 (N, T, C, H, W) in [0, 1] to features float64 (N, D)."""


class Weights(NamedTuple):
    """A file of weights, and the device of its network.

    Attributes:
        path: path of the file of weights.
        declared: checksums of the file (`stp.core.file_identity`); a file with another one is
            refused.
        device: "auto", "cpu" or "cuda".
        threads: number of CPU threads.
    """

    path: Path
    declared: Mapping[str, str]
    device: str = "auto"
    threads: int = 1


def weights_path(files: Mapping[str, str], network: str, declared: Mapping[str, str]) -> Path:
    """The file of weights that a job was planned with.

    Args:
        files: paths of files of weights, by network.
        network: name in config/weights.yaml.
        declared: checksums of the file.

    Raises:
        StpError: there is no such file any more.
    """
    path = files.get(network)
    if path is None:
        raise StpError(
            f"the weights of {network} have been removed since this was planned",
            expected=f"the file with {declared}",
            remedy="put it back (`stp list weights`), or run snakemake again without it",
        )
    return Path(path)


class LearnedMetric(NamedTuple):
    """A convention whose statistics a network computes.

    Attributes:
        weights: name of the weights in config/weights.yaml.
        build: function that reads the weights and makes the metric.
        of_means: metric that computes values from means of the statistics, for which no weights
            are needed; by default values are these means.
    """

    weights: str
    build: Callable[[Weights], Metric]
    of_means: Metric = Metric(needs_data)

    def loaded(self, _: str, networks: NetworkInputs) -> Metric:
        """The metric with its weights, or a metric without values if no weights are declared.

        Raises:
            StpError: the file of weights is missing or has other checksums, the device does not
                exist or has too little memory.
        """
        name = self.weights
        declared = networks.weights.get(name)
        if declared is None:
            why = f"the weights of {name} are missing (see `stp list weights`)"
            return Metric(needs_data, reason=why)
        path = weights_path(networks.files, name, declared)
        return self.build(Weights(path, declared, networks.device, networks.threads))
