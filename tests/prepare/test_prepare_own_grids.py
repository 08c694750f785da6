"""Own grids: variables and levels by name, time, coordinates; and files that contradict."""

from pathlib import Path

import cftime
import netCDF4
import numpy as np
import own_data as made
import pytest
import xarray as xr

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.data.raw_files import RawFiles
from stp.plan.checked_config import in_order
from stp.prepare.netcdf import as_stated, require_whole
from stp.prepare.own import grids, reader
from stp.prepare.own.calendar import read_times
from stp.prepare.own.reader import run

SHAPE = [3, 4, 6]
DATES = {
    "by": "time",
    "train": ["2000-01-01", "2000-01-05"],
    "val": ["2000-01-06", "2000-01-07"],
    "test": ["2000-01-08", "2000-01"],
}
VARIABLES = {"z": [850, 500], "t2m": None}


def ten_days():
    """Every six hours."""
    return made.grid(made.times("2000-01-01", 40))


def options(**more):
    return {"kind": "grids", "variables": VARIABLES, "splits": DATES, "stride": 1, **more}


def refuse(make_job, named, *given, **more):
    """A job with these options is refused by an error that names this."""
    with pytest.raises(StpError, match=named):
        run(make_job("own.reader", SHAPE, options(*given, **more)))


def save(root, dataset, name="g.nc", **more):
    """As NetCDF in two kinds, or as Zarr in two versions."""
    path = root / "mine" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zarr":
        dataset.to_zarr(path, mode="w", consolidated=False, **more)
    else:
        dataset.to_netcdf(path, **more)
    return path


@pytest.fixture
def raw(tmp_path):
    save(tmp_path / "raw", ten_days())
    return tmp_path / "raw"


def check(job, first="2000-01-01"):
    data = Prepared(job.out)
    origin = np.datetime64(first, "s")
    row, column = np.arange(4)[:, None], np.arange(6)
    for split in ("train", "val", "test"):
        clips = data.clips(split)
        assert len(clips)
        for clip, values in zip(clips.index["clip"], clips.read(range(len(clips))), strict=True):
            k = int((np.datetime64(clip.rpartition("/")[2]) - origin) / np.timedelta64(6, "h"))
            for step, frame in enumerate(values):
                np.testing.assert_array_equal(frame[0], np.full((4, 6), 850 + k + step))
                np.testing.assert_array_equal(frame[1], np.full((4, 6), 500 + k + step))
                np.testing.assert_array_equal(frame[2], 1000 * (k + step) + 10 * row + column)
    return data


def test_variables_levels_and_dates(make_job, raw):
    job = make_job("own.reader", SHAPE, options(cluster_frames=4))
    extras = run(job)
    # Windows of 3: five days have 20 - 2 starts, two days 8 - 2, three days 12 - 2.
    assert extras["clips"] == {"train": 18, "val": 6, "test": 10}
    data = check(job)
    assert data.attrs["variables"] == ["z850", "z500", "t2m"]
    assert data.attrs["variable_units"] == ["m2 s-2", "m2 s-2", "K"]
    assert (data.attrs["units"], data.attrs["time_step"]) == ("physical", "6h")
    tests = data.clips("test").index
    assert list(tests["clip"][:2]) == [
        "mine/g.nc/2000-01-08T00:00:00",
        "mine/g.nc/2000-01-08T06:00:00",
    ]
    assert list(tests["cluster"].unique()) == [f"mine/g.nc/block-{b:03d}" for b in (7, 8, 9)]


def test_the_store_opens_in_plain_xarray(make_job, raw):
    job = make_job("own.reader", SHAPE, options())
    run(job)
    frames = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None)["frames"]
    original = ten_days()
    np.testing.assert_array_equal(frames["time"], original["time"])
    np.testing.assert_array_equal(frames["lat"], original["lat"])
    assert frames["lon"].attrs["units"] == "degrees_east"
    assert list(frames["variable"].values) == ["z850", "z500", "t2m"]
    np.testing.assert_array_equal(frames[:, 2], original["t2m"])


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("g.nc", {"format": "NETCDF3_64BIT"}),
        ("g.zarr", {"zarr_format": 2}),
        ("g.zarr", {"zarr_format": 3}),
    ],
)
def test_every_container(make_job, tmp_path, name, more):
    save(tmp_path / "raw", ten_days(), name, **more)
    job = make_job("own.reader", SHAPE, options())
    assert run(job)["sequences"] == 1
    check(job)


