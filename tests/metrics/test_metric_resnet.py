"""ResNet-50 has the size that is published."""

import torch

from stp.metrics.networks.resnet import ResNet50, read_resnet50


@torch.no_grad()
def test_its_maps_and_its_size():
    network = ResNet50()
    # 25,557,032 are published; the classifier has 2048 x 1000 + 1000 of them.
    assert sum(p.numel() for p in network.parameters()) == 25_557_032 - 2_049_000
    state = {**network.state_dict(), "fc.weight": torch.zeros(1), "fc.bias": torch.zeros(1)}
    actual = read_resnet50(state)(torch.rand(2, 3, 64, 96))
    assert actual.shape == (2, 2048, 2, 3)
