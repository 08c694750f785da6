"""LPIPS against the authors' package, with seeded and with real weights."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conventions import convention
from metrics.lpips_reference import reference

from stp.core.errors import StpError
from stp.core.file_identity import identify
from stp.metrics import lpips
from stp.metrics.lpips import PACKAGED, Lpips, compare
from stp.metrics.networks.state import read_verified
from stp.metrics.networks.trunks import TAPS, Trunk, read_trunk
from stp.metrics.perceptual import LearnedMetric, Weights

CONVENTIONS = {
    "alexnet": convention("lpips.alex"),
    "squeezenet": convention("lpips.squeeze"),
    "vgg16": convention("lpips.vgg"),
}


@cache
def seeded(name: str) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return Trunk(name).state_dict()


@pytest.fixture
def real(
    real_weights: Callable[[str], tuple[Path, dict[str, Any]]],
) -> Callable[[str], dict[str, torch.Tensor]]:
    """Reads published weights; without them the test is skipped."""
    return lambda name: read_verified(*real_weights(name))[0]


def frames(*shape: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Observed frames, and noisy ones that partly leave [0, 1]."""
    rng = np.random.default_rng(seed)
    observed = rng.random(shape, np.float32)
    return observed + np.float32(0.2) * rng.standard_normal(shape, np.float32), observed


def by_the_package(name: str, state: dict[str, torch.Tensor], x, y) -> np.ndarray:
    """Frames (N, T, 3, H, W) one after the other, clipped to [0, 1]: (N, T)."""
    network = reference(PACKAGED[name], read_trunk(name, state).state_dict())
    pair = [torch.from_numpy(v.reshape(-1, *v.shape[2:]).clip(0, 1) * 2 - 1) for v in (x, y)]
    with torch.inference_mode():
        return network(*pair).reshape(x.shape[:2]).numpy()


@pytest.mark.parametrize("name", sorted(TAPS))
@pytest.mark.parametrize(
    "size", [pytest.param((40, 40), marks=pytest.mark.long(part="learning")), (37, 50)]
)
def test_it_equals_the_package_with_seeded_weights(name: str, size: tuple[int, int]) -> None:
    x, y = frames(2, 2, 3, *size)
    actual = compare(Lpips(name, seeded(name)), x, y)
    assert actual.shape == (2, 2)
    assert actual.min() > 0
    np.testing.assert_allclose(actual, by_the_package(name, seeded(name), x, y), rtol=1e-5)


@pytest.mark.real_weights
@pytest.mark.parametrize("name", sorted(TAPS))
def test_it_equals_the_package_with_real_weights(
    name: str, real: Callable[[str], dict[str, torch.Tensor]]
) -> None:
    x, y = frames(3, 2, 3, 64, 96)
    state = real(name)
    actual = compare(Lpips(name, state), x, y)
    np.testing.assert_allclose(actual, by_the_package(name, state, x, y), rtol=0, atol=1e-5)


@pytest.mark.real_weights
def test_black_and_white_frames_give_the_published_value(
    real: Callable[[str], dict[str, torch.Tensor]],
) -> None:
    """0.81401: printed for such videos of 64 x 64 by common_metrics_on_video_quality."""
    black = np.zeros((1, 2, 3, 64, 64), np.float32)
    actual = compare(Lpips("alexnet", real("alexnet")), black, black + 1)
    np.testing.assert_allclose(actual, 0.81401, rtol=2e-4)


