"""Values that others published for frames that everybody has: do given weights give them?

The frames are all black in one set and all white in the other. A network whose weights were mixed
up, or whose frames are prepared otherwise, misses them.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from stp.features.networks import i3d
from stp.metrics import lpips
from stp.metrics.networks.state import read_state


class Trial(NamedTuple):
    """A published value beside ours; ``tolerance`` is relative."""

    what: str
    published: float
    ours: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        return abs(self.ours - self.published) <= self.tolerance * abs(self.published)

    def __str__(self) -> str:
        verdict = "agrees" if self.agrees else "DOES NOT AGREE"
        return f"{self.what}: {self.ours:.5g}, published {self.published:.5g}: {verdict}"


SOURCE = "common_metrics_on_video_quality"
LPIPS_ALEX = 0.81401
"""Black against white frames of 64 x 64, printed by ``SOURCE``."""

FVD = {15: 133.7031, 16: 152.9175}
"""Black against white clips of 64 x 64 by number of frames, printed by ``SOURCE`` for
i3d_torchscript.pt. The covariances are zero, so this is a squared distance of two logits."""

TOLERANCE = 0.005
"""Relative; what the source says of its own two networks, and of machines, is below it."""


def tried(network: str, path: Path) -> list[Trial]:
    """Compute the published values of a network, in a few seconds; none for networks without any.

    Args:
        network: its name in config/weights.yaml.
        path: its weights.
    """
    state = read_state(path)
    if network == "alexnet":
        black = np.zeros((1, 1, 3, 64, 64), np.float32)
        ours = lpips.compare(lpips.Lpips(network, state), black, black + 1).item()
        return [Trial("LPIPS of black and white frames", LPIPS_ALEX, ours, TOLERANCE)]
    if network == "i3d":
        embed = i3d.embed_with(state, "cpu")
        trials = []
        for frames, published in FVD.items():
            black = np.zeros((1, frames, 3, 64, 64), np.float32)
            apart = embed(black) - embed(black + 1)
            what = f"FVD of black and white clips of {frames} frames"
            trials.append(Trial(what, published, float(np.square(apart).sum()), TOLERANCE))
        return trials
    return []
