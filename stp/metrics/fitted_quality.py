"""Predict people's opinion of a video with a measure of quality trained on rated videos.

A network computes features of a video, and the prediction is a linear function of them (PVQA;
Somraj et al. 2022). If the video has as many frames as the rated videos, the features of each frame
are used; otherwise the mean and standard deviation over the predicted frames. A video is called far
if the distance of its features from the nearest rated video exceeds the distance of every rated
video from its nearest neighbour. No similar video was then rated, so no prediction is made.

The file of a measure (`write`) contains everything that a prediction needs, including the weights
of the network.
"""

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stp.core.disk import atomic_path
from stp.core.errors import StpError
from stp.core.file_identity import require
from stp.metrics import frame_features
from stp.metrics.networks.maps import NETWORKS, FeatureMaps, check_size
from stp.metrics.networks.state import State

EXACT, POOLED = "exact", "pooled"
"""Kinds of features: exact, those of each frame, for clips as long as the rated videos; pooled,
their mean and deviation over the predicted frames, for other clips."""
OBSERVED = 4
"""Frames of the real clip that count as observed where data have no context, as of distortions."""
FAR = "farther from all rated videos than any of these is from the others"
MOST_ARE_FAR = "half of the clips or more are far from all rated videos"
OFFICIAL = "official"
"""Source of the opinions of people; opinions of all other sources are synthetic."""


@dataclass(frozen=True)
class Estimate:
    """Predicted opinion of people about a video.

    Attributes:
        value: predicted opinion, points, mostly from 0 to 100; None if the video is far from all
            rated videos, which means that ``distance`` is above 1.
        low, high: ends of the 95 % interval of ``value``, points; None if ``value`` is None.
        distance: distance of the video's features from those of the nearest rated video, divided by
            the largest distance of a rated video from its nearest neighbour. A video may have
            several vectors of features, one for each kind such as ``ssa`` and ``mcs`` (`Learnt`);
            this is then the largest of their ratios.
    """

    value: float | None
    low: float | None
    high: float | None
    distance: float


@dataclass(frozen=True)
class Learnt:
    """A linear regression of opinions on features of videos, fitted to V rated videos.

    A measure of quality has one for each kind of features (`EXACT`, `POOLED`). The features of a
    video are several vectors, here called parts, such as ``ssa``, the spatial means of a network's
    feature maps, and ``mcs``, similarities with the last observed frame. D is the length of a part.
    The features of the rated videos are kept, to recognise videos that are unlike all of them.

    Attributes:
        parts: features of the rated videos, float (V, D) for each part. The distance between two
            videos is that of the part in which they differ most, in units of ``farthest``.
        farthest: for each part, the largest distance of a rated video from its nearest neighbour.
        weights: coefficients of the regression for the features of all parts, one part after the
            other, float64 (sum of D,).
        offset: intercept of the regression, points.
        srocc: Spearman's correlation of predicted and observed opinions on test videos, median over
            splits of the rated videos into training and test videos.
        margin: half the width of the 95 % interval of a prediction, points.
    """

    parts: Sequence[np.ndarray]
    farthest: Sequence[float]
    weights: np.ndarray
    offset: float
    srocc: float
    margin: float

    def estimate(self, parts: Sequence[np.ndarray]) -> Estimate:
        """Predict people's opinion of another video from its features.

        Args:
            parts: features of the video: one vector, float (D,), for each kind of features, such as
                ``ssa`` and ``mcs``, in the order of ``self.parts``.

        Returns:
            the predicted opinion with its interval, and the distance from the nearest rated video;
            without an opinion if this distance is above 1.
        """
        away = [
            float(np.sqrt(np.square(rated - new).sum(axis=1, dtype=np.float64).min())) / farthest
            for rated, new, farthest in zip(self.parts, parts, self.farthest, strict=True)
        ]
        if max(away) > 1:
            return Estimate(None, None, None, max(away))
        value = self.offset + float(np.concatenate(parts).astype(np.float64) @ self.weights)
        return Estimate(value, value - self.margin, value + self.margin, max(away))


