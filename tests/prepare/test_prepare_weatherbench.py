"""WeatherBench from small files made here, whose values say variable, level, place and hour."""

import shutil

import netCDF4
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import yaml
import zarr
from damage import content
from parts import long_except
from reader_jobs import job_in

from stp.core.errors import StpError
from stp.core.options import build
from stp.data.prepared import Prepared
from stp.datasets.weatherbench import reader as weatherbench
from stp.datasets.weatherbench.reader import (
    WeatherbenchOptions,
    count,
    cut_windows,
    run,
    runs_of,
)
from stp.plan.checked_config import CONFIG_FOLDER
from stp.prepare.climatology import Means, write_climatology
from stp.prepare.planned_counts import Lists

LAT, LON = np.array([-67.5, -22.5, 22.5, 67.5]), np.arange(0.0, 360.0, 45.0)
LEVELS = [500, 850, 1000]
YEARS = (2014, 2015, 2016, 2017)
DAYS = 3
FOLDERS = {"t2m": "2m_temperature", "tp": "total_precipitation", "z": "geopotential"}
UNITS = {"t2m": "K", "tp": "m", "z": "m**2 s**-2"}
SHAPE = [4, 4, 8]  # t2m, tp, z_850, z_500
OPTIONS = {
    "resolution": "45deg",
    "variables": {"t2m": [], "tp": [], "z": [850, 500]},
    "years": {"train": [2014, 2015], "val": [2016, 2016], "test": [2017, 2017]},
    "days_per_year": DAYS,
    "cluster_days": 1,
    "subsets": {"extrapolation": 6},
}


def value(name, stamps, level=None):
    """What a variable is: (hours, lat, lon), float32."""
    hour = stamps.hour.to_numpy() + 24 * (stamps.day_of_year.to_numpy() - 1)
    base = {"t2m": 280, "tp": 0.5, "z": 1000}[name] + (stamps.year.to_numpy() - 2010) / 4
    base = base + hour / 64 + (0 if level is None else level)
    place = np.arange(4)[:, None] / 512 + np.arange(8) / 4096
    return (base[:, None, None] + place).astype(np.float32)


def field(name, year, days=DAYS, skip=0):
    """A file as xarray writes it."""
    stamps = pd.date_range(f"{year}-01-01", periods=24 * days, freq="h")[skip:]
    coords = {"lat": LAT, "lon": LON, "time": stamps}
    if name == "z":
        values = np.stack([value(name, stamps, level) for level in LEVELS], axis=1)
        coords["level"] = np.array(LEVELS, np.int32)
        data = (("time", "level", "lat", "lon"), values)
    else:
        data = (("time", "lat", "lon"), value(name, stamps))
    return xr.Dataset({name: (*data, {"units": UNITS[name]})}, coords)


def path_of(root, name, year):
    folder = FOLDERS[name]
    return root / "weatherbench" / "45deg" / folder / f"{folder}_{year}_45deg.nc"


def write(root, name, year, data):
    path = path_of(root, name, year)
    path.parent.mkdir(parents=True, exist_ok=True)
    data.to_netcdf(path)
    return path


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    root = tmp_path_factory.mktemp("intact")
    for year in YEARS:
        for name in FOLDERS:
            write(root, name, year, field(name, year))
    return root


@pytest.fixture(scope="module")
def plain(intact, tmp_path_factory):
    """The job that has prepared the intact files, and its report."""
    folder = tmp_path_factory.mktemp("plain")
    job = job_in(folder, "weatherbench", SHAPE, OPTIONS, root=intact)
    return job, run(job)


@pytest.fixture
def raw(intact, tmp_path):
    return shutil.copytree(intact, tmp_path / "raw")


def prepare(make_job, options=None, **more):
    job = make_job("weatherbench", SHAPE, {**OPTIONS, **(options or {})}, **more)
    return job, run(job)


def channels(stamps):
    """(hours, 4, 4, 8): what must come out."""
    parts = [value("t2m", stamps), value("tp", stamps)]
    return np.stack([*parts, value("z", stamps, 850), value("z", stamps, 500)], axis=1)


