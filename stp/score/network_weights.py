"""Weights for conventions that need a network, or the reason why a convention has no value."""

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
    """Conventions with their weights loaded, by what they compare.

    Attributes:
        metrics: of single clips; some have a ``reason`` instead of statistics.
        distances: between sets of clips.
    """

    metrics: dict[str, Metric]
    distances: dict[str, SetDistance]


def with_weights(
    job: Job,
    options: ScoreOptions,
    found: Mapping[str, Metric | LearnedMetric | SetDistance | Agreement],
) -> Ready:
    """Read the weights that conventions of single clips need.

    Args:
        job: the runtime names the file of each network (``weights``) and the ``device``.
        options: the recipe says which bytes these files have; where it names none, the network's
            conventions have no value.
        found: conventions by name.

    Raises:
        StpError: bytes are not those of the recipe, there is no such device, its memory is used up,
            or a convention compares ratings.
    """
    metrics: dict[str, Metric] = {}
    for name, convention in found.items():
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
    distances = {name: c for name, c in found.items() if isinstance(c, SetDistance)}
    return Ready(metrics, distances)


def why_absent(name: str) -> str:
    """Say, for a table, why there is no value."""
    return f"the weights of {name} are not there (see `stp list weights`)"


def _weights(job: Job, options: ScoreOptions, name: str) -> Weights | None:
    declared = options.weights.get(name)
    if declared is None:
        return None
    path = job.runtime.get("weights", {}).get(name)
    if path is None:
        raise StpError(
            f"the weights of {name} are gone since this was planned",
            expected=f"the file with {declared}",
            remedy="put it back (`stp list weights`), or run snakemake again without it",
        )
    device = job.runtime.get("device", "auto")
    return Weights(Path(path), declared, device, options.threads)
