"""Learned perceptual image patch similarity (Zhang et al. 2018, arXiv 1801.03924), version 0.1.

    LPIPS(x, y) = sum over layers l of mean over pixels of sum over channels c of
                  w_lc (f_lc(x) - f_lc(y))^2

with features f of an ImageNet classifier, normalised to unit length over the channels at each
pixel, and weights w >= 0 fitted to human judgements. Inputs are RGB frames in [-1, 1] (grey frames
get three equal channels), normalised by ``SHIFT`` and ``SCALE``. Values equal those of the authors'
package ``lpips`` 0.1.4. That package is needed for w only, because its networks download their own
weights.

Frames must have at least the height and width that give a single pixel in the last layer: 31 for
AlexNet, 17 for SqueezeNet, 16 for VGG-16. Smaller frames are not enlarged.
"""

import importlib.metadata
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from stp.core.errors import StpError
from stp.metrics.metric import Metric
from stp.metrics.networks.state import State, read_state, read_verified
from stp.metrics.networks.trunks import TAPS, read_trunk
from stp.metrics.perceptual import LearnedMetric, Weights
from stp.models.compute import set_up_compute

SHIFT = (-0.030, -0.088, -0.188)
SCALE = (0.458, 0.448, 0.450)
"""Mean and standard deviation of ImageNet's channels for frames in [-1, 1], as in the authors'
code."""

EPSILON = 1e-10  # added to the length of a feature vector
BATCH_PIXELS = 1 << 20
"""Number of pixels in the pairs of frames of a batch."""

PACKAGED = {"alexnet": "alex", "squeezenet": "squeeze", "vgg16": "vgg"}
"""Names of the files in the package ``lpips`` with the weights of the channels, by network."""


class Lpips(nn.Module):
    """Module that computes LPIPS through the features of one network.

    Args:
        name: name of the network: alexnet, squeezenet or vgg16.
        state: weights of the network, with torchvision's names.
        linear: weights w of the channels (see the module), named ``lin0.model.1.weight``, ... as in
            the package ``lpips``; None to read them from the installed package.

    Raises:
        StpError: the weights are those of another network, or the package is needed but not
            installed.
    """

    def __init__(self, name: str, state: State, linear: State | None = None) -> None:
        super().__init__()
        self.name = name
        self.trunk = read_trunk(name, state)
        linear = linear or linear_weights(name)
        for layer in range(len(TAPS[name].layers)):
            self.register_buffer(f"w{layer}", linear[f"lin{layer}.model.1.weight"])
        self.register_buffer("shift", torch.tensor(SHIFT)[:, None, None])
        self.register_buffer("scale", torch.tensor(SCALE)[:, None, None])

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Distances, (N,), between frames x and y, (N, 3, H, W) each, in [-1, 1]."""
        shift, scale = self.get_buffer("shift"), self.get_buffer("scale")
        maps = self.trunk((torch.cat([x, y]) - shift) / scale)
        total = x.new_zeros(len(x))
        for layer, features in enumerate(maps):
            f, g = (features / (features.norm(dim=1, keepdim=True) + EPSILON)).chunk(2)
            weighted = (f - g).square() * self.get_buffer(f"w{layer}")
            total += weighted.sum(dim=1).mean(dim=(1, 2))
        return total


def linear_weights(name: str) -> State:
    """Read the weights of a network's channels in LPIPS 0.1 from the package ``lpips``.

    The package is not imported.

    Args:
        name: name of the network: alexnet, squeezenet or vgg16.

    Returns:
        weights of the channels of each compared layer, (1, channels, 1, 1), by the names of the
        package: ``lin0.model.1.weight``, ...

    Raises:
        StpError: the package is not installed.
    """
    name_in_package = f"weights/v0.1/{PACKAGED[name]}.pth"
    try:
        files = importlib.metadata.files("lpips") or []
        path = next(file for file in files if str(file).endswith(name_in_package))
    except (importlib.metadata.PackageNotFoundError, StopIteration):
        raise StpError(
            f"the package lpips with its file {name_in_package} is not installed",
            expected="lpips 0.1.4",
            remedy="pip install lpips==0.1.4",
        ) from None
    return read_state(Path(str(path.locate())))


def compare(network: Lpips, predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Compute LPIPS distances between predicted and observed frames.

    Args:
        network: the network, on its device.
        predicted: predicted frames in [0, 1], (N, T, C, H, W), C is 1 or 3; other values are
            clipped.
        observed: observed frames with the same shape and range.

    Returns:
        distances, float64 (N, T); NaN if a frame has NaN.

    Raises:
        StpError: frames are too small, or neither grey nor RGB.
    """
    samples, leads, channels, height, width = predicted.shape
    smallest = TAPS[network.name].smallest
    if min(height, width) < smallest or channels not in (1, 3):
        raise StpError(
            f"LPIPS of frames of {channels} x {height} x {width}",
            expected=f"1 or 3 channels of at least {smallest} x {smallest} pixels, what "
            f"{network.name} needs",
            remedy="take the lpips conventions out of the evaluation of this dataset",
        )
    device = network.get_buffer("shift").device
    x, y = (frames.reshape(-1, channels, height, width) for frames in (predicted, observed))
    batch = max(1, BATCH_PIXELS // (2 * height * width))
    values = np.empty(len(x))
    with torch.inference_mode():
        for start in range(0, len(x), batch):
            pair = [
                torch.from_numpy(np.ascontiguousarray(frames[start : start + batch], np.float32))
                .to(device)
                .clamp(0, 1)
                .mul(2)
                .sub(1)
                .expand(-1, 3, -1, -1)
                for frames in (x, y)
            ]
            values[start : start + batch] = network(*pair).double().cpu().numpy()
    return values.reshape(samples, leads)


def build(weights: Weights, name: str) -> Metric:
    """Read the weights of a network, and make the LPIPS metric that compares its features.

    Args:
        weights: weights file and device of the network.
        name: name of the network: alexnet, squeezenet or vgg16.

    Raises:
        StpError: the file is missing, its checksum differs, or its weights are those of another
            network.
    """
    state, _ = read_verified(weights.path, weights.declared)
    with set_up_compute(weights.device, weights.threads, "float32") as compute:
        network = Lpips(name, state).to(compute.device)

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        with set_up_compute(weights.device, weights.threads, "float32"):
            return compare(network, predicted, observed)[:, None]

    # Features of a frame depend on its batch, in their last digits.
    return Metric(statistics, independent_leads=False)


def lpips(*, network: Literal["alexnet", "squeezenet", "vgg16"]) -> LearnedMetric:
    """LPIPS, a perceptual distance between predicted and observed frames.

    Args:
        network: network whose features are compared. PredBench and most papers use AlexNet; of
            SqueezeNet, it is version 1.1.
    """
    return LearnedMetric(network, partial(build, name=network))
