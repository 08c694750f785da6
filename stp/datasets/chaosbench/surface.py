"""Read ChaosBench's variables of land and ocean, from ERA5-Land and ORAS5.

Each is a separate tar stream with a Zarr group for each day, with variables (latitude, longitude)
that are 0 where they are undefined. One variable, which is 0 nowhere on land or in the ocean, shows
where variables are defined; other zeros, such as zeros of snow, are values. Streams have different
orders of days. So their fields are first stored in files, one for each day or month, and read for
each day of ERA5.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stp.core.errors import RawFileError, StpError
from stp.data.daily_fields import Grid, date_of, open_group, read_surface
from stp.data.raw_files import RawFiles
from stp.data.tar_stream import folders

WATER = "m of water equivalent"
# name -> units, in the order of the release's channels
LAND = {
    **{"asn": "1", "d2m": "K", "e": WATER, "es": WATER, "evabs": WATER, "evaow": WATER},
    **{"evatc": WATER, "evavt": WATER, "fal": "1", "lai_hv": "m**2 m**-2"},
    **{"lai_lv": "m**2 m**-2", "pev": "m", "ro": "m", "rsn": "kg m**-3", "sd": WATER, "sde": "m"},
    **{"sf": WATER, "skt": "K", "slhf": "J m**-2", "smlt": WATER, "snowc": "%", "sp": "Pa"},
    **{"src": WATER, "sro": "m", "sshf": "J m**-2", "ssr": "J m**-2", "ssrd": "J m**-2"},
    **{"ssro": "m", "stl1": "K", "stl2": "K", "stl3": "K", "stl4": "K", "str": "J m**-2"},
    **{"strd": "J m**-2", "swvl1": "m**3 m**-3", "swvl2": "m**3 m**-3", "swvl3": "m**3 m**-3"},
    **{"swvl4": "m**3 m**-3", "t2m": "K", "tp": "m", "tsn": "K", "u10": "m s**-1"},
    **{"v10": "m s**-1"},
}
OCEAN = {
    **{"iicethic": "m", "iicevelu": "m s**-1", "iicevelv": "m s**-1", "ileadfra": "1"},
    **{"so14chgt": "m", "so17chgt": "m", "so20chgt": "m", "so26chgt": "m", "so28chgt": "m"},
    **{"sohefldo": "W m**-2", "sohtc300": "J m**-2", "sohtc700": "J m**-2", "sohtcbtm": "J m**-2"},
    **{"sometauy": "N m**-2", "somxl010": "m", "somxl030": "m", "sosaline": "PSU"},
    **{"sossheig": "m", "sosstsst": "degC", "sowaflup": "kg m**-2 s**-1", "sozotaux": "N m**-2"},
}
_TEMPERATURE, _WATER, _ENERGY = (180.0, 320.0), (0.0, 0.05), (1e4, 1e8)
BETWEEN = {
    **dict.fromkeys(("d2m", "skt", "stl1", "stl2", "stl3", "stl4", "t2m", "tsn"), _TEMPERATURE),
    **dict.fromkeys(("e", "es", "evabs", "evaow", "evatc", "evavt", "ro", "sro", "ssro"), _WATER),
    **dict.fromkeys(("sf", "smlt", "src", "tp"), _WATER),
    **dict.fromkeys(("slhf", "sshf", "ssr", "ssrd", "str", "strd"), _ENERGY),
    **dict.fromkeys(("asn", "fal", "ileadfra", "swvl1", "swvl2", "swvl3", "swvl4"), (0.0, 1.0)),
    **{"lai_hv": (0.0, 10.0), "lai_lv": (0.0, 10.0), "pev": (0.0, 0.2), "rsn": (50.0, 600.0)},
    **{"sd": (0.0, 10.0), "sde": (0.0, 30.0), "snowc": (0.0, 100.0), "sp": (5e4, 1.1e5)},
    **{"u10": (0.0, 25.0), "v10": (0.0, 25.0), "iicethic": (0.0, 10.0)},
    **dict.fromkeys(("iicevelu", "iicevelv"), (0.0, 2.0)),
    **dict.fromkeys(("so14chgt", "so17chgt", "so20chgt", "so26chgt", "so28chgt"), (0.0, 2000.0)),
    **dict.fromkeys(("sohtc300", "sohtc700", "sohtcbtm"), (1e8, 1e13)),
    **{"sohefldo": (0.0, 1000.0), "sometauy": (0.0, 2.0), "sozotaux": (0.0, 2.0)},
    **{"somxl010": (1.0, 1000.0), "somxl030": (1.0, 1000.0), "sosaline": (20.0, 45.0)},
    **{"sossheig": (0.0, 5.0), "sosstsst": (0.0, 40.0), "sowaflup": (0.0, 1e-3)},
}
"""Smallest and largest mean size of the values of a day, over all land or ocean, in these units:
wide enough for any weather, too narrow for most other units (mm for m, W m**-2 for J m**-2, K for
degC)."""
# CF standard names of those that have one without doubt
STANDARD_NAMES = {
    **{"d2m": "dew_point_temperature", "skt": "surface_temperature", "sp": "surface_air_pressure"},
    **{"t2m": "air_temperature", "u10": "eastward_wind", "v10": "northward_wind"},
    **{"iicethic": "sea_ice_thickness", "ileadfra": "sea_ice_area_fraction"},
    **{"sosaline": "sea_surface_salinity", "sosstsst": "sea_surface_temperature"},
}


class Part(NamedTuple):
    """Land or ocean: how its data are recognised and dated.

    Attributes:
        title: title of the data, "ERA5-Land" or "ORAS5".
        shown_by: name of a variable that is non-zero at every point of land (for the ocean: at
            every point at sea), and 0 at all other points.
        when: function that turns the date of a stored field, e.g. "2022-01-15", into the time that
            the field stands for: the same day, or for monthly means the month, "2022-01".
    """

    title: str
    shown_by: str
    when: Callable[[str], str]


def month_of(day: str) -> str:
    """The month of a day: "2022-01" of "2022-01-15"."""
    return day[:7]


def month_before(day: str) -> str:
    """The month before that of a day: "2021-12" of "2022-01-15"."""
    return str(np.datetime64(day[:7], "M") - 1)


ERA5_LAND = Part("ERA5-Land", "t2m", str)
ORAS5 = Part("ORAS5", "sosaline", month_of)
"""ORAS5 has monthly means, which the release repeats on each day of a month."""


class SurfaceStream:
    """Reads the variables of land or of the ocean from their tar stream, for given days.

    The stream has another order of days than ERA5. So call `collect` first, which stores the needed
    fields in files. Then call `of` for each day, `done` after its last use, and `close` at the end.

    Args:
        part: land or ocean.
        raw: the raw files.
        names: names of the raw files that are the parts of the stream, in order.
        variables: names of the variables, in the order of the channels.
        grid: latitudes and longitudes that the data must have.
        wanted: for each day, the day or month whose fields it gets. Land has daily fields:
            "2022-01-15" gets "2022-01-15". The ocean has monthly means: "2022-01-15" gets
            "2022-01", or "2021-12" if it may not get a mean that includes later days.
        state: folder for stored fields, which is kept after a crash.
    """

    def __init__(
        self,
        part: Part,
        raw: RawFiles,
        names: Sequence[str],
        variables: Sequence[str],
        grid: Grid,
        wanted: dict[str, str],
        state: Path,
    ) -> None:
        self._part, self._variables, self._grid, self._wanted = part, variables, grid, wanted
        self._files = [raw.find(name) for name in names]
        checksums = {name: raw.checksums()[name] for name in names}
        about = json.dumps([part.title, checksums, list(variables)], sort_keys=True)
        self._aside = state / f"surface-{hashlib.sha256(about.encode()).hexdigest()[:16]}"

    def collect(self, days: Sequence[str]) -> None:
        """Read the stream once, and store the fields of some days that are not stored yet.

        Args:
            days: days, such as "2022-01-15".

        Raises:
            StpError: a day or month is missing, or damaged.
        """
        self._aside.mkdir(parents=True, exist_ok=True)
        todo = {self._wanted[day] for day in days}
        todo -= {path.stem for path in self._aside.glob("*.npy")}
        if not todo:
            return
        for when, fields in self._read(todo):
            beside = self._aside / f"{when}.part"
            with beside.open("wb") as file:
                np.save(file, fields)
            beside.replace(self._path(when))
            todo.discard(when)
        if todo:
            raise StpError(
                f"{self._files[0]} ({len(self._files)} parts): {len(todo)} fields of "
                f"{self._part.title} are missing, first {min(todo)}",
                expected="those of every day of the years of all splits",
                remedy="fetch the official parts, or choose other `years`",
            )

    def of(self, day: str) -> np.ndarray:
        """The fields of a day, float32 (C, rows, columns), NaN where a variable is undefined.

        Args:
            day: a day that `collect` got, such as "2022-01-15".
        """
        return np.asarray(np.load(self._path(self._wanted[day])))

    def done(self, day: str) -> None:
        """Delete the stored fields of a day; those of a month, which other days share, are kept.

        Args:
            day: day whose fields are not needed any more, such as "2022-01-15".
        """
        if self._wanted[day] == day:
            self._path(day).unlink(missing_ok=True)

    def close(self) -> None:
        """Delete all stored fields."""
        shutil.rmtree(self._aside, ignore_errors=True)

    def _path(self, when: str) -> Path:
        return self._aside / f"{when}.npy"

    def _read(self, todo: set[str]) -> Iterator[tuple[str, np.ndarray]]:
        missing = set(todo)

        def needed(name: str) -> bool:
            day = date_of(name)
            return day is not None and self._part.when(day) in missing

        for folder in folders(self._files, needed, suffix=".zarr"):
            when = self._part.when(str(date_of(folder.name)))
            fields, mask = read_surface(
                folder.name,
                open_group(folder),
                self._variables,
                self._grid,
                shown_by=self._part.shown_by,
                between=BETWEEN,
            )
            self._check_mask(folder.name, mask)
            missing.discard(when)
            yield when, fields

    def _check_mask(self, name: str, mask: np.ndarray) -> None:
        """Refuse a mask of land or ocean that differs from the first day."""
        path = self._aside / "there.bin"  # rows x columns, of bytes
        if not path.exists():
            beside = path.with_suffix(".part")
            beside.write_bytes(mask.tobytes())
            beside.replace(path)
            return
        first = np.frombuffer(path.read_bytes(), bool).reshape(mask.shape)
        if (first != mask).any():
            problem = f"{self._part.title} has {int(mask.sum())} grid points"
            raise RawFileError(
                name,
                f"{problem}, {int((first != mask).sum())} of them different",
                expected=f"the {int(first.sum())} of the day that was read first",
            )
