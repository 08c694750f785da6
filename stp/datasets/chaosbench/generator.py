"""Generate synthetic days of ChaosBench: one Zarr group per day, in the parts of a tar stream.

Same as in the official data: names of files, groups, variables, dimensions and coordinates, Zarr
v2, a grid with both poles, heights as geopotential over 9.81 m s-2, unsorted days, and separate
streams for land and ocean. The grid may have any spacing that divides 180 degrees; years and levels
are options.

Different: the weather is simulated by `chaotic_waves`, and data are not compressed.
"""

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import ascii_lowercase
from typing import Annotated, Any, BinaryIO, NamedTuple

import numpy as np
import pydantic
import zarr
from pydantic import NonNegativeInt

from stp.core.job import Report
from stp.core.options import build, check_keys, require, whole
from stp.datasets.chaosbench import generated_surface
from stp.datasets.chaosbench.chaotic_waves import Atmosphere, truth

VARIABLES = ("z", "q", "t", "u", "v", "w")
LEVELS = (10, 50, 100, 200, 300, 500, 700, 850, 925, 1000)
DIVISOR = 9.81
"""Divisor by which the release computes heights from geopotential, m s-2; the standard is
9.80665."""
_STANDARD = 9.80665
_DAYS_AT_ONCE = 60
STORE = (
    "chaosbench/weatherbench2/1959-2023_01_10-6h-240x121_equiangular_with_poles_conservative.zarr"
)
STORE_NAMES = {
    **{"z": "geopotential", "q": "specific_humidity", "t": "temperature"},
    **{"u": "u_component_of_wind", "v": "v_component_of_wind", "w": "vertical_velocity"},
}
_STORE_CHUNK = 8


@dataclass(frozen=True)
class GeneratorOptions:
    """Options of all generators of ChaosBench: those of the grid and of the simulated weather.

    Attributes:
        degrees: spacing of the grid, degrees, a divisor of 180.
        levels: pressure levels, hPa.
        variables: names of the variables that are written.
        first_year: year on whose 1 January the simulated weather begins.
        seed: seed of all random numbers.
        part_mb: size of a part, 10^6 bytes. Each generated archive is one .tar.gz file that is cut
            into parts of this size.
    """

    degrees: Annotated[float, pydantic.Field(gt=0, le=45)] = 1.5
    levels: tuple[Annotated[int, pydantic.Field(ge=1, le=1050)], ...] = LEVELS
    variables: tuple[str, ...] = VARIABLES
    first_year: Annotated[int, pydantic.Field(ge=1700, le=2200)] = 1979
    seed: NonNegativeInt = 0
    part_mb: pydantic.PositiveFloat = 42_900

    def __post_init__(self) -> None:
        require((180 / self.degrees).is_integer(), "degrees", self.degrees, "a divisor of 180")
        ok = bool(self.levels) and list(self.levels) == sorted(set(self.levels))
        require(ok, "levels", self.levels, "hPa, ascending, one at least")
        check_keys("variables", self.variables, VARIABLES)
        require(bool(self.variables), "variables", self.variables, "one at least")

    @property
    def lat(self) -> np.ndarray:
        """Latitudes, degrees north, from 90 to -90, (rows,)."""
        return np.linspace(90, -90, round(180 / self.degrees) + 1)

    @property
    def lon(self) -> np.ndarray:
        """Longitudes, degrees east, from 0, (columns,)."""
        return np.arange(round(360 / self.degrees)) * self.degrees

    @property
    def atmosphere(self) -> Atmosphere:
        """The converter of simulated states to fields on the grid of these options.

        States are those of Lorenz's chaotic model of 1996 (`chaotic_waves`).
        """
        return Atmosphere(self.lat, self.lon, np.array(self.levels), self.variables)

    @property
    def title(self) -> str:
        """The spacing of the grid as in names of groups: "1.5deg"."""
        return f"{self.degrees:g}deg"


