"""Sea surface temperature from small NetCDF files, and the published numbers of windows."""

import netCDF4
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.datasets.enso.reader import (
    LATITUDES,
    LONGITUDES,
    EnsoOptions,
    cmip_series,
    count,
    cut_windows,
    fold,
    run,
)
from stp.prepare.planned_counts import Lists
from stp.prepare.regrid import box_mean

SHAPE = [1, 24, 48]
CMIP = {
    "layout": "cmip",
    "models": [
        {"family": "CMIP6", "count": 2, "years": 3},
        {"family": "CMIP5", "count": 2, "years": 2},
    ],
    "val": ["CMIP5-01"],
    "test": ["CMIP5-02"],
    "span": 4,
    "stride": {"train": 10, "val": 5, "test": 1},
}


def history(model, months):
    """Anomaly of a month: 10 x model + month / 100 + longitude / 1e5."""
    base = 10 * model + np.arange(months) / 100
    return base[:, None, None] + np.arange(0, 360, 5.0) / 1e5 + np.zeros((24, 1))


def rows_of(months):
    return np.stack([months[i : i + 36] for i in range(0, len(months) - 24, 12)])


def write_cmip(path, *, change=None, variable="sst", month="month"):
    path.parent.mkdir(parents=True, exist_ok=True)
    years = (3, 3, 2, 2)
    rows = np.concatenate([rows_of(history(m, y * 12 + 24)) for m, y in enumerate(years)])
    if change is not None:
        rows[change[:2]] = change[2]
    with netCDF4.Dataset(path, "w") as file:
        sizes = {"year": len(rows), month: 36, "lat": 24, "lon": 72}
        for name, size in sizes.items():
            file.createDimension(name, size)
        for name, values in (("lat", LATITUDES), ("lon", np.arange(0, 360, 5.0))):
            file.createVariable(name, "f8", (name,))[:] = values
        file.createVariable(variable, "f4", tuple(sizes))[:] = rows
    return path


@pytest.fixture
def cmip(tmp_path):
    return write_cmip(tmp_path / "raw" / "enso" / "CMIP_train.nc")


def test_rows_are_unfolded_into_months(make_job, cmip):
    job = make_job("enso", SHAPE, CMIP)
    extras = run(job)
    # 60 months a model of 3 rows, 48 a model of 2. Windows of 4: starts 0..56 by 10 (6) twice,
    # 0..44 by 5 (9), 0..44 by 1 (45).
    assert extras["clips"] == {"train": 12, "val": 9, "test": 45}
    assert extras["clusters"]["test"] == 1, "all starts lie in the first 60 months"
    prepared = Prepared(job.out)
    test = prepared.clips("test")
    expected = history(3, 48)[:, :, 19:67]  # longitudes 95..330
    for row in (0, 11, 44):
        np.testing.assert_allclose(
            test.read([row], length=4)[0, :, 0], expected[row : row + 4], atol=1e-5
        )
    assert test.index["clip"][11] == "CMIP5-02/month-0011"
    assert test.index["cluster"][11] == "CMIP5-02/block-000"
    assert test.phases([0, 11, 12]).tolist() == [0, 11, 0]
    assert prepared.attrs["phases"] == 12 and prepared.attrs["variables"] == ["sst"]
    assert prepared.attrs["normalisation"]["scale"] == 26.748098611831665


def test_coordinates_are_kept(make_job, cmip):
    job = make_job("enso", SHAPE, CMIP)
    run(job)
    dataset = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None)
    assert dataset["lat"].dims == ("y",) and dataset["lon"].dims == ("x",)
    np.testing.assert_array_equal(dataset["lat"], np.arange(-55, 61, 5))
    np.testing.assert_array_equal(dataset["lon"], np.arange(95, 331, 5))
    assert dataset["lat"].attrs["units"] == "degrees_north"
    frames = dataset["frames"]
    assert frames.attrs["units"] == "degC" and "time" not in dataset, "simulations have no dates"
    # 2 x 60 months of CMIP6, 2 x 48 of CMIP5, all from January
    expected = np.concatenate([np.arange(n) % 12 + 1 for n in (60, 60, 48, 48)])
    np.testing.assert_array_equal(frames["month"], expected)
    assert frames["series"].to_numpy()[[0, 60, 120, 215]].tolist() == [
        *("CMIP6-01", "CMIP6-02", "CMIP5-01", "CMIP5-02"),
    ]


