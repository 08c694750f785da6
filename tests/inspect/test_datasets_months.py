"""Months of the ocean that are shown in advance: errors are those computed by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.data.zarr_write import SequentialWriter, create_array, create_group
from stp.inspect import months
from stp.prepare.output import write_coordinate

MEANS = {1: 10.0, 2: 13.0, 3: 17.0}
"""Of each month, of the second variable; the first one is no ocean."""


def prepared(folder: Path, shown: str = "published") -> Prepared:
    """1 January to 31 March; windows of 1 + 3 days from every day on."""
    days = np.arange("2022-01-01", "2022-04-01", dtype="datetime64[D]")
    about = {"shape": [2, 2, 3], "context": 1, "horizon": 3, "variables": ["t_850", "sosstsst"]}
    about["conventions"] = {"month of the ocean": shown}
    group = create_group(folder / "frames.zarr", {**about, "source": "synthetic", "units": "x"})
    dims = ("frame", "channel", "y", "x")
    array = create_array(group, "frames", (len(days), 2, 2, 3), np.float32, dims, (1, 2, 2, 3))
    fields = np.full((len(days), 2, 2, 3), np.nan, np.float32)
    fields[:, 0] = 280
    fields[:, 1, :, :2] = [[[MEANS[int(str(day)[5:7])]]] for day in days]  # the rest is land
    with SequentialWriter(array) as writer:
        writer.append(fields)
    hours = days.astype("datetime64[h]").astype(np.int64)
    write_coordinate(group, "time", "frame", hours, units="hours since 1970-01-01")
    write_coordinate(group, "lat", "y", np.array([45.0, -45.0]), units="degrees_north")
    n = len(days) - 3
    index = {"split": "test", "clip": days[:n].astype(str), "start": np.arange(n), "stride": 1}
    index |= {"length": 4, "cluster": days[:n].astype(str), "phase": 0}
    pd.DataFrame(index).to_parquet(folder / "index.parquet")
    return Prepared(folder)


def test_errors_of_persistence_from_the_own_month_and_the_one_before(tmp_path: Path) -> None:
    found = months.measure_prepared(prepared(tmp_path), "d", "synthetic", ["sosstsst"])
    effects = {effect.days: effect for effect in found.effects}
    assert {effect.variable for effect in found.effects} == {"sosstsst"}
    # Starts in February and on 1 to 28 March; January has no month before it.
    assert {days: effect.starts for days, effect in effects.items()} == {
        **{"all": 28 + 28, "1-10": 20, "11-20": 20, "21-31": 8 + 8},
    }
    first, last = effects["1-10"], effects["21-31"]
    assert first.published == 0 and first.gain == 1
    assert first.lagged == pytest.approx(np.sqrt((3**2 + 4**2) / 2))
    # Of 8 starts from 21 February on, 1 + 2 + 3 of 24 days lie in March.
    assert last.published == pytest.approx(np.sqrt(6 * 4**2 / 48))
    assert last.lagged == pytest.approx(np.sqrt((18 * 3**2 + 6 * 7**2 + 24 * 4**2) / 48))
    text = "\n".join(months.lines(found, 120))
    assert "100.0 %" in text


def test_months_that_are_lagged_already_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StpError, match=r"1 .*lagged"):
        months.measure_prepared(prepared(tmp_path, "lagged"), "d", "synthetic", ["sosstsst"])
