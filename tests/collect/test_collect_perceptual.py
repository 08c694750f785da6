"""Scores that look through networks have an artefact of their own, and stand beside the others."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from asking import ask, csv_rows
from small_store import SmallStore, built

from stp.collect.scores import collect
from stp.core.errors import StpError
from stp.render.tables.paper_table import render_table


def with_lpips(folder: Path) -> SmallStore:
    """One cell with LPIPS and one without, whose weights are missing."""
    store = SmallStore(folder)
    lpips = {"lpips.alex": {"mean": 0.05, "leads": [0.04, 0.06]}}
    ssim = {"ssim.range2": {"mean": 0.5}}
    store.add("persistence", "moving_mnist", ssim, perceptual=lpips)
    store.add("convlstm", "moving_mnist", {"ssim.range2": {"mean": 0.9}}, seed=0)
    return store


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(with_lpips(tmp_path_factory.mktemp("perceptual")))


def test_the_table_shows_them_in_one_row(database: Path, tmp_path: Path) -> None:
    render_table(database.with_name("manifest.json"), database, tmp_path / "table.csv")
    first, second = csv_rows(tmp_path / "table.csv")
    assert (first["SSIM"], first["LPIPS"]) == ("0.5", "0.05")
    assert (second["SSIM"], second["LPIPS"]) == ("0.9", "")
    assert "LPIPS" in second["notes"] and "LPIPS" not in first["notes"]


def test_each_score_names_the_artefact_that_it_comes_from(database: Path) -> None:
    found = ask(
        database,
        "SELECT DISTINCT convention, a.path LIKE '%/perceptual/%' FROM scores s "
        "JOIN artefacts a ON a.fingerprint = s.scores_fingerprint "
        "WHERE model = 'persistence' ORDER BY 1",
    )
    assert found == [("lpips.alex", True), ("ssim.range2", False)]
    named = ask(database, "SELECT model, perceptual_fingerprint FROM cells ORDER BY 1")
    assert named == [("convlstm", None), ("persistence", "c" + "0" * 15)]


def test_a_sample_is_one_row_with_all_its_scores(database: Path) -> None:
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


def test_a_missing_or_older_artefact_leaves_no_silent_gap(database: Path, tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    text = database.with_name("manifest.json").read_text()
    manifest.write_text(text.replace("c" + "0" * 15, "c" + "1" * 15))
    with pytest.raises(StpError, match="persistence"):
        render_table(manifest, database, tmp_path / "table.csv")
    with pytest.raises(StpError, match="c1111"):
        collect(manifest, tmp_path / "again.parquet")


def test_damage_is_named(tmp_path: Path) -> None:
    store = with_lpips(tmp_path)
    path = Path(store.cells[0]["perceptual"]) / "scores.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["reason"]), path)
    with pytest.raises(StpError, match="perceptual"):
        collect(store.write(), store.folder / "rows.parquet")