@pytest.mark.parametrize("axis", ["time", "y", "x"])
def test_variables_of_a_file_have_the_same_axes(make_job, tmp_path, axis):
    field = ten_days()
    dim, other = {
        "time": ("time", "valid_time"),
        "y": ("lat", "latitude"),
        "x": ("lon", "longitude"),
    }[axis]
    column = field["t2m"].rename({dim: other})
    column = (
        column.isel({other: slice(None, None, 2)})
        if axis == "x"
        else column.assign_coords(
            {
                other: field[dim].values[::-1]
                if axis == "y"
                else field[dim].values + np.timedelta64(1, "D")
            }
        )
    )
    save(tmp_path / "raw", field.assign(t2m=column))
    refuse(make_job, rf"g\.nc: t2m and z .*{axis}")


def test_missing_chunks_are_no_numbers(make_job, tmp_path):
    field = ten_days().astype(np.int16)
    path = save(tmp_path / "raw", field, "g.zarr", encoding={"t2m": {"chunks": (10, 4, 6)}})
    (path / "t2m" / "c" / "1" / "0" / "0").unlink()
    refuse(make_job, r"g\.zarr: 1 of 4 .*t2m")
    only_z = options(variables={"z": [850]})
    run(make_job("own.reader", [1, 4, 6], only_z))


def coordinates(job):
    with xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None) as opened:
        return {name: (one.dims[0], one.values.tolist()) for name, one in opened.coords.items()}


def test_a_coordinate_of_columns_alone(make_job, tmp_path):
    save(tmp_path / "raw", made.grid(made.times("2000-01-01", 40), 6, 6).drop_vars("lat"))
    job = make_job("own.reader", [3, 6, 6], options())
    run(job)
    found = coordinates(job)
    assert found["lon"] == ("x", [0, 2, 4, 6, 8, 10])
    assert "lat" not in found


@pytest.mark.parametrize(
    ("name", "units", "factor", "kept"),
    [
        ("latitude", "degrees_north", 1, "lat"),
        ("rlat", None, 1, "lat"),
        ("latitude", "radians", np.pi / 180, "latitude"),
        ("nlat", None, 1 / 30, "nlat"),
        ("lat", None, 3, "lat_"),
        ("lat", None, None, "lat_"),
    ],
)
def test_what_is_no_latitude_weighs_nothing(make_job, tmp_path, name, units, factor, kept):
    field = ten_days()
    lat = field["lat"] * factor if factor else xr.DataArray(np.arange(4), dims="lat")
    lat = xr.DataArray(lat, attrs={"units": units} if units else {})
    save(tmp_path / "raw", field.assign_coords(lat=lat).rename(lat=name))
    job = make_job("own.reader", SHAPE, options(y=name))
    run(job)
    found = coordinates(job)
    assert found[kept][0] == "y"
    assert ("lat" in found) == (kept == "lat")


def test_a_latitude_in_degrees_east_is_refused(make_job, tmp_path):
    field = ten_days()
    field["lat"].attrs["units"] = "degrees_east"
    save(tmp_path / "raw", field)
    refuse(make_job, "lat .*degrees_east")


def test_files_are_joined_by_their_times_and_read_in_parts(make_job, tmp_path, monkeypatch):
    """Names in another order than times; parts cross from file to file."""
    field = ten_days()
    for name, first, stop in (("c.nc", 0, 7), ("a.nc", 7, 23), ("b.nc", 23, 40)):
        save(tmp_path / "raw", field.isel(time=slice(first, stop)), name)
    monkeypatch.setattr(reader, "PIECE_BYTES", 5 * 3 * 4 * 6 * 8)
    job = make_job("own.reader", SHAPE, options())
    assert run(job)["pieces"] == 4 + 2 + 3
    check(job)


def test_files_of_their_own(make_job, tmp_path):
    """Events: each file is a recording, and may be anywhere in time."""
    for i in range(4):
        save(tmp_path / "raw", made.grid(made.times(f"200{9 - i}-05-01", 5)), f"event{i}.nc")
    job = make_job("own.reader", SHAPE, options(splits={"by": "file", **made.THIRDS}))
    assert run(job)["clips"] == {"train": 6, "val": 3, "test": 3}


