"""Networks of features: those of torchvision with the same weights; held numbers of the others."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from held_numbers import Held, require_held, summary, write
from metrics.lpips_reference import lpips
from torch import Tensor, nn

from stp.metrics.networks.c3d import C3D, read_c3d
from stp.metrics.networks.i3d import I3D, prepare, read_i3d
from stp.metrics.networks.maps import NETWORKS, open_feature_maps
from stp.metrics.networks.pickled_arrays import LAYERS
from stp.metrics.networks.random_weights import draw
from stp.metrics.networks.trunks import TAPS, Trunk
from stp.metrics.networks.videomae import VideoMAE, read_videomae

TORCHVISION = {
    **{"alexnet": "alexnet", "squeezenet": "squeezenet1_1", "vgg16": "vgg16", "vgg19": "vgg19"},
    "resnet50": "resnet50",
}
NUMBERS = Path(__file__).with_suffix(".yaml")
TOLERANCE = 1e-4
"""Relative to the norm; rounding of other orders of summation explains less than 1e-5."""


def known_state(network: nn.Module) -> dict[str, Tensor]:
    """Weights that let outputs neither vanish nor grow, and statistics as after a training."""
    rng, state = np.random.default_rng(0), {}
    for name, tensor in network.state_dict().items():
        drawn = torch.from_numpy(np.asarray(rng.random(tuple(tensor.shape)) * 2 - 1)).float()
        if tensor.ndim > 1:
            drawn *= (6 / tensor[0].numel()) ** 0.5
        elif name.endswith(("running_var", "weight")):
            drawn = 1 + drawn / 4
        state[name] = drawn.to(tensor.dtype)
    return state


def of_shapes(make: Callable[[], nn.Module]) -> nn.Module:
    with torch.device("meta"):
        return make()


def of_torchvision(name: str) -> tuple[Any, nn.Module]:
    """What torchvision says of its weights, and its network up to the last maps, with others."""
    lpips()  # makes torchvision importable
    models = importlib.import_module("torchvision.models")
    with torch.device("meta"):
        network = getattr(models, TORCHVISION[name])(weights=None)
    if name == "resnet50":
        network.avgpool = network.fc = nn.Identity()
    else:
        network.avgpool = network.classifier = nn.Identity()
    network = network.to_empty(device="cpu").eval()
    network.load_state_dict(known_state(network))
    return models.get_model_weights(TORCHVISION[name]).DEFAULT.transforms(), network


@pytest.mark.parametrize("name", TORCHVISION)
def test_maps_are_those_of_torchvision(name: str) -> None:
    published, theirs = of_torchvision(name)
    network_maps = open_feature_maps(name, theirs.state_dict(), torch.device("cpu"))
    frames = np.random.default_rng(1).integers(0, 256, (2, 64, 96, 3), np.uint8)
    mean, deviation = (torch.tensor(x)[:, None, None] for x in (published.mean, published.std))
    x = (torch.from_numpy(frames).permute(0, 3, 1, 2) / 255 - mean) / deviation
    outputs = []
    with torch.inference_mode():
        if name == "resnet50":
            outputs = [theirs(x).reshape(2, 2048, 2, 3)]
        else:
            for layer in theirs.features:
                outputs.append(layer(outputs[-1] if outputs else x).clone())
    last, compared = outputs[-1], outputs[-1]
    if name in TAPS:
        taps = [outputs[layer] for layer in TAPS[name].layers]
        assert tuple(tap.shape[1] for tap in taps) == TAPS[name].channels
        last = compared = taps[-1]
    elif name == "vgg19":
        compared = outputs[-2]
    for actual, expected in ((network_maps.maps, last), (network_maps.compared, compared)):
        torch.testing.assert_close(torch.from_numpy(actual(frames)).permute(0, 3, 1, 2), expected)
    assert network_maps.channels == last.shape[1] == NETWORKS[name].channels


@pytest.mark.parametrize(("name", "trunk"), [("AlexNet_0", "alexnet"), ("VGG16_0", "vgg16")])
def test_flax_counts_the_convolutions_of_torchvision(name: str, trunk: str) -> None:
    layers = enumerate(Trunk(trunk).features)
    assert [i for i, layer in layers if isinstance(layer, nn.Conv2d)] == list(LAYERS[name])


@pytest.mark.parametrize("name", sorted(TAPS))
def test_smaller_frames_do_not_reach_the_last_tap(name: str) -> None:
    with torch.device("meta"):
        trunk, smallest = Trunk(name), TAPS[name].smallest
        assert trunk(torch.zeros(1, 3, smallest, smallest))[-1].numel()
        with pytest.raises(RuntimeError):
            trunk(torch.zeros(1, 3, smallest - 1, smallest - 1))


def numbers(name: str) -> Held:
    """What a network computes without gradients, and what is drawn."""
    rng = np.random.default_rng(1)
    if name == "i3d":
        network = read_i3d(known_state(of_shapes(I3D)))
        x = prepare(rng.random((1, 10, 3, 20, 30), np.float32))
        return {layer: summary(network(x, layer).numpy()) for layer in ("logits", "pooled")}
    if name == "c3d":
        frames = rng.integers(0, 256, (9, 60, 80, 3), np.uint8)
        return {"maps": summary(read_c3d(known_state(of_shapes(C3D))).maps(frames))}
    if name == "videomae":
        network = read_videomae(known_state(VideoMAE(384, 2, 6, 96, patch=28)))
        return {
            "pooled": summary(
                network(torch.from_numpy(rng.random((2, 3, 4, 56, 84), np.float32))).numpy()
            )
        }
    drawn = draw(Trunk("squeezenet"), 3).state_dict()
    return {"weights": summary(torch.cat([w.flatten() for w in drawn.values()]).numpy())}


CASES = ("i3d", "c3d", "videomae", "random_weights")


@pytest.mark.parametrize("name", CASES)
def test_features_are_the_held_numbers(name: str) -> None:
    """The code itself computed them, after other tests had compared the parts of each network with
    plain formulas. Where a network is meant to change, this writes its new numbers, whose
    difference is to be read:

        PYTHONPATH=tests python tests/metrics/test_metric_networks.py i3d  # no name: all
    """
    require_held(name, numbers(name), NUMBERS, TOLERANCE)


if __name__ == "__main__":
    write(NUMBERS, CASES, numbers, sys.argv[1:])
