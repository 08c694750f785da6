"""Forecasts of one's own, in files of other names, units and forms, are read as they are."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import eccodes
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import yaml
from conventions import defined

from stp.core.errors import StpError
from stp.core.job import Interrupted, Job, report_nothing
from stp.data.daily_fields import Grid
from stp.data.prepared import Prepared
from stp.data.raw_files import RawFiles
from stp.data.zarr_write import SequentialWriter, create_array, create_group
from stp.plan.cells import Plan
from stp.plan.manifest import load_manifest, manifest_text
from stp.plan.manifest_types import Cell, Manifest
from stp.plan.manifests import manifest
from stp.predict.source import ForecastRequest
from stp.predict.sources import own_files
from stp.prepare.output import write_coordinate
from stp.score.read import run

ROOT = Path(__file__).parents[2]
LAT, LON = np.linspace(90, -90, 5), np.arange(8) * 45.0
NAMES = ["t_850", "z_500"]
DAYS, HORIZON = 8, 3
STARTS = np.arange("2022-01-01", "2022-01-06", dtype="datetime64[D]")


def prepared(folder: Path, grid: Grid, starts: np.ndarray, days: int) -> Path:
    """Days of two variables on a grid, from the first start on, and windows of these starts."""
    folder.mkdir(exist_ok=True)
    shape = [2, *grid]
    given = {"shape": shape, "context": 1, "horizon": HORIZON, "variables": NAMES}
    group = create_group(folder / "frames.zarr", {**given, "source": "synthetic", "units": "x"})
    dims = ("frame", "channel", "y", "x")
    array = create_array(group, "frames", (days, *shape), np.float32, dims, (1, *shape))
    rng = np.random.default_rng(4)
    mean = np.array([280.0, 5500.0])[:, None, None]
    with SequentialWriter(array) as writer:
        writer.append((mean + rng.normal(0, 9, (days, *shape))).astype(np.float32))
    hours = (starts[0] + np.arange(days)).astype("datetime64[h]").astype(np.int64)
    write_coordinate(group, "time", "frame", hours, units="hours since 1970-01-01")
    write_coordinate(group, "lat", "y", grid.lat, units="degrees_north")
    write_coordinate(group, "lon", "x", grid.lon, units="degrees_east")
    write_coordinate(group, "level", "channel", np.array([850.0, 500.0]))
    write_coordinate(group, "channel_units", "channel", np.array(["K", "gpm"], dtype=object))
    names, first = starts.astype(str), np.arange(len(starts))
    index = {"split": "test", "clip": names, "start": first, "stride": 1}
    index |= {"length": 1 + HORIZON, "cluster": names, "phase": 0}
    pd.DataFrame(index).to_parquet(folder / "index.parquet")
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepared: 8 days of two variables, 5 starts."""
    return prepared(tmp_path_factory.mktemp("data"), Grid(5, 8), STARTS, DAYS)


def forecasts(starts: np.ndarray, leads: int = HORIZON, seed: int = 1) -> xr.Dataset:
    """As the data would have them: t in K, z in gpm, (start, lead, latitude, longitude)."""
    rng = np.random.default_rng(seed)
    dims = ("start", "lead", "latitude", "longitude")
    shape = (len(starts), leads, 5, 8)
    t, z = ((mean + rng.normal(0, 9, shape)).astype("f4") for mean in (280, 5500))
    return xr.Dataset(
        {"t_850": (dims, t, {"units": "K"}), "z_500": (dims, z, {"units": "gpm"})},
        {
            "start": starts.astype("datetime64[ns]"),
            "lead": ("lead", np.arange(1, leads + 1), {"units": "days"}),
            "latitude": LAT,
            "longitude": LON,
        },
    )


class Files:
    """Files of forecasts, below a raw folder of their own."""

    def __init__(self, folder: Path, data: Path) -> None:
        self.folder, self.data = folder / "raw", data
        (self.folder / "mine").mkdir(parents=True)

    def write(self, name: str, dataset: xr.Dataset) -> None:
        path = self.folder / "mine" / name
        if path.suffix == ".zarr":
            dataset.to_zarr(path, consolidated=False)
        else:
            dataset.to_netcdf(path)

    def lock(self) -> Path:
        files = {}
        for file in sorted(p for p in self.folder.rglob("*") if p.is_file()):
            content = file.read_bytes()
            digest = hashlib.sha256(content).hexdigest()
            name = file.relative_to(self.folder).as_posix()
            files[name] = {"bytes": len(content), "sha256": digest}
        path = self.folder.parent / "lock.json"
        about = {"dataset": "d", "release": "r", "source": "own", "files": files}
        path.write_text(json.dumps(about))
        return path

    def open(self, members: int = 1, **options: Any) -> own_files.OwnFiles:
        data = Prepared(self.data)
        raw = RawFiles(self.lock(), [self.folder])
        request = ForecastRequest(
            data, data.clips("test"), HORIZON, members, raw, self.folder, report_nothing
        )
        found = own_files.open_source(request, **options)
        assert isinstance(found, own_files.OwnFiles)
        return found


