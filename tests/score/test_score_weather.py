"""Scores of variables on the globe, from files: weights, climatology, what is lacking."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import zarr
from toy_scored import Scored, scores, value, write_grid

from stp.prepare.climatology import Means, write_climatology
from stp.prepare.output import write_coordinate

LATITUDES = np.array([-60.0, -20.0, 20.0, 60.0])
VARIABLES = ["t2m", "z_500"]
DAYS = 12
ALL = ("wrmse.per_frame", "wrmse.pooled", "acc.per_frame", "acc.centred", "acc.pooled")


def describe(scored: Scored, hours: np.ndarray) -> None:
    """Give the toy data what WeatherBench is prepared with."""
    folder = scored.root / "data"
    group = write_grid(scored, LATITUDES, np.nan, 500)
    write_coordinate(group, "time", "frame", hours, units="hours since 1970-01-01")
    years = tuple(range(2000, 2004))
    write_climatology(
        folder / "climatology.zarr",
        group["frames"],
        hours,
        [
            Means("with_validation", years, "all"),
            Means("without_validation", years[:-1], "without the last year"),
        ],
        {},
        lambda *progress: None,
    )


@pytest.fixture
def weather(make_scored: Callable[..., Scored]) -> Scored:
    """Twelve January days of each of four years, two variables on 4 x 6 boxes, 2 -> 2 days."""
    rng = np.random.default_rng(0)
    season = rng.normal(0, 2, (1, DAYS, 2, 4, 6))
    fields = (280 + season + rng.normal(0, 3, (4, DAYS, 2, 4, 6))).astype(np.float32)
    clips = fields.reshape(12, 4, 2, 4, 6)  # windows of 4 days, one after the other
    predicted = clips[:, 2:] + rng.normal(0, 2, (12, 2, 2, 4, 6)).astype(np.float32)
    scored = make_scored(clips, predicted, units="physical", variables=VARIABLES)
    first = [np.datetime64(f"{year}-01-01", "h").astype(np.int64) for year in range(2000, 2004)]
    describe(scored, np.concatenate([start + 24 * np.arange(DAYS) for start in first]))
    return scored


def expected(scored: Scored, climate: bool) -> dict[str, np.ndarray]:
    """All statistics by hand: squares (N, T, C), and products po, pp, oo of anomalies."""
    weights = np.cos(np.deg2rad(LATITUDES))
    weights = (weights / weights.sum() / 6)[:, None]
    frames = zarr.open_array(str(scored.root / "data" / "frames.zarr" / "frames"))[:]
    daily = frames.reshape(4, DAYS, 2, 4, 6).astype(np.float64).mean(axis=0)
    # Window n covers days 4 (n % 3) ... + 3; its lead times are days 2 and 3 of it.
    mean = np.stack([daily[[4 * (n % 3) + 2, 4 * (n % 3) + 3]] for n in range(12)])
    p, o = scored.predicted - mean, scored.observed - mean
    pairs = {"ee": (scored.predicted - scored.observed,) * 2, "po": (p, o), "pp": (p, p)}
    pairs["oo"] = (o, o)
    return {k: (a * b * weights).sum(axis=(3, 4)) for k, (a, b) in pairs.items()}


def test_values_of_each_variable(weather: Scored) -> None:
    out = weather.run(*ALL)
    by_hand = expected(weather, climate=True)
    for c, name in enumerate(("t2m", "z500")):
        ee, po, pp, oo = (by_hand[key][..., c] for key in ("ee", "po", "pp", "oo"))
        wanted = {
            "wrmse.per_frame": np.sqrt(ee).mean(),
            "wrmse.pooled": np.sqrt(ee.mean()),
            "acc.per_frame": (po / np.sqrt(pp * oo)).mean(),
            "acc.pooled": po.mean() / np.sqrt(pp.mean() * oo.mean()),
        }
        for convention, number in wanted.items():
            assert value(out, convention, name) == pytest.approx(number, rel=1e-6), convention
        second = np.sqrt(ee[:, 1].mean())
        assert value(out, "wrmse.pooled", name, lead=2) == pytest.approx(second, rel=1e-6)
    assert weather.extras["values"]["wrmse.pooled"]["z500"] == value(out, "wrmse.pooled", "z500")


def test_rows_samples_and_sums_name_the_variables(weather: Scored) -> None:
    out = weather.run("wrmse.per_frame", "acc.pooled", "mse.pixel_mean")
    table = scores(out)
    assert set(table[table.convention != "mse.pixel_mean"].variable) == {"t2m", "z500"}
    assert table[table.convention == "mse.pixel_mean"].variable.isna().all()
    keys = ["convention", "variable", "lead", "statistic"]
    assert not table.duplicated(keys).any()
    assert len(table) == (2 + 2 + 1) * 3 * 3
    samples = pq.read_table(out / "sample_scores.parquet").to_pandas()
    own = ["wrmse.per_frame", *(f"acc.pooled.{part}" for part in ("po", "pp", "oo"))]
    assert list(samples.columns[-5:]) == [*own, "mse.pixel_mean"]
    assert samples.variable.fillna("all").tolist() == ["all"] * 12 + ["t2m"] * 12 + ["z500"] * 12
    assert samples["sample"].tolist() == list(range(12)) * 3
    together = samples.variable.isna()
    assert (samples["mse.pixel_mean"].notna() == together).all()
    for name in own:
        assert (samples[name].isna() == together).all()
    by_hand = np.sqrt(expected(weather, climate=True)["ee"])
    for c, name in enumerate(("t2m", "z500")):
        its = samples[samples.variable == name]["wrmse.per_frame"]
        np.testing.assert_allclose(np.stack(its.to_list()), by_hand[..., c], rtol=1e-6)
    sums = pq.read_table(out / "cluster_sums.parquet").to_pandas().set_index("convention")
    assert set(sums.loc["acc.pooled"].components) == {6}
    assert len(sums.loc["acc.pooled"].sums.iloc[0]) == 6 * 2


def test_perfect_and_climatological_forecasts(weather: Scored, make_scored: Any) -> None:
    climate = zarr.open_array(str(weather.root / "data" / "climatology.zarr" / "with_validation"))
    daily = climate[:]
    forecasts = {
        "perfect": weather.observed.astype(np.float32),
        "climatology": np.stack([daily[[4 * (n % 3) + 2, 4 * (n % 3) + 3]] for n in range(12)]),
    }
    found = {}
    for name, predicted in forecasts.items():
        group = zarr.open_group(str(weather.root / "predictions" / "predictions.zarr"), mode="r+")
        group["predictions"][:] = predicted
        found[name] = weather.run(*ALL, out=name)
    assert value(found["perfect"], "acc.per_frame", "t2m") == pytest.approx(1)
    assert value(found["perfect"], "wrmse.per_frame", "t2m") == 0
    table = scores(found["climatology"])
    assert table[table.convention == "acc.per_frame"].value.isna().all()


def test_the_climatologies_differ_by_the_validation_year(weather: Scored) -> None:
    out = weather.run("acc.per_frame", "acc.per_frame_without_validation")
    with_it = value(out, "acc.per_frame", "t2m")
    assert value(out, "acc.per_frame_without_validation", "t2m") != pytest.approx(with_it, abs=1e-4)


# What may be lacking


def lose_climatology(data: Path) -> None:
    shutil.rmtree(data / "climatology.zarr")


def lose_latitudes(data: Path) -> None:
    shutil.rmtree(data / "frames.zarr" / "lat")


def lose_time(data: Path) -> None:
    shutil.rmtree(data / "frames.zarr" / "time")


def lose_a_day(data: Path) -> None:
    days = zarr.open_array(str(data / "climatology.zarr" / "day"), mode="r+")
    days[3] = "13-01"


@pytest.mark.parametrize(
    ("lose", "reason", "rmse"),
    [
        (lose_climatology, "with_validation", True),
        (lose_time, "time", True),
        (lose_a_day, "01-04", True),
        (lose_latitudes, "lat", False),
    ],
)
def test_what_is_lacking_is_the_reason_and_other_scores_stay(
    weather: Scored, lose: Callable[[Path], None], reason: str, rmse: bool
) -> None:
    lose(weather.root / "data")
    table = scores(weather.run("acc.per_frame", "wrmse.per_frame", "mse.pixel_mean"))
    missing = table[table.convention == "acc.per_frame"]
    assert set(missing.variable) == {"t2m", "z500"}
    assert missing.value.isna().all()
    assert missing.reason.str.contains(reason).all()
    assert table[table.convention == "wrmse.per_frame"].value.notna().all() == rmse
    assert table[table.convention == "mse.pixel_mean"].value.notna().all()


def test_a_bad_variable_leaves_the_others_alone(weather: Scored) -> None:
    group = zarr.open_group(str(weather.root / "predictions" / "predictions.zarr"), mode="r+")
    frames = group["predictions"][:]
    frames[3, 1, 1, 0, 0] = np.nan
    group["predictions"][:] = frames
    table = scores(weather.run("wrmse.per_frame", "acc.pooled"))
    bad = table[table.value.isna()]
    assert set(bad.variable) == {"z500"}
    assert set(bad.lead) == {None, 2}
    assert bad.reason.str.contains("clip003").all()


def test_only_nulls_still_make_an_artefact(weather: Scored) -> None:
    lose_latitudes(weather.root / "data")
    out = weather.run("wrmse.per_frame")
    assert scores(out).value.isna().all()
    assert pq.read_table(out / "cluster_sums.parquet").num_rows == 0
    assert pq.read_table(out / "sample_scores.parquet").num_rows == 12
