"""Scores of fields on the globe against `scores`, the library of the Bureau of Meteorology.

Leeuwenburg et al. 2024, https://doi.org/10.21105/joss.06889. Ours and theirs are given the same
float32 values and compute in float64: they may differ by rounding alone.
"""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr
from conventions import convention
from crps_reference import properscoring
from scores import continuous, probability
from scores.functions import create_latitude_weights
from scores.processing import aggregate
from test_metric_chaosbench import (
    MASKS,
    PUBLISHED,
    climate,
    fields,
    masked,
    no_climatology_files,  # noqa: F401 (a fixture)
    of,
    on_these,
)

from stp.metrics import latitude
from stp.metrics.metric import Metric
from stp.score.aggregate import values

ROWS = np.array([1, 3, 4, 2, 1])
"""Weights of latitudes in whole numbers, for functions of the library that take no weights."""

LATITUDES = np.degrees(np.arccos(ROWS / 4)) * [-1, -1, 1, 1, 1]
WEIGHTS = create_latitude_weights(xr.DataArray(LATITUDES, dims="lat"))
SHAPE = (3, 2, 2, 5, 6)  # N, T, C, H, W
MEMBERS = 5
DIMS = ("sample", "member", "lead", "variable", "lat", "lon")
FRAME = ("sample", "variable", "lead")
"""What is left of a frame's dimensions, in our order."""

partly = pytest.mark.parametrize("mask", MASKS[:2])


@pytest.fixture(autouse=True)
def grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Latitudes, without files."""
    monkeypatch.setattr(latitude, "coordinate", lambda data, name: {"lat": LATITUDES}.get(name))


def labelled(frames: np.ndarray) -> xr.DataArray:
    """Frames (N, [M,] T, C, H, W) with names of their dimensions, float64."""
    dims = DIMS if frames.ndim == len(DIMS) else [d for d in DIMS if d != "member"]
    return xr.DataArray(frames.astype(np.float64), dims=dims)


def same(actual: np.ndarray, expected: xr.DataArray | np.ndarray) -> None:
    """Sums of values near 281, whose differences are near 1, leave about 1e-13."""
    np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-12)


def value(metric: Metric, predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Our values over all lead times, then at each of them: (C, 1 + T)."""
    means = of(metric, predicted, observed).mean(axis=0)
    bound = on_these(metric, predicted, observed)
    return values(bound, means.reshape(-1, means.shape[-1]))


def by_lead(score: Callable[[list[str]], xr.DataArray]) -> np.ndarray:
    """Theirs, likewise: of a function of the dimensions that are kept."""
    overall, each = score(["variable"]), score(["variable", "lead"])
    return np.column_stack([overall.values, each.transpose("variable", "lead").values])


def mean(points: xr.DataArray, kept: list[str]) -> xr.DataArray:
    """Mean over the globe and all dimensions that are not kept."""
    return aggregate(points, reduce_dims=set(points.dims) - set(kept), weights=WEIGHTS)


# Errors


@pytest.mark.parametrize("mask", MASKS)
def test_errors_of_each_frame(mask: str) -> None:
    forecast, truth = fields(shape=SHAPE)
    truth = masked(truth, mask)
    for metric, score, predicted in (
        (convention("wrmse.per_frame"), continuous.rmse, forecast),
        (convention("wrmse.pooled"), continuous.mse, forecast),  # the root is taken of means
        (convention("bias.weighted"), continuous.mean_error, forecast),
        (convention("crps.weighted"), continuous.mae, forecast[:, None]),  # of one member
    ):
        theirs = score(labelled(forecast), labelled(truth), preserve_dims=FRAME, weights=WEIGHTS)
        same(of(metric, predicted, truth), theirs.transpose(*FRAME))


def test_the_root_of_the_mean_and_the_mean_of_roots() -> None:
    forecast, truth = fields(shape=SHAPE)
    p, o = labelled(forecast), labelled(truth)
    roots = continuous.rmse(p, o, preserve_dims=FRAME, weights=WEIGHTS)
    per_frame = by_lead(lambda kept: roots.mean(set(FRAME) - set(kept)))
    pooled = by_lead(lambda kept: continuous.rmse(p, o, preserve_dims=kept, weights=WEIGHTS))
    assert (pooled > per_frame * (1 + 1e-6)).all()
    same(value(convention("wrmse.per_frame"), forecast, truth), per_frame)
    same(value(convention("wrmse.pooled"), forecast, truth), pooled)