def test_normalisation_from_the_training_months(make_job, cmip):
    job = make_job("enso", SHAPE, {**CMIP, "normalisation": {"method": "minmax"}})
    run(job)
    # training: models 0 and 1; lowest 0.00095 (month 0, 95 E), highest 10 + 0.59 + 0.0033
    normalisation = Prepared(job.out).attrs["normalisation"]
    assert normalisation["offset"] == pytest.approx(0.00095, abs=1e-6)
    assert normalisation["scale"] == pytest.approx(10.5933 - 0.00095, abs=1e-5)
    assert normalisation["method"] == "minmax" and normalisation["from"] == "train split"


def test_published_numbers_of_windows():
    """PredBench, table 1: 5,205 / 334 / 1,667 windows of 38 months."""
    options = EnsoOptions(layout="cmip")
    series = cmip_series(options)
    assert len(series) == 32 and series[0].months == 1836 and series[-1].months == 1704
    table = pd.DataFrame(cut_windows(series, options))
    assert table["split"].value_counts().to_dict() == {"train": 5205, "val": 334, "test": 1667}
    assert set(table[table["split"] == "test"]["clip"].str[:8]) == {"CMIP5-17"}
    # 1,667 starts in blocks of 60 months: 28 clusters
    assert table[table["split"] == "test"]["cluster"].nunique() == 28


@given(st.integers(1, 12), st.integers(1, 3))
def test_folding_undoes_the_cutting_into_rows(years, width):
    months = np.random.default_rng(years).normal(size=(years * 12 + 24, width, 2))
    np.testing.assert_array_equal(fold(rows_of(months), "m"), months)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((4, 30, 99.0), "CMIP6-02: .*1 and 2"),
        ((7, 3, np.nan), f"CMIP5-01: {48 * 24} "),  # 48 of 72 longitudes, 24 latitudes
    ],
)
def test_rows_that_contradict_or_are_empty(make_job, cmip, change, message):
    write_cmip(cmip, change=change)
    with pytest.raises(StpError, match=message):
        run(make_job("enso", SHAPE, CMIP))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"variable": "t300"}, "'sst'.* t300"),
        ({"month": "step"}, "sst .*year, step, lat, lon"),
    ],
)
def test_a_file_without_the_variable_or_with_other_dimensions(make_job, cmip, written, message):
    write_cmip(cmip, **written)
    with pytest.raises(StpError, match=message):
        run(make_job("enso", SHAPE, CMIP))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.drop_vars("lat"),
        lambda d: d.drop_vars("lon"),
        lambda d: d.assign_coords(lon=np.arange(72) // 2 * 10.0),
    ],
)
def test_axes_without_values_or_with_one_twice(make_job, cmip, change):
    with xr.open_dataset(cmip) as opened:
        data = opened.load()
    change(data).to_netcdf(cmip)
    with pytest.raises(StpError, match=r"CMIP_train\.nc"):
        run(make_job("enso", SHAPE, CMIP))


def test_a_file_that_does_not_fit_the_list_of_models(make_job, cmip):
    models = [{"family": "CMIP6", "count": 3, "years": 3}, CMIP["models"][1]]
    with pytest.raises(StpError, match=r"10 (.|\n)*13 "):
        run(make_job("enso", SHAPE, {**CMIP, "models": models}))


