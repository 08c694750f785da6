"""The same inputs give the same content, whatever their order and however many threads."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest
from small_store import SmallStore, suite
from typer.testing import CliRunner

from stp.cli import app
from stp.collect import schema
from stp.collect.artefact_views import KEPT_ROWS
from stp.collect.checksum import checksums
from stp.collect.refresh import build_database, collect_dimension
from stp.collect.views import VIEWS
from stp.core.errors import StpError


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Collected rows of two dimensions, a model with two seeds in each."""
    results = tmp_path / "results"
    for dimension in ("short_term", "robustness"):
        store = SmallStore(tmp_path / dimension)
        store.folder.mkdir()
        store.manifest |= {"dimension": dimension}
        store.manifest["tables"] = {dimension: store.manifest["tables"]["short_term"]}
        for seed, value in enumerate((0.1, 0.2)):
            values = {"rmse.per_frame": {"mean": value, "leads": [0.3, value], "low": 0, "high": 1}}
            store.add("convlstm", "enso", values, seed=seed, dimension=dimension)
        missing = store.add("persistence", "enso", {}, scored=False, dimension=dimension)
        (results / "plan").mkdir(parents=True, exist_ok=True)
        shutil.copy(store.write(), results / "plan" / f"{dimension}.json")
        store.cells.remove(missing)
        collect_dimension(store.write(), results / "collected" / f"{dimension}.parquet")
    return results


def test_two_builds_have_equal_checksums_whatever_was_collected_first(results: Path) -> None:
    first, second = results / "first.duckdb", results / "second.duckdb"
    build_database(results / "collected", first)
    (results / "collected" / "robustness.json").touch()  # now that one is the later one
    for path in (results / "collected").glob("*s.parquet"):
        if path.name != "robustness.parquet":
            path.unlink()  # what was kept of ranks and distances
    build_database(results / "collected", second)
    sums = checksums(first)
    assert checksums(second) == sums
    assert checksums(second, threads=1) == sums == checksums(second, threads=3)
    named = {one.name for one in (*schema.TABLES, *VIEWS)}
    assert set(sums) == {
        *named,
        *suite("predbench")["views"],
        "sample_scores",
        *(one.view.name for one in KEPT_ROWS),
    }


def test_the_checksum_is_of_the_rows_not_of_their_order(results: Path) -> None:
    database = results / "results.duckdb"
    build_database(results / "collected", database)
    sums = checksums(database)
    with duckdb.connect(str(database)) as store:
        store.execute("CREATE TEMP TABLE turned AS FROM score_rows ORDER BY value DESC NULLS FIRST")
        store.execute("DELETE FROM score_rows")
        store.execute("INSERT INTO score_rows FROM turned")
    assert checksums(database) == sums
    with duckdb.connect(str(database)) as store:
        store.execute(
            "UPDATE score_rows SET value = value + 1e-12 "
            "WHERE cell IN (SELECT number FROM cells WHERE seed = 1) "
            "AND kind IN (SELECT number FROM score_kinds WHERE lead = 2)"
        )
    changed = {name for name, sum in checksums(database).items() if sum != sums[name]}
    assert changed == {"score_rows", "scores", "by_lead"}


def test_the_verb_prints_a_line_for_each_table(results: Path) -> None:
    database = results / "results.duckdb"
    build_database(results / "collected", database)
    run = CliRunner().invoke(app, ["list", "store", "--checksum", "--database", str(database)])
    told = dict(reversed(line.split()) for line in run.output.splitlines())
    assert told == checksums(database)
    assert json.loads(json.dumps(told))["scores"] != told["cells"]


def test_a_store_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StpError, match="no such database"):
        checksums(tmp_path / "results.duckdb")
    (tmp_path / "results.duckdb").write_text("no database")
    with pytest.raises(StpError, match="cannot be read"):
        checksums(tmp_path / "results.duckdb")
