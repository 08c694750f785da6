"""The generated ENSO files have the official layout."""

from pathlib import Path

import netCDF4
import numpy as np
import pytest

from stp.fetch.raw import run_generator

OPTIONS = {"cmip6_models": 2, "cmip6_years": 5, "cmip5_models": 1, "cmip5_years": 4}
ROWS = 2 * 5 + 4


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw") / "made"
    run_generator("enso", OPTIONS, out)
    return out / "enso"


def test_layout_is_the_official_one(made: Path) -> None:
    with netCDF4.Dataset(made / "CMIP_train.nc") as file:
        assert file.data_model == "NETCDF4"
        assert {name: dim.size for name, dim in file.dimensions.items()} == {
            "year": ROWS,
            "month": 36,
            "lat": 24,
            "lon": 72,
        }
        assert {name: variable.dtype.str for name, variable in file.variables.items()} == {
            "sst": "<f4",
            "t300": "<f4",
            "ua": "<f8",
            "va": "<f8",
            "year": "<i4",
            "month": "<i4",
            "lat": "<f8",
            "lon": "<f8",
        }
        for name in ("sst", "t300", "ua", "va"):
            assert file[name].dimensions == ("year", "month", "lat", "lon")
            assert np.isnan(file[name].getncattr("_FillValue"))
        np.testing.assert_array_equal(file["lat"][:], range(-55, 61, 5))
        np.testing.assert_array_equal(file["lon"][:], range(0, 360, 5))
        np.testing.assert_array_equal(file["month"][:], range(1, 37))
        assert not np.ma.is_masked(file["sst"][:])
        assert np.isfinite(file["sst"][:].data).all()
    with netCDF4.Dataset(made / "CMIP_label.nc") as file:
        assert file["nino"].dimensions == ("year", "month")
        assert file["nino"].dtype == np.float64
        assert file["nino"].shape == (ROWS, 36)
        assert np.isnan(file["nino"].getncattr("_FillValue"))


def test_rows_of_a_model_overlap_by_24_months_and_models_do_not(made: Path) -> None:
    with netCDF4.Dataset(made / "CMIP_train.nc") as file:
        fields = {name: file[name][:].data for name in ("sst", "t300", "ua", "va")}
    with netCDF4.Dataset(made / "CMIP_label.nc") as file:
        fields["nino"] = file["nino"][:].data
    for values in fields.values():
        for row in range(ROWS - 1):
            same = np.array_equal(values[row, 12:], values[row + 1, :24])
            assert same == (row not in (4, 9))  # models have rows 0-4, 5-9 and 10-13


def test_the_label_is_the_mean_of_nino34_over_three_months(made: Path) -> None:
    with netCDF4.Dataset(made / "CMIP_train.nc") as file:
        # 5S-5N, 170W-120W; the grid has 24 rows from 55S and 72 columns from 0E, all 5 degrees
        box = file["sst"][:, :, 10:13, 38:49].data.astype(float).mean((2, 3))
    with netCDF4.Dataset(made / "CMIP_label.nc") as file:
        label = file["nino"][:].data
    expected = (box[:, :-2] + box[:, 1:-1] + box[:, 2:]) / 3
    np.testing.assert_allclose(label[:, :34], expected, atol=1e-5)


def test_what_is_missing_is_what_is_missing_officially(tmp_path: Path) -> None:
    options = {"cmip6_models": 15, "cmip6_years": 1, "cmip5_models": 1, "cmip5_years": 1}
    run_generator("enso", options, tmp_path / "raw")
    with netCDF4.Dataset(tmp_path / "raw/enso/CMIP_train.nc") as file:
        missing = {
            name: np.flatnonzero(np.isnan(file[name][:].filled(np.nan)).all((1, 2, 3))).tolist()
            for name in ("sst", "t300", "ua", "va")
        }
    # with 151 rows per model these are the rows 1812-1962 of t300 and 755-1962 of ua and va
    models = list(range(755 // 151, 1963 // 151))
    assert missing == {"sst": [], "t300": [1812 // 151], "ua": models, "va": models}
