"""TaxiBJ from small files made here, and what the published numbers say about the rule."""

import datetime
from collections import Counter
from itertools import chain

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.datasets.taxibj import reader as taxibj
from stp.datasets.taxibj.reader import (
    SLOTS,
    Stretch,
    TaxiBJOptions,
    count,
    cut_windows,
    find_series,
    run,
)
from stp.prepare.planned_counts import Lists

SHAPE = [2, 2, 3]
OPTIONS = {"clips": {"val": 40, "test": 60}}


def slots(first, days):
    """Text of all half hours of some days, as [day][half hour]."""
    begin = datetime.date.fromisoformat(first)
    return [
        [f"{begin + datetime.timedelta(days=d):%Y%m%d}{s:02d}" for s in range(1, SLOTS + 1)]
        for d in range(days)
    ]


def write(root, year, dates, data=None, **arrays):
    (root / "taxibj").mkdir(parents=True, exist_ok=True)
    if data is None:  # the day of the month, and the half hour
        data = np.zeros((len(dates), *SHAPE))
        data[:, 0] = np.array([int(d[6:8]) for d in dates])[:, None, None]
        data[:, 1] = np.array([int(d[8:]) for d in dates])[:, None, None] + [0, 0.25, 0.5]
    with h5py.File(root / f"taxibj/BJ{year}_M32x32_T30_InOut.h5", "w") as file:
        file["date"] = np.array(dates, "S10")
        file["data"] = data
        for name, values in arrays.items():
            del file[name]
            file[name] = values


@pytest.fixture
def dates():
    """Four days in 2013, the second without two half hours; four in 2014, the second absent."""
    first = slots("2013-07-30", 4)
    del first[1][10:12]
    second = slots("2014-03-01", 4)
    second[1] = []
    return list(chain(*first)), list(chain(*second))


@pytest.fixture
def raw(tmp_path, dates, monkeypatch):
    monkeypatch.setattr(taxibj, "FILES", taxibj.FILES[:2])
    root = tmp_path / "raw"
    write(root, 13, dates[0])
    write(root, 14, dates[1])
    return root


def test_windows_lie_in_unbroken_complete_days(make_job, raw):
    job = make_job("taxibj", SHAPE, OPTIONS, units="1/(30 min)")
    extras = run(job)
    # 2013: 30 July | 1 and 2 August; 2014: 1 March | 3 and 4 March
    assert extras["stretches"] == 4
    assert extras["frames"] == (1 + 2 + 1 + 2) * SLOTS
    windows = 2 * (48 - 2) + 2 * (96 - 2)
    assert extras["clips"] == {"train": windows - 100, "val": 40, "test": 60, "strict": 46}
    data = Prepared(job.out)
    numbers = []
    for split in ("train", "val", "test"):
        clips = data.clips(split)
        frames = clips.read(range(len(clips)))
        assert frames.shape[1:] == (3, *SHAPE)
        np.testing.assert_array_equal(np.diff(frames[:, :, 1, 0, 0], axis=1) % SLOTS, 1)
        np.testing.assert_array_equal(frames[:, 0, 1, 0, 0] - 1, clips.phases(range(len(clips))))
        assert [f"{int(day):02d}" for day in frames[:, 0, 0, 0, 0]] == [
            cluster[-2:] for cluster in clips.index["cluster"]
        ]
        numbers += clips.index["start"].tolist()
    assert numbers == sorted(set(numbers)) and len(numbers) == windows
    np.testing.assert_array_equal(
        data.clips("train").read([5])[0, 1, 1], [[7, 7.25, 7.5], [7, 7.25, 7.5]]
    )
    # The last windows of 2014: 96 half hours of the 3rd and 4th of March.
    test = data.clips("test").index
    assert test["clip"].iloc[-1] == "2014-03-04/half-hour-46"
    assert data.attrs["normalisation"]["scale"] == 1250
    assert data.attrs["phases"] == SLOTS


def test_all_half_hours_where_days_need_not_be_complete(make_job, raw):
    job = make_job("taxibj", SHAPE, {**OPTIONS, "complete_days": False})
    extras = run(job)
    # 30 July up to the gap | from there to 2 August | 1 March | 3 and 4 March
    assert extras["stretches"] == 4
    assert extras["frames"] == 4 * SLOTS - 2 + 3 * SLOTS
    first = Prepared(job.out).index["clip"]
    assert "2013-07-31/half-hour-08" in set(first)
    assert not {f"2013-07-31/half-hour-{n:02d}" for n in (9, 10, 11, 12)} & set(first)


def test_strict_windows_share_no_day_with_others(make_job, raw):
    def prepared(test):
        job = make_job("taxibj", SHAPE, {"clips": {"val": 20, "test": test}})
        run(job)
        return Prepared(job.out).index

    index = prepared(48)
    # The test begins on 3 March, a day that validation reaches into, but not behind.
    assert set(index[index["split"] == "test"]["cluster"]) == {"2014-03-03", "2014-03-04"}
    strict = index[index["split"] == "strict"]
    assert set(strict["cluster"]) == {"2014-03-04"}
    assert len(strict) == 46
    # One window fewer, and the last one for validation ends on 4 March.
    assert "strict" not in set(prepared(47)["split"])


