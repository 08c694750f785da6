"""Generate a synthetic version of TaxiBJ: flows of taxis in a city, every half hour.

Files, arrays, types, dates and periods are those of the official release (Zhang, Zheng and Qi
2017): the four ``BJ<year>_M32x32_T30_InOut.h5`` with ``date`` and ``data``, in which some days and
half hours are missing, ``BJ_Meteorology.h5`` and ``BJ_Holiday.txt``. Arrays are not compressed,
since the size of the official files (0.35 GB) is about that of uncompressed data.

A city has centres of work and of living. On working days, taxis flow to work in the morning and
back in the evening; at weekends and on holidays, flows are later and smaller. Rain reduces flows,
and deviations persist into the next half hour. Flows are integers.
"""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import h5py
import numpy as np
from pydantic import Field, NonNegativeInt, PositiveInt
from scipy import signal

from stp.core.job import Report
from stp.core.options import build, require

PERIODS = (
    (13, datetime.date(2013, 7, 1), 121),
    (14, datetime.date(2014, 3, 1), 118),
    (15, datetime.date(2015, 3, 1), 122),
    (16, datetime.date(2015, 11, 1), 162),
)
"""For each official file, the year in its name, its first day and its number of days."""
HOLIDAYS = ((1, 1), (5, 1), (5, 2), (5, 3), (10, 1), (10, 2), (10, 3), (10, 4), (10, 5))
_SLOTS, _WEATHERS = 48, 17


@dataclass(frozen=True)
class TaxiBJOptions:
    """Options of the generator; the defaults give files as large as the official ones (0.4 GB).

    Attributes:
        days: number of days of each of the four files, including missing days.
        grid: numbers of rows and columns.
        absent: share of missing days.
        incomplete: share of days that lack some half hours.
        seed: seed of all random numbers.
    """

    days: tuple[PositiveInt, ...] = tuple(days for _, _, days in PERIODS)
    grid: tuple[Annotated[int, Field(ge=4)], Annotated[int, Field(ge=4)]] = (32, 32)
    absent: Annotated[float, Field(ge=0, lt=0.5)] = 0.1
    incomplete: Annotated[float, Field(ge=0, lt=0.5)] = 0.07
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        most = [days for _, _, days in PERIODS]
        ok = len(self.days) == len(most)
        # A longer file would reach into the next one.
        ok = ok and all(n <= limit for n, limit in zip(self.days, most, strict=True))
        require(ok, "days", self.days, f"four numbers, at most {', '.join(map(str, most))}")


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write the four files of flows, the weather and the holidays below ``taxibj``.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(TaxiBJOptions, options, "generator options")
    folder = out / "taxibj"
    folder.mkdir(parents=True)
    city = _city(chosen.grid, np.random.default_rng([chosen.seed, 0]))
    weathers: list[dict[str, np.ndarray]] = []
    for number, ((year, first, _), days) in enumerate(zip(PERIODS, chosen.days, strict=True)):
        rng = np.random.default_rng([chosen.seed, year])
        dates = _dates(first, days)
        weather = _weather(dates, first, rng)
        weathers.append(weather)
        wet = weather["Weather"][:, 3:14].sum(axis=1) > 0
        data = _flows(first, days, wet, city, rng)
        kept = _draw_present_mask(days, chosen, rng)
        with h5py.File(folder / f"BJ{year}_M32x32_T30_InOut.h5", "w") as file:
            file["data"] = data[kept]
            file["date"] = dates[kept]
        report("generate periods", number + 1, len(PERIODS))
    with h5py.File(folder / "BJ_Meteorology.h5", "w") as file:
        for name in weathers[0]:
            file[name] = np.concatenate([weather[name] for weather in weathers])
    lines = [f"{y}{m:02d}{d:02d}\n" for y in range(2013, 2017) for m, d in HOLIDAYS]
    (folder / "BJ_Holiday.txt").write_text("".join(lines), encoding="ascii")


def _dates(first: datetime.date, days: int) -> np.ndarray:
    """Text ``yyyymmddSS`` of all half hours."""
    texts = [
        f"{first + datetime.timedelta(days=day):%Y%m%d}{slot:02d}"
        for day in range(days)
        for slot in range(1, _SLOTS + 1)
    ]
    return np.array(texts, "S10")


