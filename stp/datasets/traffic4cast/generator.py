"""Generate a synthetic version of Traffic4Cast 2021: traffic in cities, every five minutes.

Paths, the array, its type, chunks, compression and version of HDF5 are those of the official files
(Eichenberger et al. 2022; Kreil et al. 2020). Lists of files in the form of PredBench are written
too. The maps of the cities and the test files of the competition are missing. The files state gzip
level 9, like the official ones, but are compressed with less effort and a little larger.

A city has straight roads and ring roads, denser in the centre, and the same on all days. On each
road, probe vehicles pass at random, most of them in the two rush hours, and fewest at night; the
more vehicles, the slower they are. Cells without vehicles are 0, so nearly all values are 0, as in
the official files.
"""

import datetime
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, NamedTuple

import h5py
import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt
from scipy import ndimage

from stp.core.job import Report
from stp.core.options import build, require

LISTS = {
    "train": "traffic4cast2021_train.json",
    "val": "traffic4cast2021_val.json",
    "test": "traiifc4cast2021_test.json",  # sic
    "moscow": "traffic4cast2021_moscow.json",
}
CITIES = ("ANTWERP", "BANGKOK", "BARCELONA", "BERLIN", "CHICAGO", "ISTANBUL", "MELBOURNE")
_FIRST, _DAYS = datetime.date(2019, 1, 2), 179
_STEPS, _HEADINGS = 288, 4


@dataclass(frozen=True)
class Traffic4CastOptions:
    """Options of the generator of synthetic Traffic4Cast.

    Attributes:
        days: number of files of each split; the official lists have 1280, 160, 161 and 92.
        cities: number of cities, at most seven.
        grid: numbers of rows and columns; officially 495 and 436.
        seed: seed of all random numbers; a day does not depend on which others are generated.
    """

    days: dict[str, PositiveInt] = field(
        default_factory=lambda: {"train": 7, "val": 3, "test": 3, "moscow": 3}
    )
    cities: Annotated[int, Field(ge=1, le=7)] = 7
    grid: tuple[Annotated[int, Field(ge=8)], Annotated[int, Field(ge=8)]] = (495, 436)
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        ok = set(self.days) == set(LISTS)
        require(ok, "days", self.days, f"a number for each of {', '.join(LISTS)}")
        dealt = sum(n for split, n in self.days.items() if split != "moscow")
        ok = dealt <= self.cities * _DAYS and self.days["moscow"] <= _DAYS
        require(ok, "days", self.days, f"at most {_DAYS} for each city")