# Anomaly correlation


def anomalies(frames: np.ndarray, later: int = 0) -> xr.DataArray:
    """Frames less the climatology of their days."""
    usual = np.empty(frames.shape)
    for n, t in np.ndindex(frames.shape[:2]):
        usual[n, t] = climate(n + t + later, SHAPE[2:])[0]
    return labelled(frames) - labelled(usual)


def correlation(p: xr.DataArray, o: xr.DataArray, kept: list[str]) -> xr.DataArray:
    """The library's coefficient has no weights: rows are repeated as often as they weigh."""
    rows = np.repeat(np.arange(len(ROWS)), ROWS)
    return continuous.correlation.pearsonr(p.isel(lat=rows), o.isel(lat=rows), preserve_dims=kept)


def mirrored(field: xr.DataArray) -> xr.DataArray:
    """With its opposite, so that the mean is 0 and a coefficient of correlation removes none."""
    return xr.concat([field, -field], dim="sign")


@partly
def test_acc_of_each_frame(mask: str) -> None:
    forecast, truth = fields(shape=SHAPE)
    truth = masked(truth, mask)
    p, o = anomalies(forecast), anomalies(truth)
    plain = correlation(mirrored(p), mirrored(o), list(FRAME)).transpose(*FRAME)
    centred = correlation(p, o, list(FRAME)).transpose(*FRAME)
    assert (abs(plain - centred) > 1e-6).all()
    same(of(convention("acc.per_frame_without_validation"), forecast, truth), plain)
    same(of(convention("acc.per_frame"), forecast, truth), plain)
    same(of(convention("acc.centred"), forecast, truth), centred)
    p, o = anomalies(forecast, PUBLISHED), anomalies(truth, PUBLISHED)
    published = correlation(mirrored(p), mirrored(o), list(FRAME)).transpose(*FRAME)
    same(of(convention("acc.per_frame_published"), forecast, truth), published)


def test_acc_of_products_summed_over_samples() -> None:
    forecast, truth = fields(shape=SHAPE)
    p, o = mirrored(anomalies(forecast)), mirrored(anomalies(truth))
    same(
        value(convention("acc.pooled"), forecast, truth),
        by_lead(lambda kept: correlation(p, o, kept)),
    )


@partly
def test_acc_of_the_released_code_has_no_weights_and_one_division(mask: str) -> None:
    forecast, truth = fields(shape=SHAPE)
    truth = masked(truth, mask)
    p, o = (mirrored(anomalies(frames, PUBLISHED)) for frames in (forecast, truth))
    actual = value(convention("acc.pooled_published"), forecast, truth)

    def unweighted(kept: list[str]) -> xr.DataArray:
        return continuous.correlation.pearsonr(p, o, preserve_dims=kept)

    same(actual, by_lead(unweighted))
    # As it is written there: weights of rows are broadcast against flattened points, and cancel.
    weights = (ROWS / ROWS.mean())[:, None]
    flat = [a.isel(sign=0).transpose("variable", "lead", ...).values for a in (p, o)]
    for c, t in np.ndindex(flat[0].shape[:2]):
        a, b = (part[c, t].ravel()[~np.isnan(flat[1][c, t].ravel())] for part in flat)
        code = (weights * a * b).sum() / np.sqrt((weights * a**2).sum() * (weights * b**2).sum())
        assert actual[c, 1 + t] == pytest.approx(code, rel=1e-11)


# Ensembles


@partly
@pytest.mark.parametrize(
    ("metric", "method"),
    [(convention("crps.weighted"), "fair"), (convention("crps.weighted_biased"), "ecdf")],
)
def test_crps_of_each_frame(metric: Metric, method: str, mask: str) -> None:
    members, truth = fields(members=MEMBERS, shape=SHAPE)
    truth = masked(truth, mask)
    theirs = probability.crps_for_ensemble(
        labelled(members),
        labelled(truth),
        "member",
        method=method,
        preserve_dims=FRAME,
        weights=WEIGHTS,
    )
    same(of(metric, members, truth), theirs.transpose(*FRAME))