@pytest.fixture
def files(tmp_path: Path, data: Path) -> Files:
    return Files(tmp_path, data)


ALL = np.arange(HORIZON)


def all_of(source: own_files.OwnFiles) -> np.ndarray:
    """Forecasts of all rows, in the order of the clips: (N, M, leads, C, H, W)."""
    leads = ALL if source.leads is None else source.leads
    return np.stack([source.read(int(row), leads) for row in np.sort(source.rows)])


def stacked(plain: xr.Dataset) -> np.ndarray:
    fields = np.stack([plain[name].to_numpy() for name in NAMES], axis=2)
    return fields[:, None]


def upside_down(d: xr.Dataset) -> xr.Dataset:
    return d.isel(latitude=slice(None, None, -1))


def from_minus_180(d: xr.Dataset) -> xr.Dataset:
    return d.assign_coords(longitude=(d["longitude"] + 180) % 360 - 180).sortby("longitude")


def other_units(d: xr.Dataset) -> xr.Dataset:
    t = (d["t_850"] - 273.15).assign_attrs(units="degC")
    z = (d["z_500"] * 9.80665).assign_attrs(units="m**2 s**-2")
    return d.assign(t_850=t, z_500=z)


def other_names(d: xr.Dataset) -> xr.Dataset:
    """Names, levels in Pa and lead times in hours, as some services have them."""
    levels = xr.Variable("plev", [50000.0, 85000.0], {"units": "Pa"})
    t = xr.concat([d["t_850"] - 30, d["t_850"]], levels).assign_attrs(units="K")
    renamed = {"start": "time", "lead": "step", "latitude": "lat", "longitude": "lon"}
    found = xr.Dataset({"ta": t, "gh": d["z_500"]}).rename(renamed)
    hours = 24 * d["lead"].to_numpy()
    return found.assign_coords(step=("step", hours, {"units": "hours"}))


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *(("a.nc", form) for form in (lambda d: d, upside_down, from_minus_180, other_units)),
        ("a.zarr", other_units),
    ],
)
def test_forms_that_say_what_they_are_give_the_same_forecasts(
    files: Files, name: str, form: Callable[[xr.Dataset], xr.Dataset]
) -> None:
    plain = forecasts(STARTS)
    files.write(name, form(plain))
    found = files.open()
    assert found.rows.tolist() == [0, 1, 2, 3, 4] and found.channels.tolist() == [0, 1]
    np.testing.assert_allclose(all_of(found), stacked(plain), rtol=1e-5)


def test_missing_chunks_of_a_store_are_no_forecasts(files: Files) -> None:
    plain = forecasts(STARTS)
    files.write("a.zarr", plain.assign(t_850=plain["t_850"].round().astype("i2")))
    (chunk,) = (p for p in (files.folder / "mine/a.zarr/t_850/c").rglob("*") if p.is_file())
    chunk.unlink()
    with pytest.raises(StpError, match=r"a\.zarr: .*t_850"):
        files.open()


def in_units(units: str, in_a_day: float) -> Callable[[xr.Dataset], xr.Dataset]:
    def form(d: xr.Dataset) -> xr.Dataset:
        lead = d["lead"].to_numpy() * in_a_day
        lead = lead.astype("i8") if in_a_day >= 1 else lead
        return d.assign_coords(lead=("lead", lead, {"units": units}))

    return form


@pytest.mark.parametrize(
    ("units", "in_a_day"),
    [
        *[("seconds", 86400), ("s", 86400), ("minutes", 1440), ("min", 1440), ("h", 24)],
        *[("hour", 24), ("hrs", 24), ("D", 1), ("Days", 1), ("nanoseconds", 86400e9)],
        *[("milliseconds", 86400e3), ("microsec", 86400e6), ("weeks", 1 / 7)],
    ],
)
def test_lead_times_in_any_unit(files: Files, units: str, in_a_day: float) -> None:
    plain = forecasts(STARTS)
    files.write("a.nc", in_units(units, in_a_day)(plain))
    np.testing.assert_allclose(all_of(files.open()), stacked(plain), rtol=1e-5)


SAME = {
    "K": {"K": 293.15, "kelvin": 293.15, "degC": 20, "celsius": 20},
    "gpm": {"gpm": 5500, "m": 5500, "m2 s-2": 5500 * 9.80665, "dam": 550},
    "kg kg-1": {"kg kg-1": 0.01, "kg/kg": 0.01, "g kg-1": 10, "g/kg": 10},
    "m s-1": {"m s-1": 3, "m/s": 3},
    "Pa s-1": {"Pa s-1": 150, "Pa/s": 150, "hPa s-1": 1.5},
}
"""The same state in each unit of a file, by unit of the data."""