@dataclass(frozen=True)
class DaysOptions(GeneratorOptions):
    """Options of the generator of daily fields of ERA5, ERA5-Land and ORAS5.

    Attributes:
        years: years whose days are written.
        days: number of days of each year that are written, from 1 January; null for all.
        land: names of the variables of ERA5-Land; none by default. If there are any, t2m has to be
            among them, by which readers recognise land.
        ocean: names of the variables of ORAS5, which are monthly means; none by default. If there
            are any, sosaline has to be among them, by which readers recognise the ocean. The reader
            may use the mean of the previous month. So these variables are also written for the day
            before each series of consecutive days.
        store: whether variables on pressure levels are also written as a Zarr store in the layout
            of WeatherBench 2; all of its fields have to fit in memory.
    """

    years: tuple[int, ...] = tuple(range(1979, 2024))
    days: Annotated[int, pydantic.Field(ge=1, le=366)] | None = None
    land: tuple[str, ...] = ()
    ocean: tuple[str, ...] = ()
    store: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_keys("land", self.land, generated_surface.LAND)
        check_keys("ocean", self.ocean, generated_surface.OCEAN)
        ok = bool(self.years) and all(whole(year, self.first_year) for year in self.years)
        require(ok, "years", self.years, f"years from {self.first_year}")


class Field(NamedTuple):
    """An array of a Zarr group.

    Attributes:
        dims: names of the dimensions.
        values: values of any type.
        attrs: attributes such as units.
        chunk: length of a chunk along the first dimension; by default, one chunk.
    """

    dims: tuple[str, ...]
    values: np.ndarray
    attrs: Mapping[str, str] = {}
    chunk: int | None = None


Group = tuple[str, dict[str, Field]]
"""Name and arrays of a Zarr group."""


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write synthetic days of ERA5, as parts of one tar stream.

    The parts are ``chaosbench/era5/era5_chunks.tar.gz.aa``, ``.ab`` and so on. Options may ask for
    land (``chaosbench/lra5``), ocean (``chaosbench/oras5``) and a store of WeatherBench 2 as well.

    Args:
        out: folder below which the files are written.
        options: values of `DaysOptions` by name.
        report: function that receives the progress.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(DaysOptions, options, "generator options")
    spans = [np.arange(f"{y}-01-01", f"{y + 1}-01-01", dtype="datetime64[D]") for y in chosen.years]
    days = np.concatenate([span[: chosen.days] for span in spans])
    states = truth(chosen.first_year, days, chosen.seed)
    order = np.random.default_rng([chosen.seed, 1]).permutation(len(days))
    atmosphere = chosen.atmosphere

    def groups() -> Iterable[Group]:
        for first in range(0, len(order), _DAYS_AT_ONCE):
            block = order[first : first + _DAYS_AT_ONCE]
            fields = atmosphere.fields(states[block], days[block])
            for n, day in enumerate(block):
                name = f"era5_full_{chosen.title}_{str(days[day]).replace('-', '')}.zarr"
                yield (
                    name,
                    {
                        **coordinates(chosen, days[day]),
                        **{
                            variable: level_field((), to_stored_units(variable, values[n]))
                            for variable, values in fields.items()
                        },
                    },
                )
            report("make days", first + len(block), len(order))

    write_stream(out / "chaosbench/era5", groups(), chosen.part_mb)
    if chosen.land:
        write_stream(out / "chaosbench/lra5", _land_groups(chosen, states, days), chosen.part_mb)
    if chosen.ocean:
        write_stream(out / "chaosbench/oras5", _ocean(chosen, days), chosen.part_mb)
    if chosen.store:
        _write_store(out / STORE, chosen, states, days)