def test_packed_values_and_the_names_of_era5(make_job, tmp_path):
    """Dimensions valid_time, latitude, longitude, a member, whole numbers with a scale."""
    field = ten_days()["t2m"]
    field = field.rename(time="valid_time", lat="latitude", lon="longitude")
    field = field.expand_dims(number=[0, 1], axis=1) + xr.DataArray([0, 500], dims="number")
    field.attrs["units"] = "K"
    packed = {
        "t2m": {"dtype": "int16", "scale_factor": 1.0, "add_offset": 20000.0, "_FillValue": -32768}
    }
    save(tmp_path / "raw", field.to_dataset(name="t2m"), encoding=packed)
    given = options(variables={"t2m": None}, select={"number": 1})
    job = make_job("own.reader", [1, 4, 6], given)
    run(job)
    data = Prepared(job.out)
    assert data.attrs["units"] == "K"
    assert data.clips("train").read([0])[0, 1, 0, 2, 3] == 1000 + 20 + 3 + 500
    with pytest.raises(StpError, match=r"number .* 2"):
        run(make_job("own.reader", [1, 4, 6], options(variables={"t2m": None})))
    with pytest.raises(StpError, match=r"t2m .*number.*7"):
        run(make_job("own.reader", [1, 4, 6], {**given, "select": {"number": 7}}))


def test_months_and_years_of_another_calendar(make_job, tmp_path):
    months = xr.date_range("2001-03", periods=40, freq="MS", calendar="noleap", use_cftime=True)
    assert isinstance(months[0], cftime.DatetimeNoLeap)
    save(tmp_path / "raw", made.grid(np.array(months))[["t2m"]])
    splits = {"by": "time", "train": ["2001", "2002-12"], "val": ["2003-01", "2003-06"],
              "test": ["2003-07", "2004"]}  # fmt: skip
    given = options(variables={"t2m": None}, splits=splits, cycle="year")
    job = make_job("own.reader", [1, 4, 6], given)
    run(job)
    data = Prepared(job.out)
    assert data.attrs["phases"] == 12 and data.attrs["time_step"] == "1mon"
    assert list(data.clips("train").phases([0, 1, 9, 10])) == [2, 3, 11, 0]
    opened = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None)
    assert opened["time"].values[-1] == months[-1]


def with_times(raw, units, numbers, calendar=None):
    path = save(raw, ten_days().drop_vars("time"))
    with netCDF4.Dataset(path, "a") as file:
        time = file.createVariable("time", "f8", ("time",))
        time.units, time[:] = units, numbers
        if calendar:
            time.calendar = calendar


@pytest.mark.parametrize(
    ("units", "numbers"),
    [
        ("months since 2000-01-01", np.arange(40) + 0.5),
        ("months since 2000-01-31", np.arange(40)),
        ("years since 2000-01-01", np.arange(40) / 24),
    ],
)
def test_months_are_of_no_fixed_length(make_job, tmp_path, units, numbers):
    with_times(tmp_path / "raw", units, numbers)
    refuse(make_job, rf"g\.nc: time .*{units}")


@pytest.mark.parametrize(
    ("units", "numbers", "calendar", "first"),
    [
        ("months since 2000-01-01", np.arange(40), None, "2000-01-01"),
        ("Months since 1999-02-03 00:00", 11 + np.arange(40.0), None, "2000-01-03"),
        ("months since 2000-01-01", np.arange(40), "noleap", "2000-01-01"),
        ("months since 2000-01-01", np.arange(40), "360_day", "2000-01-01"),
    ],
)
def test_whole_months_since_a_date(make_job, tmp_path, units, numbers, calendar, first):
    with_times(tmp_path / "raw", units, numbers, calendar)
    by_share = {"by": "time", "train": 0.5, "val": 0.25, "test": 0.25}
    job = make_job("own.reader", SHAPE, options(splits=by_share, cycle="year"))
    run(job)
    data = Prepared(job.out)
    assert (data.attrs["time_step"], data.attrs["phases"]) == ("1mon", 12)
    assert data.clips("train").index["clip"][0].rpartition("/")[2][:10] == first