@pytest.mark.parametrize("unit", own_files.UNITS)
def test_each_unit_of_a_file_gives_the_same_state(unit: str) -> None:
    assert own_files.UNITS[unit].keys() == SAME[unit].keys()
    for other, (factor, offset) in own_files.UNITS[unit].items():
        assert SAME[unit][other] * factor + offset == pytest.approx(SAME[unit][unit]), other


@pytest.mark.parametrize("coordinate", ["channel_units", "time"])
def test_data_without_units_or_times_are_named(files: Files, coordinate: str) -> None:
    files.write("a.nc", forecasts(STARTS))
    files.data = shutil.copytree(files.data, files.folder.parent / "bare")
    shutil.rmtree(files.data / "frames.zarr" / coordinate)
    with pytest.raises(StpError, match=rf"bare: .*{coordinate}"):
        files.open()


def as_timedelta(d: xr.Dataset) -> xr.Dataset:
    return d.assign_coords(lead=(d["lead"].to_numpy() * 24).astype("timedelta64[h]"))


def cf(d: xr.Dataset) -> xr.Dataset:
    """One start: valid times are the dimension, and the start is a scalar."""
    (d,) = [d.isel(start=0)]
    hours = ("time", 24.0 * d["lead"].to_numpy(), {"units": "hours"})
    valid = d["start"].to_numpy() + d["lead"].to_numpy().astype("timedelta64[D]")
    d = d.rename(lead="time", start="forecast_reference_time").assign_coords(time=valid)
    return d.assign_coords(forecast_period=hours)


def cf_of_other_names(d: xr.Dataset) -> xr.Dataset:
    d = cf(d).rename(time="t", forecast_reference_time="run", forecast_period="ahead")
    d["t"].attrs["standard_name"] = "time"
    d["run"].attrs["standard_name"] = "forecast_reference_time"
    d["ahead"].attrs["standard_name"] = "forecast_period"
    return d


def cf_as_variables(d: xr.Dataset) -> xr.Dataset:
    d = cf_of_other_names(d)
    return d.reset_coords(["run", "ahead"])


def of_a_lead_time(d: xr.Dataset) -> xr.Dataset:
    """One lead time, and starts that are told by valid times alone."""
    d = d.isel(lead=0).rename(start="time", lead="forecast_period")
    d = d.assign_coords(time=d["time"] + np.timedelta64(1, "D"))
    d["forecast_period"].attrs["units"] = "days"
    start = d["time"].to_numpy() - np.timedelta64(1, "D")
    return d.assign_coords(forecast_reference_time=("time", start))


def lone_dimensions(d: xr.Dataset) -> xr.Dataset:
    return d.expand_dims(realization=[7], surface=[0.0], axis=(1, 2))


@pytest.mark.parametrize(
    "form",
    [
        cf,
        cf_of_other_names,
        cf_as_variables,
        lambda d: cf(d).drop_vars("forecast_period"),
        lambda d: cf(d).drop_vars("forecast_reference_time"),
        lambda d: cf(d).expand_dims("realization"),
        of_a_lead_time,
        as_timedelta,
        lone_dimensions,
        lambda d: valid(0)(d).rename(valid_time="time"),
        lambda d: valid(0)(d).drop_vars("start").isel(start=0),
        lambda d: d.isel(start=0).assign_coords(
            lead=d["start"].to_numpy()[0] + d["lead"].to_numpy().astype("timedelta64[D]")
        ),
    ],
)
def test_start_lead_and_valid_time_in_any_layout(
    files: Files, form: Callable[[xr.Dataset], xr.Dataset]
) -> None:
    plain = forecasts(STARTS[:2])
    for day in range(2):
        files.write(f"{day}.nc", form(plain.isel(start=[day])))
    found = files.open()
    assert found.rows.tolist() == [0, 1] and found.leads is not None
    of_all = stacked(plain)[:, :, : len(found.leads)]
    np.testing.assert_allclose(all_of(found), of_all, rtol=1e-6)


def test_files_of_a_variable_or_a_lead_time_each(files: Files) -> None:
    plain = forecasts(STARTS)
    files.write("t.nc", plain[["t_850"]])
    for lead in range(HORIZON):
        files.write(f"z{lead}.nc", plain[["z_500"]].isel(lead=[lead]))
    found = files.open()
    assert found.channels.tolist() == [0, 1]
    np.testing.assert_allclose(all_of(found), stacked(plain), rtol=1e-6)
    only = files.open(variables={"z_500": "z_500"})
    np.testing.assert_allclose(all_of(only), stacked(plain)[:, :, :, 1:], rtol=1e-6)