def _write_store(path: Path, chosen: DaysOptions, states: np.ndarray, days: np.ndarray) -> None:
    """Write the same days in the layout of WeatherBench 2: at 00 and 12 UTC, from south to north.

    Fields at 12 UTC, which readers should ignore, are those of 00 UTC rotated by 180 degrees of
    longitude.
    """
    group = zarr.open_group(str(path), mode="w", zarr_format=2)
    hours = np.sort(np.concatenate([days, days + np.timedelta64(12, "h")]))
    since = {"units": "hours since 1970-01-01", "calendar": "proleptic_gregorian"}
    axes = {
        "time": (hours.astype("datetime64[h]").astype(np.int64), since),
        "level": (np.array(chosen.levels, np.int64), {}),
        "longitude": (chosen.lon, {"units": "degrees_east"}),
        "latitude": (chosen.lat[::-1], {"units": "degrees_north"}),
    }
    for name, (values, attrs) in axes.items():
        # Values equal to the fill value are missing, and 0 degrees are not.
        fill = np.nan if values.dtype.kind == "f" else -1
        array = group.create_array(
            name, shape=values.shape, dtype=values.dtype, compressors=None, fill_value=fill
        )
        array[:] = values
        array.attrs.update({"_ARRAY_DIMENSIONS": [name], **attrs})
    fields = chosen.atmosphere.fields(states, days)
    for variable, values in fields.items():
        stored = values * np.float32(_STANDARD) if variable == "z" else values
        noon = np.roll(stored, stored.shape[-1] // 2, axis=-1)
        both = np.stack([stored, noon], axis=1).reshape(-1, *stored.shape[1:])
        turned = both[:, :, ::-1].swapaxes(2, 3)  # time, level, longitude, latitude
        array = group.create_array(
            STORE_NAMES[variable],
            shape=turned.shape,
            dtype=turned.dtype,
            chunks=(min(_STORE_CHUNK, len(turned)), *turned.shape[1:]),
            fill_value=np.nan,
        )
        array[:] = turned
        array.attrs["_ARRAY_DIMENSIONS"] = list(axes)


def _land_groups(chosen: DaysOptions, states: np.ndarray, days: np.ndarray) -> Iterator[Group]:
    """Yield ERA5-Land of the same days, in another order."""
    atmosphere = chosen.atmosphere
    for n in np.random.default_rng([chosen.seed, 2]).permutation(len(days)).tolist():
        here = slice(n, n + 1)
        fields = generated_surface.surface(atmosphere, chosen.land, states[here], days[here])
        yield _surface_group(chosen, "lra5", days[n], fields)


def _ocean(chosen: DaysOptions, days: np.ndarray) -> Iterator[Group]:
    """Yield ORAS5: monthly means on each day, and on the last day before each run of days."""
    atmosphere, month = chosen.atmosphere, "datetime64[M]"
    before = days[np.diff(days, prepend=days[0] - 2) != np.timedelta64(1, "D")] - 1
    first = np.datetime64(f"{chosen.first_year}-01-01")
    shown = np.concatenate([before[before >= first], days])
    months = np.unique(shown.astype(month))
    whole = [np.arange(m, m + 1, dtype="datetime64[D]") for m in months]
    everything = truth(chosen.first_year, np.concatenate(whole), chosen.seed)
    cuts = np.cumsum([len(of) for of in whole])[:-1]
    for m, part in zip(months, np.split(everything, cuts), strict=True):
        middle = (m.astype("datetime64[D]") + 15)[None]
        mean = part.mean(axis=0)[None]
        fields = generated_surface.surface(atmosphere, chosen.ocean, mean, middle)
        for day in shown[shown.astype(month) == m]:
            yield _surface_group(chosen, "oras5", day, fields)


def _surface_group(
    chosen: DaysOptions, data: str, day: np.datetime64, fields: Mapping[str, np.ndarray]
) -> Group:
    """Make a group of variables without levels; ORAS5 has no coordinate time."""
    known = coordinates(chosen, day)
    axes = ("latitude", "longitude", *(("time",) if data == "lra5" else ()))
    name = f"{data}_full_{chosen.title}_{str(day).replace('-', '')}.zarr"
    two = {v: Field(("latitude", "longitude"), values[0]) for v, values in fields.items()}
    return name, {**{axis: known[axis] for axis in axes}, **two}


def to_stored_units(variable: str, values: np.ndarray) -> np.ndarray:
    """Convert heights (z) to those of the release, which are geopotential over 9.81 m s-2.

    Args:
        variable: name of the variable; others than z are not changed.
        values: fields; heights are geopotential over 9.80665 m s-2.
    """
    return values * np.float32(_STANDARD / DIVISOR) if variable == "z" else values


def level_field(outer: tuple[str, ...], values: np.ndarray, chunk: int | None = None) -> Field:
    """Make the array of a variable on pressure levels.

    Args:
        outer: names of the dimensions before level, latitude and longitude, such as "step".
        values: values, (..., levels, rows, columns).
        chunk: length of a chunk along the first dimension; by default, one chunk.
    """
    return Field((*outer, "level", "latitude", "longitude"), values, {}, chunk)


def coordinates(options: GeneratorOptions, day: np.datetime64) -> dict[str, Field]:
    """Make the coordinates of a Zarr group: time, level, latitude and longitude.

    Args:
        options: grid and levels.
        day: value of the coordinate time.
    """
    since = {"units": "days since 1970-01-01", "calendar": "proleptic_gregorian"}
    return {
        "time": Field((), np.array(day.astype("datetime64[D]").astype(np.int64)), since),
        "level": Field(("level",), np.array(options.levels, np.int64), {"units": "millibars"}),
        "latitude": Field(("latitude",), options.lat, {"units": "degrees_north"}),
        "longitude": Field(("longitude",), options.lon, {"units": "degrees_east"}),
    }


def write_stream(folder: Path, groups: Iterable[Group], part_mb: float) -> None:
    """Write Zarr groups to a tar stream in parts, ``<name>_chunks.tar.gz.aa``, ``.ab`` and so on.

    Args:
        folder: folder of the parts; parts are named after the folder.
        groups: name of each group, and its arrays by name.
        part_mb: size of a part, 10^6 bytes.
    """
    name = folder.name
    folder.mkdir(parents=True, exist_ok=True)
    with (
        _Parts(folder / f"{name}_chunks.tar.gz", round(part_mb * 1e6)) as parts,
        # No time of writing: the same bytes each time. Not compressed: fields hardly are smaller.
        gzip.GzipFile(filename="", fileobj=parts, mode="wb", compresslevel=0, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.GNU_FORMAT) as tar,
    ):
        for group, fields in groups:
            _pack(fields, partial(_add, tar, f"{name}_tmp/{group}"))


class _Parts(io.RawIOBase):
    """A file object that writes parts of limited size: ``.aa``, ``.ab``, ..., ``.zz``."""

    def __init__(self, path: Path, size: int) -> None:
        self._path, self._size = path, size
        self._number, self._left = 0, 0
        self._file: BinaryIO | None = None

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        rest = memoryview(content).cast("B")
        while len(rest):
            if not self._left:
                self._next()
            assert self._file is not None
            part = rest[: self._left]
            self._file.write(part)
            self._left -= len(part)
            rest = rest[len(part) :]
        return len(content)

    def _next(self) -> None:
        if self._file is not None:
            self._file.close()
        first, second = divmod(self._number, len(ascii_lowercase))
        suffix = ascii_lowercase[first] + ascii_lowercase[second]
        self._file = self._path.with_name(f"{self._path.name}.{suffix}").open("wb")
        self._number, self._left = self._number + 1, self._size

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()


def _pack(fields: Mapping[str, Field], add: Callable[[str, bytes], None]) -> None:
    """Add the files of an uncompressed Zarr v2 group."""
    add(".zgroup", json.dumps({"zarr_format": 2}).encode())
    add(".zattrs", b"{}")
    for name, field in fields.items():
        values = np.asarray(field.values)
        values = values.astype(values.dtype.newbyteorder("<"))
        chunks = list(values.shape)
        if field.chunk is not None:
            chunks[0] = field.chunk
        about = {
            "zarr_format": 2,
            "shape": list(values.shape),
            "chunks": chunks,
            "dtype": values.dtype.str,
            "compressor": None,
            "filters": None,
            "order": "C",
            "fill_value": "NaN" if values.dtype.kind == "f" else None,
        }
        add(f"{name}/.zarray", json.dumps(about).encode())
        attrs = {"_ARRAY_DIMENSIONS": list(field.dims), **field.attrs}
        add(f"{name}/.zattrs", json.dumps(attrs).encode())
        if not values.shape:
            add(f"{name}/0", values.tobytes())
            continue
        tail = ".0" * (values.ndim - 1)
        for at in range(0, len(values), chunks[0]):
            add(f"{name}/{at // chunks[0]}{tail}", values[at : at + chunks[0]].tobytes())


def _add(tar: tarfile.TarFile, folder: str, key: str, content: bytes) -> None:
    entry = tarfile.TarInfo(f"{folder}/{key}")
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))