def test_it_opens_in_xarray_with_time_and_names(make_job, raw):
    job = make_job("taxibj", SHAPE, OPTIONS)
    run(job)
    data = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None)
    frames = data["frames"]
    assert frames.attrs["units"] == "1/(30 min)"
    assert frames["variable"].values.tolist() == ["inflow", "outflow"]
    time = pd.DatetimeIndex(frames["time"].values)
    assert time[0] == pd.Timestamp("2013-07-30 00:00")
    assert time[49] == pd.Timestamp("2013-08-01 00:30")
    assert time[-1] == pd.Timestamp("2014-03-04 23:30")
    one = frames[np.flatnonzero(time == pd.Timestamp("2014-03-03 10:30"))[0]]
    assert one.values[:, 0, 0].tolist() == [3, 22]


def test_counting_without_files(make_job, raw, tmp_path):
    job = make_job("taxibj", SHAPE, OPTIONS)
    planned = count(job.recipe, Lists([tmp_path / "nothing"]))
    assert list(planned.clips) == []
    assert planned.numbers == {"val": 40, "test": 60}
    assert set(planned.unknown) == {"train", "strict"}


def test_the_published_number_of_clips_fits_the_rule():
    """445 complete days (log of the authors' code) in 57 stretches have 20,961 windows of 8."""
    rng = np.random.default_rng(0)
    ends = np.sort(rng.choice(np.arange(1, 445), 56, replace=False))
    lengths = np.diff([0, *ends.tolist(), 445])
    day, stretches = 0, []
    for length in lengths.tolist():
        stretches.append(Stretch("f", 0, length * SLOTS, day * SLOTS))
        day += length + 1
    clips = cut_windows(stretches, TaxiBJOptions(), 8)
    numbers = Counter(c.split for c in clips)
    assert (numbers["train"], numbers["val"], numbers["test"]) == (19961, 500, 500)


def test_unbroken_finds_rows_of_the_file():
    found = np.array([47, *range(48, 96), *range(144, 192), 193])
    assert list(find_series(found, True)) == [(1, 48, 48), (49, 48, 144)]
    assert list(find_series(found, False)) == [(0, 49, 47), (49, 48, 144), (97, 1, 193)]


@pytest.mark.parametrize(
    ("row", "text", "message"),
    [
        (5, "2013073005", "date 5 .*2013073005.*2013073005"),
        (5, "2013073004", "date 5 .*2013073004.*2013073005"),
        (5, "2013073049", "date 5 .*2013073049"),
        (5, "2013073000", "date 5 .*2013073000"),
        (5, "2013023001", "date 5 .*2013023001"),
        (5, "yesterday!", "date 5 .*yesterday!"),
        (5, "20130730", "date 5 .*20130730"),
    ],
)
def test_dates_that_are_wrong(make_job, raw, dates, row, text, message):
    wrong = list(dates[0])
    wrong[row] = text
    write(raw, 13, wrong, np.ones((len(wrong), *SHAPE)))
    with pytest.raises(StpError, match=message) as caught:
        run(make_job("taxibj", SHAPE, OPTIONS))
    assert "BJ13_M32x32_T30_InOut.h5" in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 1e300])
def test_values_that_are_no_flows(make_job, raw, dates, value):
    data = np.ones((len(dates[0]), *SHAPE))
    data[100, 1, 1, 1] = value
    write(raw, 13, dates[0], data)
    with pytest.raises(StpError, match=r"BJ13_.*row 100"):
        run(make_job("taxibj", SHAPE, OPTIONS))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"data": np.ones((5, 2, 2, 3))}, r"data .*\(5, 2, 2, 3\)"),
        ({"data": np.ones((191, 2, 2, 3))}, r"data .*\(191, 2, 2, 3\)(.|\n)*190"),
        ({"data": np.ones((190, 2, 3, 3))}, r"data .*\(190, 2, 3, 3\)"),
        ({"data": np.ones((190, 2, 6))}, r"data .*float64.*\(190, 2, 6\)"),
        ({"data": np.ones((190, 2, 2, 3), "i4")}, "data .*int32"),
        ({"date": np.arange(190)}, "date .*int64"),
        ({"date": np.array([], "S10")}, "BJ13_"),
    ],
)
def test_arrays_of_another_kind(make_job, raw, dates, arrays, message):
    assert len(dates[0]) == 190
    write(raw, 13, dates[0], **arrays)
    with pytest.raises(StpError, match=message):
        run(make_job("taxibj", SHAPE, OPTIONS))


def test_a_file_under_the_name_of_another(make_job, raw, dates):
    write(raw, 14, dates[0])
    with pytest.raises(StpError, match=r"BJ14_.*BJ13_"):
        run(make_job("taxibj", SHAPE, OPTIONS))