def test_a_start_without_a_variable_that_others_have_is_named(files: Files) -> None:
    files.write("a.nc", forecasts(STARTS[:2]))
    files.write("b.nc", forecasts(STARTS[2:])[["t_850"]])
    with pytest.raises(StpError, match=r"b\.nc: .*z_500"):
        files.open()


def test_levels_that_are_scalars_or_known_from_the_data(files: Files) -> None:
    plain = forecasts(STARTS)
    ta, zg = (
        plain[[name]].rename({name: short}) for name, short in (("t_850", "ta"), ("z_500", "zg"))
    )
    files.write("t.nc", ta.assign_coords(plev=((), 85000.0, {"units": "Pa"})))
    files.write("z.nc", zg.expand_dims(plev=[500.0]))
    found = files.open(variables={"t_850": "ta", "z_500": "zg"})
    np.testing.assert_allclose(all_of(found), stacked(plain), rtol=1e-6)
    with pytest.raises(StpError, match=r"ta .*700"):
        files.open(variables={"t_850": {"name": "ta", "level": 700}})


def test_variables_are_found_by_name_level_and_units(files: Files) -> None:
    plain = forecasts(STARTS)
    files.write("a.nc", other_names(plain))
    variables = {"z_500": "gh", "t_850": {"name": "ta", "level": 850}}
    np.testing.assert_allclose(all_of(files.open(variables=variables)), stacked(plain), rtol=1e-6)
    only = files.open(variables={"z_500": "gh"})
    assert only.channels.tolist() == [1]


def test_files_need_not_have_the_same_starts_and_lead_times(files: Files) -> None:
    one, other = forecasts(STARTS[[3, 1]], seed=2), forecasts(STARTS[[0]], leads=2, seed=3)
    files.write("a.nc", one)
    # one start as a scalar, a lead time of 0, half a day that is not scored, and another year
    zero = other.isel(lead=[0]).assign_coords(lead=("lead", [0]))
    half = other.isel(lead=[0]).assign_coords(lead=("lead", [0.5]))
    many = xr.concat([zero, half, other], "lead")
    many["lead"].attrs["units"] = "days"
    files.write("b.nc", many.isel(start=0))
    files.write("c.nc", forecasts(np.array(["2021-06-01"], "datetime64[D]")))
    found = files.open()
    assert sorted(found.rows.tolist()) == [0, 1, 3]
    assert found.leads is not None and found.leads.tolist() == [0, 1]
    np.testing.assert_allclose(found.read(3, np.array([1])), stacked(one)[0][:, 1:2])
    np.testing.assert_allclose(found.read(0, np.array([0, 1])), stacked(other)[0])


def test_members_are_those_that_are_expected(files: Files) -> None:
    plain = xr.concat([forecasts(STARTS, seed=s) for s in (1, 2)], "number")
    files.write("a.nc", plain)
    found = files.open(members=2)
    assert found.read(2, ALL).shape == (2, HORIZON, 2, 5, 8)
    expected = plain["t_850"].isel(start=2).to_numpy()
    np.testing.assert_allclose(found.read(2, ALL)[:, :, 0], expected)
    with pytest.raises(StpError, match="`members`"):
        files.open()


def shifted(d: xr.Dataset) -> xr.Dataset:
    return d.assign_coords(longitude=d["longitude"] + 22.5)


def geopotential_as_height(d: xr.Dataset) -> xr.Dataset:
    return d.assign(z_500=(d["z_500"] * 9.80665).assign_attrs(units="gpm"))


def celsius_as_kelvin(d: xr.Dataset) -> xr.Dataset:
    return d.assign(t_850=(d["t_850"] - 273.15).assign_attrs(units="K"))


def with_a_hole(d: xr.Dataset) -> xr.Dataset:
    d["t_850"][1, 2, 0, 0] = np.nan
    return d


def backwards(d: xr.Dataset) -> xr.Dataset:
    return d.assign_coords(lead=("lead", [-1, 1, 2], {"units": "days"}))


def valid(days: int) -> Callable[[xr.Dataset], xr.Dataset]:
    def form(d: xr.Dataset) -> xr.Dataset:
        after = (d["lead"].to_numpy() + days).astype("timedelta64[D]")
        times = d["start"].to_numpy()[:, None] + after
        return d.assign_coords(valid_time=(("start", "lead"), times))

    return form


def without_units(d: xr.Dataset) -> xr.Dataset:
    del d["t_850"].attrs["units"]
    return d


def lead_without_unit(d: xr.Dataset) -> xr.Dataset:
    return d.assign_coords(lead=("lead", [1, 2, 3]))


