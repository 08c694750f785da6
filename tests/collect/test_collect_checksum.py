"""The same inputs give the same content, whatever their order and however many threads."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest
from small_store import PUBLISHED, SmallStore, suite
from typer.testing import CliRunner

from stp.cli import app
from stp.collect import schema
from stp.collect.artefact_views import KEPT_ROWS
from stp.collect.checksum import Sums, checksums
from stp.collect.refresh import build_database, collect_dimension
from stp.collect.views import VIEWS
from stp.core.errors import StpError


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of two dimensions, a model with two seeds in each, beside its collected rows."""
    folder = tmp_path_factory.mktemp("checksum")
    results = folder / "results"
    for dimension in ("short_term", "robustness"):
        store = SmallStore(folder / dimension, PUBLISHED)
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
    build_database(results / "collected", results / "results.duckdb")
    return results / "results.duckdb"


@pytest.fixture(scope="module")
def sums(database: Path) -> Sums:
    return checksums(database)


def test_two_builds_have_equal_checksums_whatever_was_collected_first(
    database: Path, sums: Sums
) -> None:
    collected, second = database.parent / "collected", database.with_name("second.duckdb")
    (collected / "robustness.json").touch()  # now that one is the later one
    for path in collected.glob("*s.parquet"):
        if path.name != "robustness.parquet":
            path.unlink()  # what was kept of ranks and distances
    build_database(collected, second)
    assert checksums(second, threads=1) == sums == checksums(second, threads=3)
    named = {one.name for one in (*schema.TABLES, *VIEWS)}
    assert set(sums) == {
        *named,
        *suite("predbench")["views"],
        "sample_scores",
        *(one.view.name for one in KEPT_ROWS),
    }


def test_the_checksum_is_of_the_rows_not_of_their_order(
    database: Path, sums: Sums, tmp_path: Path
) -> None:
    copy = Path(shutil.copy(database, tmp_path))
    with duckdb.connect(str(copy)) as store:
        store.execute("CREATE TEMP TABLE turned AS FROM score_rows ORDER BY value DESC NULLS FIRST")
        store.execute("DELETE FROM score_rows")
        store.execute("INSERT INTO score_rows FROM turned")
    assert checksums(copy) == sums
    with duckdb.connect(str(copy)) as store:
        store.execute(
            "UPDATE score_rows SET value = value + 1e-12 "
            "WHERE cell IN (SELECT number FROM cells WHERE seed = 1) "
            "AND kind IN (SELECT number FROM score_kinds WHERE lead = 2)"
        )
    changed = {name for name, sum in checksums(copy).items() if sum != sums[name]}
    assert changed == {"score_rows", "scores", "by_lead"}


def test_the_verb_prints_a_line_for_each_table(database: Path, sums: Sums) -> None:
    run = CliRunner().invoke(app, ["list", "store", "--checksum", "--database", str(database)])
    told = dict(reversed(line.split()) for line in run.output.splitlines())
    assert told == sums
    assert json.loads(json.dumps(told))["scores"] != told["cells"]


def test_a_store_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StpError, match=r"results\.duckdb"):
        checksums(tmp_path / "results.duckdb")
    (tmp_path / "results.duckdb").write_text("no database")
    with pytest.raises(StpError, match=r"results\.duckdb"):
        checksums(tmp_path / "results.duckdb")