class Roads(NamedTuple):
    """The roads of a city.

    Attributes:
        cells: indices of the cells with roads in the flattened grid, ascending, (cells,).
        busy: maximum number of probe vehicles that pass each cell in each heading, (cells, 4).
        limit: speed without traffic in each cell, (cells,), in 1..255.
    """

    cells: np.ndarray
    busy: np.ndarray
    limit: np.ndarray


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write the days, ``traffic4cast2021/<CITY>/training/*_8ch.h5``, and the lists of files.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(Traffic4CastOptions, options, "generator options")
    lists = _assign_days(chosen)
    (out / "predbench_annotations/traffic4cast2021").mkdir(parents=True)
    total, done = sum(chosen.days.values()), 0
    maps: dict[str, Roads] = {}
    for split, days in lists.items():
        names = []
        for city, date in days:
            number = 99 if city == "MOSCOW" else CITIES.index(city)
            if city not in maps:
                maps[city] = roads(chosen.grid, np.random.default_rng([chosen.seed, number]))
            name = f"{city}/training/{date.isoformat()}_{city}_8ch.h5"
            names.append(name)
            path = out / "traffic4cast2021" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            rng = np.random.default_rng([chosen.seed, number, date.toordinal()])
            _write_day(path, chosen.grid, maps[city], date, rng)
            done += 1
            report("generate days", done, total)
        text = json.dumps(names, indent=4)
        path = out / "predbench_annotations/traffic4cast2021" / LISTS[split]
        path.write_text(text, encoding="ascii")


def _assign_days(chosen: Traffic4CastOptions) -> dict[str, list[tuple[str, datetime.date]]]:
    """Assign days of cities to splits at random, as in PredBench's lists."""
    rng = np.random.default_rng([chosen.seed, 1000])
    count = sum(n for split, n in chosen.days.items() if split != "moscow")
    # Cities take turns, so that even a few days include all cities.
    order = {city: rng.permutation(_DAYS) for city in CITIES[: chosen.cities]}
    pool = [
        (city, _FIRST + datetime.timedelta(days=int(order[city][i])))
        for i in range(-(-count // chosen.cities))
        for city in order
    ][:count]
    pool = [pool[i] for i in rng.permutation(count)]
    lists = {}
    for split in ("train", "val", "test"):
        lists[split], pool = pool[: chosen.days[split]], pool[chosen.days[split] :]
    lists["moscow"] = [
        ("MOSCOW", _FIRST + datetime.timedelta(days=day)) for day in range(chosen.days["moscow"])
    ]
    return lists


def roads(grid: tuple[int, int], rng: np.random.Generator) -> Roads:
    """Make the roads of a city: streets across it, and a ring around its middle."""
    rows, columns = grid
    y, x = np.meshgrid(np.arange(rows) - rows / 2, np.arange(columns) - columns / 2, indexing="ij")
    size = min(grid)
    busy = np.zeros((rows, columns, _HEADINGS))
    for _ in range(4 + size // 40):
        angle = rng.uniform(0, np.pi)
        away = np.abs(np.sin(angle) * x - np.cos(angle) * y - rng.normal(0, 0.14 * size))
        strength = rng.uniform(0.3, 1.5) * (away < 0.6)
        # Going one way of a road or the other: two opposite headings (NE and SW, NW and SE).
        ways = (0, 3) if angle > np.pi / 2 else (1, 2)
        for way, share in zip(ways, rng.dirichlet((6, 6)), strict=True):
            busy[..., way] += 2 * share * strength
    ring = np.abs(np.hypot(y, x) - 0.3 * size) < 0.6
    busy += ring[..., None] * rng.uniform(0.2, 0.6, _HEADINGS)
    busy *= np.exp(-((np.hypot(y, x) / (0.6 * size)) ** 2))[..., None]
    cells = np.flatnonzero(busy.max(axis=-1).reshape(-1) > 0.02)
    limit = ndimage.gaussian_filter(rng.normal(size=grid), 6, mode="nearest").reshape(-1)[cells]
    limit = 150 + 60 * limit / max(float(np.abs(limit).max()), 1e-9)
    return Roads(cells, busy.reshape(-1, _HEADINGS)[cells], limit)


def _write_day(
    path: Path,
    grid: tuple[int, int],
    city: Roads,
    date: datetime.date,
    rng: np.random.Generator,
) -> None:
    hour = (np.arange(_STEPS) + 0.5) / 12
    free = date.weekday() >= 5
    morning, evening = np.exp(-(((hour - 8) / 1.2) ** 2)), np.exp(-(((hour - 17.5) / 1.8) ** 2))
    awake = 0.05 + 0.5 * np.exp(-(((hour - 14) / 5) ** 2))
    level = awake + (0.15 if free else 0.9) * np.stack([morning, evening])
    # In the morning more go one way, in the evening more come back.
    inward = np.array([1.0, 0.4, 0.6, 1.3])
    level = level[0][:, None] * inward + level[1][:, None] * inward[::-1]
    chunk = (1, *grid, 2 * _HEADINGS)
    with h5py.File(path, "w", libver="latest") as file:
        array = file.create_dataset(
            "array",
            (_STEPS, *chunk[1:]),
            np.uint8,
            chunks=chunk,
            compression="gzip",
            compression_opts=9,
        )
        drift = np.ones((len(city.cells), _HEADINGS))
        frame = np.zeros((grid[0] * grid[1], 2 * _HEADINGS), np.uint8)
        for step in range(_STEPS):
            # Jams come and go within an hour.
            drift += 0.1 * (1 - drift) + rng.normal(0, 0.08, drift.shape)
            expected = 0.5 * city.busy * level[step] * np.clip(drift, 0.2, 2)
            probes = rng.poisson(expected)
            slow = 1 / (1 + 0.6 * expected)
            speed = city.limit[:, None] * slow * rng.normal(1, 0.06, probes.shape)
            is_road_used = probes > 0
            frame[city.cells, 0::2] = np.minimum(8 * probes, 255)
            frame[city.cells, 1::2] = np.where(is_road_used, np.clip(speed, 1, 255), 0)
            # Packed here with little effort: at level 9 packing would take nearly all the time.
            array.id.write_direct_chunk((step, 0, 0, 0), zlib.compress(frame.tobytes(), 1))