def lead_twice(d: xr.Dataset) -> xr.Dataset:
    return d.assign_coords(lead=("lead", [1, 1, 3], {"units": "days"}))


def of_calendar(calendar: str) -> Callable[[xr.Dataset], xr.Dataset]:
    def form(d: xr.Dataset) -> xr.Dataset:
        dates = xr.date_range("2022-01-01", periods=5, calendar=calendar, use_cftime=True)
        return d.assign_coords(start=dates)

    return form


def with_value(value: float, **attrs: Any) -> Callable[[xr.Dataset], xr.Dataset]:
    def form(d: xr.Dataset) -> xr.Dataset:
        d["t_850"][1, 2, 0, 0] = value
        d["t_850"].attrs.update(attrs)
        return d

    return form


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (shifted, r"a\.nc: .*22\.5"),
        (lambda d: d.isel(latitude=slice(4)), "4 .*8 "),
        (geopotential_as_height, r"z .*500 .*53\d+\.?\d* gpm"),
        (celsius_as_kelvin, "t .*850 .* K"),
        (with_a_hole, "t_850 .*3 .*2022-01-02"),
        (backwards, "2022-01-01.*-1 days"),
        (valid(-9), "start"),
        (valid(1), "valid time"),
        (without_units, "t_850"),
        (lead_without_unit, r"\[1, 2, 3\]"),
        (in_units("months", 1), "'months'"),
        (lead_twice, r"a\.nc: .*1 days .*2 "),
        (lambda d: d.isel(start=[0, 0, 1]), r"a\.nc: .*2022-01-01T00:00:00 .*2 "),
        (of_calendar("noleap"), r"a\.nc: .*noleap"),
        (of_calendar("360_day"), r"a\.nc: .*360_day"),
        (with_value(9.969209968386869e36), "t_850"),
        (with_value(-9999.0), "t_850 .*-9999"),
        (with_value(1e20), r"t_850 .*1e\+20"),
        (with_value(999.0, valid_max=400.0), "t_850 .*1 "),
        (lambda d: d.rename(lead="k"), "lead"),
        (lambda d: d.drop_vars("t_850"), "'t_850'"),
        (lambda d: d.assign_coords(start=d["start"] - np.timedelta64(400, "D")), "5 starts"),
        (lambda d: d.isel(lead=[0, 1]).assign_coords(lead=("lead", [0, 9], {"units": "days"})),
         "lead time"),
        (lambda d: d.assign_coords(start=np.arange(5)), "start"),
        (lambda d: d.expand_dims(plev=[500.0]), "None .*t_850"),
    ],
)  # fmt: skip
def test_bad_files_are_named(
    files: Files, form: Callable[[xr.Dataset], xr.Dataset], said: str
) -> None:
    files.write("a.nc", form(forecasts(STARTS)))
    with pytest.raises(StpError, match=said):
        all_of(files.open(variables={name: name for name in NAMES}))


def test_a_classic_file_that_was_cut_off_is_named(files: Files) -> None:
    path = files.folder / "mine/a.nc"
    forecasts(STARTS).to_netcdf(path, format="NETCDF3_64BIT")
    all_of(files.open())
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(StpError, match=r"a\.nc"):
        files.open()


def test_a_start_at_half_past_is_no_start_of_the_hour(files: Files) -> None:
    files.write("a.nc", forecasts(STARTS + np.timedelta64(30, "m")))
    with pytest.raises(StpError, match="5 starts"):
        files.open()


def test_unknown_keys_of_names_are_refused(files: Files) -> None:
    files.write("a.nc", forecasts(STARTS))
    with pytest.raises(StpError, match="'leed'"):
        files.open(names={"leed": "lead"})


def test_valid_times_that_agree_are_accepted(files: Files) -> None:
    files.write("a.nc", valid(0)(forecasts(STARTS)))
    assert len(files.open().rows) == 5


def test_the_same_start_in_two_files_is_named(files: Files) -> None:
    files.write("a.nc", forecasts(STARTS[:2]))
    files.write("b.nc", forecasts(STARTS[1:3]))
    with pytest.raises(StpError, match=r"b\.nc: .*2022-01-02T00.*a\.nc"):
        files.open()


def test_a_damaged_file_a_wrong_channel_and_grib_are_named(files: Files) -> None:
    files.write("a.nc", forecasts(STARTS))
    with pytest.raises(StpError, match=r"'t_851'(.|\n)*t_850"):
        files.open(variables={"t_851": "t"})
    with pytest.raises(StpError, match=r"t_850: \{'lvl': 3\}"):
        files.open(variables={"t_850": {"lvl": 3}})
    (files.folder / "mine/a.nc").write_bytes(b"CDF none")
    with pytest.raises(StpError, match=r"a\.nc"):
        files.open()
    (files.folder / "mine/a.nc").rename(files.folder / "mine/a.grib2")
    with pytest.raises(StpError, match=r"a\.grib2"):
        files.open()