def test_windows_and_values(plain):
    job, extras = plain
    data = Prepared(job.out)
    # Windows of 3 frames take up 18 of 72 hours: starts 0, 6, .. 48 and 0, 3, .. 51.
    assert extras["clips"] == {"train": 18, "val": 18, "test": 18, "extrapolation": 12}
    assert extras["clusters"] == {"train": 6, "val": 3, "test": 3, "extrapolation": 2}
    # Training years have a frame every 6 hours, the others every 3.
    assert len(data.frames) == 2 * 12 + 2 * 24
    test = data.clips("test")
    assert test.index["clip"].tolist()[:2] == ["2017-01-01T00", "2017-01-01T03"]
    assert test.index["clip"].tolist()[-1] == "2017-01-03T03"
    assert test.phases([0, 1, 2, 9]).tolist() == [0, 0, 1, 0] and data.attrs["phases"] == 4
    for split in ("train", "val", "test", "extrapolation"):
        clips = data.clips(split)
        for i in (0, len(clips) // 2, len(clips) - 1):
            start = pd.Timestamp(clips.index["clip"][i])
            length = int(clips.index["length"][i])
            stamps = pd.date_range(start, periods=length, freq="6h")
            np.testing.assert_array_equal(clips.read([i], length=length)[0], channels(stamps))
    assert data.attrs["variables"] == ["t2m", "tp", "z_850", "z_500"]


def test_coordinates_and_units_in_plain_xarray(plain):
    job, _ = plain
    frames = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None)["frames"]
    np.testing.assert_array_equal(frames["lat"], LAT)
    np.testing.assert_array_equal(frames["lon"], LON)
    assert frames["lat"].attrs["units"] == "degrees_north"
    assert frames["variable"].to_numpy().tolist() == ["t2m", "tp", "z_850", "z_500"]
    assert frames["channel_units"].to_numpy().tolist() == ["K", "m", "m**2 s**-2", "m**2 s**-2"]
    assert frames["channel_standard_name"].to_numpy()[0] == "air_temperature"
    np.testing.assert_array_equal(frames["level"], [np.nan, np.nan, 850, 500])
    times = pd.DatetimeIndex(frames["time"].to_numpy())
    expected = [
        pd.date_range(f"{year}-01-01", periods=72 // step, freq=f"{step}h")
        for year, step in zip(YEARS, (6, 6, 3, 3), strict=True)
    ]
    assert times.equals(expected[0].append(expected[1:]))
    stored = frames.sel(frame=5, channel=2).to_numpy()
    np.testing.assert_array_equal(stored, channels(times[5:6])[0, 2])


def test_mean_and_deviation_of_the_training_years(plain):
    job, _ = plain
    stamps = pd.date_range("2014-01-01", periods=12, freq="6h")
    stamps = stamps.append(pd.date_range("2015-01-01", periods=12, freq="6h"))
    values = channels(stamps).astype(np.float64)
    found = Prepared(job.out).attrs["normalisation"]
    np.testing.assert_allclose(found["offset"], values.mean((0, 2, 3)), rtol=1e-12)
    np.testing.assert_allclose(found["scale"], values.std((0, 2, 3)), rtol=1e-6)
    assert found["from"] == "train split"


def test_published_constants_are_used_and_compared(make_job, intact, plain):
    attributes = Prepared(plain[0].out).attrs
    own = attributes["normalisation"]
    published = {
        name: [mean, std]
        for name, mean, std in zip(
            attributes["variables"], own["offset"], own["scale"], strict=True
        )
    }
    published["tp"][0] += 0.5 * published["tp"][1]
    published["z_500"][1] *= 0.8
    options = {"normalisation": "published", "published": published}
    job, extras = prepare(make_job, options, root=intact)
    data = Prepared(job.out)
    assert data.attrs["normalisation"]["offset"][1] == published["tp"][0]
    assert data.attrs["normalisation"]["from"] == "published constants"
    assert data.attrs["training_statistics"]["std"][3] == own["scale"][3]
    differs = extras["largest difference to the published constants"]
    assert differs["mean"] == ["tp", pytest.approx(0.5)]
    assert differs["std"] == ["z_500", pytest.approx(0.25)]


def test_the_climatology_of_each_day(plain):
    job, extras = plain
    assert extras["climatology"] == {"with validation": [2014, 2015, 2016], "without": [2014, 2015]}
    found = xr.open_zarr(job.out / "climatology.zarr", consolidated=False, chunks=None)
    assert found["day"].to_numpy().tolist() == ["01-01", "01-02", "01-03"]
    for name, years in (("with_validation", YEARS[:3]), ("without_validation", YEARS[:2])):
        for number in range(3):
            # 00, 06, 12 and 18 UTC alone, also of the year that is stored every 3 hours
            stamps = [
                pd.date_range(f"{year}-01-{number + 1:02d}", periods=4, freq="6h") for year in years
            ]
            expected = channels(stamps[0].append(stamps[1:])).astype(np.float64).mean(0)
            np.testing.assert_allclose(found[name][number], expected, rtol=1e-7)
    assert found[name].dtype == np.float32
    assert found["variable"].to_numpy().tolist() == ["t2m", "tp", "z_850", "z_500"]
    assert found.attrs["asked"] == [1993, 2016]


@pytest.mark.parametrize("workers", long_except([3], [1, 3], part="processes"))
def test_the_climatology_of_whole_years_has_29_february(tmp_path, workers):
    """Against pandas: a common year stored every 6 hours, a leap year every 3."""
    stamps = [
        pd.date_range(f"{year}-01-01", f"{year + 1}-01-01", freq=f"{step}h", inclusive="left")
        for year, step in ((2015, 6), (2016, 3))
    ]
    stamps = stamps[0].append(stamps[1:])
    rng = np.random.default_rng(0)
    values = rng.normal(size=(len(stamps), 1, 2, 1)).astype(np.float32)
    frames = zarr.create_array(tmp_path / "frames.zarr", data=values, chunks=(50, 1, 2, 1))
    hours = stamps.to_numpy().astype("datetime64[h]").astype(np.int64)
    out = tmp_path / "climatology.zarr"
    years = {"all": (2015, 2016), "leap": (2016,), "common": (2015,)}
    means = [Means(name, its, name) for name, its in years.items()]
    steps = []
    write_climatology(out, frames, hours, means, {}, lambda *step: steps.append(step), workers)
    found = xr.open_zarr(out, consolidated=False, chunks=None)
    assert found["day"].size == 366 and found["day"].to_numpy()[59] == "02-29"
    assert steps[-1] == ("days of the climatology", 366, 366)
    table = pd.DataFrame(values[:, 0, :, 0], index=stamps)
    for name, its in years.items():
        used = table[(stamps.hour % 6 == 0) & stamps.year.isin(its)]
        expected = used.groupby(used.index.strftime("%m-%d")).mean()
        expected = expected.reindex(found["day"].to_numpy().tolist())
        np.testing.assert_allclose(found[name].to_numpy()[:, 0, :, 0], expected, rtol=1e-5)
    assert np.isnan(found["common"][59]).all() and not np.isnan(found["leap"][59]).any()


def test_published_counts_follow_from_the_calendar():
    """PredBench, table 1: 53,944 / 2,922 / 5,828."""
    options = WeatherbenchOptions()
    assert len(options.channels) == 69 and options.channels[11] == "z_500"
    clips = cut_windows(runs_of(options), options, 3)
    counts = pd.Series([clip.split for clip in clips]).value_counts().to_dict()
    assert counts == {
        **{"train": 53944, "val": 2922, "test": 5828},
        **{"extrapolation": 2876 * 2, "robustness": 2902 * 2},
    }
    frames = sum(run.frames for run in runs_of(options))
    assert max(c.start + (c.length - 1) * c.stride for c in clips) < frames == 62823
    # Hours of every window, from the store's rows: no window leaves its year.
    hours = np.concatenate([s.first + s.step * np.arange(s.frames) for s in runs_of(options)])
    first = hours[[c.start for c in clips]].astype("datetime64[h]")
    last = hours[[c.start + (c.length - 1) * c.stride for c in clips]].astype("datetime64[h]")
    assert (first.astype("datetime64[Y]") == last.astype("datetime64[Y]")).all()
    spans = (last - first).astype(int)
    assert (spans == [6 * (c.length - 1) for c in clips]).all()
    assert [str(hour) for hour in first[:2]] == ["1979-01-01T07", "1979-01-01T13"]
    assert clips[0].phase == 1 and clips[1456].clip == "1980-01-01T00"
    # The last window of 2016 (leap) begins 19 hours before its end or a little earlier.
    val = [c.clip for c in clips if c.split == "val"]
    assert val[-1] == "2016-12-31T03"


def test_the_configuration_has_the_published_constants_of_all_channels():
    config = yaml.safe_load((CONFIG_FOLDER / "datasets" / "weatherbench.yaml").read_text())
    release = config["releases"]["official"]
    options = build(WeatherbenchOptions, release["prepare"], "options")
    assert list(options.published) == options.channels and options.normalisation == "published"
    pairs = np.array(list(options.published.values()))
    # plausible: geopotential of 50 hPa lies near 20 km; the winds are westerly on average
    assert 19 < pairs[4, 0] / 9.80665e3 < 21 and pairs[43:56, 0].mean() > 3
    folders = {file["path"].split("/")[2] for file in release["files"]}
    assert folders == {folder for folder, *_ in weatherbench.VARIABLES.values()}


@pytest.mark.parametrize("lost", [{"tp": 7}, {"t2m": 7, "tp": 7, "z": 7}])
def test_a_first_year_that_begins_late(make_job, raw, monkeypatch, lost):
    monkeypatch.setitem(weatherbench.FIRST_HOUR, 2014, 7)
    for name in FOLDERS:
        write(raw, name, 2014, field(name, 2014, skip=lost.get(name, 0)))
    job, extras = prepare(make_job)
    # 65 hours of 2014: starts 0, 6, .. 42
    assert extras["clips"]["train"] == 8 + 9
    first = Prepared(job.out).clips("train").read([0])[0]
    stamps = pd.date_range("2014-01-01 07:00", periods=3, freq="6h")
    np.testing.assert_array_equal(first, channels(stamps))


def test_missing_values_before_the_first_hour_do_not_matter(make_job, raw, monkeypatch):
    """As in total_cloud_cover_1979 (WeatherBench issue 30)."""
    data = field("t2m", 2014)
    data["t2m"][:7] = np.nan
    write(raw, "t2m", 2014, data)
    with pytest.raises(
        StpError, match=r"t2m has missing values \(NaN\) at 2014-01-01T00 and 1 oth"
    ):
        prepare(make_job)
    monkeypatch.setitem(weatherbench.FIRST_HOUR, 2014, 7)
    _, extras = prepare(make_job)
    assert extras["clips"]["train"] == 8 + 9


def test_latitudes_from_north_to_south_are_turned(make_job, raw, plain):
    for year in YEARS:
        for name in ("t2m", "z"):
            write(raw, name, year, field(name, year).isel(lat=slice(None, None, -1)))
    for name in FOLDERS:
        write(raw, name, 2014, field(name, 2014).isel(lat=slice(None, None, -1)))
    turned, _ = prepare(make_job)
    np.testing.assert_array_equal(content(turned)[0], content(plain[0])[0])
    assert Prepared(turned.out).attrs["notes"]["latitudes"] == "flipped to ascend"
    assert Prepared(plain[0].out).attrs["notes"]["latitudes"] == "as stored"


def without(data, hour):
    return data.drop_isel(time=hour)


def twice(data, hour):
    at = np.arange(data.sizes["time"])
    return data.isel(time=np.sort(np.append(at, hour)))


def back(data, hour):
    at = np.arange(data.sizes["time"])
    at[[hour, hour + 1]] = at[[hour + 1, hour]]
    return data.isel(time=at)


def nan(data, hour):
    data["tp"][hour, 1, 2] = np.nan
    return data


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda d: without(d, 31),
            r"2015_45deg\.nc: 1 of 72 hours are missing, first 2015-01-02T07(.|\n)*"
            "from 2015-01-01T00.* to 2015-01-03T23",
        ),
        (lambda d: without(d, [0, 1]), r"2 of 72 hours are missing, first 2015-01-01T00"),
        (lambda d: without(d, 71), r"1 of 72 hours are missing, first 2015-01-03T23"),
        (lambda d: twice(d, 30), r"2015_45deg\.nc: the time 2015-01-02T06:00 comes twice"),
        (lambda d: back(d, 30), r"2015_45deg\.nc: the time 2015-01-02T06:00 follows a later hour"),
        (
            lambda d: d.assign_coords(time=d["time"] + np.timedelta64(30, "m")),
            r"the time 2015-01-01T00:30 is no full hour",
        ),
        (
            lambda d: field("tp", 2015, days=4),
            "24 hours too many, first 2015-01-04T00",
        ),
        (lambda d: field("tp", 2014), "72 of 72 hours are missing, first 2015-01-01T00"),
        (
            lambda d: nan(d, 36),
            r"2015_45deg\.nc: tp has missing values \(NaN\) at 2015-01-02T12 and 0 other",
        ),
        (
            lambda d: d.assign(
                tp=d["tp"].where(d["tp"] != d["tp"][36], netCDF4.default_fillvals["f4"])
            ),
            r"2015_45deg\.nc: tp has missing values \(NaN\) at 2015-01-02T12",
        ),
        (
            lambda d: d.assign(tp=(d["tp"] * 0 - 1).assign_attrs(units="m", valid_min=0.0)),
            r"2015_45deg\.nc: tp has \d+ values outside of the range that it states, 0 to inf",
        ),
        (lambda d: d.isel(lat=slice(1, None)), "3 latitudes from -22.5 to 67.5(.|\n)*4 from -67.5"),
        (lambda d: d.assign_coords(lon=LON + 22.5), "8 longitudes from 22.5 to 337.5"),
        (lambda d: d.assign_coords(lat=LAT**3), r"its latitudes are .*(.|\n)*a regular grid"),
        (lambda d: d.assign_coords(lon=LON[::-1]), "its longitudes are .*(.|\n)*west to east"),
        (lambda d: d.rename(tp="rain"), r"no variable 'tp'; it has rain"),
        (lambda d: d.rename(lat="y"), "tp has dimensions time, y, lon"),
        (
            lambda d: d.assign(tp=d["tp"].assign_attrs(units="mm")),
            "tp is in 'mm'(.|\n)*expected: 'm'",
        ),
        (lambda d: d.assign_coords(time=np.arange(72)), "its times are not dates"),
        (lambda d: d.isel(time=slice(0, 0)), "72 of 72 hours are missing|not dates"),
    ],
)
def test_bad_files(make_job, raw, change, message):
    write(raw, "tp", 2015, change(field("tp", 2015)))
    alone = {**OPTIONS, "variables": {"tp": []}}
    with pytest.raises(StpError, match=message):
        run(make_job("weatherbench", [1, 4, 8], alone))


