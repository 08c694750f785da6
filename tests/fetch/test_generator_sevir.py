"""The generated SEVIR files have the official layout."""

from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest

from stp.fetch.raw import run_generator

OPTIONS = {"years": [2018, 2019], "events": 3, "size": 16}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("raw") / "made"
    run_generator("sevir", OPTIONS, out)
    return out / "sevir"


def test_names_of_the_files_are_official_ones(made: Path) -> None:
    names = sorted(p.relative_to(made).as_posix() for p in made.rglob("*") if p.is_file())
    periods = [
        *("RANDOMEVENTS_{}_0101_0430", "RANDOMEVENTS_{}_0501_0831", "RANDOMEVENTS_{}_0901_1231"),
        *("STORMEVENTS_{}_0101_0630", "STORMEVENTS_{}_0701_1231"),
    ]
    expected = [
        f"data/vil/{year}/SEVIR_VIL_{period.format(year)}.h5"
        for year in (2018, 2019)
        for period in periods
    ]
    assert names == ["CATALOG.csv", *expected]


def test_files_hold_what_official_ones_hold(made: Path) -> None:
    path = made / "data/vil/2018/SEVIR_VIL_STORMEVENTS_2018_0101_0630.h5"
    with h5py.File(path) as file:
        assert sorted(file) == ["id", "vil"]
        assert file["vil"].shape == (3, 16, 16, 49) and file["vil"].dtype == np.uint8
        assert file["vil"].chunks is None and file["vil"].compression is None
        assert file["id"].shape == (3,) and file["id"].dtype.kind == "S"
        assert all(name.startswith(b"S") for name in file["id"][:])


def test_the_catalogue_has_the_official_columns_and_fits_the_files(made: Path) -> None:
    text = (made / "CATALOG.csv").read_text()
    assert text.splitlines()[0] == (
        "id,file_name,file_index,img_type,time_utc,minute_offsets,episode_id,event_id,event_type,"
        "llcrnrlat,llcrnrlon,urcrnrlat,urcrnrlon,proj,size_x,size_y,height_m,width_m,"
        "data_min,data_max,pct_missing"
    )
    table = pd.read_csv(made / "CATALOG.csv", parse_dates=["time_utc"])
    assert set(table["img_type"]) == {"vil", "ir107"} and len(table) == 2 * 10 * 3
    offsets = ":".join(str(minutes) for minutes in range(-120, 121, 5))
    assert (table["minute_offsets"] == offsets).all()
    assert (table["proj"].str.strip() == "+proj=laea +lat_0=38 +lon_0=-98 +units=m +a=6370997.0 "
            "+ellps=sphere").all()  # fmt: skip
    vil = table[table["img_type"] == "vil"]
    assert vil["id"].is_unique and (vil["event_type"].isna() == vil["id"].str.startswith("R")).all()
    for name, rows in vil.groupby("file_name"):
        first, last = (f"{name[-12:-8]}-{d[:2]}-{d[2:]}" for d in name[:-3].split("_")[-2:])
        year = int(name.split("/")[1])
        days = rows["time_utc"].dt.strftime("%m-%d")
        assert (rows["time_utc"].dt.year == year).all()
        assert (days >= first[-5:]).all() and (days <= last[-5:]).all()
        with h5py.File(made / "data" / name) as file:
            for row in rows.itertuples():
                assert file["id"][row.file_index].decode() == row.id
                pictures = file["vil"][row.file_index]
                assert row.pct_missing == pytest.approx(100 * (pictures == 255).mean())
                assert row.data_max == pictures[pictures != 255].max()
    assert 0 < (vil["pct_missing"] > 0).sum() < len(vil) / 2