def test_a_grib_file_says_what_it_needs(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    (files.folder / "mine/a.grib2").write_bytes(b"GRIB")
    monkeypatch.setattr(xr.backends, "list_engines", dict)
    with pytest.raises(StpError, match=r"a\.grib2: (.|\n)*stp\[grib\]"):
        files.open()


def write_grib(path: Path, fields: xr.Dataset) -> None:
    """Messages as a centre writes them: geopotential, one start, lead time and level in each."""
    fields = fields.assign(z_500=fields["z_500"] * np.float32(9.80665))
    grid = {
        "Ni": 8,
        "Nj": 5,
        "iDirectionIncrementInDegrees": 45.0,
        "jDirectionIncrementInDegrees": 45.0,
    }
    grid |= {"latitudeOfFirstGridPointInDegrees": 90.0, "latitudeOfLastGridPointInDegrees": -90.0}
    grid |= {"longitudeOfFirstGridPointInDegrees": 0.0, "longitudeOfLastGridPointInDegrees": 315.0}
    with path.open("wb") as file:
        for start in fields["start"].to_numpy():
            for lead in fields["lead"].to_numpy():
                for channel in ("t_850", "z_500"):
                    name, _, level = channel.partition("_")
                    message = eccodes.codes_grib_new_from_samples("regular_ll_pl_grib2")
                    about = {"dataDate": int(str(start)[:10].replace("-", "")), "dataTime": 0}
                    about |= {"step": int(lead) * 24, "typeOfLevel": "isobaricInhPa"}
                    about |= {"level": int(level), "shortName": name, "bitsPerValue": 24}
                    for key, value in (grid | about).items():
                        eccodes.codes_set(message, key, value)
                    values = fields[channel].sel(start=start, lead=lead).to_numpy()
                    eccodes.codes_set_values(message, values.astype(float).ravel())
                    eccodes.codes_write(message, file)
                    eccodes.codes_release(message)


def test_grib_whose_variables_have_different_levels(files: Files) -> None:
    plain = forecasts(STARTS)
    path = files.folder / "mine/a.grib2"
    write_grib(path, plain)
    variables = {"t_850": {"name": "t", "level": 850}, "z_500": {"name": "z", "level": 500}}
    source = files.open(variables=variables)
    expected = np.stack([plain["t_850"], plain["z_500"]], axis=2)
    np.testing.assert_allclose(all_of(source)[:, 0], expected, rtol=1e-5)
    with pytest.raises(StpError, match=r"t .*500 .*t_850"):
        files.open(variables={"t_850": {"name": "t", "level": 500}})
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(StpError, match=r"a\.grib2"):
        files.open(variables=variables)


@pytest.mark.sample_bytes
@pytest.mark.filterwarnings("ignore::FutureWarning:cfgrib")
def test_a_real_ensemble_in_grib_is_read_as_in_netcdf(raw_mirror: Path, tmp_path: Path) -> None:
    """ERA5's ten members at two levels, edition 1 of GRIB: analyses, then as of a day later."""
    given = raw_mirror / "climate/era5-levels-members.grib"
    starts = np.array(["2017-01-01", "2017-01-02"], "datetime64[D]")
    files = Files(tmp_path, prepared(tmp_path / "data", Grid(61, 120), starts, 5))
    path = files.folder / "mine/members.grib"
    path.write_bytes(given.read_bytes())
    variables = {"t_850": {"name": "t", "level": 850}, "z_500": {"name": "z", "level": 500}}
    with pytest.raises(StpError, match="lead time"):
        files.open(10, variables=variables)
    with given.open("rb") as messages, path.open("wb") as later:
        while (message := eccodes.codes_grib_new_from_file(messages)) is not None:
            eccodes.codes_set(message, "stepRange", 24)
            eccodes.codes_write(message, later)
            eccodes.codes_release(message)
    source = files.open(10, variables=variables)
    # Starts at noon are none of the data.
    assert source.rows.tolist() == [0, 1] and source.leads is not None
    assert source.leads.tolist() == [0]
    name = "climate/era5_eda10_z_t_850_500_3deg_20170101-02.nc"
    with xr.open_dataset(raw_mirror / name) as known:
        dims = ("time", "number", "latitude", "longitude")
        t, z = (
            known[short].sel(level=level).transpose(*dims).to_numpy()[[0, 2]]
            for short, level in (("t", 850), ("z", 500))
        )
    found = all_of(source)
    assert found.shape == (2, 10, 1, 2, 61, 120)
    np.testing.assert_allclose(found[:, :, 0, 0], t, rtol=1e-6)
    np.testing.assert_allclose(found[:, :, 0, 1], z / 9.80665, rtol=1e-6)


def score_job(files: Files, out: Path, members: int = 1, **recipe: Any) -> Job:
    """Scores of all files that were written; several members are scored by their mean."""
    cell = {
        **{"suite": "s", "dimension": "d", "model": "m", "variant": "default", "trained_on": "d"},
        **{"train_subset": "all", "tested_on": "d", "subset": "test", "setting": "horizon-3"},
        "seed": None,
    }
    several = {"samples": members} if members > 1 else {}
    rollout = {
        **{"model": "m", "source": "own_files", "shape": [2, 5, 8], "context": 1},
        **{"horizon": HORIZON, "lead_times": HORIZON, "split": "test", "options": {}},
        "predict": several,
    }
    whole = {
        **{
            "cell": cell,
            "split": "test",
            "conventions": defined("wrmse.pooled"),
            "rollout": rollout,
        },
        **{"bootstrap": {"resamples": 100, "seed": 0}, "keep": 1, **recipe},
        **({"statistic": "mean_of_members"} if several else {}),
    }
    out.mkdir()
    inputs = {"data": files.data, "archive": files.lock()}
    return Job(whole, inputs, out, out.parent / "state", {"raw_roots": [str(files.folder)]})


def test_scores_of_files_are_those_computed_by_hand(files: Files, tmp_path: Path) -> None:
    """Two lead times of three, three starts of five; the rest is NULL with a reason."""
    plain = forecasts(STARTS[:3], leads=2)
    files.write("a.nc", other_units(plain))
    out = tmp_path / "out"
    assert run(score_job(files, out))["samples"] == 3
    rows = pd.read_parquet(out / "scores.parquet")
    rows = rows[(rows["statistic"] == "mean") & (rows["variable"] == "t850")].set_index("lead")
    observed = Prepared(files.data).frames.read(0, DAYS)
    weights = np.cos(np.deg2rad(LAT))
    for lead in (1, 2):
        error = plain["t_850"].to_numpy()[:, lead - 1].astype(float) - observed[lead : lead + 3, 0]
        expected = np.sqrt(((error**2).mean(axis=2) @ weights / weights.sum()).mean())
        np.testing.assert_allclose(rows.loc[lead, "value"], expected, rtol=1e-4)
    assert np.isnan(rows.loc[3, "value"]) and rows.loc[3, "reason"]
    kept = xr.open_zarr(out / "predictions.zarr", consolidated=False)
    assert kept.attrs["leads"] == [1, 2] and kept.attrs["lead_times"] == HORIZON
    assert kept["predictions"].shape == (1, 2, 2, 5, 8)


def truth(data: Path, shift: int = 0) -> xr.Dataset:
    """Forecasts that are what happened; or, ``shift`` days before, what persistence would say."""
    days = Prepared(data).frames.read(0, DAYS)
    valid = np.arange(len(STARTS))[:, None] + (np.arange(1, HORIZON + 1) if not shift else [0] * 3)
    fields = days[valid]
    dims = ("start", "lead", "latitude", "longitude")
    held = forecasts(STARTS)
    return held.assign(
        {
            name: held[name].copy(data=fields[:, :, c]).transpose(*dims)
            for c, name in enumerate(NAMES)
        }
    )


@cache
def of_ten_lines() -> Manifest:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mine.yaml"
        path.write_text(TEN_LINES)
        return manifest(Plan.load(path), "s2s_control")


def cell_of(scores: Path, members: int = 1) -> Cell:
    """The cell of these scores, as it is loaded for tables."""
    described = of_ten_lines()
    (cell,) = [cell for cell in described.cells if cell.key.model == "my_model"]
    statistic = "mean_of_members" if members > 1 else None
    made = replace(cell, scores=str(scores), samples=members, statistic=statistic)
    for _ in range(2):  # what was loaded may be written and loaded again
        listed = scores.parent / "manifest.json"
        held = replace(described, cells=(replace(made, bytes_of=()),), raw={})
        listed.write_text(manifest_text(held))
        (made,) = load_manifest(listed).cells
    return made


def noisy(d: xr.Dataset) -> xr.Dataset:
    rng = np.random.default_rng(0)
    return d.map(lambda v: (v + rng.normal(0, 0.01, v.shape)).astype("f4"), keep_attrs=True)


@pytest.mark.parametrize("how", ["equal", "noisy", "other units", "member", "variable", "start"])
def test_forecasts_that_know_the_truth_are_said_to(files: Files, tmp_path: Path, how: str) -> None:
    known, honest = truth(files.data), forecasts(STARTS)
    given = {
        "equal": known,
        "noisy": noisy(known),
        "other units": other_units(known),
        "member": xr.concat([honest, known, forecasts(STARTS, seed=2)], "number"),
        "variable": honest.assign(t_850=known["t_850"]),
        "start": xr.concat([honest.isel(start=slice(3)), known.isel(start=slice(3, 5))], "start"),
    }[how]
    files.write("a.nc", given)
    members = given.sizes.get("number", 1)
    job = score_job(files, tmp_path / "out", members)
    run(replace(job, runtime={**job.runtime, "block_samples": 2, "block_leads": 2}))
    note = cell_of(job.out, members).subset_note
    assert note.count("NEAR THE TRUTH") == 1
    near = 6 if how == "start" else 15
    assert f"{near} of 15 predicted frames" in note
    if how not in ("noisy", "other units"):
        assert f"({near} equal it)" in note
    first = 3 if how == "start" else 0
    assert f"the first in sample {first} ({STARTS[first]})" in note


def test_an_interrupted_scoring_forgets_nothing_of_it(files: Files, tmp_path: Path) -> None:
    known, honest = truth(files.data), forecasts(STARTS)
    both = [known.isel(start=[0]), honest.isel(start=slice(1, 5))]
    files.write("a.nc", xr.concat(both, "start"))
    job = score_job(files, tmp_path / "out")
    stopped = iter([False, True])
    runtime = {**job.runtime, "block_samples": 1}
    with pytest.raises(Interrupted):
        run(replace(job, runtime=runtime, interrupted=lambda: next(stopped, True)))
    run(replace(job, runtime=runtime))
    assert "3 of 15 predicted frames" in cell_of(job.out).subset_note


def test_honest_forecasts_have_no_note(files: Files, tmp_path: Path) -> None:
    known, last = truth(files.data), truth(files.data, shift=1)
    between = (0.7 * known + 0.3 * forecasts(STARTS)).astype("f4")
    between = between.map(lambda v: v.assign_attrs(known[v.name].attrs))
    for number, given in enumerate((forecasts(STARTS), last, between)):
        files.write("a.nc", given)
        folder = tmp_path / str(number)
        folder.mkdir()
        job = score_job(files, folder / "out")
        run(job)
        assert not (job.out / "note.json").exists() and cell_of(job.out).subset_note == ""
        (files.folder / "mine/a.nc").unlink()


def test_equal_members_are_scored_once(files: Files, tmp_path: Path) -> None:
    one, other = forecasts(STARTS), forecasts(STARTS, seed=2)
    rows = {}
    for name, given in {"two": [one, other], "copies": [one, one, other, one], "alone": [one, one],
                        "one": [one]}.items():  # fmt: skip
        files.write("a.nc", xr.concat(given, "number"))
        (tmp_path / name).mkdir()
        job = score_job(files, tmp_path / name / "out", len(given))
        assert run(job)["members"] == {"two": 2, "copies": 2}.get(name, 1)
        rows[name] = pd.read_parquet(job.out / "scores.parquet")
        cell = cell_of(job.out, len(given))
        assert (cell.samples, cell.statistic is None) == ((2, False) if name in ("two", "copies")
                                                          else (1, True))  # fmt: skip
        copied = {"copies": "2 of 1, 4 of 1", "alone": "2 of 1"}.get(name)
        assert f"{copied})" in cell.subset_note if copied else cell.subset_note == ""
        (files.folder / "mine/a.nc").unlink()
    pd.testing.assert_frame_equal(rows["copies"], rows["two"])
    pd.testing.assert_frame_equal(rows["alone"], rows["one"])


TEN_LINES = """\
scale: mine
suite: chaosbench
forecasts:
  my_model:
    files: mine/*.nc
    variables: {t_850: {name: ta, level: 850}, z_500: {name: zg, level: 500}}
dimensions:
  s2s_control:
    models: [persistence, daily_climatology, my_model]
    cells: [{trained_on: chaosbench, keep: 1}]
"""


def test_ten_lines_are_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(TEN_LINES)
    plan = Plan.load(path)
    (made,) = [made for made in plan.cells if made.cell.model == "my_model"]
    recipe = made.scores.recipe["rollout"]
    assert recipe["source"] == "own_files"
    stated = yaml.safe_load(TEN_LINES)["forecasts"]["my_model"]["variables"]
    assert recipe["options"] == {"variables": stated}
    described = manifest(plan, "s2s_control")
    (cell,) = [cell for cell in described.cells if cell.key.model == "my_model"]
    assert not cell.follows_paper and cell.source == "official"
    assert described.models["my_model"].is_archived
    taken = TEN_LINES.replace("my_model", "ecmwf")
    path.write_text(taken)
    with pytest.raises(StpError, match=r"forecasts\.ecmwf"):
        Plan.load(path)


def test_the_page_shows_these_ten_lines() -> None:
    assert TEN_LINES in (ROOT / "docs" / "chaosbench.md").read_text()
