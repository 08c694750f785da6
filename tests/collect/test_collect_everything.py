"""results.duckdb holds every dimension that has been collected, and no table waits for another."""

import shutil
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from asking import ask
from small_store import SmallStore, score_rows, write_receipt

from stp.collect import database, scores
from stp.collect.refresh import build_database, collect_dimension
from stp.core.errors import StpError
from stp.plan.manifest import Cell, Manifest


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """The results of a checkout."""
    return tmp_path / "results"


def collected(results: Path, dimension: str, scale: str = "demo") -> SmallStore:
    """Score one cell of a dimension, and collect it."""
    store = SmallStore(results.parent / dimension)
    store.folder.mkdir(exist_ok=True)
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 0.6}}, seed=0, dimension=dimension)
    store.manifest |= {"dimension": dimension, "scale": scale}
    store.manifest["tables"] = {dimension: store.manifest["tables"]["short_term"]}
    collect_dimension(store.write(), results / "collected" / f"{dimension}.parquet")
    return store


def build(results: Path) -> tuple[list[str], dict[str, str]]:
    return build_database(results / "collected", results / "results.duckdb")


def held(results: Path) -> list[str]:
    """The dimensions in the database."""
    sql = "SELECT DISTINCT s.dimension FROM scores s JOIN cells USING (dimension) ORDER BY ALL"
    return [name for (name,) in ask(results / "results.duckdb", sql)]


def test_the_database_grows_with_every_dimension(results: Path) -> None:
    collected(results, "short_term")
    assert build(results) == (["short_term"], {})
    collected(results, "robustness")
    assert build(results) == (["robustness", "short_term"], {})
    assert held(results) == ["robustness", "short_term"]


def test_what_a_dimension_was_collected_from_counts_not_what_the_plan_asks_for_now(
    results: Path,
) -> None:
    store = collected(results, "short_term")
    store.add("simvpv2", "enso", {}, seed=0, scored=False)
    store.write()  # a new manifest, with a cell that is still to be scored
    assert build(results) == (["short_term"], {})


def test_dimensions_of_another_scale_are_left_out(results: Path) -> None:
    collected(results, "short_term", scale="demo")
    collected(results, "robustness", scale="paper")
    dimensions, left_out = build(results)
    assert dimensions == ["robustness"] and "demo" in left_out["short_term"]
    assert held(results) == ["robustness"]


def test_an_older_dimension_whose_artefacts_were_cleaned_away_hinders_no_other(
    results: Path,
) -> None:
    old = collected(results, "short_term")
    collected(results, "robustness")
    shutil.rmtree(old.cells[0]["predictions"])
    dimensions, left_out = build(results)
    assert dimensions == ["robustness"] and "1 artefact" in left_out["short_term"]


def test_the_dimension_that_was_collected_last_has_to_be_whole(results: Path) -> None:
    collected(results, "short_term")
    last = collected(results, "robustness")
    shutil.rmtree(last.cells[0]["predictions"])
    with pytest.raises(StpError, match="predictions"):
        build(results)


def test_rows_whose_collection_failed_do_not_count(results: Path) -> None:
    store = collected(results, "short_term")
    shutil.rmtree(store.cells[0]["scores"])
    with pytest.raises(StpError):
        collect_dimension(store.write(), results / "collected" / "short_term.parquet")
    with pytest.raises(StpError, match="collected"):
        build(results)


@pytest.mark.long(part="processes")
def test_two_that_build_at_once_leave_a_database_with_the_rows_of_both(results: Path) -> None:
    dimensions = ["generalization", "long_term", "robustness", "short_term"]

    def work(dimension: str) -> None:
        collected(results, dimension)
        build(results)

    threads = [threading.Thread(target=work, args=(name,)) for name in dimensions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert held(results) == dimensions


def score_again(store: SmallStore, value: float, number: int = 0) -> None:
    """Make the scores of a cell again under the same fingerprint, with another value."""
    cell = store.cells[number]
    folder = Path(cell["scores"])
    rows = score_rows(cell["key"], {"rmse.per_frame": {"mean": value}})
    pq.write_table(rows, folder / "scores.parquet")
    write_receipt(folder, "score", extras={"made": value})


def numbers(results: Path) -> list[tuple[str, float, int]]:
    """Model, value and rank, of the two tables that have them."""
    sql = (
        "SELECT model, value, rank FROM scores JOIN ranks USING (model, convention) "
        "WHERE convention = 'rmse.per_frame' ORDER BY model"
    )
    return ask(results / "results.duckdb", sql)


@pytest.fixture
def rivals(results: Path) -> SmallStore:
    """Two models that were collected, and are in the database."""
    store = collected(results, "short_term")
    store.add("persistence", "enso", {"rmse.per_frame": {"mean": 0.5}})
    collect_dimension(store.write(), results / "collected" / "short_term.parquet")
    build(results)
    assert numbers(results) == [("convlstm", 0.6, 2), ("persistence", 0.5, 1)]
    return store


def test_scores_that_were_made_again_bring_their_ranks(results: Path, rivals: SmallStore) -> None:
    score_again(rivals, 0.1)
    collect_dimension(rivals.write(), results / "collected" / "short_term.parquet")
    build(results)
    assert numbers(results) == [("convlstm", 0.1, 1), ("persistence", 0.5, 2)]


def test_scores_that_were_made_again_since_they_were_collected_are_collected_again(
    results: Path, rivals: SmallStore
) -> None:
    score_again(rivals, 0.1)
    build(results)
    assert numbers(results) == [("convlstm", 0.1, 1), ("persistence", 0.5, 2)]


def test_scores_that_are_made_again_while_they_are_read_are_not_mixed(
    results: Path, rivals: SmallStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = scores.collect_rows

    def slowly(plan: Manifest, cell: Cell) -> pa.Table:
        found = read(plan, cell)
        if cell.key.model == "persistence":  # the other one has been read
            score_again(rivals, 0.1)
            score_again(rivals, 0.7, 1)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(scores, "collect_rows", slowly)
        collect_dimension(rivals.write(), results / "collected" / "short_term.parquet")
    build(results)
    assert numbers(results) == [("convlstm", 0.1, 1), ("persistence", 0.7, 2)]


def test_scores_that_are_made_again_while_the_database_is_built_leave_the_last_one(
    results: Path, rivals: SmallStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute = database.standings

    def slowly(*given: Any) -> Any:
        score_again(rivals, 0.1)
        return compute(*given)

    score_again(rivals, 0.2)
    with monkeypatch.context() as patched:
        patched.setattr(database, "standings", slowly)
        with pytest.raises(StpError, match="again"):
            build(results)
    assert numbers(results) == [("convlstm", 0.6, 2), ("persistence", 0.5, 1)]
    build(results)
    assert numbers(results) == [("convlstm", 0.1, 1), ("persistence", 0.5, 2)]


def test_an_older_dimension_whose_scores_cannot_be_collected_again_hinders_no_other(
    results: Path,
) -> None:
    old = collected(results, "short_term")
    collected(results, "robustness")
    score_again(old, 0.1)
    Path(old.cells[0]["scores"], "scores.parquet").write_text("damaged")
    held_now, left_out = build(results)
    assert held_now == ["robustness"] and "scores.parquet" in left_out["short_term"]
