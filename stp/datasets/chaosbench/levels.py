"""Read ChaosBench's variables on levels from the tar stream of the release, or from WeatherBench 2.

Rasp et al. 2024, "WeatherBench 2: a benchmark for the next generation of data-driven global weather
models". Its stores of ERA5 are Zarr groups of all times with variables (time, level, longitude,
latitude), latitudes from south to north; the store of 240 x 121 points has the grid of ChaosBench.
It contains geopotential, not height. Its fields were regridded conservatively, but ChaosBench's by
interpolation of the archive, so values are similar but not equal.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import xarray as xr
import zarr

from stp.core.errors import RawFileError, StpError
from stp.data.daily_fields import Grid, date_of, open_group, read_fields
from stp.data.raw_files import RawFiles
from stp.data.tar_stream import folders
from stp.data.zarr_codecs import check_codecs

NAMES = {
    **{"z": "geopotential", "q": "specific_humidity", "t": "temperature"},
    **{"u": "u_component_of_wind", "v": "v_component_of_wind", "w": "vertical_velocity"},
}
"""Names of the variables in the store of WeatherBench 2."""
_BLOCK_BYTES = 128 << 20
DAMAGE = (OSError, ValueError, KeyError, TypeError, RuntimeError)


class DaysOfStream:
    """Reads ChaosBench's variables on levels, day by day, from the tar stream of the release.

    The release has one tar archive of all days, which is cut into several files, its parts. The
    stream is the content of the parts, one after the other.

    Args:
        raw: the raw files.
        names: names of the raw files that are the parts, in order.
        variables: levels in hPa by name of the variable, in the order of the channels.
        grid: latitudes and longitudes that the data must have.
        gravity: divisor by which the release computed heights from geopotential, m s-2.
    """

    def __init__(
        self,
        raw: RawFiles,
        names: list[str],
        variables: dict[str, list[int]],
        grid: Grid,
        gravity: float,
    ) -> None:
        self._raw, self._names, self._variables = raw, names, variables
        self._grid, self._gravity = grid, gravity

    @property
    def name(self) -> str:
        """Name of the stream, for errors: its first part, and the number of parts.

        An example is "chaosbench/era5/era5_chunks.tar.gz.aa (6 parts)".
        """
        return f"{self._names[0]} ({len(self._names)} parts)"

    def read(self, days: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
        """Yield requested days with their fields, in the order of the stream.

        A requested day that the stream lacks is left out.

        Args:
            days: requested days, such as "2022-01-15".

        Yields:
            a day, as in ``days``, and its fields, float32 (C, rows, columns).

        Raises:
            StpError: the stream is damaged or ends early, or a day occurs twice.
        """
        todo, days_read = frozenset(days), set()
        parts = [self._raw.find(name) for name in self._names]
        for folder in folders(parts, lambda name: date_of(name) in todo, suffix=".zarr"):
            day = str(date_of(folder.name))
            if day in days_read:
                raise RawFileError(
                    self._names[0],
                    f"{day} comes twice in the stream, the second time as {folder.name}",
                )
            days_read.add(day)
            group = open_group(folder)
            yield (
                day,
                read_fields(folder.name, group, self._variables, self._grid, gravity=self._gravity),
            )


class DaysOfStore:
    """Reads the variables on levels at 00 UTC, day by day, from a store of WeatherBench 2.

    Args:
        raw: the raw files, including the files of the store.
        pattern: pattern of the folder of the store, below the raw folder.
        variables: levels in hPa by name of the variable, in the order of the channels.
        grid: latitudes and longitudes that the data must have.

    Raises:
        StpError: no store or several stores match; or the store cannot be opened, has no dates, or
            has a date twice.
    """

    def __init__(
        self, raw: RawFiles, pattern: str, variables: Mapping[str, Sequence[int]], grid: Grid
    ) -> None:
        self._raw, self._variables, self._grid = raw, variables, grid
        self._files = set(_files(raw, pattern))
        self._folder, self._path = self._find(pattern)
        check_codecs(self._path)
        try:
            opened = xr.open_zarr(self._path, consolidated=False, chunks=None)
            times = opened["time"].to_numpy().astype("datetime64[ns]")
        except DAMAGE as error:
            raise self._damage_error(error) from error
        names = {stored: ours for ours, stored in NAMES.items() if stored in opened}
        self._opened = opened[list(names)].rename(names)
        self._place = {time: i for i, time in enumerate(times.tolist())}
        if len(self._place) < len(times):
            twice = len(times) - len(self._place)
            raise RawFileError(self._path, f"{twice} of {len(times)} times come twice")

    @property
    def name(self) -> str:
        """Path of the Zarr store, for errors."""
        return str(self._path)

    def read(self, days: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
        """Yield requested days with their fields, in the order of time.

        A requested day that the store lacks is left out.

        Args:
            days: requested days, such as "2022-01-15".

        Yields:
            a day, as in ``days``, and its fields, float32 (C, rows, columns).

        Raises:
            StpError: a variable, its grid or its units are wrong; or a chunk is missing, which Zarr
                would read as a field without values.
        """
        midnight = {day: np.datetime64(day, "ns").astype(int).item() for day in days}
        places = [(self._place[at], day) for day, at in midnight.items() if at in self._place]
        places.sort()
        self._require_chunks([time for time, _ in places])
        channels = sum(map(len, self._variables.values()))
        most = max(1, _BLOCK_BYTES // (4 * channels * self._grid.rows * self._grid.columns))
        for first in range(0, len(places), most):
            block = places[first : first + most]
            fields = read_fields(
                f"{self._path} at {block[0][1]}",
                self._opened,
                self._variables,
                self._grid,
                gravity=1.0,
                outer=("time",),
                at={"time": [time for time, _ in block]},
            )
            for (_, day), field in zip(block, fields, strict=True):
                yield day, field

    def _find(self, pattern: str) -> tuple[str, Path]:
        """The folder of the store relative to the raw folder, and its path."""
        folders = {_folder(name) for name in self._files}
        if len(folders) != 1:
            raise StpError(
                f"{len(folders)} Zarr stores are called {pattern}",
                expected="one, with all its files, among the files of the release",
                remedy="correct `store`, or the files of the release",
            )
        (folder,) = folders
        some = min(name for name in self._files)
        path = self._raw.find(some)
        inside = len(some[len(folder) + 1 :].split("/"))
        return folder, path.parents[inside - 1]

    def _require_chunks(self, places: Sequence[int]) -> None:
        group = zarr.open_group(str(self._path), mode="r", use_consolidated=False)
        for name in self._variables:
            if NAMES[name] not in group:
                continue  # named when it is read
            array = group[NAMES[name]]
            assert isinstance(array, zarr.Array)
            counts = [
                -(-size // chunk) for size, chunk in zip(array.shape, array.chunks, strict=True)
            ]
            needed: list[Sequence[int]] = [range(count) for count in counts]
            along = self._opened[name].dims.index("time")
            needed[along] = sorted({time // array.chunks[along] for time in places})
            keys = [array.metadata.encode_chunk_key(at) for at in itertools.product(*needed)]
            lost = [key for key in keys if f"{self._folder}/{NAMES[name]}/{key}" not in self._files]
            if lost:
                # Zarr would take a missing chunk for an empty one.
                problem = f"{len(lost)} of {len(keys)} chunks of {NAMES[name]} are missing"
                raise RawFileError(
                    self._path,
                    f"{problem}, first {lost[0]}",
                    expected="the chunks of all days that are read",
                )
            for key in keys:  # compared with the lock
                self._raw.find(f"{self._folder}/{NAMES[name]}/{key}")

    def _damage_error(self, error: Exception) -> StpError:
        return RawFileError(
            self._path,
            f"this Zarr store is damaged, or has no dates ({error})",
            expected="a store of WeatherBench 2, with a coordinate time",
        )


def _folder(name: str) -> str:
    """The store that a file is in: its first folder whose name ends with ``.zarr``."""
    parts = name.split("/")
    at = next(i for i, part in enumerate(parts) if part.endswith(".zarr"))
    return "/".join(parts[: at + 1])


def _files(raw: RawFiles, pattern: str) -> Iterator[str]:
    for name in raw.names:
        if any(part.endswith(".zarr") for part in name.split("/")[:-1]) and fnmatch(
            _folder(name), pattern
        ):
            yield name