@pytest.mark.parametrize("levels", [[500, 1000], [500, 850, 850]])
def test_levels_that_are_missing_or_twice(make_job, raw, levels):
    data = field("z", 2015).isel(level=slice(0, len(levels)))
    write(raw, "z", 2015, data.assign_coords(level=np.array(levels, np.int32)))
    alone = {**OPTIONS, "variables": {"z": [850, 500]}}
    with pytest.raises(StpError, match=r"geopotential_2015_45deg\.nc: z has the levels(.|\n)*850"):
        run(make_job("weatherbench", [2, 4, 8], alone))


def test_a_classic_file_that_was_cut_off(make_job, raw):
    path = write(raw, "tp", 2015, field("tp", 2015))
    for mode, part in (("w", ["lat", "lon", "time"]), ("a", ["tp"])):
        one = field("tp", 2015)[part]
        if mode == "a":
            one = one.drop_vars(["lat", "lon", "time"])
        one.to_netcdf(path, mode=mode, format="NETCDF3_64BIT")
    prepare(make_job)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(StpError, match=r"2015_45deg\.nc: cannot be read as NetCDF \(cut off"):
        prepare(make_job)


ENSEMBLE = {
    "layout": "ensemble",
    "file": "climate/members.nc",
    "variables": {"z": [500, 850], "t": [850]},
    "members": {"train": [0, 3], "val": [1], "test": [2]},
}


