"""People's predicted opinion of predicted videos, in points from 0 to 100.

A measure of quality is trained on rated videos (`stp videos quality --save`, docs/pvqa.md). Its
input is the observed and the predicted frames; it needs no true future. If data have no context, as
in studies of distortions, the first frames of the real clip count as observed. The value is the
mean over the clips that have a similar rated video (`stp.metrics.fitted_quality`), if these are
more than half of all clips.
"""

from functools import partial

import numpy as np

from stp.core.errors import StpError
from stp.data.pixels import pixels
from stp.metrics.comparison import Comparison
from stp.metrics.fitted_quality import MOST_ARE_FAR, OBSERVED, OFFICIAL, mean_rated, read
from stp.metrics.metric import Metric, needs_data
from stp.metrics.networks.maps import NETWORKS, open_feature_maps
from stp.metrics.perceptual import LearnedMetric, Weights
from stp.metrics.scale import NO_RANGE, unit_range
from stp.models.compute import set_up_compute


def _finish(means: np.ndarray) -> np.ndarray:
    return mean_rated(means[..., 0, :], means[..., 1, :])


def _of_means() -> Metric:
    """The part of the metric that needs no network: it computes values from means over clips."""
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
    """Bind the metric to clips in [0, 1]; for other data, set the reason why they have no value."""
    range_ = unit_range(compared.data.attrs)
    if range_ is None:
        return metric._replace(reason=NO_RANGE)
    channels, height, width = compared.data.shape
    if channels not in (1, 3):
        return metric._replace(reason=f"frames of {channels} channels; it sees one or three")
    smallest = NETWORKS[network].smallest
    if min(height, width) < smallest:
        why = f"frames of {height} x {width} pixels; its network needs {smallest}"
        return metric._replace(reason=why)
    offset, scale = range_
    of_unit_range = metric.statistics

    def statistics(*arrays: np.ndarray) -> np.ndarray:
        return of_unit_range(*((frames - offset) / scale for frames in arrays))

    return metric._replace(statistics=statistics)


def build(weights: Weights, network: str, is_official: bool) -> Metric:
    """Build the metric from the file of a measure of quality.

    Args:
        weights: the file of the measure.
        network: name of the network on whose features the measure has to be trained.
        is_official: whether the measure has to be trained on people's opinions, not on synthetic
            ones.

    Raises:
        StpError: the measure has another network, or was trained on the other kind of opinions.
    """
    fitted, state = read(weights.path, weights.declared)
    identity = fitted.network, fitted.source == OFFICIAL
    if identity != (network, is_official):
        raise StpError(
            f"{weights.path}: a measure that looks through {fitted.network} and has learnt from "
            f"{fitted.source} opinions",
            expected=f"one that looks through {network}, and {'' if is_official else 'no '}"
            "opinions of people",
            remedy="declare it under another name in config/weights.yaml",
        )
    with set_up_compute(weights.device, weights.threads, "float32") as compute:
        network_maps = open_feature_maps(network, state, compute.device)

    def statistics(predicted: np.ndarray, observed: np.ndarray, context: np.ndarray) -> np.ndarray:
        statistics = np.empty((len(predicted), 2, 1))
        if not context.shape[1]:
            context, predicted = observed[:, :OBSERVED], predicted[:, OBSERVED:]
        clips = np.concatenate([context, predicted], axis=1)
        with set_up_compute(weights.device, weights.threads, "float32"):
            for clip, into in zip(clips, statistics, strict=True):
                if np.isnan(clip).any():
                    into[:] = np.nan
                    continue
                _, estimate = fitted.rate(pixels(clip), context.shape[1], network_maps)
                into[:, 0] = 0 if estimate.value is None else (1, estimate.value)
        return statistics

    return _of_means()._replace(statistics=statistics, on_data=partial(_of_clips, network=network))


def predicted_quality(*, network: str, weights: str, is_official: bool = True) -> LearnedMetric:
    """People's mean predicted opinion of clips, in points from 0 to 100.

    Args:
        network: name of the network on whose features the measure is trained; the paper proposes
            ResNet-50.
        weights: name of the file of the measure in config/weights.yaml.
        is_official: whether the measure is trained on people's opinions, not on synthetic ones,
            which say nothing about people.
    """
    builder = partial(build, network=network, is_official=is_official)
    return LearnedMetric(weights, builder, _of_means())
