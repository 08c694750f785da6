"""The SQL console: the store as Parquet, and the packages of npm."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from console_store import ask, console_store

from stp.collect.views import VIEWS
from stp.core.errors import StpError
from stp.report import npm, sql_data
from stp.report.sql import PARTS, write_console
from stp.report.sql_data import Understood, relations, write_data


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return console_store(tmp_path_factory.mktemp("store"))


REFUSING = Understood("v0", [v.name for v in VIEWS if v.name != "lineage"], {"lineage": "no JSON"})


def written(database: Path, folder: Path, understood: Understood = REFUSING) -> dict[str, Any]:
    with duckdb.connect(str(database), read_only=True) as connection:
        write_data(connection, relations(connection), understood, folder)
    return json.loads((folder / "store.json").read_text())


def test_what_the_page_loads_makes_the_same_store(database: Path, tmp_path: Path) -> None:
    store = written(database, tmp_path / "data")
    copy = duckdb.connect()
    for statement in store["setup"]:
        copy.execute(statement)
    for relation in store["relations"]:
        if relation["file"]:
            path = tmp_path / "data" / relation["file"]
            copy.execute(f"INSERT INTO {relation['name']} FROM '{path}'")
    names = {name for (name,) in ask(database, "SHOW TABLES")}
    assert {relation["name"] for relation in store["relations"]} == names
    with duckdb.connect(str(database), read_only=True) as original:
        for relation in store["relations"]:
            query = f"FROM {relation['name']} ORDER BY ALL"
            rows = original.execute(query).fetchall()
            assert copy.execute(query).fetchall() == rows, relation["name"]
            assert relation["rows"] in (None, len(rows))
    comments = "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal"
    said = copy.execute(f"{comments} ORDER BY ALL").fetchall()
    assert said == ask(database, f"{comments} ORDER BY ALL")
    (kth,) = [r for r in store["relations"] if r["name"] == "cells"]
    assert kth["comment"] and all(column["comment"] for column in kth["columns"])


def test_the_same_store_gives_the_same_bytes(database: Path, tmp_path: Path) -> None:
    def content(folder: Path) -> dict[str, bytes]:
        written(database, folder)
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    assert content(tmp_path / "a") == content(tmp_path / "b")


def test_it_says_whose_bytes_the_numbers_are_from(database: Path, tmp_path: Path) -> None:
    assert written(database, tmp_path / "data")["origin"] == (
        "synthetic bytes, demo protocol: not comparable with published values"
    )


def test_views_that_the_engine_refuses_are_tables_that_say_why(
    database: Path, tmp_path: Path
) -> None:
    notes = {r["name"]: r["note"] for r in written(database, tmp_path / "data")["relations"]}
    assert "no JSON" in notes.pop("lineage")
    assert set(notes.values()) == {None}


def test_scores_of_samples_that_are_too_large_for_a_page_are_left_out(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_data, "LARGEST", 10)
    store = written(database, tmp_path / "data")
    (samples,) = [r for r in store["relations"] if r["name"] == "sample_scores"]
    assert samples["left_out"] and "more than the 0 MB" in samples["note"]
    assert not (tmp_path / "data" / "sample_scores.parquet").exists()
    assert not any("sample_scores" in statement for statement in store["setup"])


def test_scores_of_samples_that_are_gone_are_left_out(tmp_path: Path) -> None:
    database = console_store(tmp_path)
    next((tmp_path / "short").rglob("sample_scores.parquet")).unlink()
    store = written(database, tmp_path / "data")
    (samples,) = [r for r in store["relations"] if r["name"] == "sample_scores"]
    assert samples["note"] == "Not in the page: 1 of 8 files of it are gone."


def with_views(folder: Path) -> tuple[Path, Understood]:
    """A store with a view of the scores of samples, and one of that, which the engine knows."""
    database = console_store(folder)
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE VIEW asks_scores AS SELECT clip FROM sample_scores")
        connection.execute("CREATE VIEW asks_twice AS SELECT count(*) AS n FROM asks_scores")
    return database, REFUSING._replace(views=[*REFUSING.views, "asks_scores", "asks_twice"])


@pytest.mark.long(part="kinds")
def test_views_of_scores_that_are_too_large_are_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, understood = with_views(tmp_path / "store")
    files = [*(tmp_path / "store").rglob("sample_scores.parquet")]
    monkeypatch.setattr(sql_data, "LARGEST", sum(file.stat().st_size for file in files) - 1)
    store = written(database, tmp_path / "data", understood)
    found = {r["name"]: r for r in store["relations"]}
    assert found["sample_scores"]["left_out"]
    assert [found[name]["file"] for name in ("asks_scores", "asks_twice")] == [
        "asks_scores.parquet",
        "asks_twice.parquet",
    ]
    (count,) = ask(database, "SELECT count(*) FROM sample_scores")
    assert ask(database, f"FROM '{tmp_path / 'data' / 'asks_twice.parquet'}'") == [count]
    copy = duckdb.connect()
    for statement in store["setup"]:
        copy.execute(statement)
    assert copy.execute("FROM asks_twice").fetchall() == [], "a table that is still to be filled"
    monkeypatch.setattr(sql_data, "LARGEST", 10)
    store = written(database, tmp_path / "less", understood)
    gone = {r["name"] for r in store["relations"] if r["left_out"]}
    assert gone >= {"asks_scores", "asks_twice"}
    assert not (tmp_path / "less" / "asks_twice.parquet").exists()


def test_views_of_scores_that_are_gone_are_left_out(tmp_path: Path) -> None:
    database, understood = with_views(tmp_path / "store")
    next((tmp_path / "store").rglob("sample_scores.parquet")).unlink()
    store = written(database, tmp_path / "data", understood)
    found = {r["name"]: r for r in store["relations"]}
    assert found["asks_scores"]["left_out"] and found["asks_twice"]["left_out"]
    assert found["asks_twice"]["note"] == "Not in the page, as what it asks: sample_scores."
    assert not any("asks_twice" in statement for statement in store["setup"])


def test_a_view_in_the_page_loads_the_scores_that_it_asks(tmp_path: Path) -> None:
    database, understood = with_views(tmp_path / "store")
    found = {r["name"]: r for r in written(database, tmp_path / "data", understood)["relations"]}
    assert found["sample_scores"]["asked_by"] == ["asks_scores", "asks_twice"]
    assert found["asks_twice"]["file"] is None


def test_the_questions_are_those_of_the_documentation(database: Path, tmp_path: Path) -> None:
    found = written(database, tmp_path / "data")["questions"]
    page = (PARTS.parents[2] / "docs" / "results_store.md").read_text()
    assert len(found) == 5
    words = " ".join(page.replace("*", "").split())
    assert all(one["question"] in words and one["sql"] in page for one in found)


def test_a_store_with_a_table_that_is_called_like_a_path_is_refused(tmp_path: Path) -> None:
    database = console_store(tmp_path / "store")
    with duckdb.connect(str(database)) as connection:
        connection.execute('CREATE TABLE "../../outside" AS SELECT 1')
    with pytest.raises(StpError, match=r"'\.\./\.\./outside' is the name of a table"):
        written(database, tmp_path / "deep" / "data")
    assert not list(tmp_path.glob("*.parquet"))


# Packages of npm


def test_packages_are_pinned_by_checksums_and_name_no_host() -> None:
    lock = json.loads((PARTS / "package-lock.json").read_text())
    listed = json.loads((PARTS / "package.json").read_text())
    wanted = listed["dependencies"] | listed["devDependencies"]
    assert all(version[0].isdigit() for version in wanted.values())
    packages = {name: about for name, about in lock["packages"].items() if name}
    for name, version in wanted.items():
        assert packages[f"node_modules/{name}"]["version"] == version
    for name, about in packages.items():
        assert about["integrity"].startswith("sha512-") and "resolved" not in about, name


def test_without_npm_one_error_says_what_is_missing(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StpError, match="npm: no such program") as error:
        write_console(database, tmp_path / "report" / "sql", tmp_path / "npm")
    assert "install Node.js" in error.value.remedy
    assert list(tmp_path.iterdir()) == []


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_an_install_that_fails_leaves_nothing(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    program(programs, "node", "exit 0")
    program(programs, "npm", "mkdir node_modules; echo 'npm error code ENOTFOUND' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    with pytest.raises(StpError, match=r"could not install .* code ENOTFOUND") as error:
        write_console(database, tmp_path / "report" / "sql", tmp_path / "npm")
    assert "where there is a network" in error.value.remedy
    assert list((tmp_path / "npm").iterdir()) == [] and not (tmp_path / "report").exists()


def test_what_was_installed_is_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    program(programs, "node", "exit 0")
    program(programs, "npm", f"mkdir node_modules; echo run >> {tmp_path}/runs")
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    first = npm.installed(PARTS, tmp_path / "npm")
    assert npm.installed(PARTS, tmp_path / "npm") == first
    assert (tmp_path / "runs").read_text() == "run\n"


def test_bad_arguments_are_named(database: Path, tmp_path: Path) -> None:
    with pytest.raises(StpError, match="no such database"):
        write_console(tmp_path / "none.duckdb", tmp_path / "sql")
    (tmp_path / "broken.duckdb").write_bytes(b"no database")
    with pytest.raises(StpError, match="cannot be read"):
        write_console(tmp_path / "broken.duckdb", tmp_path / "sql")
    mine = tmp_path / "mine" / "thesis.tex"
    mine.parent.mkdir()
    mine.write_text("years of work")
    with pytest.raises(StpError, match="is not a console"):
        write_console(database, mine.parent)
    assert mine.read_text() == "years of work"