def write_ensemble(root, times=("00", "12", "24", "36")):
    """Value = 100 member + 10 time + level / 1000, in one file; latitudes from north to south."""
    stamps = pd.DatetimeIndex(
        [pd.Timestamp("2017-01-01") + pd.Timedelta(hours=int(h)) for h in times]
    )
    member, time, level = np.ogrid[:4, : len(stamps), :2]
    values = 100 * member + 10 * time + np.array([0.85, 0.5])[level]
    values = values[..., None, None] + np.arange(3)[:, None] / 8 + np.zeros(6)
    dims = ("number", "time", "level", "latitude", "longitude")
    data = xr.Dataset(
        {
            "z": (dims, values.astype(np.float32), {"units": "m**2 s**-2"}),
            "t": (dims, (values + 5000).astype(np.float32), {"units": "K"}),
        },
        {
            **{"number": np.arange(4), "time": stamps, "level": [850.0, 500.0]},
            **{"latitude": [90.0, 0.0, -90.0], "longitude": np.arange(0, 360.0, 60)},
        },
    )
    (root / "climate").mkdir(parents=True, exist_ok=True)
    data.to_netcdf(root / "climate" / "members.nc")


def test_members_of_an_ensemble(make_job, tmp_path):
    write_ensemble(tmp_path / "raw")
    job = make_job("weatherbench", [3, 3, 6], ENSEMBLE)
    extras = run(job)
    assert extras["clips"] == {"train": 4, "val": 2, "test": 2}
    data = Prepared(job.out)
    clips = data.clips("test")
    assert clips.index["clip"].tolist() == ["member-02/2017-01-01T00", "member-02/2017-01-01T12"]
    assert clips.index["cluster"].tolist() == ["member-02"] * 2
    # frames are 12 hours apart: two phases of the day
    assert data.attrs["phases"] == 2 and clips.phases([0, 1]).tolist() == [0, 1]
    second = clips.read([1])[0]
    # time 1 of member 2; z at 500, z at 850, t at 850; the south first
    np.testing.assert_allclose(second[0, :, 0, 0], [210.75, 211.1, 5211.1], rtol=1e-6)
    np.testing.assert_allclose(second[:, 0, 2, 5], [210.5, 220.5, 230.5])
    frames = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None)["frames"]
    np.testing.assert_array_equal(frames["lat"], [-90, 0, 90])
    assert pd.Timestamp(frames["time"].to_numpy()[4]) == pd.Timestamp("2017-01-01")


