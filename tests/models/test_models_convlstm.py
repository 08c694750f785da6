"""ConvLSTM: order of patches, and the schedule of the shown truth."""

import numpy as np
import pytest
import torch

from stp.models.convlstm import Model
from stp.models.scheduled_sampling import ScheduledSampling


def test_patches_become_channels_in_the_published_order():
    # b c (hp p1) (wp p2) -> b (c p1 p2) hp wp
    frame = np.arange(2 * 3 * 4 * 6, dtype=np.float32).reshape(2, 3, 4, 6)
    expected = frame.reshape(2, 3, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4).reshape(2, 12, 2, 3)
    model = Model((3, 4, 6), 1, 1, num_hidden=[2], patch_size=2)
    seen = []
    model.cells[0].from_input.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0]))
    model(torch.from_numpy(frame)[:, None], 1)
    np.testing.assert_array_equal(seen[0], expected)


def test_probability_of_the_truth_falls_with_the_iteration():
    published = ScheduledSampling()
    # 1 - 2e-5 (n + 1): half after 25,000 iterations, nothing after 50,000
    assert published.probability(0) == pytest.approx(1 - 2e-5)
    assert published.probability(24_999) == pytest.approx(0.5)
    assert published.probability(49_999) == pytest.approx(0, abs=1e-12)
    assert ScheduledSampling(stop=10, rate=0.0).probability(9) == 1
    assert ScheduledSampling(stop=10, rate=0.0).probability(10) == 0


def test_truth_is_drawn_for_each_sample_and_input():
    torch.manual_seed(0)
    shown = ScheduledSampling().draw(24_999, 200, 50)
    # 10,000 draws with probability 1/2: standard deviation 0.005
    assert shown.float().mean().item() == pytest.approx(0.5, abs=0.02)
    assert shown.float().mean(dim=0).std() > 0, "inputs differ"
    assert shown.float().mean(dim=1).std() > 0, "samples differ"