def test_box_mean_weighs_by_shared_area_and_leaves_out_missing_boxes():
    # Old boxes of 2 degrees around 1, 3, ..; a new box 0..5 takes two whole ones and half of 4..6.
    # Along the equator the weights of longitude are 2 : 2 : 1.
    lon = np.arange(1.0, 20.0, 2.0)
    lat = np.array([-1.0, 1.0])
    field = np.broadcast_to(np.arange(10.0), (1, 2, 10)).copy()
    new = box_mean(field, lat, lon, np.array([-1.0, 1.0]), np.array([2.5, 7.5]))
    # (0 * 2 + 1 * 2 + 2 * 1) / 5 = 0.8; 5..10: (2 * 1 + 3 * 2 + 4 * 2) / 5 = 3.2
    np.testing.assert_allclose(new[0], [[0.8, 3.2], [0.8, 3.2]])
    field[0, :, 1] = np.nan
    new = box_mean(field, lat, lon, np.array([-1.0, 1.0]), np.array([2.5, 7.5]))
    np.testing.assert_allclose(new[0, :, 0], 2 / 3)  # (0 * 2 + 2 * 1) / 3
    field[...] = np.nan
    assert np.isnan(box_mean(field, lat, lon, lat, np.array([2.5, 7.5]))).all()


@settings(max_examples=10, deadline=None)
@given(st.booleans())
def test_box_mean_of_a_constant_and_of_the_sine_of_latitude(descending):
    lat = np.arange(-88.0, 89.0, 2.0)[:: -1 if descending else 1]
    lon = np.arange(0.0, 360.0, 2.0)
    field = np.broadcast_to(np.sin(np.deg2rad(lat))[:, None], (1, 89, 180))
    new = box_mean(field, lat, lon, LATITUDES, LONGITUDES)
    # Integral of sin over a box weighted by d(sin): the mean of the sines of its edges, up to the
    # step that the old boxes make of the function.
    edges = np.sin(np.deg2rad(np.stack([LATITUDES - 2.5, LATITUDES + 2.5])))
    np.testing.assert_allclose(new[0, :, 7], edges.mean(0), atol=0.01)
    np.testing.assert_allclose(box_mean(np.ones_like(field), lat, lon, LATITUDES, LONGITUDES), 1)


