"""Real fields through the scores of the globe: what is known of them, and what other code computes.

ERA5's ten members at 3 degrees (t850, z500; four times), and monthly means of ERA-Interim on the
grid of ChaosBench.
"""

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import globe_by_hand as by_hand
import numpy as np
import pytest
import xarray as xr
from conventions import convention
from crps_reference import properscoring
from scipy.ndimage import gaussian_filter
from test_metric_chaosbench import of, on_these

from stp.metrics import (
    acc,
    crpss,
    latitude,
)
from stp.metrics.metric import Metric
from stp.score.aggregate import values

pytestmark = pytest.mark.sample_bytes
DIVERGENCE = convention("spectral_divergence.high_wavenumbers")
RESIDUAL = convention("spectral_residual.high_wavenumbers")


class Ensemble(NamedTuple):
    """ERA5's members.

    Attributes:
        members: nine of them, (N, M, 1, C, H, W).
        observed: the other one, (N, 1, C, H, W).
        usual, deviation: over all times and members, (C, H, W).
        lat: (H,).
    """

    members: np.ndarray
    observed: np.ndarray
    usual: np.ndarray
    deviation: np.ndarray
    lat: np.ndarray


@pytest.fixture
def era5(raw_mirror: Path, monkeypatch: pytest.MonkeyPatch) -> Ensemble:
    """With their latitudes and climatology in the place of those of prepared data."""
    name = "climate/era5_eda10_z_t_850_500_3deg_20170101-02.nc"
    dims = ("time", "number", "latitude", "longitude")
    with xr.open_dataset(raw_mirror / name) as given:
        lat = given.latitude.to_numpy().astype(float)
        fields = np.stack(
            [
                given.t.sel(level=850).transpose(*dims).to_numpy(),
                given.z.sel(level=500).transpose(*dims).to_numpy() / np.float32(9.80665),
            ],
            axis=2,
        )
    assert fields.shape == (4, 10, 2, 61, 120) and lat[0] == 90 and fields[:, :, 0].mean() < 300
    whole = fields.astype(float)
    usual, deviation = whole.mean(axis=(0, 1)), whole.std(axis=(0, 1))

    class Climatology:
        missing = ""

        def __init__(self, data: Any, kind: str) -> None:
            self._field = deviation if kind.endswith("deviation") else usual

        def missing_of(self, frames: np.ndarray) -> str:
            return ""

        def read(self, frame: int) -> np.ndarray:
            return self._field

    use(monkeypatch, lat)
    for module in (acc, crpss):
        monkeypatch.setattr(module, "Climatology", Climatology)
    return Ensemble(fields[:, :9, None], fields[:, 9, None], usual, deviation, lat)


