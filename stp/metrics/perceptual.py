"""Metrics that compute their statistics with a network.

Shape letters: N samples, T lead times, C channels, H height, W width, D features.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stp.core.errors import StpError
from stp.metrics.metric import Metric, NetworkInputs, needs_data

Embed = Callable[[np.ndarray], np.ndarray]
"""Function from clips, float32 (N, T, C, H, W) in [0, 1], to features, float64 (N, D)."""


class Weights(NamedTuple):
    """A weights file, and the device of the network.

    Attributes:
        path: path of the weights file.
        declared: declared checksums, such as ``{"sha256": ...}``, to which the file is compared
            (`stp.core.file_identity`).
        device: device of the network: "auto", "cpu" or "cuda".
        threads: number of CPU threads.
    """

    path: Path
    declared: Mapping[str, str]
    device: str = "auto"
    threads: int = 1


def weights_path(files: Mapping[str, str], network: str, declared: Mapping[str, str]) -> Path:
    """Find the weights file of a network among those that a job was given.

    The file is not read.

    Args:
        files: paths of the weights files that existed when the job was planned, by network.
        network: name of the network's weights in config/weights.yaml.
        declared: declared checksums of the file, such as ``{"sha256": ...}``, only to name the file
            in an error.

    Raises:
        StpError: no file is given for the network, because it was removed in the meantime.
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
    """A convention (one exact definition of a metric) that needs the weights of a network.

    Attributes:
        weights: name of the weights in config/weights.yaml.
        build: function that reads the weights and makes the metric.
        of_means: metric that is used when the statistics of clips are stored already, such as to
            merge scores of several jobs. It needs no network: its ``finish`` computes values from
            mean statistics over clips, and its ``statistics`` cannot be called. By default, a value
            is the mean statistic itself.
    """

    weights: str
    build: Callable[[Weights], Metric]
    of_means: Metric = Metric(needs_data)

    def with_networks(self, _: str, networks: NetworkInputs) -> Metric:
        """Load the weights and make the metric; a metric without values if no weights are declared.

        Raises:
            StpError: the weights file is missing or its checksum differs, or the device does not
                exist or has too little memory.
        """
        name = self.weights
        declared = networks.weights.get(name)
        if declared is None:
            why = f"the weights of {name} are missing (see `stp list weights`)"
            return Metric(needs_data, reason=why)
        path = weights_path(networks.files, name, declared)
        return self.build(Weights(path, declared, networks.device, networks.threads))
