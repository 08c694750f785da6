"""What people would think of predicted videos, in points from 0 to 100.

A measure of quality has learnt it from rated videos (`stp videos quality --save`, docs/pvqa.md).
It needs no true future: it looks at the observed and at the predicted frames. Where data have no
context, as those of distortions, the first frames of the real clip count as observed. The value is
the mean over clips that are not far from all rated videos, if these are more than half of all.
"""

from functools import partial

import numpy as np

from stp.core.errors import StpError
from stp.data.pixels import pixels
from stp.metrics.comparison import Comparison
from stp.metrics.fitted_quality import MOST_ARE_FAR, OBSERVED, OFFICIAL, mean_rated, read
from stp.metrics.metric import Metric, needs_data
from stp.metrics.networks.maps import NETWORKS, open_looker
from stp.metrics.perceptual import LearnedMetric, Weights
from stp.metrics.scale import NO_RANGE, unit_range
from stp.models.compute import settle


def _finish(means: np.ndarray) -> np.ndarray:
    return mean_rated(means[..., 0, :], means[..., 1, :])


def _of_means() -> Metric:
    """How values follow from means over clips; no convention by itself."""
    return Metric(
        needs_data,
        finish=_finish,
        components=("rated", "quality"),
        leads="pool",
        no_value=MOST_ARE_FAR,
        with_context=True,
        independent_leads=False,
    )


def _of_clips(metric: Metric, compared: Comparison, network: str) -> Metric:
    """The metric for clips in [0, 1], or why these have no value."""
    found = unit_range(compared.data.attrs)
    if found is None:
        return metric._replace(reason=NO_RANGE)
    channels, height, width = compared.data.shape
    if channels not in (1, 3):
        return metric._replace(reason=f"frames of {channels} channels; it sees one or three")
    smallest = NETWORKS[network].smallest
    if min(height, width) < smallest:
        why = f"frames of {height} x {width} pixels; its network needs {smallest}"
        return metric._replace(reason=why)
    offset, scale = found
    of_unit_range = metric.statistics

    def statistics(*given: np.ndarray) -> np.ndarray:
        return of_unit_range(*((frames - offset) / scale for frames in given))

    return metric._replace(statistics=statistics)


def build(weights: Weights, network: str, is_official: bool) -> Metric:
    """Make the metric from the file of a measure (see `LearnedMetric`).

    Args:
        weights: the file.
        network: that the measure has to look through.
        is_official: whether it has to have learnt from people, or from made-up opinions.

    Raises:
        StpError: the file is another one.
    """
    fitted, state = read(weights.path, weights.declared)
    found = fitted.network, fitted.source == OFFICIAL
    if found != (network, is_official):
        raise StpError(
            f"{weights.path}: a measure that looks through {fitted.network} and has learnt from "
            f"{fitted.source} opinions",
            expected=f"one that looks through {network}, and {'' if is_official else 'no '}"
            "opinions of people",
            remedy="declare it under another name in config/weights.yaml",
        )
    with settle(weights.device, weights.threads, "float32") as compute:
        looker = open_looker(network, state, compute.device)

    def statistics(predicted: np.ndarray, observed: np.ndarray, context: np.ndarray) -> np.ndarray:
        made = np.empty((len(predicted), 2, 1))
        if not context.shape[1]:
            context, predicted = observed[:, :OBSERVED], predicted[:, OBSERVED:]
        clips = np.concatenate([context, predicted], axis=1)
        with settle(weights.device, weights.threads, "float32"):
            for clip, into in zip(clips, made, strict=True):
                if np.isnan(clip).any():
                    into[:] = np.nan
                    continue
                _, estimate = fitted.rate(pixels(clip), context.shape[1], looker)
                into[:, 0] = 0 if estimate.value is None else (1, estimate.value)
        return made

    return _of_means()._replace(statistics=statistics, on_data=partial(_of_clips, network=network))


def predicted_quality(*, network: str, weights: str, is_official: bool = True) -> LearnedMetric:
    """One convention; ResNet-50 is what the paper proposes.

    Args:
        network: whose features the measure has learnt with.
        weights: the file of the measure, by its name in config/weights.yaml.
        is_official: it has learnt from opinions of people, not from made-up ones, which say nothing
            about people.
    """
    made = partial(build, network=network, is_official=is_official)
    return LearnedMetric(weights, made, _of_means())
