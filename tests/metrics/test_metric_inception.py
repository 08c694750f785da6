"""Inception-v3: against torchvision's network with the same weights, and what is made of frames."""

import importlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from lpips_reference import lpips
from scipy.special import softmax
from scipy.stats import entropy as entropy_of

from stp.core.errors import StpError
from stp.core.file_identity import identify
from stp.features.networks import inception_frames
from stp.metrics.networks.inception import (
    CLASSES,
    FEATURES,
    SIZE,
    Inception,
    entropy,
    read_classifier,
    read_inception,
)
from stp.metrics.networks.maps import open_feature_maps
from stp.metrics.networks.random_weights import draw
from stp.metrics.perceptual import Weights


@cache
def drawn_state() -> dict[str, torch.Tensor]:
    """The state of a network without a classifier."""
    return draw(Inception(), 0).state_dict()


def test_it_is_the_network_of_torchvision() -> None:
    lpips()  # makes torchvision importable
    models = importlib.import_module("torchvision.models")
    theirs = models.inception_v3(weights=None, init_weights=False)
    draw(theirs, 0)
    for layer in theirs.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            torch.manual_seed(layer.num_features)
            layer.running_mean.normal_(0, 0.1)
            layer.running_var.uniform_(0.5, 1.5)
    state = theirs.state_dict()
    picture = torch.rand((1, 3, 96, 112), generator=torch.Generator().manual_seed(0)) * 2 - 1
    with torch.inference_mode():
        classes = theirs(picture)
    theirs.fc = torch.nn.Identity()
    ours, classifier = read_inception(state), read_classifier(state)
    assert classifier is not None
    assert sum(p.numel() for p in ours.parameters()) == 21_785_568
    with torch.inference_mode():
        torch.testing.assert_close(ours(picture), theirs(picture))
        torch.testing.assert_close(classifier(ours(picture)), classes)
    state["Mixed_6a.branch3x3.conv.weight"] = torch.zeros(1)
    with pytest.raises(StpError, match=r"Mixed_6a\.branch3x3\.conv\.weight"):
        read_inception(state)
    state["fc.bias"] = torch.zeros(10)
    with pytest.raises(StpError, match=r"bias.*\[10\]"):
        read_classifier(state)
    assert read_classifier({"Mixed_7c.branch1x1.conv.weight": torch.zeros(1)}) is None


def test_entropy_of_the_classes_of_frames() -> None:
    """From none of a single class to that of all alike; frames are squashed to 299 pixels."""
    drawn = torch.randn((3, CLASSES), generator=torch.Generator().manual_seed(0)) * 3
    expected = entropy_of(softmax(drawn.numpy(), axis=1), axis=1)
    np.testing.assert_allclose(entropy(drawn), expected, rtol=1e-5)
    assert entropy(torch.zeros(1, CLASSES)).item() == pytest.approx(np.log(CLASSES))
    assert entropy(torch.eye(1, CLASSES) * 1000).item() == 0

    rng = np.random.default_rng(0)
    state = drawn_state()
    assert open_feature_maps("inception", state, torch.device("cpu")).entropies is None
    fc = rng.normal(0, 0.05, (CLASSES, FEATURES)).astype(np.float32)
    state = state | {"fc.weight": torch.from_numpy(fc), "fc.bias": torch.zeros(CLASSES)}
    network_maps = open_feature_maps("inception", state, torch.device("cpu"))
    frames = rng.integers(0, 256, (2, SIZE, SIZE, 3), dtype=np.uint8)
    frames[1] = frames[1, 0, 0]
    with torch.inference_mode():
        assert network_maps.entropies is not None
        actual = network_maps.entropies(frames)
        pictures = torch.from_numpy(frames).permute(0, 3, 1, 2).float() / 127.5 - 1
        means = read_inception(state)(pictures).numpy()
        small = network_maps.entropies(frames[1:, :48, :64])
    np.testing.assert_allclose(actual, entropy_of(softmax(means @ fc.T, axis=1), axis=1), rtol=1e-3)
    assert 0 < actual[0] < np.log(CLASSES) and abs(actual[0] - actual[1]) > 1e-3
    np.testing.assert_allclose(small, actual[1:], rtol=1e-3)


def test_means_over_frames_are_blind_to_their_order(tmp_path: Path) -> None:
    path = tmp_path / "inception.pth"
    torch.save(drawn_state(), path)
    weights = Weights(path, {"sha256": identify(path)["sha256"]}, "cpu")
    clip = np.random.default_rng(0).random((1, 2, 1, 8, 8), np.float32)
    grey, colour = clip, np.repeat(clip, 3, axis=2)
    means = inception_frames.embed(weights, "means")
    actual = means(grey)
    assert actual.shape == (1, FEATURES) and actual.dtype == np.float64 and actual.std() > 0
    np.testing.assert_array_equal(means(colour[:, [1, 0]]), actual)
    with pytest.raises(StpError, match=path.name):
        inception_frames.embed(weights._replace(declared={"sha256": "0" * 64}), "means")
