"""Parquet tables of motion, and the check that a file is the one that is meant."""

import hashlib

import duckdb
import numpy as np
import pytest
from crowds import crowd, line, tracks

from stp.core.errors import StpError
from stp.prepare import track_variants as variants
from stp.prepare.track_readers import ewap, trajnetpp
from stp.tracks import errors, tables


def test_tracks_come_back_as_they_were(tmp_path):
    here = tracks((1, 780, line(5)), (2, 786, line(3)))
    tables.write_tracks(tmp_path / "tracks.parquet", here, {"source": "sample"})
    back, about = tables.read_tracks(tmp_path / "tracks.parquet")
    for name in ("frame", "person", "position"):
        np.testing.assert_array_equal(getattr(back, name), getattr(here, name))
    assert (back.step, back.dt, about["source"]) == (6, 0.4, "sample")


def test_a_damaged_table_is_refused(tmp_path):
    path = tmp_path / "tracks.parquet"
    tables.write_tracks(path, tracks((1, 0, line(50))))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StpError, match=r"tracks\.parquet"):
        tables.read_tracks(path)


def test_any_horizon_and_weighting_is_sql():
    scenarios = crowd(scenes=5, people=4)
    predicted = scenarios.future + np.random.default_rng(2).normal(0, 1, scenarios.future.shape)
    found = errors.displacement(predicted, scenarios.future)
    with duckdb.connect() as store:
        store.register("errors", tables.error_table(scenarios, found))
        ((count,),) = store.sql("SELECT count(*) FROM errors").fetchall()
        ((by_scenario,),) = store.sql(
            "SELECT avg(one) FROM"
            " (SELECT avg(error) AS one FROM errors WHERE lead <= 4 GROUP BY scenario)"
        ).fetchall()
        ((last,),) = store.sql("SELECT avg(error) FROM errors WHERE lead = 10").fetchall()
    assert count == scenarios.present.sum() * 10
    assert by_scenario == pytest.approx(errors.by_scenario(errors.ade(found[..., :4])).mean())
    assert last == pytest.approx(np.nanmean(errors.fde(found)))


def test_who_is_in_a_scenario():
    scenarios = crowd(scenes=3, people=4)
    table = tables.scenario_table(scenarios, 6, "strict", 2).to_pylist()
    assert len(table) == scenarios.present.sum()
    assert table[0]["rule"].startswith("strict: ")
    assert table[0] == {
        "scenario": 0, "episode": 0, "person": 0, "person_name": "0", "start_frame": 0,
        "cut_frame": 36, "end_frame": 96, "evaluated": True, "rule": table[0]["rule"],
    }  # fmt: skip


def test_another_file_of_the_same_name_is_told():
    eth = variants.KNOWN["ETH: obsmat.txt of EWAP"].variant
    other = tracks(*[(p, 10 * p, line(2)) for p in range(300)], step=10)
    with pytest.raises(StpError, match=r"600 .*300 .*10 "):
        variants.check(other, eth, "obsmat.txt")


REAL = {
    "ETH: obsmat.txt of EWAP": "opentraj/datasets/ETH/seq_eth/obsmat.txt",
    "ETH: biwi_eth.ndjson of TrajNet++, as Atlas uses it": "atlas_dataset/eth_data/biwi_eth.ndjson",
    "HOTEL: obsmat.txt of EWAP": "opentraj/datasets/ETH/seq_hotel/obsmat.txt",
    "HOTEL: biwi_hotel.ndjson of TrajNet++, as Atlas uses it": (
        "atlas_dataset/eth_data/biwi_hotel.ndjson"
    ),
    "UCY: zara01, obsmat.txt of OpenTraj": "opentraj/datasets/UCY/zara01/obsmat.txt",
    "UCY: zara02, obsmat.txt of OpenTraj": "opentraj/datasets/UCY/zara02/obsmat.txt",
    "UCY: students03, obsmat.txt of OpenTraj": "opentraj/datasets/UCY/students03/obsmat.txt",
}


@pytest.mark.sample_bytes
@pytest.mark.parametrize("name", REAL)
def test_the_real_files_are_recognised(raw_mirror, name):
    path = raw_mirror / "atlas" / REAL[name]
    read = ewap.read if path.suffix == ".txt" else trajnetpp.read
    found = read(path, step=variants.KNOWN[name].variant.step, dt=0.4)
    assert variants.variant_of(found) == variants.KNOWN[name].variant
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert variants.version_title(variants.variant_of(found), sha256) == name
    for other, known in variants.KNOWN.items():
        if other != name:
            with pytest.raises(StpError, match=f"which is {name[:5]}"):
                variants.check(found, known.variant, path.name, sha256)
