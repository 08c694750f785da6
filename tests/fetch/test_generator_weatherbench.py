"""The generated WeatherBench files have the official layout."""

from pathlib import Path

import netCDF4
import numpy as np
import pytest

from stp.datasets.weatherbench.generator import LEVELS, Weather
from stp.fetch.raw import run_generator

OPTIONS = {"resolution": 30.0, "years": [1979, 1980], "days": 2, "levels": [500, 850]}
NAMES = {
    **{"2m_temperature": "t2m", "10m_u_component_of_wind": "u10", "10m_v_component_of_wind": "v10"},
    **{"total_precipitation": "tp", "geopotential": "z", "temperature": "t"},
    **{"relative_humidity": "r", "u_component_of_wind": "u", "v_component_of_wind": "v"},
}
LAT, LON = np.arange(-87.1875, 90, 5.625), np.arange(0, 360, 5.625)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw") / "made"
    run_generator("weatherbench", OPTIONS, out)
    return out / "weatherbench"


def test_names_of_folders_and_files_are_official_ones(made: Path) -> None:
    found = sorted(p.relative_to(made).as_posix() for p in made.rglob("*") if p.is_file())
    expected = [f"30deg/{n}/{n}_{year}_30deg.nc" for n in NAMES for year in (1979, 1980)]
    assert found == sorted(expected)


@pytest.mark.parametrize("folder", NAMES)
def test_layout_is_the_official_one(made: Path, folder: str) -> None:
    name = NAMES[folder]
    with netCDF4.Dataset(made / f"30deg/{folder}/{folder}_1980_30deg.nc") as file:
        assert file.data_model == "NETCDF4"
        aloft = folder in list(NAMES)[4:]
        sizes = {"time": 48, "lat": 6, "lon": 12, **({"level": 2} if aloft else {})}
        assert {dim: d.size for dim, d in file.dimensions.items()} == sizes
        field = file[name]
        assert field.dimensions == ("time", *(("level",) if aloft else ()), "lat", "lon")
        assert field.dtype == np.float32 and field.chunking() == "contiguous"
        assert not field.filters()["zlib"]
        units = {"t2m": "K", "t": "K", "tp": "m", "z": "m**2 s**-2", "r": "%"}
        assert field.units == units.get(name, "m s**-1")
        np.testing.assert_array_equal(file["lat"][:], [-75, -45, -15, 15, 45, 75])
        np.testing.assert_array_equal(file["lon"][:], range(0, 360, 30))
        assert file["lat"].dtype == file["lon"].dtype == np.float64
        if aloft:
            assert file["level"].dtype == np.int32 and file["level"][:].tolist() == [500, 850]
        times = netCDF4.num2date(file["time"][:], file["time"].units, file["time"].calendar)
        assert str(times[0]) == "1980-01-01 00:00:00" and str(times[-1]) == "1980-01-02 23:00:00"
        assert np.isfinite(np.asarray(field[:])).all()


def test_the_grid_of_5_625_degrees(tmp_path: Path) -> None:
    options = {"resolution": 5.625, "years": [2000], "days": 1, "variables": ["2m_temperature"]}
    run_generator("weatherbench", options, tmp_path / "raw")
    path = tmp_path / "raw/weatherbench/5.625deg/2m_temperature/2m_temperature_2000_5.625deg.nc"
    with netCDF4.Dataset(path) as file:
        np.testing.assert_allclose(file["lat"][:], LAT)
        np.testing.assert_allclose(file["lon"][:], LON)
        assert file["lat"][0] == -87.1875 and file["lon"][-1] == 354.375
    assert len(LEVELS) == 13 and (LEVELS[0], LEVELS[-1]) == (50, 1000)


def test_precipitation_of_1979_begins_at_07(made: Path) -> None:
    for folder, first in (("total_precipitation", 7), ("2m_temperature", 0)):
        with netCDF4.Dataset(made / f"30deg/{folder}/{folder}_1979_30deg.nc") as file:
            start = netCDF4.num2date(file["time"][0], file["time"].units, file["time"].calendar)
            assert str(start) == f"1979-01-01 {first:02d}:00:00"
            assert file.dimensions["time"].size == 48 - first


def test_whole_years_have_8760_or_8784_hours(tmp_path: Path) -> None:
    options = {"resolution": 45, "years": [2015, 2016], "variables": ["2m_temperature"]}
    run_generator("weatherbench", options, tmp_path / "raw")
    sizes = []
    for path in sorted(tmp_path.rglob("*.nc")):
        with netCDF4.Dataset(path) as file:
            hours = np.asarray(file["time"][:])
            assert (np.diff(hours) == 1).all()
            sizes.append(hours.size)
    assert sizes == [8760, 8784]


def hours_of(day: str, days: int = 1, step: int = 1) -> np.ndarray:
    first = int(np.datetime64(day, "h").astype(np.int64))
    return np.arange(first, first + 24 * days, step)


@pytest.fixture(scope="module")
def weather() -> Weather:
    return Weather(LAT, LON, np.array(LEVELS, float), seed=0)


def test_an_hour_is_the_same_whichever_hours_are_made_with_it(weather: Weather) -> None:
    many = weather.field("z", hours_of("2015-01-10", 2))
    np.testing.assert_array_equal(weather.field("z", hours_of("2015-01-10", 2)[30:31]), many[30:31])
