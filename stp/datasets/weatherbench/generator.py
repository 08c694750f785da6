"""Generate a synthetic version of WeatherBench: travelling waves with seasons, in yearly files.

Same as in the official data: names of folders and files, one NetCDF4 file per variable and year,
dimensions (time, level, lat, lon), types and units, hourly times, box centres as coordinates, no
compression; the accumulated precipitation of 1979 begins at 07 UTC. Resolution and number of days
of a year are options.

Different: fields are sums of travelling waves whose amplitude follows latitude, season and height
(temperature leads geopotential, winds follow from its slope, rain falls ahead of the troughs); no
land, no turbulence, no history attribute.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import netCDF4
import numpy as np
from pydantic import Field, NonNegativeInt

from stp.core.job import Report
from stp.core.options import build, check_keys, require

LEVELS = (50, 100, 150, 200, 250, 300, 400, 500, 600, 700, 850, 925, 1000)
# folder -> name, units, long name, on levels: as ERA5 states them
VARIABLES = {
    "2m_temperature": ("t2m", "K", "2 metre temperature", False),
    "10m_u_component_of_wind": ("u10", "m s**-1", "10 metre U wind component", False),
    "10m_v_component_of_wind": ("v10", "m s**-1", "10 metre V wind component", False),
    "total_precipitation": ("tp", "m", "Total precipitation", False),
    "geopotential": ("z", "m**2 s**-2", "Geopotential", True),
    "temperature": ("t", "K", "Temperature", True),
    "relative_humidity": ("r", "%", "Relative humidity", True),
    "u_component_of_wind": ("u", "m s**-1", "U component of wind", True),
    "v_component_of_wind": ("v", "m s**-1", "V component of wind", True),
}
ACCUMULATED = ("total_precipitation",)
_WAVES = 12
_BLOCK = 24  # hours that are made at once
_GRAVITY, _GAS = 9.80665, 287.05


@dataclass(frozen=True)
class WeatherbenchOptions:
    """Options of the generator; the defaults are the official files at 5.625 degrees.

    Attributes:
        resolution: spacing of the grid, degrees, a divisor of 180.
        years: consecutive years.
        days: number of days of each year from 1 January; null for all.
        variables: names of variables, which are also names of folders.
        levels: pressure levels, hPa.
        seed: seed of all random numbers.
    """

    resolution: Annotated[float, Field(gt=0, le=45)] = 5.625
    years: tuple[Annotated[int, Field(ge=1900, le=2200)], ...] = tuple(range(1979, 2019))
    days: Annotated[int, Field(ge=1, le=366)] | None = None
    variables: tuple[str, ...] = tuple(VARIABLES)
    levels: tuple[Annotated[int, Field(ge=1, le=1050)], ...] = LEVELS
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        whole = (180 / self.resolution).is_integer()
        require(whole, "resolution", self.resolution, "degrees that divide 180")
        ok = 0 < len(set(self.years)) == len(self.years)
        require(ok, "years", self.years, "different ones, one at least")
        check_keys("variables", self.variables, VARIABLES)
        ok = bool(self.levels) and list(self.levels) == sorted(set(self.levels))
        require(ok, "levels", self.levels, "hPa, ascending, one at least")


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write synthetic hourly weather, with a NetCDF file for each variable and year.

    The files are ``weatherbench/<degrees>deg/<variable>/<variable>_<year>_<degrees>deg.nc``.

    Args:
        out: folder of raw files, below which the files are written.
        options: values of `WeatherbenchOptions` by name; those that are missing get their defaults.
        report: callback for the progress.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(WeatherbenchOptions, options, "generator options")
    degrees = f"{chosen.resolution:g}deg"
    rows = round(180 / chosen.resolution)
    lat = -90 + (np.arange(rows) + 0.5) * chosen.resolution
    lon = np.arange(2 * rows) * chosen.resolution
    weather = Weather(lat, lon, np.array(chosen.levels, float), chosen.seed)
    done, total = 0, len(chosen.years) * len(chosen.variables)
    for year in chosen.years:
        first, stop = (int(np.datetime64(f"{y}", "h").astype(np.int64)) for y in (year, year + 1))
        if chosen.days is not None:
            stop = min(stop, first + 24 * chosen.days)
        for folder in chosen.variables:
            begin = first + (7 if year == 1979 and folder in ACCUMULATED else 0)
            path = out / "weatherbench" / degrees / folder / f"{folder}_{year}_{degrees}.nc"
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, folder, np.arange(begin, stop), weather)
            done += 1
            report("make weather", done, total)


class Weather:
    """Fields of all variables at any hour; results do not depend on earlier calls.

    Args:
        lat: latitudes, degrees, ascending.
        lon: longitudes, degrees.
        levels: pressure levels, hPa.
        seed: seed of the waves.
    """

    def __init__(self, lat: np.ndarray, lon: np.ndarray, levels: np.ndarray, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.lat, self.lon = np.deg2rad(lat)[:, None], np.deg2rad(lon)[None, :]
        self.degrees, self.levels = lat[:, None], levels
        self.number = rng.integers(2, 9, _WAVES)  # crests around the globe
        # eastward phase speed in degrees of longitude per day; long waves are slower
        self.speed = rng.uniform(0.6, 1.4, _WAVES) * (2.0 + 1.2 * self.number)
        self.start = rng.uniform(0, 2 * np.pi, _WAVES)
        self.size = rng.uniform(0.6, 1.4, _WAVES) * 2 / np.sqrt(_WAVES)
        self.track = rng.uniform(38, 58, _WAVES) * rng.choice([-1, 1], _WAVES)
        self.width = rng.uniform(10, 18, _WAVES)
        self.pulse = rng.uniform(5, 15, _WAVES)  # days

    def field(self, name: str, hours: np.ndarray) -> np.ndarray:
        """Compute a variable, float32 (hours, lat, lon) or (hours, levels, lat, lon), in its units.

        Args:
            name: name of the variable in the files, such as "t2m".
            hours: times, hours since 1970-01-01 UTC.
        """
        time = hours[:, None, None].astype(float)
        # 1 in the middle of the local summer, -1 in the middle of winter
        season = -np.cos(2 * np.pi * (time / 8766 - 0.06)) * np.sign(self.lat)
        crest, ahead, slope = self._waves(time)
        storm = 1 - 0.35 * season
        sun = np.cos(2 * np.pi * (time / 24) + self.lon - np.pi)  # 1 at noon, local time
        ground = self._surface(season)
        wind = 22 * np.sin(2 * self.lat) ** 2 - 6 * np.cos(3 * self.lat) ** 2 * np.cos(self.lat)
        if name == "t2m":
            field = ground + 4 * sun * np.cos(self.lat) - 5 * storm * ahead
        elif name == "u10":
            field = 0.35 * wind * storm - 5 * storm * slope
        elif name == "v10":
            field = 6 * storm * ahead
        elif name == "tp":
            field = 1.2e-3 * np.maximum(storm * ahead - 0.6, 0) * np.cos(self.lat)
            field = field + 4e-4 * np.maximum(sun - 0.7, 0) * np.exp(-((self.degrees / 9) ** 2))
        else:
            return self._aloft(name, ground, wind, storm, crest, ahead, slope)
        return np.broadcast_to(field, np.broadcast_shapes(field.shape, crest.shape)).astype("f4")

    def _aloft(
        self,
        name: str,
        ground: np.ndarray,
        wind: np.ndarray,
        storm: np.ndarray,
        crest: np.ndarray,
        ahead: np.ndarray,
        slope: np.ndarray,
    ) -> np.ndarray:
        fields = np.empty((len(crest), len(self.levels), *crest.shape[1:]), np.float32)
        for i, level in enumerate(self.levels):
            height = np.log(1000 / level)  # scale heights above the ground
            jet = np.exp(-(((height - 1.5) / 0.9) ** 2))  # strongest near 220 hPa
            warm = 205 + (ground - 205) * (level / 1000) ** 0.55
            if name == "z":
                mean = _GAS * 0.5 * (ground + warm) * height + 900
                fields[:, i] = mean + _GRAVITY * (60 + 150 * jet) * storm * crest
            elif name == "t":
                fields[:, i] = warm - (5 - 3 * jet) * storm * ahead
            elif name == "r":
                fields[:, i] = np.clip(72 * np.exp(-0.35 * height) + 30 * storm * ahead, 0, 100)
            elif name == "u":
                fields[:, i] = wind * (0.3 + jet) - (8 + 14 * jet) * storm * slope
            else:
                fields[:, i] = (7 + 12 * jet) * storm * ahead
        return fields

    def _surface(self, season: np.ndarray) -> np.ndarray:
        """Temperature at the ground without weather, K."""
        poleward = np.sin(self.lat) ** 2
        return 301 - 46 * poleward + 14 * season * poleward

    def _waves(self, time: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Height of the waves, height a quarter of a wavelength ahead, and slope to the north.

        All are (hours, lat, lon), with about unit variance on the storm tracks.
        """
        shape = (len(time), len(self.degrees), self.lon.shape[1])
        crest, ahead, slope = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for j in range(_WAVES):
            phase = self.number[j] * (self.lon - np.deg2rad(self.speed[j]) * time / 24)
            phase = phase + self.start[j]
            pulse = 1 + 0.3 * np.sin(2 * np.pi * time / 24 / self.pulse[j] + self.start[j])
            off = (self.degrees - self.track[j]) / self.width[j]
            size = self.size[j] * pulse * np.exp(-0.5 * off**2)
            crest += size * np.cos(phase)
            ahead += size * np.sin(phase)
            slope += -off * size * np.cos(phase)
        return crest, ahead, slope


