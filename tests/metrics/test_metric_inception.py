"""Inception-v3: against torchvision's network with the same weights, and what is made of frames."""

import importlib
from pathlib import Path

import numpy as np
import pytest
import torch
from lpips_reference import lpips

from stp.core.errors import StpError
from stp.core.file_identity import identify
from stp.features.networks import inception_frames
from stp.metrics.networks.inception import FEATURES, Inception, read_inception
from stp.metrics.networks.random_weights import draw
from stp.metrics.perceptual import Weights


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
    theirs.fc = torch.nn.Identity()
    ours = read_inception(state)
    assert sum(p.numel() for p in ours.parameters()) == 21_785_568
    picture = torch.rand((1, 3, 96, 112), generator=torch.Generator().manual_seed(0)) * 2 - 1
    with torch.inference_mode():
        torch.testing.assert_close(ours(picture), theirs(picture))
    state["Mixed_6a.branch3x3.conv.weight"] = torch.zeros(1)
    with pytest.raises(StpError, match=r"Mixed_6a\.branch3x3\.conv\.weight has shape \[1\]"):
        read_inception(state)


def test_means_over_frames_are_blind_to_their_order(tmp_path: Path) -> None:
    path = tmp_path / "inception.pth"
    torch.save(draw(Inception(), 0).state_dict(), path)
    weights = Weights(path, {"sha256": identify(path)["sha256"]}, "cpu")
    clip = np.random.default_rng(0).random((1, 3, 1, 8, 8), np.float32)
    grey, colour = clip, np.repeat(clip, 3, axis=2)
    means = inception_frames.embed(weights, "means")
    found = means(grey)
    assert found.shape == (1, FEATURES) and found.dtype == np.float64 and found.std() > 0
    np.testing.assert_array_equal(means(colour[:, [2, 0, 1]]), found)
    with pytest.raises(StpError, match="not the declared ones"):
        inception_frames.embed(weights._replace(declared={"sha256": "0" * 64}), "means")