@pytest.mark.parametrize("versions", [[1, 5], ["0005", "0001"], None])
def test_era5_goes_on_where_its_final_version_ends(make_job, tmp_path, versions):
    field = ten_days()
    late = xr.DataArray(np.arange(40) >= 34, dims="time")
    parts = {1: field.where(~late), 5: field.where(late | (late["time"] == 33), field * np.nan)}
    order = [int(one) for one in versions or (1, 5)]
    both = xr.concat([parts[one] for one in order], "expver", join="override")
    both = both.assign_coords(expver=versions) if versions else both
    save(tmp_path / "raw", both.transpose("time", "expver", ...))
    job = make_job("own.reader", SHAPE, options())
    run(job)
    check(job)
    if versions == [1, 5]:
        chosen = options(select={"expver": 1})
        with pytest.raises(StpError, match="expver 1 "):
            run(make_job("own.reader", SHAPE, chosen))


def with_a_mark(value, **attrs):
    field = ten_days()
    field["z"][7, 0, 1, 1] = value
    field["z"].attrs.update(attrs)
    return field


@pytest.mark.parametrize("value", [-9999.0, 1e20])
def test_a_lone_value_far_from_all_others_is_stated_declared_or_refused(make_job, tmp_path, value):
    save(tmp_path / "raw", with_a_mark(value, valid_min=-1e6, valid_max=1e21))
    run(make_job("own.reader", SHAPE, options()))
    save(tmp_path / "raw", with_a_mark(value))
    refuse(make_job, r"g\.nc.*: z500 ")
    refuse(make_job, "z500 .* 1 ", missing=value)
    job = make_job("own.reader", SHAPE, options(missing=[value], fill=507))
    assert run(job)["range of values"]["z500"] == [500, 539]
    check(job)
    meant = make_job("own.reader", SHAPE, options(missing=[]))
    assert (
        value in [np.float32(end) for end in run(meant)["range of values"]["z500"]] or value > 1e9
    )
    refuse(make_job, "missing .*x", missing="x")


@pytest.mark.parametrize(
    ("units", "numbers", "step"),
    [
        ("days since 2000-01-01", np.arange(40) / 144, "10min"),
        ("hours since 1950-01-01", 1e5 + np.arange(40) / 3, "20min"),
        ("days since 2001-01-01", 30.0 * np.arange(40), "30d"),
    ],
)
def test_steps_that_are_no_whole_number_of_days_or_months(make_job, tmp_path, units, numbers, step):
    with_times(tmp_path / "raw", units, numbers)
    by_share = {"by": "time", "train": 0.5, "val": 0.25, "test": 0.25}
    job = make_job("own.reader", SHAPE, options(splits=by_share))
    assert run(job)["clips"] == {"train": 18, "val": 8, "test": 8}
    assert Prepared(job.out).attrs["time_step"] == step


def test_the_cycle_of_a_day(make_job, raw):
    job = make_job("own.reader", SHAPE, options(cycle="day"))
    run(job)
    data = Prepared(job.out)
    assert data.attrs["phases"] == 4
    assert list(data.clips("train").phases(range(5))) == [0, 1, 2, 3, 0]
    job = make_job("own.reader", SHAPE, options(cycle="day", frame_step=2))
    run(job)
    assert list(Prepared(job.out).clips("train").phases(range(4))) == [0, 0, 1, 1]
    for wrong in ({"cycle": "year"}, {"cycle": "day", "frame_step": 3}):
        refuse(make_job, "cycle .*6h", **wrong)


@pytest.mark.parametrize(
    ("calendar", "date", "days", "day"),
    [
        # 31 + 28 days before 1 March, whatever the year; 29 February is a second 28th.
        ("standard", "2003-03-01", 365, 59),
        ("standard", "2004-03-01", 365, 59),
        ("standard", "2004-02-29", 365, 58),
        ("noleap", "2004-12-31", 365, 364),
        ("360_day", "2004-02-30", 360, 59),
    ],
)
def test_the_cycle_of_the_days_of_a_year(calendar, date, days, day):
    when = xr.date_range(date, periods=9, freq="6h", calendar=calendar, use_cftime=True)
    clock = read_times(xr.DataArray(when, dims="time"), Path("f.nc"))
    assert clock.phases("day_of_year", 1) == days * 4
    assert [clock.phase(i, "day_of_year", 1) for i in range(3)] == [4 * day + i for i in range(3)]
    assert clock.phases("day_of_year", 4) == days
    assert clock.phase(0, "day_of_year", 4) == day
    with pytest.raises(StpError, match="hours"):
        clock.phases("day_of_year", 8)