def _write(path: Path, folder: str, hours: np.ndarray, weather: Weather) -> None:
    name, units, title, aloft = VARIABLES[folder]
    lat, lon = np.rad2deg(weather.lat[:, 0]), np.rad2deg(weather.lon[0])
    with netCDF4.Dataset(path, "w", format="NETCDF4") as file:
        file.Conventions = "CF-1.6"
        sizes = {"lon": lon.size, "lat": lat.size, "time": hours.size}
        if aloft:
            sizes["level"] = weather.levels.size
        for dim, size in sizes.items():
            file.createDimension(dim, size)
        for axis, values in (("lon", lon), ("lat", lat)):
            file.createVariable(axis, "f8", (axis,), fill_value=np.nan)[:] = values.round(9)
        if aloft:
            level = file.createVariable("level", "i4", ("level",))
            level.units, level.long_name = "millibars", "pressure_level"
            level[:] = weather.levels
        first = np.datetime64(int(hours[0]), "h")
        time = file.createVariable("time", "i8", ("time",))
        time.long_name = "time"
        time.units = f"hours since {str(first).replace('T', ' ')}:00:00"
        time.calendar = "proleptic_gregorian"
        time[:] = hours - hours[0]
        dims = ("time", *(("level",) if aloft else ()), "lat", "lon")
        variable = file.createVariable(name, "f4", dims, fill_value=np.nan, contiguous=True)
        variable.units, variable.long_name = units, title
        for at in range(0, hours.size, _BLOCK):
            variable[at : at + _BLOCK] = weather.field(name, hours[at : at + _BLOCK])
