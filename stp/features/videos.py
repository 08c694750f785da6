"""Compute features of videos whose quality people rated, with a network.

A video consists of observed and predicted frames. Measures of quality predict the ratings from its
features; some of these compare it with the frames that followed in truth, if they are known.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from stp.core.job import Extras, Job
from stp.core.options import build, require
from stp.metrics import frame_features
from stp.metrics.networks.maps import NETWORKS, FeatureMaps, check_size, open_feature_maps
from stp.metrics.networks.state import read_verified
from stp.metrics.perceptual import weights_path
from stp.models.compute import set_up_compute
from stp.opinions import network_features
from stp.opinions.dependence import (
    correlation_of_distances,
    dissimilarity,
    distance_correlation,
)
from stp.opinions.prepared import Video, open_database
from stp.options.videos import VideoOptions

STEPS: dict[str, tuple[str, ...]] = {
    "ssa": ("frames", "ssa"),
    **dict.fromkeys(("mcs", "mcs_written"), ("frames", "mcs")),
    "rfd": ("rfd",),
    "rfd_written": ("rfd_written",),
    **dict.fromkeys(("mse", "cosine"), ("predicted", "true", "compared")),
    "lpips": ("lpips",),
    "entropy": ("entropy",),
}
"""Timed steps that compute each kind of features (a key of `network_features.PARTS`).