def test_a_gap_in_time_is_an_error_or_a_cut(make_job, tmp_path):
    when = np.delete(made.times("2000-01-01", 40), 10)
    save(tmp_path / "raw", made.grid(when))
    refuse(make_job, r"g\.nc: .*2000-01-03T06:00:00")
    job = make_job("own.reader", SHAPE, options(gaps="cut"))
    # 10 + 9 frames of training instead of 20
    assert run(job)["clips"]["train"] == 8 + 7


@pytest.mark.parametrize("how", ["twice", "backwards", "overlap"])
def test_times_that_repeat_or_go_backwards(make_job, tmp_path, how):
    when = made.times("2000-01-01", 40)
    if how == "overlap":
        save(tmp_path / "raw", made.grid(when[:20]), "a.nc")
        save(tmp_path / "raw", made.grid(when[19:]), "b.nc")
    else:
        when[10] = when[9] if how == "twice" else when[3]
        save(tmp_path / "raw", made.grid(when))
    for gaps in ("error", "cut"):
        refuse(make_job, "2000-01-.* 2000-01-", gaps=gaps)


def test_celsius_in_one_file_and_kelvin_in_another(make_job, tmp_path):
    field = ten_days()
    field["t2m"] = 280 + field["t2m"] / 4000
    save(tmp_path / "raw", field.isel(time=slice(20)), "a.nc")
    field["t2m"] = field["t2m"] - 273.15
    save(tmp_path / "raw", field.isel(time=slice(20, None)), "b.nc")
    refuse(make_job, r"b\.nc.* t2m .* 11\.85")


@pytest.mark.parametrize("name", ["g.nc", "g.zarr"])
@pytest.mark.parametrize("value", [np.nan, netCDF4.default_fillvals["f4"]])
def test_missing_values(make_job, tmp_path, name, value):
    field = ten_days()
    field["t2m"][7, 1, 1] = value
    save(tmp_path / "raw", field, name)
    refuse(make_job, rf"{name}.*t2m .* 1 ")
    refuse(make_job, r"t2m.*fill", fill=-1e6)
    job = make_job("own.reader", SHAPE, options(fill=[0, 0, -5]))
    run(job)
    assert Prepared(job.out).clips("train").read([7])[0, 0, 2, 1, 1] == -5


@pytest.mark.parametrize("last", ["2000-01-05 12:00", "2000-01-05T12"])
def test_a_split_ends_at_a_time_of_day(make_job, raw, last):
    splits = {**DATES, "train": ["2000-01-01", last]}
    job = make_job("own.reader", SHAPE, options(splits=splits))
    run(job)
    assert check(job).clips("train").index["clip"].iloc[-1].endswith("2000-01-05T00:00:00")


PACKED = {"dtype": "int16", "scale_factor": -2.0, "add_offset": 500.0, "_FillValue": np.int16(-1)}


@pytest.mark.parametrize(
    ("attrs", "encoding", "message"),
    [
        ({"valid_range": np.float32([0, 39035])}, {}, None),
        (
            {"valid_range": np.float32([0, 9000])},
            {},
            r"\d+ .*0 to 9000, .*9001",
        ),
        ({"valid_min": 1.0}, {}, "1 .*1 to inf, .*0"),
        ({"valid_max": np.float64(39034.9)}, {}, "1 .*-inf to 39034.9, .*39035"),
        # 500 - 2 x (-19268 .. 250) is 0 .. 39036
        ({"valid_range": np.int16([-19268, 250])}, PACKED, None),
        (
            {"valid_range": np.int16([-19268, 200])},
            PACKED,
            r"\d+ .*99 to 39037, ",
        ),
        ({"valid_max": np.int16(200)}, PACKED, r"\d+ .*99 to inf, "),
        (
            {"valid_range": np.float32([99, 39036])},
            PACKED,
            r"\d+ .*98 to 39037, ",
        ),
    ],
)
def test_values_outside_of_the_range_that_a_file_states(
    make_job, tmp_path, attrs, encoding, message
):
    field = ten_days()
    field["t2m"].attrs.update(attrs)
    save(tmp_path / "raw", field, encoding={"t2m": encoding})
    job = make_job("own.reader", SHAPE, options(fill=0))
    if message is None:
        run(job)
        return
    with pytest.raises(StpError, match=rf"g\.nc: t2m .*{message}"):
        run(job)


