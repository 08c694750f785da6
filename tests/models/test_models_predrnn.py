"""PredRNNv2: decoupled memories, and the schedule of the shown truth."""

import math

import pytest
import torch

from stp.models import predrnnv2
from stp.models.reverse_scheduled_sampling import ReverseScheduledSampling

SMALL = {"num_hidden": [6, 6], "filter_size": 3, "patch_size": 2}


def small(model, context=3, horizon=2, **options):
    torch.manual_seed(0)
    return model((1, 8, 8), context, horizon, **{**SMALL, **options})


def test_decoupling_punishes_memories_that_change_alike():
    model = small(predrnnv2.Model)
    pattern = torch.rand(2, 6, 4, 4)
    assert model._similarity(pattern, -3 * pattern).item() == pytest.approx(1, abs=1e-5)
    with torch.no_grad():
        model.adapter.weight.copy_(torch.eye(6).reshape(6, 6, 1, 1))
    stripes, checks = torch.zeros(2, 1, 6, 4, 4)
    stripes[..., ::2] = 1
    stripes[..., 1::2] = -1
    checks[..., ::2, :] = 1
    checks[..., 1::2, :] = -1
    assert model._similarity(stripes, checks).item() == pytest.approx(0, abs=1e-6)


def test_the_context_is_ever_more_and_the_rest_ever_less_often_true():
    published = ReverseScheduledSampling()
    assert published.probabilities(0) == published.probabilities(24_999) == (0.5, 0.5)
    context, later = published.probabilities(30_000)
    assert context == pytest.approx(1 - 0.5 * math.exp(-1))
    assert later == pytest.approx(0.4)
    assert published.probabilities(50_000) == (1.0, 0.0)
    shown = ReverseScheduledSampling(start=0, stop=0).draw(0, 50, 3, 4)
    assert shown[:, :3].all() and not shown[:, 3:].any()
    torch.manual_seed(0)
    assert published.draw(0, 400, 5, 5).float().mean().item() == pytest.approx(0.5, abs=0.04)