The steps ``frames``, ``predicted`` and ``true`` compute feature maps of all, the predicted and the
true frames. Several kinds share a step."""
_OF_FRAMES: dict[str, tuple[str, ...]] = {
    "ssa": ("ssa",),
    "mcs": ("mcs", "mcs_written"),
    "rfd": ("rfd",),
    "rfd_written": ("rfd_written",),
}
"""Steps that compute features of single frames, with the names of these features."""


def run(job: Job) -> Extras:
    """Compute the features of all videos, and write them to ``seen.parquet``, a row for each video.

    Args:
        job: settings (recipe), inputs and output folder. The recipe has the fields of
            `VideoOptions`; the input is ``data``, the prepared videos. Runtime: ``weights`` (paths
            of weights by network), ``device``.

    Returns:
        facts to be stored with the result: numbers of videos and of feature maps; seconds per
        video, in total and for each step of the computation (`STEPS`); the dependence of ``ssa``
        and of ``mcs`` on ``rfd`` (kinds of features), as the correlation of distances between
        videos and as the distance correlation of Székely et al. (2007); and the median over videos
        of the dissimilarity of first and last frame, one minus the cosine similarity of their
        features.

    Raises:
        StpError: a bad recipe, damaged inputs, missing or changed weights, or videos that are too
            small for the network.
    """
    options = build(VideoOptions, job.recipe, "recipe of features")
    is_known = options.network in NETWORKS
    require(is_known, "features: network", options.network, " or ".join(NETWORKS))
    database = open_database(job.inputs["data"], options.context)
    path = weights_path(job.runtime.get("weights", {}), options.network, options.weights)
    state, _ = read_verified(path, options.weights)
    sides = database.table["height"].to_pylist() + database.table["width"].to_pylist()
    check_size(options.network, min(sides), "take its measures out of the scale file")
    parts: dict[str, list[np.ndarray]] = {name: [] for name in network_features.PARTS}
    seconds: dict[str, float] = {}
    device = job.runtime.get("device", "auto")
    began = time.monotonic()
    with set_up_compute(device, options.threads, "float32") as compute, torch.inference_mode():
        network_maps = open_feature_maps(options.network, state, compute.device)
        for number, video in enumerate(database.videos(), start=1):
            for name, values in features_of(video, network_maps, options.context, seconds).items():
                parts[name].append(values.reshape(-1).astype(np.float32))
            job.report("videos seen", number, len(database))
    arrays = {name: np.stack(rows) for name, rows in parts.items()}
    network_features.write(job.out, database.names, arrays)
    total = max(len(database), 1)
    return {
        **_dependence(arrays, network_maps.channels),
        "videos": len(database),
        "maps": network_maps.channels,
        "seconds_per_video": round((time.monotonic() - began) / total, 4),
        "seconds": {
            name: {step: float(f"{seconds[step] / total:.3g}") for step in steps}
            for name, steps in STEPS.items()
            if set(steps) <= set(seconds)
        },
    }


def _dependence(parts: dict[str, np.ndarray], maps: int) -> dict[str, object]:
    """Dependence of features on each other, as in sections 4.2 and 5.2.1 of Somraj et al. (2022).

    Args:
        parts: features of the videos, (V, D) each.
        maps: number K of the network's maps.
    """
    pairs = [("ssa", "rfd"), ("mcs", "rfd")]
    if len(parts["rfd"]) < 3 or np.isnan(parts["rfd"]).any():
        return {}
    return {
        "correlation_of_distances": {
            f"{first} {other}": round(correlation_of_distances(parts[first], parts[other]), 4)
            for first, other in pairs
        },
        "distance_correlation": {
            f"{first} {other}": round(distance_correlation(parts[first], parts[other]), 4)
            for first, other in pairs
        },
        "dissimilarity": {
            name: round(
                float(np.median([_first_to_last_change(row, maps) for row in parts[name]])), 4
            )
            for name in ("ssa", "rfd_written")
        },
    }


def _first_to_last_change(row: np.ndarray, maps: int) -> float:
    frames = row.reshape(-1, maps)
    return dissimilarity(frames[0], frames[-1])


@contextmanager
def _measure_time(seconds: dict[str, float], step: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    seconds[step] = seconds.get(step, 0.0) + time.perf_counter() - began


def features_of(
    video: Video, network_maps: FeatureMaps, context: int, seconds: dict[str, float]
) -> dict[str, np.ndarray]:
    """Compute the features of one video, of several kinds.

    The kinds, such as ``mse`` (mean squared difference of the feature maps of predicted and true
    frames), are the keys of `stp.opinions.network_features.PARTS`.

    A kind that cannot be computed is NaN: one that needs the true frames if they are unknown, and
    one that needs a classifier or weights of LPIPS if the network has none. A network of clips,
    such as C3D, makes maps that belong to several frames each. Of its maps, only ``ssa`` (simple
    spatial averages) is computed: the mean of each map over its locations. All other kinds compare
    single frames and are NaN.

    Args:
        video: predicted frames and, if known, true frames.
        network_maps: network that computes feature maps.
        context: number of observed frames at the start of the video.
        seconds: total seconds of each step of the computation (`STEPS`); those of this video are
            added.

    Returns:
        float arrays by kind. For T frames, of which P are predicted, and K channels of the network,
        their shapes are (T, K) for ``ssa``, ``mcs`` and ``rfd``, (P, K) for ``mcs_written``,
        (T - 1, K) for ``rfd_written``, and (1,) for all others and for NaN. For a network of clips,
        the first axis of ``ssa`` is the number of maps in time.
    """
    maps, nothing = network_maps.maps, np.array([np.nan])
    features = dict.fromkeys(network_features.PARTS, nothing)
    with _measure_time(seconds, "frames"):
        of_frames = maps(video.predicted)
    if network_maps.is_of_clips:
        with _measure_time(seconds, "ssa"):
            return features | {"ssa": frame_features.spatial_means(of_frames)}
    for step, names in _OF_FRAMES.items():
        with _measure_time(seconds, step):
            features |= frame_features.features_of(video.predicted, maps, context, names, of_frames)
    predicted = video.predicted[context:]
    if network_maps.entropies is not None:
        with _measure_time(seconds, "entropy"):
            features["entropy"] = np.array([network_maps.entropies(predicted).mean()])
    if video.truth is None:
        return features
    truth = video.truth[context:]
    if network_maps.compared is maps:  # maps of all frames at once
        maps_of_predicted = of_frames[context:]
        seconds["predicted"] = seconds["frames"] * len(predicted) / len(video.predicted)
    else:
        with _measure_time(seconds, "predicted"):
            maps_of_predicted = network_maps.compared(predicted)
    with _measure_time(seconds, "true"):
        happened = network_maps.compared(truth)
    with _measure_time(seconds, "compared"):
        x, y = maps_of_predicted.astype(np.float64), happened.astype(np.float64)
        lengths = np.sqrt((x * x).sum(axis=(1, 2, 3)) * (y * y).sum(axis=(1, 2, 3)))
        cosines = (x * y).sum(axis=(1, 2, 3)) / np.maximum(lengths, 1e-15)
        features["mse"] = np.array([((x - y) ** 2).mean()])
        features["cosine"] = np.array([cosines.mean()])
    if network_maps.lpips is not None:
        with _measure_time(seconds, "lpips"):
            both = (np.moveaxis(one, -1, 1)[None] for one in (predicted, truth))
            pair = (one.astype(np.float32) / 255 for one in both)
            features["lpips"] = np.array([network_maps.lpips(*pair)])
    return features