def _draw_present_mask(days: int, chosen: TaxiBJOptions, rng: np.random.Generator) -> np.ndarray:
    """Mask of the half hours that are kept; missing days come in small groups, not at the ends."""
    kept = np.ones((days, _SLOTS), bool)
    inner = np.arange(1, days - 1)
    for day in rng.permutation(inner)[: round(chosen.absent * days / 2)]:
        kept[day : min(day + int(rng.integers(1, 4)), days - 1)] = False
    for day in rng.permutation(inner)[: round(chosen.incomplete * days)]:
        slot = int(rng.integers(1, _SLOTS - 4))
        kept[day, slot : slot + int(rng.integers(1, 8))] = False
    return kept.reshape(-1)


def _city(grid: tuple[int, int], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Densities of work and of living, (rows, columns) each, with maximum 1."""
    y, x = np.meshgrid(*(np.linspace(-1, 1, n) for n in grid), indexing="ij")
    fields = []
    for centres, width in ((4, 0.22), (9, 0.35)):
        field = 0.02 * np.ones(grid)
        for _ in range(centres):
            cy, cx = rng.normal(0, width * 1.2, 2)
            size = width * rng.uniform(0.6, 1.2)
            field += rng.uniform(0.3, 1) * np.exp(-((y - cy) ** 2 + (x - cx) ** 2) / size**2)
        fields.append(field / field.max())
    return fields[0], fields[1]


def _flows(
    first: datetime.date,
    days: int,
    wet: np.ndarray,
    city: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
) -> np.ndarray:
    """Inflow and outflow, float64 (half hours, 2, rows, columns), taxis per half hour."""
    work, home = city
    hour = np.tile((np.arange(_SLOTS) + 0.5) / 2, days)
    date = [first + datetime.timedelta(days=day) for day in range(days)]
    free = np.repeat([d.weekday() >= 5 or (d.month, d.day) in HOLIDAYS for d in date], _SLOTS)

    def rush(centre: float, width: float) -> np.ndarray:
        return np.exp(-(((hour - centre) / width) ** 2))

    awake = 0.08 + 1 / (1 + np.exp(-(hour - 6.5) * 1.5)) - 1 / (1 + np.exp(-(hour - 23) * 1.2))
    to_work = np.where(free, 0.35 * rush(11, 2.5), rush(8.3, 1.3))
    to_home = np.where(free, 0.6 * rush(18, 3), rush(18.5, 1.8))
    base = awake * np.where(free, 0.75, 1.0) * np.where(wet, 0.85, 1.0)
    # Deviations from the usual flow persist: red noise with a memory of three hours.
    noise = signal.lfilter([1], [1, -0.85], rng.normal(0, 0.04, len(hour)))
    level = 350 * base * np.exp(noise)
    shares = np.stack(
        [
            np.multiply.outer(0.4 + to_work, work) + np.multiply.outer(0.3 + to_home, home),
            np.multiply.outer(0.4 + to_home, work) + np.multiply.outer(0.3 + to_work, home),
        ],
        axis=1,
    )
    return rng.poisson(level[:, None, None, None] * shares).astype(np.float64)


def _weather(
    dates: np.ndarray, first: datetime.date, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """The arrays of ``BJ_Meteorology.h5``."""
    n = len(dates)
    day = first.timetuple().tm_yday + np.arange(n) / _SLOTS
    season = 12 - 15 * np.cos(2 * np.pi * (day - 20) / 365)
    daily = -5 * np.cos(2 * np.pi * (np.arange(n) / _SLOTS - 0.1))
    slow = signal.lfilter([1], [1, -0.99], rng.normal(0, 0.4, n))
    wind = 12 + 3 * signal.lfilter([1], [1, -0.95], rng.normal(0, 1, n))
    kinds = np.repeat(rng.choice(5, -(-n // 12), p=(0.45, 0.25, 0.15, 0.1, 0.05)), 12)[:n]
    return {
        "date": dates,
        "Temperature": np.round(season + daily + slow, 1),
        "WindSpeed": np.round(np.abs(wind), 1),
        "Weather": np.eye(_WEATHERS)[kinds],
    }