@pytest.mark.parametrize(
    ("times", "change", "message"),
    [
        (("00", "12"), {}, "at least 3, equally far apart"),
        (("00", "12", "18", "24"), {}, "equally far apart"),
        (("00", "12", "24"), {"members": {"train": [0], "val": [1], "test": [4]}}, "below 4"),
    ],
)
def test_an_ensemble_without_windows(make_job, tmp_path, times, change, message):
    write_ensemble(tmp_path / "raw", times)
    with pytest.raises(StpError, match=message):
        run(make_job("weatherbench", [3, 3, 6], {**ENSEMBLE, **change}))


def test_counting_an_ensemble_is_left_to_the_file(make_job, tmp_path):
    write_ensemble(tmp_path / "raw")
    job = make_job("weatherbench", [3, 3, 6], ENSEMBLE)
    assert "climate/members.nc" in count(job.recipe, Lists([tmp_path])).unknown["test"]


@pytest.mark.sample_bytes
def test_real_era5(make_job, raw_mirror):
    config = yaml.safe_load((CONFIG_FOLDER / "datasets" / "weatherbench.yaml").read_text())
    release = config["releases"]["sample"]
    names = [file["path"] for file in release["files"]]
    job = make_job("weatherbench", [4, 61, 120], release["prepare"], root=raw_mirror, names=names)
    extras = run(job)
    assert extras["clips"] == {"train": 12, "val": 4, "test": 4}
    data = Prepared(job.out)
    # Two days of January against the published statistics of 37 years, on another grid.
    published = config["releases"]["official"]["prepare"]["published"]
    found = data.attrs["training_statistics"]
    for name, mean, std in zip(data.attrs["variables"], found["mean"], found["std"], strict=True):
        assert mean == pytest.approx(published[name][0], abs=0.1 * published[name][1])
        assert std == pytest.approx(published[name][1], rel=0.2)
    with netCDF4.Dataset(raw_mirror / names[0]) as file:
        there = np.asarray(file["t"][8, 3, list(file["level"][:]).index(850), ::-1])
    clip = data.clips("test").read([1])[0]
    channel = data.attrs["variables"].index("t_850")
    np.testing.assert_array_equal(clip[2, channel], there)
