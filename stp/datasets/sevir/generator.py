"""Generate a synthetic version of SEVIR: rain cells that drift, grow and fade.

Same as in the official data: ``CATALOG.csv`` with its columns and with rows of several image types;
names and periods of the VIL files; their uncompressed arrays ``id`` (bytes) and ``vil`` (events, y,
x, 49 times) of codes 0..254, 255 for missing values; most pixels are 0; some events have missing
pixels, which the catalogue states.

Different: cells are Gaussian, corners of events are arbitrary, only VIL files are written, and
pictures may be smaller, with pixels of more than 1 km.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import h5py
import numpy as np
import pandas as pd
from pydantic import Field, NonNegativeInt, PositiveInt

from stp.core.job import Report
from stp.core.options import build, require

FRAMES = 49
_RANDOM, _STORM = "RANDOMEVENTS", "STORMEVENTS"
# kind, first and last day of the files of each year; read in a public downloader
_WHOLE = (
    (_RANDOM, "0101", "0430"),
    (_RANDOM, "0501", "0831"),
    (_RANDOM, "0901", "1231"),
    (_STORM, "0101", "0630"),
    (_STORM, "0701", "1231"),
)
PERIODS = {2017: _WHOLE[1:], 2018: _WHOLE, 2019: _WHOLE}
COLUMNS = (
    *("id", "file_name", "file_index", "img_type", "time_utc", "minute_offsets"),
    *("episode_id", "event_id", "event_type", "llcrnrlat", "llcrnrlon", "urcrnrlat", "urcrnrlon"),
    *("proj", "size_x", "size_y", "height_m", "width_m", "data_min", "data_max", "pct_missing"),
)
PROJECTION = "+proj=laea +lat_0=38 +lon_0=-98 +units=m +a=6370997.0 +ellps=sphere "
KILOMETRES = 384
_STORMS = ("Thunderstorm Wind", "Hail", "Flash Flood", "Tornado")
_CELLS = 7  # on average, per event
_INCOMPLETE = 8  # one event in so many lacks pixels


@dataclass(frozen=True)
class SevirOptions:
    """Options of the generator of synthetic SEVIR.

    Attributes:
        years: years, from 2017, 2018 and 2019; splits by date need 2018 and 2019.
        events: number of events in each file; the official files have about 280 (storms) and 2,000
            (random).
        size: height and width of a picture, pixels.
        seed: seed of all random numbers.
    """

    years: tuple[int, ...] = (2018, 2019)
    events: PositiveInt = 4
    size: Annotated[int, Field(ge=8)] = 384
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        ok = 0 < len(set(self.years)) == len(self.years) and set(self.years) <= set(PERIODS)
        require(ok, "years", self.years, "different ones of 2017, 2018, 2019")


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write the catalogue, ``sevir/CATALOG.csv``, and the events, ``sevir/data/vil/<year>/*.h5``.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(SevirOptions, options, "generator options")
    rows: list[dict[str, Any]] = []
    files = [(year, *period) for year in chosen.years for period in PERIODS[year]]
    for number, (year, kind, first, last) in enumerate(files):
        rng = np.random.default_rng([chosen.seed, year, number])
        name = f"vil/{year}/SEVIR_VIL_{kind}_{year}_{first}_{last}.h5"
        begin, end = (pd.Timestamp(f"{year}-{day[:2]}-{day[2:]}") for day in (first, last))
        minutes = np.sort(rng.integers(0, int((end - begin).total_seconds()) // 300, chosen.events))
        path = out / "sevir" / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        ids = []
        with h5py.File(path, "w") as file:
            shape = (chosen.events, chosen.size, chosen.size, FRAMES)
            vil = file.create_dataset("vil", shape, "u1")
            for index in range(chosen.events):
                time = begin + pd.Timedelta(minutes=5 * int(minutes[index]))
                serial = number * chosen.events + index
                letter = f"S{800000 + serial}"
                if kind == _RANDOM:
                    letter = f"R{time:%y%m%d%H%M}{10000 + serial}"
                ids.append(letter.encode())
                pictures = movie(chosen.size, rng, calm=kind == _RANDOM)
                if serial % _INCOMPLETE == _INCOMPLETE - 1:
                    pictures[: chosen.size // 4, :, -3:] = 255
                vil[index] = pictures
                rows += _rows(letter, name, index, time, pictures, rng)
            file.create_dataset("id", data=np.array(ids, "S"))
        report("write storms", number + 1, len(files))
    pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(out / "sevir" / "CATALOG.csv", index=False)


def movie(size: int, rng: np.random.Generator, *, calm: bool = False) -> np.ndarray:
    """Make pictures of rain cells that drift with a common wind, grow and fade.

    Args:
        size: height and width of a picture, pixels.
        rng: generator of all random numbers.
        calm: whether there are fewer and weaker cells.

    Returns:
        pictures, uint8 (size, size, 49), codes 0..254.
    """
    # y and x, sides of the picture per frame, mostly eastward
    wind = rng.normal([0.0, 0.008], 0.010)
    cells = 1 + rng.poisson(_CELLS / 2 if calm else _CELLS)
    at = np.arange(FRAMES)
    axis = (np.arange(size) + 0.5) / size
    field = np.zeros((size, size, FRAMES), np.float32)
    for cell in range(cells):
        # The first one is in the picture when it is strongest.
        near, mid = (0.2, 0.35) if cell == 0 else (0.7, 0.7)
        start, own = rng.uniform(0.5 - near, 0.5 + near, 2), rng.normal(0, 0.002, 2)
        centre = start[:, None] + (wind + own)[:, None] * (at - FRAMES // 2)
        width = rng.uniform(0.02, 0.10, 2)
        peak = FRAMES * rng.uniform(0.5 - mid, 0.5 + mid)
        life = rng.uniform(8, 25)
        strength = rng.uniform(60, 150 if calm else 280) * np.exp(-(((at - peak) / life) ** 2))
        profiles = np.exp(-0.5 * ((axis[:, None, None] - centre.T) / width) ** 2)
        field += np.float32(strength) * profiles[:, None, :, 0] * profiles[None, :, :, 1]
    field[field < 8] = 0  # clear air
    return np.minimum(field, 254).astype(np.uint8)


def _rows(
    name: str,
    file: str,
    index: int,
    time: pd.Timestamp,
    pictures: np.ndarray,
    rng: np.random.Generator,
) -> list[dict[str, Any]]:
    """Make the rows of an event in the catalogue, one per image type."""
    storm = name.startswith("S")
    lat, lon = rng.uniform(28, 44), rng.uniform(-118, -80)
    common = {
        "id": name,
        "time_utc": time.isoformat(sep=" "),
        "minute_offsets": ":".join(str(minutes) for minutes in range(-120, 121, 5)),
        "episode_id": float(rng.integers(110000, 140000)) if storm else "",
        "event_id": float(name[1:]) if storm else "",
        "event_type": str(rng.choice(_STORMS)) if storm else "",
        **{"llcrnrlat": round(lat, 6), "llcrnrlon": round(lon, 6)},
        **{"urcrnrlat": round(lat + 3.4, 6), "urcrnrlon": round(lon + 4.5, 6)},
        "proj": PROJECTION,
        **{"height_m": KILOMETRES * 1000.0, "width_m": KILOMETRES * 1000.0},
    }
    missing = pictures == 255
    vil = {
        **{"file_name": file, "file_index": index, "img_type": "vil"},
        **{"size_x": pictures.shape[1], "size_y": pictures.shape[0]},
        **{"data_min": 0, "data_max": int(pictures[~missing].max())},
        "pct_missing": float(100 * missing.mean()),
    }
    infrared = {
        **{"file_name": file.replace("vil/", "ir107/").replace("VIL", "IR107")},
        **{"file_index": index, "img_type": "ir107", "size_x": 192, "size_y": 192},
        **{"data_min": -6000, "data_max": 2500, "pct_missing": 0.0},
    }
    return [{**common, **infrared}, {**common, **vil}]