@dataclass(frozen=True)
class FittedQuality:
    """A measure of quality, trained on rated videos to predict people's opinions of videos.

    Attributes:
        network: name of the network whose features are used.
        names: names of the vectors of features that are used, in the order of `Learnt.parts`, e.g.
            ``("ssa", "mcs")``: spatial means of feature maps, and similarities with the last
            observed frame. `stp.opinions.network_features.PARTS` describes all names.
        context, horizon: numbers of observed and of predicted frames of a rated video.
        rated: number of rated videos.
        source: data source of the rated videos and their opinions; `OFFICIAL`: people's opinions;
            any other source: synthetic opinions.
        learnt: two fitted regressions. `EXACT` is for clips with as many frames as the rated
            videos, and uses the features of each frame. `POOLED` is for all other clips, and uses
            mean and standard deviation of the features over the predicted frames.
    """

    network: str
    names: tuple[str, ...]
    context: int
    horizon: int
    rated: int
    source: str
    learnt: Mapping[str, Learnt]

    def rate(
        self, frames: np.ndarray, context: int, network_maps: FeatureMaps, name: str = "a clip"
    ) -> tuple[str, Estimate]:
        """Predict the opinion of people about a clip.

        Args:
            frames: frames, the observed ones first, uint8 (T, H, W, 3).
            context: number of observed frames.
            network_maps: the network that computes feature maps of frames; its name is ``network``.
            name: name of the clip, for errors.

        Returns:
            name of the regression used, a key of ``learnt``; and its prediction. It is `EXACT` if
            the clip has as many predicted frames as the rated videos, and at least as many observed
            ones; otherwise `POOLED`.

        Raises:
            StpError: a clip is too short, or too small for the network.
        """
        predicted = len(frames) - context
        if context < 1 or predicted < 1:
            raise StpError(
                f"{name}: {len(frames)} frames, {context} of them observed",
                expected="at least one observed frame and one predicted frame",
                remedy="say how many frames of each clip are observed (--context)",
            )
        check_size(self.network, min(frames.shape[1:3]), f"leave out {name}")
        is_exact = predicted == self.horizon and context >= self.context
        observed = self.context if is_exact else context
        kind = EXACT if is_exact else POOLED
        frames = frames[context - observed :]
        with torch.inference_mode():
            if network_maps.is_of_clips:
                features = {"ssa": frame_features.spatial_means(network_maps.maps(frames))}
            else:
                features = frame_features.features_of(
                    frames, network_maps.maps, observed, self.names
                )
        parts = [features[name].reshape(1, -1).astype(np.float32) for name in self.names]
        if not is_exact:
            channels = NETWORKS[self.network].channels
            parts = [pool_features(part, channels, predicted) for part in parts]
        return kind, self.learnt[kind].estimate([part[0] for part in parts])


def pool_features(part: np.ndarray, channels: int, predicted: int) -> np.ndarray:
    """Compute mean and standard deviation of features over the predicted frames of videos.

    The result has the same length for videos of any length.

    Args:
        part: features of V videos, frame by frame, float (V, T x K).
        channels: number of features of a frame, K.
        predicted: number of predicted frames, the last ones of a video.

    Returns:
        means, then standard deviations, float64 (V, 2 x K).
    """
    frames = part.reshape(len(part), -1, channels)[:, -predicted:].astype(np.float64)
    return np.concatenate([frames.mean(axis=1), frames.std(axis=1)], axis=1)


def mean_rated(rated: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Compute the mean predicted opinion of the clips that have a prediction.

    Args:
        rated: share of clips that have a prediction, 0 to 1.
        total: mean predicted opinion over all clips, points; a clip without a prediction counts as
            0.

    Returns:
        ``total / rated``, points; NaN unless more than half of the clips have a prediction.
    """
    enough = rated > 0.5
    return np.asarray(np.divide(total, rated, out=np.full(np.shape(rated), np.nan), where=enough))


_ABOUT = ("network", "names", "context", "horizon", "rated", "source")
_PLAIN = ("farthest", "weights", "offset", "srocc", "margin")
_STATE = "state."


def write(path: Path, fitted: FittedQuality, state: State) -> None:
    """Write a trained measure of quality to a file; equal measures give identical files.

    Args:
        path: path of the file, ``.npz``.
        fitted: the measure of quality, which predicts people's opinions of videos.
        state: weights of the network, tensors by name; those of its classifier (the last layers)
            are not written.

    Raises:
        StpError: the suffix is not ``.npz``.
    """
    if path.suffix != ".npz":
        raise StpError(f"a measure cannot be saved as {path}", expected="a name that ends in .npz")
    arrays: dict[str, np.ndarray] = {name: np.array(getattr(fitted, name)) for name in _ABOUT}
    for kind, learnt in fitted.learnt.items():
        arrays |= {f"{kind}.{name}": np.array(getattr(learnt, name)) for name in _PLAIN}
        parts = zip(fitted.names, learnt.parts, strict=True)
        arrays |= {f"{kind}.part.{name}": np.asarray(part, np.float32) for name, part in parts}
    for key, tensor in state.items():
        if not key.startswith("classifier."):
            arrays[_STATE + key] = tensor.numpy()
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # names are no other arguments


def read(path: Path, declared: Mapping[str, Any]) -> tuple[FittedQuality, State]:
    """Read a trained measure of quality, which predicts people's opinions of videos, from a file.

    Args:
        path: path of the file.
        declared: declared checksums, to which the file is compared.

    Returns:
        the measure; and the weights of its network, tensors by name.

    Raises:
        StpError: the checksum differs, or the file was not written by `write`.
    """
    require(path, declared)
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        names = tuple(map(str, arrays["names"]))
        learnt = {}
        for kind in (EXACT, POOLED):
            plain = {name: arrays[f"{kind}.{name}"] for name in _PLAIN}
            learnt[kind] = Learnt(
                [arrays[f"{kind}.part.{name}"] for name in names],
                plain["farthest"].tolist(),
                plain["weights"],
                *(float(plain[name]) for name in ("offset", "srocc", "margin")),
            )
        about = [
            arrays[name].item() for name in ("network", "context", "horizon", "rated", "source")
        ]
    except (OSError, KeyError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        raise StpError(
            f"{path}: no measure of quality can be read ({error})",
            expected="a file that `stp videos quality --save` has written",
            remedy="make it again",
        ) from error
    network, context, horizon, rated, source = about
    state = {
        key.removeprefix(_STATE): torch.from_numpy(array)
        for key, array in arrays.items()
        if key.startswith(_STATE)
    }
    return FittedQuality(network, names, context, horizon, rated, source, learnt), state