@pytest.fixture
def interim(raw_mirror: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """z500, u200 and v850 of January and July, every second point: (2, C, 121, 240)."""
    with warnings.catch_warnings(action="ignore", category=xr.SerializationWarning):
        given = xr.open_dataset(raw_mirror / "climate/eraint_uvz.nc")
    with given:
        coarse = given.isel(latitude=slice(None, None, 2), longitude=slice(None, None, 2))
        use(monkeypatch, coarse.latitude.to_numpy().astype(float))
        chosen = (("z", 500), ("u", 200), ("v", 850))
        dims = ("month", "latitude", "longitude")
        fields = [coarse[v].sel(level=level).transpose(*dims).to_numpy() for v, level in chosen]
    actual = np.stack(fields, axis=1).astype(float)
    assert actual.shape == (2, 3, 121, 240)
    return actual


def use(monkeypatch: pytest.MonkeyPatch, lat: np.ndarray) -> None:
    monkeypatch.setattr(latitude, "coordinate", lambda data, name: {"lat": lat}.get(name))


def mean(points: np.ndarray, lat: np.ndarray) -> np.ndarray:
    """Means over the globe by xarray, (..., H, W) to (...)."""
    dims = [f"d{n}" for n in range(points.ndim - 2)]
    weights = xr.DataArray(np.cos(np.deg2rad(lat)), dims="lat")
    fields = xr.DataArray(points, dims=[*dims, "lat", "lon"])
    return fields.weighted(weights).mean(("lat", "lon")).to_numpy()


def value(metric: Metric, members: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Values of the variables over all samples, (C,)."""
    means = of(metric, members, observed).mean(axis=0)
    return values(on_these(metric, members, observed), means.reshape(-1, means.shape[-1]))[:, 0]


def test_errors_and_spreads_are_those_of_xarray(era5: Ensemble) -> None:
    x, o = era5.members.astype(float)[:, :, 0], era5.observed.astype(float)[:, 0]
    centre = era5.members.mean(axis=1)
    error = mean((centre[:, 0].astype(float) - o) ** 2, era5.lat)
    np.testing.assert_allclose(
        of(convention("wrmse.per_frame"), centre, era5.observed)[:, :, 0], np.sqrt(error), rtol=1e-9
    )
    np.testing.assert_allclose(
        of(convention("bias.weighted"), centre, era5.observed)[:, :, 0],
        mean(centre[:, 0].astype(float) - o, era5.lat),
        rtol=1e-6,
        atol=1e-9,
    )
    variance = x.var(axis=1, ddof=1)
    expected = [
        (convention("spread.weighted"), np.sqrt(mean(variance, era5.lat).mean(axis=0))),
        (
            convention("spread.weighted_mean_deviation"),
            mean(np.sqrt(variance), era5.lat).mean(axis=0),
        ),
    ]
    for metric, wanted in expected:
        np.testing.assert_allclose(value(metric, era5.members, era5.observed), wanted, rtol=1e-9)
    # The tenth is about as far from the mean of nine as one of them would be.
    ratio = value(convention("spread.weighted_skill_ratio"), era5.members, era5.observed)
    assert (ratio > 0.5).all() and (ratio < 2).all()


def test_probabilities_are_those_of_properscoring(era5: Ensemble) -> None:
    x, o = era5.members.astype(float)[:, :, 0], era5.observed.astype(float)[:, 0]
    points = properscoring.crps_ensemble(o, np.moveaxis(x, 1, -1))
    np.testing.assert_allclose(
        of(convention("crps.weighted_biased"), era5.members, era5.observed)[:, :, 0],
        mean(points, era5.lat),
        rtol=1e-6,
    )
    fair = np.array(
        [[by_hand.crps(x[n, :, c], o[n, c], era5.lat, fair=True) for c in (0, 1)] for n in range(4)]
    )
    normal = mean(properscoring.crps_gaussian(o, era5.usual, era5.deviation), era5.lat)
    np.testing.assert_allclose(
        value(convention("crpss.climatology"), era5.members, era5.observed),
        1 - fair.mean(axis=0) / normal.mean(axis=0),
        rtol=1e-6,
    )
    alone = of(convention("crps.weighted"), era5.members[:, :1], era5.observed)[:, :, 0]
    np.testing.assert_allclose(alone, mean(np.abs(x[:, 0] - o), era5.lat), rtol=1e-6)
    shares = of(convention("rank_histogram.weighted"), era5.members, era5.observed)
    np.testing.assert_allclose(shares.sum(axis=2), 1)


def test_anomalies_correlate_with_themselves_and_are_opposite_when_turned(era5: Ensemble) -> None:
    metric, truth = convention("acc.per_frame_without_validation"), era5.observed.astype(float)
    assert of(metric, truth, truth) == pytest.approx(1, abs=1e-12)
    assert of(metric, 2 * era5.usual - truth, truth) == pytest.approx(-1, abs=1e-12)
    forecast = era5.members[:, 0].astype(float)
    actual = of(metric, forecast, truth)
    for n, c in np.ndindex(4, 2):
        pair = forecast[n, 0, c], truth[n, 0, c]
        expected = by_hand.acc(*pair, era5.usual[c], era5.lat)
        assert 0 < expected < 1
        assert actual[n, c, 0] == pytest.approx(expected, abs=1e-9)


def test_structure_is_that_of_a_plain_loop_on_the_grid_of_chaosbench(interim: np.ndarray) -> None:
    january, july = interim[:, None, None]
    for metric, joint in (
        (convention("ms_ssim.own_range"), False),
        (convention("ms_ssim.joint_range"), True),
    ):
        assert of(metric, july, july) == pytest.approx(1, abs=1e-6)
        actual = of(metric, january, july)[0, :, 0]
        pairs = zip(*interim, strict=True)
        expected = [by_hand.similarity(*pair, 5, joint=joint) for pair in pairs]
        # Of a scale whose mean is nearly 0, its power magnifies rounding.
        np.testing.assert_allclose(actual, expected, atol=5e-4)
        assert (actual < 0.99).all()


def test_what_is_blurred_lacks_detail_and_what_is_elsewhere_does_not(interim: np.ndarray) -> None:
    """Spectra know nothing of places: a field that is turned round has all its detail."""
    truth = interim[:, None]
    assert of(DIVERGENCE, truth, truth) == pytest.approx(0, abs=1e-12)
    elsewhere = np.roll(truth, 60, axis=-1)
    assert of(DIVERGENCE, elsewhere, truth) == pytest.approx(0, abs=1e-8)
    assert (of(convention("wrmse.per_frame"), elsewhere, truth) > 1).all()
    actual = []
    for width in (0.4, 0.7):
        modes = [*4 * ["nearest"], "wrap"]
        blurred = gaussian_filter(truth, (0, 0, 0, width, width), mode=modes)
        actual.append(of(DIVERGENCE, blurred, truth))
        residuals = of(RESIDUAL, blurred, truth)
        for n, c in np.ndindex(2, 3):
            pair = blurred[n, 0, c], truth[n, 0, c]
            assert actual[-1][n, c, 0] == pytest.approx(by_hand.divergence(*pair), rel=1e-5)
            assert residuals[n, c, 0] == pytest.approx(by_hand.residual(*pair), rel=1e-5)
    assert (actual[0] > 0).all() and (actual[1] > actual[0]).all()
