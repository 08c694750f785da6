"""Check networks' weights against values that others published for known frames.

The check detects permuted weights, and frames that are prepared in another way. A published value
is valid only for the weights with which it was computed.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from stp.features.networks import i3d
from stp.metrics import lpips
from stp.metrics.networks.state import State, read_state
from stp.plan.weights import WeightFile
from stp.score.video_folder import Clip, read_clip


class Trial(NamedTuple):
    """A published value, and the value computed on this machine.

    Attributes:
        what: description of the value, such as "LPIPS of black and white frames"; with the reason
            if it cannot be computed.
        published: the published value.
        ours: the value computed on this machine; None if it cannot be computed.
        tolerance: largest accepted relative difference.
    """

    what: str
    published: float
    ours: float | None
    tolerance: float

    @property
    def agrees(self) -> bool:
        if self.ours is None:
            return False
        return abs(self.ours - self.published) <= self.tolerance * abs(self.published)

    def __str__(self) -> str:
        if self.ours is None:
            return f"{self.what}: NOT COMPARED with the published {self.published:.5g}"
        verdict = "agrees" if self.agrees else "DOES NOT AGREE"
        return f"{self.what}: {self.ours:.5g}, published {self.published:.5g}: {verdict}"


TOLERANCE = 0.005
"""Relative tolerance, larger than the differences between machines and between ports of I3D."""

LPIPS_ALEX = 0.81401
"""LPIPS between black and white frames of 64 x 64
(github.com/JunyaoHu/common_metrics_on_video_quality)."""

FVD = {
    15: (131.0, 0.03),
    16: (152.9175, TOLERANCE),
    30: (151.2565, TOLERANCE),
}
"""Black against white clips of 64 x 64 by number of frames: value and tolerance. The covariances
are zero, so this is a squared distance of two logits. 15: "around 131", example.py of
google-research/frechet_video_distance; 16 and 30: common_metrics_on_video_quality, for
i3d_torchscript.pt (30 frames in TensorFlow: 151.39244)."""

CRICKET = "v_CricketShot_g04_c01_rgb.gif"
PLAYING_CRICKET = 227
"""Index of the action "playing cricket" in the label map of Kinetics-400."""
PROBABILITY = 0.999997
"""Probability of this action in the example of deepmind/kinetics-i3d, which reads the frames from a
.npy file. The film of the example has coarser colours, so the tolerance is 1 %."""


def compare_published(network: str, folder: Path, file: WeightFile) -> list[Trial]:
    """Compute the values that are published for a network, and compare them, in a few seconds.

    For AlexNet this is the LPIPS between a black and a white frame, for I3D the FVD between black
    and white clips, or the probability of an action in one film.

    Args:
        network: name of the network in config/weights.yaml.
        folder: folder of the weights, and of the clip for which values were published.
        file: declaration of the weights file.

    Returns:
        the comparisons; empty if no values are published for the network.
    """
    if network == "alexnet":
        black = np.zeros((1, 1, 3, 64, 64), np.float32)
        metric = lpips.Lpips(network, read_state(folder / file.file))
        ours = lpips.compare(metric, black, black + 1).item()
        return [Trial("LPIPS of black and white frames", LPIPS_ALEX, ours, TOLERANCE)]
    if network == "i3d" and file.origin == "tensorflow_hub":
        return _black_and_white(read_state(folder / file.file))
    if network == "i3d" and file.origin == "kinetics_i3d":
        return [_cricket(read_state(folder / file.file), folder / CRICKET)]
    return []


def _black_and_white(state: State) -> list[Trial]:
    embed = i3d.embed_with(state, "cpu")
    trials = []
    for frames, (published, tolerance) in FVD.items():
        black = np.zeros((1, frames, 3, 64, 64), np.float32)
        apart = embed(black) - embed(black + 1)
        what = f"FVD of black and white clips of {frames} frames"
        trials.append(Trial(what, published, float(np.square(apart).sum()), tolerance))
    return trials


def _cricket(state: State, clip: Path) -> Trial:
    what = f"probability of playing cricket in {clip.name}"
    if not clip.is_file():
        where = f"{clip} is missing; it is in data/ of github.com/google-deepmind/kinetics-i3d"
        return Trial(f"{what} ({where})", PROBABILITY, None, 0.01)
    (logits,) = i3d.embed_with(state, "cpu")(read_clip(Clip(clip))[None])
    odds = np.exp(logits - logits.max())
    return Trial(what, PROBABILITY, float(odds[PLAYING_CRICKET] / odds.sum()), 0.01)