@pytest.mark.parametrize(
    ("metric", "method"),
    [(convention("crps.fair"), "fair"), (convention("crps.pixel_mean"), "ecdf")],
)
def test_crps_without_weights(metric: Metric, method: str) -> None:
    members, truth = fields(members=MEMBERS, shape=SHAPE)
    theirs = probability.crps_for_ensemble(
        labelled(members), labelled(truth), "member", method=method, preserve_dims=FRAME
    )
    same(of(metric, members, truth), theirs.transpose(*FRAME))


@pytest.mark.parametrize(
    ("metric", "method", "later"),
    [
        (convention("crpss.climatology"), "fair", 0),
        (convention("crpss.climatology_biased"), "ecdf", 0),
        (convention("crpss.climatology_published"), "ecdf", PUBLISHED),
    ],
)
def test_crpss_is_a_ratio_of_means(metric: Metric, method: str, later: int) -> None:
    """The library has no CRPS of normal distributions: that is properscoring's."""
    members, truth = fields(members=MEMBERS, shape=SHAPE)
    x, o = labelled(members), labelled(truth)
    points = np.empty(truth.shape)
    for n, t in np.ndindex(truth.shape[:2]):
        usual, deviation = (a.astype(np.float64) for a in climate(n + t + later, SHAPE[2:]))
        seen = truth[n, t].astype(np.float64)
        points[n, t] = properscoring.crps_gaussian(seen, usual, deviation)
    of_climatology = labelled(points)

    def skill(kept: list[str]) -> xr.DataArray:
        of_forecast = probability.crps_for_ensemble(
            x, o, "member", method=method, preserve_dims=kept, weights=WEIGHTS
        )
        return 1 - of_forecast / mean(of_climatology, kept)

    same(value(metric, members, truth), by_lead(skill))


def test_spread_and_its_ratios() -> None:
    """The library has no spread: it is put together from its mean squared error."""
    members, truth = fields(members=MEMBERS, shape=SHAPE)
    x, o = labelled(members), labelled(truth)
    # The mean squared difference of two members, none with itself, is twice the variance.
    pairs = continuous.mse(x, x.rename(member="other"), reduce_dims=["member", "other"])
    variance = pairs / 2 * MEMBERS / (MEMBERS - 1)
    of_each = continuous.rmse(x, o, preserve_dims=["member", *FRAME], weights=WEIGHTS)

    def root(kept: list[str]) -> xr.DataArray:
        return np.sqrt(mean(variance, kept))

    def deviation(kept: list[str]) -> xr.DataArray:
        return mean(np.sqrt(variance), kept)

    def error(kept: list[str]) -> xr.DataArray:
        return continuous.rmse(x.mean("member"), o, preserve_dims=kept, weights=WEIGHTS)

    def error_of_members(kept: list[str]) -> xr.DataArray:
        return of_each.mean(set(of_each.dims) - set(kept))

    def unweighted(points: xr.DataArray, kept: list[str]) -> xr.DataArray:
        return points.mean(set(points.dims) - set(kept))

    factor = np.sqrt((MEMBERS + 1) / MEMBERS)
    for metric, score in (
        (convention("spread.pooled"), lambda kept: np.sqrt(unweighted(variance, kept))),
        (convention("spread.mean_deviation"), lambda kept: unweighted(np.sqrt(variance), kept)),
        (convention("spread.weighted"), root),
        (convention("spread.weighted_mean_deviation"), deviation),
        (convention("spread.weighted_skill_ratio"), lambda kept: factor * root(kept) / error(kept)),
        (
            convention("spread.weighted_skill_ratio_uncorrected"),
            lambda kept: root(kept) / error(kept),
        ),
        (convention("spread.weighted_deviation_ratio"), lambda kept: deviation(kept) / error(kept)),
        (
            convention("spread.weighted_deviation_to_members"),
            lambda kept: deviation(kept) / error_of_members(kept),
        ),
        (convention("wrmse.per_frame_of_members"), error_of_members),
    ):
        same(value(metric, members, truth), by_lead(score))


@partly
def test_ranks_of_each_frame(mask: str) -> None:
    members, truth = (np.round(a) for a in fields(members=MEMBERS, shape=SHAPE))
    assert (members == truth[:, None]).any()  # ties
    truth = masked(truth, mask)
    theirs = probability.rank_histogram(
        labelled(members), labelled(truth), "member", preserve_dims=FRAME, weights=WEIGHTS
    )
    same(
        of(convention("rank_histogram.weighted"), members, truth),
        theirs.transpose("sample", "variable", "rank", "lead"),
    )
