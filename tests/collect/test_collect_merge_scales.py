"""The database of all scales."""

import shutil
from pathlib import Path

import duckdb
import pytest
from asking import ask
from small_store import SmallStore, built

from stp.collect.merge_scales import combine
from stp.core.errors import StpError


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Results of two scales, each with artefacts of its own."""
    for scale, value in (("demo", 0.5), ("old", 0.7)):
        folder = tmp_path / scale
        folder.mkdir()
        small = SmallStore(folder)
        small.add("persistence", "moving_mnist", {"ssim.range2": {"mean": value}})
        built(small)
    return tmp_path


def values(results: Path, relation: str) -> list[float]:
    return [value for (value,) in ask(results / "results.duckdb", f"SELECT value FROM {relation}")]


def test_each_scale_has_a_schema_and_one_without_artefacts_is_left_out(results: Path) -> None:
    assert combine(results, "demo") == {}
    assert values(results, "old.overall WHERE value IS NOT NULL") == [0.7]
    assert 0.5 in values(results, "demo.overall")
    assert values(results, "demo.overall") == values(results, "overall")
    for path in (results / "old").iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    left_out = combine(results, "demo")
    assert list(left_out) == ["old"]
    assert str(results / "old" / "results.duckdb") in left_out["old"]
    assert 0.5 in values(results, "overall")
    schemas = ask(results / "results.duckdb", "SELECT DISTINCT schema_name FROM duckdb_views()")
    assert ("old",) not in schemas
    with pytest.raises(StpError, match=r"old/results\.duckdb"):
        combine(results, "old")


def test_a_scale_whose_comments_cannot_be_copied_is_left_out(results: Path) -> None:
    with duckdb.connect(str(results / "old" / "results.duckdb")) as store:
        store.execute("""CREATE TABLE notes AS SELECT 1 AS "a"".""b" """)
        store.execute("""COMMENT ON COLUMN notes."a"".""b" IS 'a name like that of two'""")
    assert list(combine(results, "demo")) == ["old"]
    assert 0.5 in values(results, "overall")
    schemas = ask(results / "results.duckdb", "SELECT schema_name FROM duckdb_schemas()")
    assert ("old",) not in schemas
