"""Scores of fields on the globe against plain loops over the equations of ChaosBench.

Equations are those of its text and appendix F (https://arxiv.org/abs/2402.00712).
"""

import itertools
from pathlib import Path
from typing import Any

import globe_by_hand as by_hand
import numpy as np
import pytest
from conventions import convention
from crps_reference import properscoring
from globe_by_hand import similarity, spectrum

from stp.metrics import (
    acc,
    crpss,
    latitude,
    spectral_coherence,
)
from stp.metrics.batches import batches_in_time
from stp.metrics.comparison import Comparison, on_data
from stp.metrics.finest import finest_bins, finest_spectrum
from stp.metrics.metric import Metric
from stp.score.motion import PeopleData

LATITUDES = np.linspace(90, -90, 7)
SHAPE = (2, 3, 2, 7, 5)  # N, T, C, H, W


@pytest.fixture
def grid(monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    """Coordinates, without files; a test may set others."""
    coordinates = {"lat": LATITUDES}
    monkeypatch.setattr(latitude, "coordinate", lambda data, name: coordinates.get(name))
    return coordinates


PUBLISHED = 100
"""Frames from a climatology of training years to another one."""


class Climatology:
    """Mean and deviation of a frame, as `climate` has them."""

    missing = ""

    def __init__(self, data: Any, kind: str) -> None:
        self._of, self._shape = 1 if kind.endswith("_deviation") else 0, data.shape
        self._later = PUBLISHED if kind.startswith("published") else 0

    def missing_of(self, frames: np.ndarray) -> str:
        return ""

    def read(self, frame: int) -> np.ndarray:
        return climate(frame + self._later, self._shape)[self._of]


def climate(frame: int, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(frame)
    return (
        rng.normal(280, 2, shape).astype(np.float32),
        rng.uniform(0.5, 2, shape).astype(np.float32),
    )


@pytest.fixture(autouse=True)
def no_climatology_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (acc, crpss, spectral_coherence):
        monkeypatch.setattr(module, "Climatology", Climatology)


def fields(*, members: int = 0, shape: tuple[int, ...] = SHAPE) -> tuple[np.ndarray, np.ndarray]:
    """Forecasts (N, [M,] T, C, H, W) and truth (N, T, C, H, W), in kelvin."""
    rng = np.random.default_rng(0)
    truth = rng.normal(281, 3, shape).astype(np.float32)
    if not members:
        return truth + rng.normal(0.5, 2, shape).astype(np.float32), truth
    noise = rng.normal(0.2, 2, (shape[0], members, *shape[1:]))
    return (truth[:, None] + noise).astype(np.float32), truth


def of(metric: Metric, predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Statistics of all samples, (N, C, [parts,] T)."""
    bound = on_these(metric, predicted, observed)
    assert not bound.reason
    numbers = (np.arange(len(observed)), np.arange(observed.shape[1])) if bound.numbered else ()
    pair = [predicted, observed]
    if bound.transform is not None:
        pair = [bound.transform(frames, observed) for frames in pair]
    actual = bound.statistics(*pair, *numbers)
    variables = observed.shape[2]
    assert actual.shape[1] % variables == 0
    shape = (len(actual), variables, -1, actual.shape[-1])
    return actual if actual.shape[1] == variables else actual.reshape(shape)


def on_these(metric: Metric, predicted: np.ndarray, observed: np.ndarray) -> Metric:
    shape = observed.shape[2:]
    assert len(shape) == 3
    names = [f"v{c}" for c in range(shape[0])]
    data = PeopleData(
        Path("nowhere"), {"units": "physical", "variables": names}, shape, np.arange(shape[0])
    )
    members = predicted.shape[1] if predicted.ndim == 6 else 1
    return on_data(metric, Comparison(data, numbers_of(observed), members))


def numbers_of(observed: np.ndarray) -> np.ndarray:
    """Frame of each sample and lead time."""
    return np.arange(observed.shape[0])[:, None] + np.arange(observed.shape[1])


def each(actual: np.ndarray) -> list[tuple[int, int, int]]:
    """Samples, channels and lead times."""
    return list(np.ndindex(*actual.shape[:2], actual.shape[-1]))


# Means over the globe


MASKS = ("none", "some points", "one variable")


def masked(truth: np.ndarray, mask: str) -> np.ndarray:
    truth = truth.copy()
    if mask == "some points":
        truth[:, :, 1, 2:4] = np.nan
        truth[0, 0, 0, 3, 1] = np.nan
    if mask == "one variable":
        truth[:, :, 1] = np.nan
    return truth


def test_grids_upside_down_and_both_poles(grid: dict[str, np.ndarray]) -> None:
    forecast, truth = fields()
    members = np.stack([forecast, forecast + 1], axis=1)
    # All of an error at the poles, where a grid with both has no area.
    polar = truth.copy()
    polar[..., [0, -1], :] += 1000
    for name, predicted in (
        *(("wrmse.per_frame", forecast), ("bias.weighted", forecast)),
        *(("spread.weighted", members), ("crps.weighted", members)),
    ):
        metric, grid["lat"] = convention(name), LATITUDES
        north_first = of(metric, predicted, truth)
        if predicted is forecast:
            assert of(metric, polar, truth) == pytest.approx(0, abs=1e-4)
        grid["lat"] = LATITUDES[::-1]
        south_first = of(metric, predicted[..., ::-1, :], truth[..., ::-1, :])
        assert south_first == pytest.approx(north_first, rel=1e-12)


def test_a_forecast_that_is_nan_where_something_was_observed_is_bad(grid: Any) -> None:
    forecast, truth = fields()
    truth = masked(truth, "some points")
    forecast[0, 0, 0, 3, 1] = np.nan  # nothing was observed there
    forecast[1, 2, 1, 0, 0] = np.nan
    for metric in (
        convention("wrmse.per_frame"),
        convention("bias.weighted"),
        convention("acc.per_frame"),
        convention("acc.centred"),
    ):
        assert np.argwhere(np.isnan(of(metric, forecast, truth))).tolist() == [[1, 1, 2]]


def test_without_latitudes_there_is_a_reason(grid: dict[str, np.ndarray]) -> None:
    del grid["lat"]
    forecast, truth = fields(members=3)
    for metric in (
        convention("bias.weighted"),
        convention("crpss.climatology"),
        convention("rank_histogram.weighted"),
        convention("spread.weighted"),
    ):
        assert "lat" in on_these(metric, forecast, truth).reason


# Structural similarity


def smooth(shape: tuple[int, int], seed: int) -> np.ndarray:
    """Fields of many scales."""
    rng = np.random.default_rng(seed)
    field = rng.normal(size=shape)
    for size in (4, 16):
        coarse = rng.normal(size=[side // size + 2 for side in shape])
        field += size * np.kron(coarse, np.ones((size, size)))[: shape[0], : shape[1]]
    return field


@pytest.mark.parametrize(
    ("shape", "name", "scales"),
    [
        ((121, 240), "own_range", 5),
        ((81, 85), "own_range", 5),
        ((32, 64), "own_range_three_scales", 3),
        ((31, 60), "own_range_three_scales", 3),
        ((121, 240), "joint_range", 5),
        ((81, 85), "joint_range", 5),
        ((31, 60), "joint_range_three_scales", 3),
    ],
)
def test_ms_ssim_is_a_plain_loop(
    shape: tuple[int, int], name: str, scales: int, grid: dict[str, np.ndarray]
) -> None:
    """Of own ranges it is the published one."""
    grid["lat"] = np.linspace(90, -90, shape[0])
    is_joint = name.startswith("joint")
    truth, other = (smooth(shape, seed)[None, None, None] for seed in (0, 1))
    forecast = 0.7 * truth + 0.5 * other + 5 if is_joint else truth + other + 50
    pair = forecast[0, 0, 0], truth[0, 0, 0]
    expected = similarity(*pair, scales, joint=is_joint)
    assert is_joint or 0.1 < expected < 0.95
    if is_joint:
        assert expected != pytest.approx(similarity(*pair, scales), abs=1e-3)
    actual = of(convention(f"ms_ssim.{name}"), forecast, truth)[0, 0, 0]
    assert actual == pytest.approx(expected, abs=1e-5)


def test_only_a_joint_range_sees_amplitude_and_mean(grid: dict[str, np.ndarray]) -> None:
    grid["lat"] = np.linspace(90, -90, 32)
    truth = smooth((32, 64), 0)[None, None, None]
    for metric, sees in ((convention("ms_ssim.own_range_three_scales"), False),
                         (convention("ms_ssim.joint_range_three_scales"), True)):  # fmt: skip
        assert of(metric, truth, truth)[0, 0, 0] == pytest.approx(1)
        actual = of(metric, 5 * truth + 3, truth)[0, 0, 0]
        assert (actual < 0.6) if sees else actual == pytest.approx(1, abs=1e-5)


def test_grids_that_are_too_small_say_so(grid: dict[str, np.ndarray]) -> None:
    frames = np.zeros((1, 1, 1, 61, 120), np.float32)
    grid["lat"] = np.linspace(90, -90, 61)
    reason = on_these(convention("ms_ssim.own_range"), frames, frames).reason
    assert "61 x 120" in reason and "81" in reason
    tiny = frames[..., :5, :5]
    grid["lat"] = np.linspace(90, -90, 5)
    assert on_these(convention("spectral_divergence.high_wavenumbers"), tiny, tiny).reason


def test_constant_fields_have_no_similarity_and_nan_stays(grid: dict[str, np.ndarray]) -> None:
    grid["lat"] = np.linspace(90, -90, 32)
    truth = smooth((32, 64), 0)[None, None, None]
    for metric in (
        convention("ms_ssim.own_range_three_scales"),
        convention("spectral_divergence.high_wavenumbers"),
    ):
        assert of(metric, np.full_like(truth, 3.0), truth)[0, 0, 0] == np.inf
        bad = truth.copy()
        bad[..., 4, 5] = np.nan
        assert np.isnan(of(metric, bad, truth)).all()
        assert np.isfinite(of(metric, truth + smooth((32, 64), 1), bad)).all()  # a mask


# Spectra


@pytest.mark.parametrize(
    ("shape", "bins"), [((121, 240), 14), ((61, 120), 7), ((33, 64), 4), ((32, 64), 4)]
)
def test_the_finest_bins_are_the_published_ones(shape: tuple[int, int], bins: int) -> None:
    field = smooth(shape, 0) + 5e4  # as high as geopotential
    actual = finest_spectrum(field)
    assert actual.shape == (bins,) and finest_bins(*shape) == bins
    np.testing.assert_allclose(actual, spectrum(field), rtol=1e-7)
    assert np.hypot(*(n // 2 for n in (121, 240))) == pytest.approx(134.164, abs=1e-3)


def test_divergence_and_residual_of_fine_detail(grid: dict[str, np.ndarray]) -> None:
    shape = (33, 64)
    grid["lat"] = np.linspace(90, -90, 33)
    truth = np.stack([smooth(shape, seed) for seed in range(4)]).reshape(2, 1, 2, *shape)
    forecast = truth + np.stack([smooth(shape, 9 + seed) for seed in range(4)]).reshape(truth.shape)
    divergences = of(convention("spectral_divergence.high_wavenumbers"), forecast, truth)
    residuals = of(convention("spectral_residual.high_wavenumbers"), forecast, truth)
    for n, c, t in each(divergences):
        o, p = (spectrum(a[n, t, c]) for a in (truth, forecast))
        o, p = o / o.sum(), p / p.sum()
        expected = sum(a * np.log(a / b) for a, b in zip(o, p, strict=True))
        assert divergences[n, c, t] == pytest.approx(expected, rel=1e-6)
        assert residuals[n, c, t] == pytest.approx(np.sqrt(np.mean((o - p) ** 2)), rel=1e-6)


@pytest.mark.parametrize(
    ("name", "by_loop"),
    [
        ("spectral_divergence.high_wavenumbers", by_hand.divergence),
        ("spectral_residual.high_wavenumbers", by_hand.residual),
    ],
    ids=["divergence", "residual"],
)
def test_batches_have_the_spectra_of_their_mean_fields(
    name: str, by_loop: Any, grid: dict[str, np.ndarray]
) -> None:
    metric, of_one = convention(f"{name}_batch32"), convention(name)
    # 40 starts: a batch of 32 and one of 8.
    shape = (33, 64)
    grid["lat"] = np.linspace(90, -90, 33)
    rng = np.random.default_rng(0)
    truth, forecast = rng.normal(size=(2, 40, 1, 2, *shape))
    batches = on_these(metric, forecast, truth).batches
    assert batches is not None and batches.number.tolist() == [0] * 32 + [1] * 8
    waves = of(metric, forecast, truth)
    assert waves.shape == (40, 2, batches.components, 1)
    apart = of(of_one, forecast, truth)
    for batch in (slice(0, 32), slice(32, 40)):
        actual = batches.score(waves[batch].mean(axis=0).reshape(-1, 1))
        assert actual.shape == (2, 1)
        for c in range(2):
            p, o = (a[batch].mean(axis=0)[0, c] for a in (forecast, truth))
            assert actual[c, 0] == pytest.approx(by_loop(p, o), rel=1e-9)
            assert actual[c, 0] != pytest.approx(apart[batch, c].mean(), rel=1e-3)


def test_batches_are_of_successive_days_in_whatever_order_they_come() -> None:
    frames = np.array([[5], [1], [9], [3], [2]]) + np.arange(3)
    assert batches_in_time(frames, 2).tolist() == [2, 0, 3, 1, 0]


# Ensembles


def test_crps_of_normal_distributions_matches_properscoring() -> None:
    rng = np.random.default_rng(0)
    y, mean, deviation = rng.normal(size=50), rng.normal(size=50), rng.uniform(0.1, 3, 50)
    np.testing.assert_allclose(
        crpss.crps_normal(mean, deviation, y),
        properscoring.crps_gaussian(y, mean, deviation),
        rtol=1e-12,
    )
    assert crpss.crps_normal(np.ones(1), np.zeros(1), np.array([3.0])) == 2


def test_ranks_by_hand(grid: dict[str, np.ndarray]) -> None:
    # Two latitudes of equal area; members 1 and 3. Observed: 0, 2 (ranks 0, 1) and 3, 4: 3 is a
    # member, so ranks 1 and 2 share it; 4 has rank 2.
    grid["lat"] = np.array([30.0, -30.0])
    members = np.broadcast_to(np.array([1.0, 3.0])[None, :, None, None, None, None],
                              (1, 2, 1, 1, 2, 2))  # fmt: skip
    truth = np.array([[0.0, 2.0], [3.0, 4.0]])[None, None, None]
    metric = on_these(convention("rank_histogram.weighted"), members, truth)
    actual = metric.statistics(members, truth)
    np.testing.assert_allclose(actual[0, :, 0], [0.25, 0.375, 0.375])
    # Outside of both: 0 and 4, and half of 3; two thirds would be even.
    assert of(convention("rank_histogram.outliers"), members, truth) == pytest.approx(0.625 * 3 / 2)
    assert [(s.variable, s.threshold) for s in metric.series] == [("v0", 0), ("v0", 1), ("v0", 2)]
    truth[0, 0, 0, 0, 0] = np.nan
    actual = metric.statistics(members, truth)
    np.testing.assert_allclose(actual[0, :, 0], [0, 0.5, 0.5])
    assert of(convention("rank_histogram.outliers"), members, truth) == pytest.approx(0.5 * 3 / 2)


RMSE, ACC = (
    convention("wrmse.per_frame_of_members"),
    convention("acc.per_frame_without_validation_of_members"),
)
SIMILARITY = convention("ms_ssim.own_range_of_members")
JOINTLY = convention("ms_ssim.joint_range_of_members")
DIVERGENCE = convention("spectral_divergence.high_wavenumbers_of_members")
RESIDUAL = convention("spectral_residual.high_wavenumbers_of_members")


@pytest.mark.parametrize(
    ("of_members", "of_one", "by_loop"),
    [
        (RMSE, convention("wrmse.per_frame"), lambda p, o, mean, lat: by_hand.rmse(p, o, lat)),
        (ACC, convention("acc.per_frame_without_validation"), by_hand.acc),
        (SIMILARITY, convention("ms_ssim.own_range"), lambda p, o, mean, lat: similarity(p, o, 5)),
        (JOINTLY, convention("ms_ssim.joint_range"),
         lambda p, o, mean, lat: similarity(p, o, 5, joint=True)),
        (DIVERGENCE, convention("spectral_divergence.high_wavenumbers"),
         lambda p, o, mean, lat: by_hand.divergence(p, o)),
        (RESIDUAL, convention("spectral_residual.high_wavenumbers"),
         lambda p, o, mean, lat: by_hand.residual(p, o)),
    ],
    ids=["S14", "S16", "S17", "jointly", "S18", "S19"],
)  # fmt: skip
def test_a_mean_over_members_is_not_the_score_of_their_mean(
    of_members: Metric, of_one: Metric, by_loop: Any, grid: dict[str, np.ndarray]
) -> None:
    shape, count = (81, 85), 3
    grid["lat"] = lat = np.linspace(90, -90, shape[0])
    truth = (280 + smooth(shape, 0))[None, None, None].astype(np.float32)
    noise = np.stack([(m + 1) * smooth(shape, 1 + m) for m in range(count)])
    members = (truth[:, None] + noise[None, :, None, None]).astype(np.float32)
    mean = climate(0, (1, *shape))[0][0].astype(float)
    actual = of(of_members, members, truth)[0, 0, 0]
    each_member = [by_loop(one[0, 0].astype(float), truth[0, 0, 0].astype(float), mean, lat)
                   for one in members[0]]  # fmt: skip
    assert actual == pytest.approx(np.mean(each_member), rel=1e-5)
    of_mean = of(of_one, members.mean(axis=1), truth)[0, 0, 0]
    assert abs(actual / of_mean - 1) > 0.05
    alone = of(of_members, members[:, 1:2], truth)[0, 0, 0]
    assert alone == pytest.approx(each_member[1], rel=1e-5)


# Coherence


def coherence(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Values of variables and octaves, (C, octaves, T)."""
    metric = convention("spectral_coherence.octaves_in_phase")
    means = of(metric, predicted, observed).mean(axis=0)  # (C, 3 octaves, T)
    return np.asarray(metric.finish(means.reshape(-1, means.shape[-1]))).reshape(
        len(means), -1, means.shape[-1]
    )


def test_coherence_is_the_correlation_of_waves(grid: dict[str, np.ndarray]) -> None:
    """By loops over the definition, on circles of 12 points: wavenumbers 1, 2-3 and 4-6."""
    shape = (3, 2, 2, 7, 12)
    predicted, observed = fields(shape=shape)
    actual = coherence(predicted, observed)
    assert actual.shape == (2, 3, 2)
    numbers = numbers_of(observed)
    for c, t in np.ndindex(2, 2):
        for band, waves in enumerate(([1], [2, 3], [4, 5, 6])):
            sums = np.zeros(3)
            for n, i, k in itertools.product(range(3), range(7), waves):
                mean = climate(int(numbers[n, t]), shape[2:])[0]
                p, o = (
                    sum(
                        (frames[n, t, c, i, j] - mean[c, i, j]) * np.exp(-2j * np.pi * k * j / 12)
                        for j in range(12)
                    )
                    for frames in (predicted.astype(float), observed.astype(float))
                )
                weight = np.cos(np.deg2rad(LATITUDES[i])) * (0.5 if k == 6 else 1)
                sums += weight * np.array([(p * np.conj(o)).real, abs(p) ** 2, abs(o) ** 2])
            assert actual[c, band, t] == pytest.approx(sums[0] / np.sqrt(sums[1] * sums[2]))


def test_a_forecast_without_small_waves_has_lost_these_alone(grid: dict[str, np.ndarray]) -> None:
    """Waves 1 to 3 of three times the size are in phase; of 4 to 6 nothing is left but rounding."""
    shape = (4, 1, 1, 7, 12)
    numbers = np.arange(4)[:, None]
    mean = np.stack([[climate(int(f), shape[2:])[0] for f in row] for row in numbers])
    rng = np.random.default_rng(1)
    observed = (mean + rng.normal(0, 2, shape)).astype(np.float32)
    waves = np.fft.rfft(observed - mean)
    waves[..., 4:] = 0
    actual = coherence((mean + 3 * np.fft.irfft(waves, 12)).astype(np.float32), observed)
    assert actual[0, :2, 0] == pytest.approx(1, abs=1e-4) and abs(actual[0, 2, 0]) < 0.5
    opposite = coherence((mean - (observed - mean)).astype(np.float32), observed)
    assert opposite == pytest.approx(-1, abs=1e-4)
    assert coherence(mean.astype(np.float32), mean.astype(np.float32)) == pytest.approx(np.inf)
