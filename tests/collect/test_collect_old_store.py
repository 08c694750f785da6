"""Stores that an older version made open for reading: what came later is NULL."""

import json
from pathlib import Path

import pytest
from asking import ask
from old_store import as_before
from small_store import PUBLISHED, SmallStore, built
from typer.testing import CliRunner

from stp.cli import app
from stp.collect.cell import every
from stp.collect.query import run_query
from stp.collect.trace import matches, with_lineage


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of a model and another model, in a store of before."""
    store = SmallStore(tmp_path_factory.mktemp("old"), PUBLISHED)
    for seed, value in ((1, 0.875), (2, 0.625)):
        values = {"ssim.range2": {"mean": value, "low": 0.5, "high": 0.9, "leads": [0.5, 0.25]}}
        store.add("convlstm", "moving_mnist", values, seed=seed)
    store.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.25}})
    path = built(store)
    as_before(path)
    return path


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.output


def test_the_columns_of_today_are_there_and_null(database: Path) -> None:
    content = database.read_bytes()
    names = [name for name, *_ in ask(database, "DESCRIBE cells")]
    assert "accepted" not in names
    for relation, column in (
        ("cells", "accepted"),
        ("overall", "accepted"),
        ("by_lead", "accepted"),
        ("scores", "accepted"),
        ("comparisons", "p_sign"),
        ("conventions", "compares_sets"),
    ):
        _, rows = run_query(database, f"SELECT DISTINCT {column} FROM {relation}")
        assert rows == [(None,)], relation
    assert [cell.accepted for cell in every(database)] == [None, None, None]
    assert database.read_bytes() == content


def test_query_and_trace_answer_from_it(database: Path) -> None:
    leaders = "SELECT model, rank, value FROM leaderboard WHERE convention = 'ssim.range2'"
    rows = json.loads(run("query", leaders, "-f", "json", "--database", str(database)))
    assert [(row["model"], row["rank"], row["value"]) for row in rows] == [
        ("convlstm", 1, 0.75),
        ("persistence", 2, 0.25),
    ]
    mean = next(m for m in matches(database, "0.750") if m.kind == "mean over seeds")
    assert (mean.model, len(mean.scores)) == ("convlstm", 2)
    (value,) = with_lineage(database, matches(database, "0.875"))
    assert (value.model, value.seed) == ("convlstm", 1)
    assert [step.stage for step in value.lineage] == ["prepare", "model", "predictions", "score"]
    assert "0.875" in run("trace", "0.875", "--database", str(database))