def write_ersst(path, months=72, skip=None):
    """Degrees = 20 + calendar month + 0.01 x month since the start; land west of 120 E."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lat, lon = np.arange(88.0, -89.0, -2.0), np.arange(0.0, 360.0, 2.0)
    time = pd.date_range("2011-03-01", periods=months, freq="MS")
    values = 20 + time.month.to_numpy() + 0.01 * np.arange(months)
    field = np.broadcast_to(values[:, None, None], (months, 89, 180)).astype(np.float32).copy()
    field[:, :, lon < 120] = np.nan
    data = xr.Dataset(
        {"sst": (("time", "lat", "lon"), field)}, {"time": time, "lat": lat, "lon": lon}
    )
    if skip is not None:
        data = data.drop_isel(time=skip)
    data.to_netcdf(path)
    return path


ERSST = {
    "layout": "ersst",
    "months": {"train": 48, "val": 12, "test": 12},
    "span": 4,
    "stride": {"train": 1, "val": 1, "test": 1},
    "normalisation": {"method": "minmax"},
}


def test_observed_anomalies_use_the_climatology_of_the_training_months(make_job, tmp_path):
    write_ersst(tmp_path / "raw" / "climate" / "ersst_sst.mnmean.nc")
    job = make_job("enso", SHAPE, ERSST)
    extras = run(job)
    assert extras["clips"] == {"train": 45, "val": 9, "test": 9}, "no window crosses a split"
    prepared = Prepared(job.out)
    planned = [clip.clip for clip in count(job.recipe, Lists([tmp_path / "raw"])).clips]
    assert len(planned) == 63 and set(planned) == set(prepared.index["clip"])
    test = prepared.clips("test")
    # The first test month is month 60, a March like months 0, 12, 24 and 36 of training:
    # anomaly 0.01 * (60 - 18) = 0.42.
    first = test.read([0], length=1)[0, 0, 0]
    np.testing.assert_allclose(first[:, -1], 0.42, atol=1e-5)
    assert (first[:, 0] == 0).all(), "land"
    assert prepared.attrs["notes"]["missing"]
    assert test.phases([0, 1]).tolist() == [2, 3]
    frames = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None)["frames"]
    dates = pd.date_range("2011-03-01", periods=72, freq="MS")
    assert pd.DatetimeIndex(frames["time"].to_numpy()).equals(dates.as_unit("ns"))
    np.testing.assert_array_equal(frames["month"], dates.month)
    # Training anomalies: -0.18 (the first year) to 0.18 (the last).
    normalisation = prepared.attrs["normalisation"]
    assert normalisation["offset"] == pytest.approx(-0.18, abs=1e-5)
    assert normalisation["scale"] == pytest.approx(0.36, abs=1e-5)


@pytest.mark.parametrize("written", [{"months": 60}, {"months": 80, "skip": [5]}])
def test_observations_with_a_gap_or_too_short(make_job, tmp_path, written):
    write_ersst(tmp_path / "raw" / "climate" / "ersst_sst.mnmean.nc", **written)
    with pytest.raises(StpError, match=r" \d gaps(.|\n)* 72 "):
        run(make_job("enso", SHAPE, ERSST))


def west(data):
    return data.assign_coords(lon=(data["lon"] + 180) % 360 - 180).sortby("lon")


def hole(data, month=50):
    data["sst"][month, 40:50, 90:100] = np.nan
    return data


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (west, "lon .*-180 to 178(.|\n)*92.5 to 332.5"),
        (lambda d: d.isel(lat=slice(20, 60)), "lat .*48 to -30"),
        (lambda d: d.isel(lon=np.delete(np.arange(180), 90)), "lon .*0 to 358 in 179"),
        (hole, r"100 (.|\n)*2015-05"),
        (lambda d: hole(d, 5), r"100 (.|\n)*2011-08"),
    ],
)
def test_what_is_not_observed_is_no_land(make_job, tmp_path, change, message):
    path = write_ersst(tmp_path / "raw" / "climate" / "ersst_sst.mnmean.nc")
    with xr.open_dataset(path) as opened:
        data = opened.load()
    change(data).to_netcdf(path)
    with pytest.raises(StpError, match=rf"ersst_sst\.mnmean\.nc: {message}"):
        run(make_job("enso", SHAPE, ERSST))


def test_a_grid_from_south_to_north_that_just_reaches_far_enough(make_job, tmp_path):
    path = write_ersst(tmp_path / "raw" / "climate" / "ersst_sst.mnmean.nc")
    whole = make_job("enso", SHAPE, ERSST)
    run(whole)
    with xr.open_dataset(path) as opened:
        data = opened.load()
    data.sortby("lat").sel(lat=slice(-58, 62), lon=slice(92, 332)).to_netcdf(path)
    part = make_job("enso", SHAPE, ERSST)
    run(part)
    frames = [Prepared(job.out).frames.read(0, 72) for job in (whole, part)]
    np.testing.assert_allclose(frames[0], frames[1], atol=1e-5)


@pytest.mark.sample_bytes
def test_real_observations(make_job, raw_mirror):
    name = "climate/ersst_sst.mnmean.nc"
    options = {**ERSST, "months": {"train": 60, "val": 32, "test": 36}, "span": 26}
    job = make_job("enso", SHAPE, options, context=12, horizon=14, root=raw_mirror, names=[name])
    extras = run(job)
    assert extras["clips"] == {"train": 35, "val": 7, "test": 11}
    frames = Prepared(job.out).frames.read(0, 128)
    # The strong El Nino of 2015/16: NOAA's Nino 3.4 anomaly of November 2015 was about 2.6 degC
    # against 1991-2020; against 2010-2014, a cool stretch, it is a little more.
    nino34 = frames[5 * 12 + 10, 0, 10:13, 19:30].mean()
    assert 2.4 < nino34 < 3.2