def test_it_is_the_formula_for_one_layer_at_a_time() -> None:
    """With all w zero but one, the value is that channel's squared difference, averaged."""
    state = seeded("squeezenet")
    linear = {
        f"lin{i}.model.1.weight": torch.zeros(1, c, 1, 1)
        for i, c in enumerate(TAPS["squeezenet"].channels)
    }
    linear["lin2.model.1.weight"][0, 5] = 2.0
    x, y = frames(1, 1, 3, 40, 40)
    unit = []
    for frame in (x, y):
        scaled = torch.from_numpy(frame[0]).clip(0, 1) * 2 - 1
        shift, scale = (torch.tensor(v)[:, None, None] for v in (lpips.SHIFT, lpips.SCALE))
        seen = read_trunk("squeezenet", state)((scaled - shift) / scale)[2][0]
        unit.append(seen[5] / (seen.square().sum(dim=0).sqrt() + 1e-10))
    by_hand = 2.0 * (unit[0] - unit[1]).square().mean()
    actual = compare(Lpips("squeezenet", state, linear), x, y)
    # A small difference of float32: its rounding differs from processor to processor.
    np.testing.assert_allclose(actual, by_hand.item(), rtol=1e-3)


def test_grey_frames_have_three_equal_channels() -> None:
    network = Lpips("alexnet", seeded("alexnet"))
    x, y = frames(2, 1, 1, 33, 33)
    colour = compare(network, np.repeat(x, 3, axis=2), np.repeat(y, 3, axis=2))
    np.testing.assert_allclose(compare(network, x, y), colour, rtol=1e-6)


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Lpips("squeezenet", seeded("squeezenet"))
    x, y = frames(3, 2, 3, 32, 32)
    whole = compare(network, x, y)
    monkeypatch.setattr(lpips, "BATCH_PIXELS", 1)
    np.testing.assert_allclose(compare(network, x, y), whole, rtol=1e-5)


def test_a_frame_that_is_not_a_number_spoils_itself_only() -> None:
    x, y = frames(2, 2, 3, 32, 32)
    x[1, 0, 0, 3, 3] = np.nan
    actual = compare(Lpips("alexnet", seeded("alexnet")), x, y)
    assert np.isnan(actual).tolist() == [[False, False], [True, False]]


@pytest.mark.parametrize("name", sorted(TAPS))
def test_the_smallest_frames(name: str) -> None:
    smallest = TAPS[name].smallest
    network = Lpips(name, seeded(name))
    x, y = frames(1, 1, 3, smallest, smallest)
    assert np.isfinite(compare(network, x, y)).all()
    with pytest.raises(StpError, match=f"{smallest} x {smallest}"):
        compare(network, x[..., 1:], y[..., 1:])


def test_two_channels_are_refused() -> None:
    x, y = frames(1, 1, 2, 32, 32)
    with pytest.raises(StpError, match="2 x 32 x 32"):
        compare(Lpips("alexnet", seeded("alexnet")), x, y)


@pytest.mark.parametrize(("name", "convention"), CONVENTIONS.items())
def test_a_convention_is_built_from_a_file(name: str, convention: LearnedMetric, tmp_path) -> None:
    torch.save(seeded(name), tmp_path / "a.pt")
    sha256 = identify(tmp_path / "a.pt")["sha256"]
    assert convention.weights == name
    metric = convention.build(Weights(tmp_path / "a.pt", {"sha256": sha256}, "cpu"))
    x, y = frames(2, 3, 1, 32, 32)
    actual = metric.statistics(x, y)
    assert actual.shape == (2, 1, 3)  # samples, one component, lead times
    assert actual.dtype == np.float64
    np.testing.assert_array_equal(actual[:, 0], compare(Lpips(name, seeded(name)), x, y))
    with pytest.raises(StpError, match=r"a\.pt"):
        convention.build(Weights(tmp_path / "a.pt", {"sha256": "0" * 64}, "cpu"))


def test_the_weights_of_a_whole_classifier_do_as_well() -> None:
    state = seeded("alexnet") | {"classifier.1.weight": torch.zeros(3, 3)}
    x, y = frames(1, 1, 3, 32, 32)
    whole = compare(Lpips("alexnet", state), x, y)
    np.testing.assert_array_equal(whole, compare(Lpips("alexnet", seeded("alexnet")), x, y))


def test_weights_of_another_network_are_refused() -> None:
    with pytest.raises(StpError, match="alexnet"):
        Lpips("alexnet", seeded("vgg16"))
