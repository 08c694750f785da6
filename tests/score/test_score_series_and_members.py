"""Scores with several values (thresholds), sums without samples (spectra), scores of members."""

import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from crps_reference import properscoring
from toy_scored import Scored, folder, row, rows, value, write

from stp.core.errors import StpError
from stp.data.zarr_write import create_group


@pytest.fixture
def radar(make_scored: Callable[..., Scored]) -> Scored:
    """Frames of bytes, 12 clips of 2 + 3; the largest value is 200, so 219 never occurs."""
    rng = np.random.default_rng(0)
    clips = rng.integers(0, 201, (12, 5, 1, 16, 16), dtype=np.uint8)
    predicted = (clips[:, 2:] / 255 + rng.normal(0, 0.1, (12, 3, 1, 16, 16))).clip(0, 0.8)
    return make_scored(clips, predicted.astype(np.float32), variables=["vil"])


def test_thresholds_are_rows_and_the_mean_has_none(radar: Scored) -> None:
    found = rows(radar.run("csi.mean"), "csi.mean")
    assert found.threshold.tolist() == [None, 16, 74, 133, 160, 181, 219]
    assert found.variable.isna().all()
    by_threshold = found.set_index("threshold")
    p, o = radar.predicted * 255 >= 133, radar.observed * 255 >= 133
    assert by_threshold.value[133] == pytest.approx((p & o).sum() / (p | o).sum(), rel=1e-9)
    # Frames in [0, 1] are compared as if scaled to 255. Nothing reaches 219: no value, no mean.
    for threshold in (219, None):
        at = found[found.threshold.isna() if threshold is None else found.threshold == threshold]
        assert at.value.isna().all()
        assert at.reason.notna().all()


def test_events_of_one_cluster_alone_have_no_interval(make_scored: Callable[..., Scored]) -> None:
    # One clip of twelve has events above 219: without it there is no value.
    clips = np.full((12, 3, 1, 8, 8), 200, np.uint8)
    clips[4] = 250
    predicted = clips[:, 1:].astype(np.float32) / 255
    out = make_scored(clips, predicted).run("csi.mean")
    means, low = (rows(out, "csi.mean", statistic=of) for of in ("mean", "ci95_low"))
    assert means[means.threshold == 219].value.item() == 1
    (at,) = low[low.threshold == 219].to_dict("records")
    assert at["value"] is None
    assert "1 of 12" in at["reason"]


def test_spectra_are_sums_and_no_samples(radar: Scored) -> None:
    from stp.metrics.spectra import radial_spectrum

    out = radar.run("spectral_divergence.mean_spectra", block_samples=5)
    names = pq.read_schema(out / "sample_scores.parquet").names
    assert not [name for name in names if name.startswith("spectral")]
    table = pq.read_table(out / "cluster_sums.parquet").to_pandas()
    assert set(table.components) == {16}  # 8 wavenumbers, predicted and observed
    spectra = np.sum(table.sums.tolist(), axis=0).reshape(2, 8, 3) / 12
    expected = radial_spectrum(radar.observed).mean(axis=(0, 2)).T
    np.testing.assert_allclose(spectra[1], expected, rtol=1e-5)
    of_two = row(out, "spectral_divergence.mean_spectra", lead=2)
    o, p = (spectra[k, :, 1] / spectra[k, :, 1].sum() for k in (1, 0))
    assert of_two["value"] == pytest.approx((o * np.log(o / p)).sum(), rel=1e-9)
    assert of_two["variable"] == "vil"


def test_nan_is_found_where_no_samples_are_kept(radar: Scored) -> None:
    radar.predicted[7, 1, 0, 3, 3] = np.nan
    replace(radar, radar.predicted)
    name = "spectral_divergence.mean_spectra"
    found = row(radar.run(name), name)
    assert found["value"] is None
    assert "clip007" in found["reason"]


def test_small_frames_have_a_reason_and_no_multi_scale_similarity(radar: Scored) -> None:
    found = row(radar.run("ms_ssim.three_scales"), "ms_ssim.three_scales")
    assert found["value"] is None
    assert "16 x 16" in found["reason"] and "44" in found["reason"]