@pytest.mark.parametrize(
    "attrs", [{"valid_range": "0, 1"}, {"valid_range": [0.0]}, {"valid_min": "x"}]
)
def test_a_range_that_is_none(make_job, tmp_path, attrs):
    field = ten_days()
    field["t2m"].attrs.update(attrs)
    save(tmp_path / "raw", field)
    refuse(make_job, r"g\.nc: .*t2m")


def test_the_range_of_bytes_without_signs():
    packing = {"dtype": "int8", "_Unsigned": "true", "scale_factor": 0.1}
    stated = {"valid_range": np.int8([0, -6])}
    values = np.array([0, 25.0])
    field = xr.DataArray(values, attrs=stated, name="x")
    field.encoding = packing
    assert as_stated(values, field, Path("a.nc")) is values
    with pytest.raises(StpError, match=r"a\.nc: x .* 1 .*-0\.05 to 25\.05, .*25\.1"):
        as_stated(np.array([0, 25.1]), field, Path("a.nc"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"variables": {"t3m": None, "z": [500, 850]}}, "'t3m'(.|\n)*t2m"),
        ({"variables": {"t2m": None, "z": [500, 700]}}, "z .*700(.|\n)*500, 850"),
        ({"variables": {"z": None, "t2m": [1, 2]}}, "level .* 2"),
        ({"variables": {"t2m": [1, 2, 3]}}, "level"),
        ({"variables": {"t2m": None}}, "3 .*shape"),
        ({"variables": {}}, "variables .*{}"),
        ({"variables": {"z": [500, 500.0]}}, "channel"),
        ({"y": "rows"}, "z .*time, level, lat, lon.* y"),
        ({"y": "lon", "x": "lat"}, "6 x 4(.|\n)*4 x 6"),
        ({"fill": "zero"}, "fill .*zero"),
        ({"variables": {"t2m": None, "z": ["500", 850]}}, r"variables\.z"),
        ({"variables": {"t2m": None, "z": 500}}, "variables"),
        ({"variables": [{"name": "t2m"}, {"name": "t2m"}]}, "variable"),
        ({"select": {"numbr": 0}}, "'numbr'"),
        ({"splits": {**DATES, "val": ["2000-01-05", "2000-01-07"]}}, "val .*train"),
    ],
)
def test_what_is_not_in_the_files(make_job, raw, change, message):
    refuse(make_job, message, **change)


def test_levels_and_members_without_values(make_job, tmp_path):
    """Places are counted from 0, but are no levels."""
    field = ten_days().expand_dims(number=2)
    save(tmp_path / "raw", field)
    run(make_job("own.reader", SHAPE, options(select={"number": 1})))
    for number in (2, -1, "a"):
        refuse(make_job, f"z .*number.*{number!r}", select={"number": number})
    save(tmp_path / "raw", field.drop_vars("level"))
    places = {"z": [1, 0], "t2m": None}
    refuse(make_job, "z", select={"number": 1}, variables=places)


def test_a_file_without_dates(make_job, tmp_path):
    field = ten_days()
    save(tmp_path / "raw", field.drop_vars("time"))
    refuse(make_job, "time")
    save(tmp_path / "raw", field.assign_coords(time=np.arange(40)))
    refuse(make_job, "int64")


def test_files_on_different_grids(make_job, raw):
    when = made.times("2000-01-11", 4)
    save(raw, made.grid(when).assign_coords(lon=np.arange(6) + 1.0), "h.nc")
    refuse(make_job, r"h\.nc: .*mine/g\.nc")


@pytest.mark.parametrize("format", ["NETCDF3_CLASSIC", "NETCDF3_64BIT"])
@pytest.mark.parametrize("unlimited", [[], ["time"]])
def test_a_classic_file_that_was_cut_off(make_job, tmp_path, format, unlimited):
    field = ten_days()
    first = field.drop_vars(["t2m", "z"])
    path = save(tmp_path / "raw", first, format=format, unlimited_dims=unlimited)
    field[["t2m", "z"]].drop_vars([*first.coords]).to_netcdf(path, mode="a", format=format)
    run(make_job("own.reader", SHAPE, options()))
    # The values of the last variable, or of the last time, lie at the end.
    path.write_bytes(path.read_bytes()[:-8])
    refuse(make_job, r"g\.nc")


