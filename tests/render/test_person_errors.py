"""View person_errors and table runtime: what a store of people has besides scores."""

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from latex import complaints, needs_latex
from people_store import PeopleStore
from small_store import built
from typer.testing import CliRunner

from stp.cli import app
from stp.collect.checksum import checksums
from stp.collect.database import build
from stp.core.errors import StpError
from stp.render.tables.paper_table import render_table
from stp.render.tables.runtime import render_runtime

PAGE = (Path(__file__).parents[2] / "docs" / "human_motion.md").read_text()
PAGE = PAGE[PAGE.index("## Errors of each person") :]
QUERIES = dict(re.findall(r"<!-- (\w+) -->\n```sql\n(.*?)```", PAGE, re.DOTALL))
KEY = "model, variant, trained_on, tested_on, subset, setting"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> PeopleStore:
    """Two predictors of people in a hall, one of which draws three samples."""
    made = PeopleStore(tmp_path_factory.mktemp("people"))
    made.tested("constant_velocity", samples=3)
    made.tested("social_force", calibrated="calibrated on hall")
    made.tested("constant_velocity", observe=3)
    return made


@pytest.fixture(scope="module")
def database(store: PeopleStore) -> Path:
    return built(store)


def ask(database: Path, sql: str) -> list[dict[str, Any]]:
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.sql(sql).to_arrow_table().to_pylist()


def scored(database: Path, metric: str, by: str, lead: str) -> dict[tuple[Any, ...], float]:
    """Means of a convention as the score stage has them, by cell and lead time."""
    found = ask(
        database,
        f"SELECT {KEY}, lead, value FROM scores WHERE convention = '{metric}.{by}' "
        f"AND statistic = 'mean' AND lead IS {lead}",
    )
    return {tuple(row[k] for k in (*KEY.split(", "), "lead")): row["value"] for row in found}


@pytest.mark.parametrize("by", ["by_scenario", "by_person"])
def test_the_displacement_at_every_horizon_is_sql(database: Path, by: str) -> None:
    found = ask(database, QUERIES["fde"])
    ours = {tuple(row[k] for k in (*KEY.split(", "), "lead")): row[by] for row in found}
    assert len(ours) == 3 * 8
    assert ours == pytest.approx(scored(database, "displacement", by, "NOT NULL"), rel=1e-5)


@pytest.mark.parametrize("by", ["by_scenario", "by_person"])
def test_ade_and_fde_over_all_lead_times_are_sql(database: Path, by: str) -> None:
    for query, metric in (("ade", "displacement"), ("fde", "final_displacement")):
        found = [row for row in ask(database, QUERIES[query]) if row["lead"] == 8]
        ours = {(*(row[k] for k in KEY.split(", ")), None): row[by] for row in found}
        assert ours == pytest.approx(scored(database, metric, by, "NULL"), rel=1e-5)


def test_spread_and_crowding_count_scenarios_and_episodes(database: Path) -> None:
    spread = ask(database, QUERIES["spread"])
    crowding = ask(database, QUERIES["crowding"])
    for row in spread:
        parts = [c for c in crowding if all(c[k] == row[k] for k in KEY.split(", "))]
        assert [part["people"] for part in parts] == [2, 3]
        assert sum(part["scenarios"] for part in parts) == row["scenarios"]
        total = sum(part["scenarios"] * part["ade"] for part in parts)
        assert row["ade"] == pytest.approx(total / row["scenarios"])
        assert row["sd"] > 0 and row["episodes"] == 8


def test_rows_have_time_in_steps_and_seconds_and_where_they_begin(database: Path) -> None:
    (row,) = ask(
        database,
        "SELECT min(lead_seconds), max(lead_seconds), min(start_frame), max(sample) "
        "FROM person_errors WHERE setting = 'horizon-8' AND model = 'constant_velocity'",
    )
    assert list(row.values()) == pytest.approx([0.4, 3.2, 480, 2])  # the first fifth calibrates


def test_errors_can_be_copied_out(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "errors.parquet"
    sql = re.search(r'stp query "(.*?)"', PAGE)
    assert sql
    run = ["query", sql[1], "--database", str(database), "--out", str(out)]
    assert CliRunner().invoke(app, run).exit_code == 0
    ((copied,),) = duckdb.sql(f"SELECT count(*) FROM '{out}'").fetchall()
    assert [{"n": copied}] == ask(database, "SELECT count(*) AS n FROM person_errors")


def test_durations_are_alone_in_what_two_runs_differ_in(database: Path) -> None:
    rows = ask(database, "FROM runtime")
    assert {(row["model"], row["people"]) for row in rows} == {
        (model, people) for model in ("constant_velocity", "social_force") for people in (2, 3)
    }
    assert all(0 < r["least"] <= r["low"] <= r["milliseconds"] <= r["high"] for r in rows)
    assert {(row["host"], row["processor"], row["threads"]) for row in rows} == {
        ("node1", "A CPU", 1)
    }
    assert {row["samples"] for row in rows if row["model"] == "constant_velocity"} == {1, 3}
    sums = checksums(database)
    assert sums["runtime"] != sums["person_errors"]


@needs_latex
def test_tables_of_people_compile(store: PeopleStore, database: Path, tmp_path: Path) -> None:
    render_runtime(database, tmp_path / "runtime.csv")
    render_table(store.write(), database, tmp_path / "atlas_transfer.csv")
    for name in ("runtime", "atlas_transfer"):
        assert complaints(tmp_path / f"{name}.tex") == []


def test_the_table_of_runtimes_says_where_and_how_often(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "runtime.csv"
    render_runtime(database, out)
    first, *rows = out.read_text().splitlines()
    assert first.startswith("tested_on,subset,model,people,milliseconds") and len(rows) == 6
    text = out.with_suffix(".md").read_text()
    assert "node1: A CPU, 1 thread" in text and "sample data, tiny protocol" in text
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".md", ".tex", ".html"}
    assert len(ask(database, QUERIES["runtime"])) == 4


def test_a_missing_file_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    store = PeopleStore(tmp_path / "store")
    cell = store.tested("constant_velocity")
    database = built(store)
    before = database.read_bytes()
    for stage, name in (("scores", "errors.parquet"), ("predictions", "runtime.parquet")):
        path = Path(cell[stage], name)
        content = path.read_bytes()
        path.unlink()
        with pytest.raises(StpError, match=name) as caught:
            build([store.write()], [store.folder / "short_term.parquet"], database)
        assert "rm -r" in str(caught.value) and database.read_bytes() == before
        path.write_bytes(b"no parquet")
        with pytest.raises(StpError, match=name):
            build([store.write()], [store.folder / "short_term.parquet"], database)
        path.write_bytes(content)