# Several forecasts of each sample


def replace(scored: Scored, predicted: np.ndarray) -> None:
    """Put other predictions in the place of those on disk, (N, [M,] T, C, H, W)."""
    at = scored.root / "predictions"
    index = pd.read_parquet(at / "index.parquet")
    shutil.rmtree(at)
    group = create_group(folder(at) / "predictions.zarr", {"units": "1"})
    outer = ("sample", "member", "lead") if predicted.ndim == 6 else ("sample", "lead")
    write(group, "predictions", predicted, *outer)
    index.to_parquet(at / "index.parquet")


@pytest.fixture
def drawn(radar: Scored) -> Scored:
    """Four forecasts of each sample."""
    rng = np.random.default_rng(1)
    shape = (12, 4, 3, 1, 16, 16)
    members = (radar.observed[:, None] + rng.normal(0, 0.1, shape)).astype(np.float32)
    replace(radar, members)
    radar.predicted = members
    return radar


def test_metrics_of_ensembles_see_all_members(drawn: Scored) -> None:
    out = drawn.run("crps.pixel_mean", "spread.pooled", statistic="mean_of_members")
    expected = properscoring.crps_ensemble(
        drawn.observed, drawn.predicted.astype(np.float64), axis=1
    ).mean()
    assert value(out, "crps.pixel_mean") == pytest.approx(expected, rel=1e-6)
    spread = np.sqrt(drawn.predicted.astype(np.float64).var(axis=1, ddof=1).mean())
    assert value(out, "spread.pooled") == pytest.approx(spread, rel=1e-6)
    assert drawn.extras["members"] == 4


def test_the_statistic_says_what_other_metrics_see(drawn: Scored) -> None:
    errors = np.square(drawn.predicted - drawn.observed[:, None]).mean(axis=(3, 4, 5))
    mean = np.square(drawn.predicted.mean(axis=1) - drawn.observed).mean()
    expected = {
        "mean_of_members": errors.mean(),
        "ensemble_mean": mean,
        "best_of_members": errors.mean(axis=2).min(axis=1).mean(),
    }
    for statistic, number in expected.items():
        out = drawn.run(
            "mse.pixel_mean",
            statistic=statistic,
            higher_is_better={"mse.pixel_mean": False},
            out=statistic,
        )
        assert value(out, "mse.pixel_mean") == pytest.approx(number, rel=1e-5)


def test_the_best_member_is_the_highest_where_higher_is_better(drawn: Scored) -> None:
    direction = {"psnr.per_frame": True, "psnr.pooled": True}
    out = drawn.run(*direction, statistic="best_of_members", higher_is_better=direction)
    errors = np.square(drawn.predicted - drawn.observed[:, None]).mean(axis=(3, 4, 5))
    best = (-10 * np.log10(errors)).mean(axis=2).max(axis=1).mean()
    assert value(out, "psnr.per_frame") == pytest.approx(best, rel=1e-5)
    found = row(out, "psnr.pooled")
    assert found["value"] is None and found["reason"]


def test_one_forecast_has_a_crps_and_no_spread(radar: Scored) -> None:
    out = radar.run("crps.pixel_mean", "crps.fair", "mae.pixel_mean", "spread.skill_ratio")
    assert value(out, "crps.pixel_mean") == pytest.approx(value(out, "mae.pixel_mean"), rel=1e-8)
    assert value(out, "crps.fair") == pytest.approx(value(out, "mae.pixel_mean"), rel=1e-8)
    found = row(out, "spread.skill_ratio")
    assert found["value"] is None and found["reason"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "4 .*None"),
        ({"statistic": "median"}, "'median'"),
        ({"statistic": "best_of_members"}, "higher_is_better .*mse.pixel_mean"),
    ],
)
def test_what_is_made_of_members_has_to_be_said(
    drawn: Scored, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(StpError, match=message):
        drawn.run("mse.pixel_mean", **changes)


def test_a_statistic_of_one_forecast_is_refused(radar: Scored) -> None:
    with pytest.raises(StpError, match="1 "):
        radar.run("mse.pixel_mean", statistic="ensemble_mean")
