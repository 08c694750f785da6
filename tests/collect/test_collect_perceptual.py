"""Scores that look through networks have an artefact of their own, and stand beside the others."""

import csv
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from asking import ask
from small_store import SmallStore, built

from stp.collect.scores import collect
from stp.core.errors import StpError
from stp.render.tables.paper_table import render_table


@pytest.fixture
def store(tmp_path: Path) -> SmallStore:
    """One cell with LPIPS and one without, whose weights were not there."""
    store = SmallStore(tmp_path)
    lpips = {"lpips.alex": {"mean": 0.05, "leads": [0.04, 0.06]}}
    ssim = {"ssim.range2": {"mean": 0.5}}
    store.add("persistence", "moving_mnist", ssim, perceptual=lpips)
    store.add("convlstm", "moving_mnist", {"ssim.range2": {"mean": 0.9}}, seed=0)
    return store


def test_the_table_shows_them_in_one_row(store: SmallStore) -> None:
    database = built(store)
    render_table(store.folder / "manifest.json", database, store.folder / "table.csv")
    with (store.folder / "table.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    assert (first["SSIM"], first["LPIPS"]) == ("0.5", "0.05")
    assert (second["SSIM"], second["LPIPS"]) == ("0.9", "")
    assert "LPIPS: metric not available yet" in second["notes"]
    assert "LPIPS" not in first["notes"]


def test_each_score_names_the_artefact_that_it_comes_from(store: SmallStore) -> None:
    database = built(store)
    found = ask(
        database,
        "SELECT DISTINCT convention, a.path LIKE '%/perceptual/%' FROM scores s "
        "JOIN artefacts a ON a.fingerprint = s.scores_fingerprint "
        "WHERE model = 'persistence' ORDER BY 1",
    )
    assert found == [("lpips.alex", True), ("ssim.range2", False)]
    named = ask(database, "SELECT model, perceptual_fingerprint FROM cells ORDER BY 1")
    assert named == [("convlstm", None), ("persistence", "c" + "0" * 15)]


def test_a_sample_is_one_row_with_all_its_scores(store: SmallStore) -> None:
    database = built(store)
    found = ask(
        database,
        'SELECT model, clip, "ssim.range2", "lpips.alex" FROM sample_scores ORDER BY ALL',
    )
    assert found == [
        ("convlstm", "clip0", [0.5, 0.0], None),
        ("convlstm", "clip1", [0.5, 0.25], None),
        ("persistence", "clip0", [0.5, 0.0], [0.5, 0.0]),
        ("persistence", "clip1", [0.5, 0.25], [0.5, 0.25]),
    ]


def test_a_missing_or_older_artefact_leaves_no_silent_gap(store: SmallStore) -> None:
    database = built(store)
    folder = Path(store.cells[0]["perceptual"])
    store.cells[0]["perceptual"] = str(folder.with_name("c" + "1" * 15))
    store.write()
    with pytest.raises(StpError, match="no rows"):
        render_table(store.folder / "manifest.json", database, store.folder / "table.csv")
    with pytest.raises(StpError, match="c1111"):
        collect(store.folder / "manifest.json", store.folder / "again.parquet")


def test_damage_is_named(store: SmallStore) -> None:
    path = Path(store.cells[0]["perceptual"]) / "scores.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["reason"]), path)
    with pytest.raises(StpError, match="perceptual"):
        collect(store.write(), store.folder / "rows.parquet")
