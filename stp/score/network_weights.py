"""Load the weights of conventions that use a network, or say why there are none."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from stp.core.errors import StpError
from stp.core.job import Job
from stp.metrics.agreement import Agreement
from stp.metrics.metric import Metric, needs_data
from stp.metrics.perceptual import LearnedMetric, SetDistance, Weights
from stp.options.score import ScoreOptions


class Ready(NamedTuple):
    """Conventions with their weights loaded.

    Attributes:
        metrics: conventions of single clips; some have a ``reason`` instead of statistics.
        distances: distances between sets of clips.
    """

    metrics: dict[str, Metric]
    distances: dict[str, SetDistance]


def with_weights(
    job: Job,
    options: ScoreOptions,
    built: Mapping[str, Metric | LearnedMetric | SetDistance | Agreement],
) -> Ready:
    """Read the weights that conventions of single clips need.

    Args:
        job: the runtime names the file of each network (``weights``) and the ``device``.
        options: options of the recipe, with the checksums of these files; conventions of networks
            without checksums have no value.
        built: conventions by name.

    Raises:
        StpError: a file has other checksums, the device does not exist or has too little memory, or
            a convention compares ratings.
    """
    metrics: dict[str, Metric] = {}
    for name, convention in built.items():
        if isinstance(convention, Metric):
            metrics[name] = convention
            continue
        if isinstance(convention, Agreement):
            raise StpError(
                f"{name} compares ratings, not frames",
                expected="conventions of frames, such as ssim.range1",
                remedy="correct the columns of the suite, or `metrics` of the scale file",
            )
        if isinstance(convention, LearnedMetric):
            weights = _weights(job, options, convention.weights)
            if weights is None:
                metrics[name] = Metric(needs_data, reason=why_absent(convention.weights))
            else:
                metrics[name] = convention.build(weights)
    distances = {name: c for name, c in built.items() if isinstance(c, SetDistance)}
    return Ready(metrics, distances)


def why_absent(name: str) -> str:
    """The reason for a missing value, for a table."""
    return f"the weights of {name} are missing (see `stp list weights`)"


def _weights(job: Job, options: ScoreOptions, name: str) -> Weights | None:
    declared = options.weights.get(name)
    if declared is None:
        return None
    path = job.runtime.get("weights", {}).get(name)
    if path is None:
        raise StpError(
            f"the weights of {name} have been removed since this was planned",
            expected=f"the file with {declared}",
            remedy="put it back (`stp list weights`), or run snakemake again without it",
        )
    device = job.runtime.get("device", "auto")
    return Weights(Path(path), declared, device, options.threads)
