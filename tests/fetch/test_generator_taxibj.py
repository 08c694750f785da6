"""The generated TaxiBJ files have the official layout, and a city's days and weeks."""

import datetime
from pathlib import Path

import h5py
import numpy as np
import pytest

from stp.fetch.raw import run_generator

OPTIONS = {"days": [28, 10, 10, 14], "grid": [8, 8], "absent": 0.2, "incomplete": 0.2}
FIRST = {13: "20130701", 14: "20140301", 15: "20150301", 16: "20151101"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw") / "made"
    run_generator("taxibj", OPTIONS, out)
    return out / "taxibj"


def test_layout_is_the_official_one(made: Path) -> None:
    assert sorted(p.name for p in made.iterdir()) == [
        *(f"BJ{year}_M32x32_T30_InOut.h5" for year in FIRST),
        "BJ_Holiday.txt",
        "BJ_Meteorology.h5",
    ]
    for year, first in FIRST.items():
        with h5py.File(made / f"BJ{year}_M32x32_T30_InOut.h5") as file:
            assert set(file) == {"data", "date"}
            assert file["date"].dtype == np.dtype("S10")
            assert file["data"].dtype == np.float64
            assert file["data"].shape == (len(file["date"]), 2, 8, 8)
            dates = [date.decode() for date in file["date"]]
            data = file["data"][:]
        assert dates[0] == first + "01"  # yyyymmddSS
        assert dates == sorted(set(dates))
        assert {date[8:] for date in dates} == {f"{slot:02d}" for slot in range(1, 49)}
        assert data.min() >= 0 and np.array_equal(data, np.rint(data))
        days = [date[:8] for date in dates]
        counts = {day: days.count(day) for day in set(days)}
        assert min(counts.values()) < 48 < 49 > max(counts.values())
        span = datetime.date.fromisoformat(days[-1]) - datetime.date.fromisoformat(first)
        assert span.days + 1 > len(counts)  # some days are absent
        assert span.days + 1 == OPTIONS["days"][list(FIRST).index(year)]


def test_weather_and_holidays(made: Path) -> None:
    with h5py.File(made / "BJ_Meteorology.h5") as file:
        n = 48 * sum(OPTIONS["days"])
        assert {name: (a.shape, a.dtype) for name, a in file.items()} == {
            "date": ((n,), np.dtype("S10")),
            "Temperature": ((n,), np.dtype("f8")),
            "WindSpeed": ((n,), np.dtype("f8")),
            "Weather": ((n, 17), np.dtype("f8")),
        }
        assert (file["Weather"][:].sum(axis=1) == 1).all()
        assert -30 < file["Temperature"][:].min() < file["Temperature"][:].max() < 50
    days = (made / "BJ_Holiday.txt").read_text().splitlines()
    assert days == sorted(days) and "20151001" in days
    assert all(datetime.date.fromisoformat(day) for day in days)
