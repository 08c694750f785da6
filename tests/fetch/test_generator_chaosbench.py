"""The generated world of ChaosBench: a perfect centre forecasts what happens, others drift."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from stp.core.job import report_nothing
from stp.data.daily_fields import date_of, open_group
from stp.data.tar_stream import folders
from stp.datasets.chaosbench import centre as chaosbench_centre
from stp.datasets.chaosbench import generator as chaosbench
from stp.datasets.chaosbench import learned as chaosbench_learned
from stp.datasets.chaosbench.chaotic_waves import Atmosphere, truth

WORLD = {"degrees": 45, "levels": [500, 700], "first_year": 2020, "variables": ["z", "t", "w"]}
CENTRE = {**WORLD, "centre": "ukmo", "starts": ["2020-01-01", "2020-01-03"], "missing": 0}


def read(root: Path) -> dict[str, xr.Dataset]:
    parts = sorted(root.rglob("*.tar.gz.*"))
    return {
        str(date_of(folder.name)): open_group(folder).load()
        for folder in folders(parts, lambda name: True, suffix=".zarr")
    }


def forecasts(root: Path, **options: Any) -> dict[str, xr.Dataset]:
    chaosbench_centre.generate(root, {**CENTRE, **options}, report_nothing)
    return read(root)


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> dict[str, xr.Dataset]:
    root = tmp_path_factory.mktemp("days")
    chaosbench.generate(root, {**WORLD, "years": [2020], "days": 30}, report_nothing)
    return read(root)


def test_days_have_the_layout_of_the_release(days: dict[str, xr.Dataset]) -> None:
    assert len(days) == 30 and list(days) != sorted(days)
    day = days["2020-01-02"]
    assert {v: day[v].dims for v in "ztw"} == dict.fromkeys(
        "ztw", ("level", "latitude", "longitude")
    )
    assert day["t"].dtype == np.float32 and int(day["time"]) == 18263  # days since 1970
    np.testing.assert_array_equal(day["latitude"], [90, 45, 0, -45, -90])
    assert 240 < float(day["t"].sel(level=500).mean()) < 275
    assert 5200 < float(day["z"].sel(level=500).mean()) < 6100


def test_a_perfect_centre_forecasts_what_happens(
    tmp_path: Path, days: dict[str, xr.Dataset]
) -> None:
    found = forecasts(tmp_path, error=0.0)
    for step in (0, 1, 20):
        day = days[str(np.datetime64("2020-01-02") + step)]
        forecast = found["2020-01-02"].isel(step=step)
        np.testing.assert_array_equal(forecast["t"], day["t"])
        # the release divides geopotential by 9.81, centres by 9.80665
        np.testing.assert_allclose(forecast["z"], day["z"] * (9.81 / 9.80665), rtol=1e-6)


def test_archives_lack_variables_and_starts(tmp_path: Path) -> None:
    found = forecasts(tmp_path, members=2, missing=0.34)
    empty = [start for start, group in found.items() if group["t"].isnull().all()]
    assert len(found) == 3 and len(empty) == 1
    group = found[next(start for start in found if start not in empty)]
    assert group["t"].dims == ("number", "step", "level", "latitude", "longitude")
    assert group.sizes["step"] == 45 and group["number"].to_numpy().tolist() == [1, 2]
    np.testing.assert_array_equal(group["valid_time"], int(group["time"]) + np.arange(45))
    assert group["w"].sel(level=700).isnull().all() and group["w"].sel(level=500).notnull().all()
    assert not np.array_equal(group["t"][0, 0], group["t"][1, 0])


def test_a_trained_model_has_flat_variables_beside_the_grid_and_24_starts(tmp_path: Path) -> None:
    options = {**WORLD, "levels": [10, 500], "model": "panguweather", "lacks": ["w"], "error": 0.0}
    chaosbench_learned.generate(
        tmp_path, options | {"starts": ["2020-01-01", "2020-12-31"]}, report_nothing
    )
    found = read(tmp_path)
    assert len(found) == 24 and {start[-2:] for start in found} == {"01", "15"}
    group = found["2020-01-15"]
    assert set(group.data_vars) - {"time"} == {"t-500", "z-500"}
    assert group["t-500"].dims == ("step", "latitude", "longitude")
    assert group["step"].to_numpy().tolist() == [24 * day for day in range(1, 45)]
    np.testing.assert_allclose(group["latitude"], [71.25, 37.5, 3.75, -30, -63.75])
    np.testing.assert_allclose(group["longitude"], 18.75 + 45 * np.arange(8))
    # Without an error it is what happens, at these points.
    valid = np.array(["2020-01-16"], "datetime64[D]")
    atmosphere = Atmosphere(
        group["latitude"].to_numpy(), group["longitude"].to_numpy(), np.array([500]), ("t",)
    )
    happened = atmosphere.fields(truth(2020, valid, 0), valid)["t"][0, 0]
    np.testing.assert_allclose(group["t-500"][0], happened, rtol=1e-6)