@pytest.mark.parametrize(
    "format", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]
)
@pytest.mark.parametrize("records", [(), ("b",), ("b", "d")])
def test_the_end_of_a_classic_file(tmp_path, format, records):
    path = tmp_path / "g.nc"
    with netCDF4.Dataset(path, "w", format=format) as file:
        file.title, file.numbers = "three", np.arange(3.0)
        file.createDimension("t", None)
        file.createDimension("x", 3)
        for name, kind in (("b", "i1"), ("d", "f8"), ("s", "i2")):
            dims = ("t", "x") if name in records else ("x", "x")
            variable = file.createVariable(name, kind, dims)
            variable.units, variable[:] = "m", np.ones((3, 3))
        file.createVariable("scalar", "f8", ())[...] = 3
    require_whole(path)
    whole = path.read_bytes()
    for cut in (4, 40, len(whole) // 2, len(whole) - 4):
        path.write_bytes(whole[:cut])
        with pytest.raises(OSError):
            require_whole(path)


def test_grib_files_are_to_be_converted(make_job, raw):
    (raw / "mine" / "h.grib").write_bytes(b"GRIB")
    refuse(make_job, r"h\.grib")


def test_a_store_with_other_files_than_were_locked(make_job, tmp_path):
    store = save(tmp_path / "raw", ten_days(), "g.zarr")
    job = make_job("own.reader", SHAPE, options())
    (store / "t2m" / "c" / "9").mkdir(parents=True)
    (store / "t2m" / "c" / "9" / "0").write_bytes(b"x")
    with pytest.raises(StpError, match=r"g\.zarr.*t2m/c/9/0"):
        run(job)
    (store / "zarr.json").unlink()
    with pytest.raises(StpError, match=r"zarr\.json: "):
        run(job)


@pytest.mark.sample_bytes
def test_real_sea_surface_temperatures(make_job, raw_mirror):
    """NOAA ERSST: monthly, with missing values on land."""
    name = "climate/ersst_sst.mnmean.nc"
    splits = {"by": "time", "train": 0.6, "val": 0.2, "test": 0.2}
    given = {"kind": "grids", "variables": {"sst": None}, "splits": splits, "cycle": "year"}
    job = make_job("own.reader", [1, 89, 180], given, root=raw_mirror, names=[name])
    with pytest.raises(StpError, match="sst"):
        run(job)
    job = make_job("own.reader", [1, 89, 180], {**given, "fill": 0}, root=raw_mirror, names=[name])
    run(job)
    with netCDF4.Dataset(raw_mirror / name) as file:
        truth = file["sst"][:].filled(0)
    data = Prepared(job.out)
    np.testing.assert_array_equal(data.frames.read(0, len(truth))[:, 0], truth)
    assert (data.attrs["units"], data.attrs["time_step"]) == ("degC", "1mon")
    first = np.datetime64(data.index["clip"][0].rpartition("/")[2], "M")
    assert data.index["phase"][0] == int(first.astype(int)) % 12


@pytest.mark.sample_bytes
def test_real_reanalysis(make_job, raw_mirror):
    """ECMWF ERA5: ten members, two levels, packed or not."""
    name = "climate/era5_eda10_z_t_850_500_3deg_20170101-02.nc"
    with netCDF4.Dataset(raw_mirror / name) as file:
        height, width = (len(file.dimensions[dim]) for dim in ("latitude", "longitude"))
        level = [int(value) for value in file["level"][:]]
        truth = file["t"][3, :, level.index(850)]
    given = {"kind": "grids", "variables": {"t": [850], "z": [500]}, "select": {"number": 3}}
    given = in_order({**given, "splits": {"by": "time", **made.THIRDS}})
    options = reader.build_options(given)
    job = make_job("own.reader", [2, height, width], {}, root=raw_mirror, names=[name])
    raw = RawFiles(job.inputs["raw"], [raw_mirror])
    found = grids.raw_contents(
        raw, options, (2, height, width), job.state
    )  # too few times for a split
    assert (found.recordings[0].frames, found.attrs["time_step"]) == (4, "12h")
    frames = found.decode(raw, found.task(0, 1, 4))
    np.testing.assert_allclose(frames[:, 0], truth[1:], rtol=1e-6)
    assert found.attrs["variables"] == ["t850", "z500"]
