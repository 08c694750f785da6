"""An empty database is remembered, and no other one is ever taken for it."""

import gzip
from pathlib import Path

import duckdb
import pytest

from stp.collect import empty, schema, views
from stp.collect.settings import key_columns

KEYS = key_columns([])


@pytest.fixture(autouse=True)
def memory(tmp_path, monkeypatch) -> Path:
    """A folder in which nothing is remembered yet."""
    monkeypatch.setattr(empty, "MEMORY", tmp_path / "memory")
    return tmp_path / "memory"


@pytest.fixture
def small(monkeypatch) -> None:
    """A database of one table, which is made in a tenth of the time."""
    monkeypatch.setattr(schema, "TABLES", (schema.SETTINGS,))
    monkeypatch.setattr(views, "VIEWS", ())


@pytest.fixture
def made(monkeypatch) -> list[int]:
    """Counts how often a database is made by statements."""
    calls: list[int] = []
    create = empty.create
    monkeypatch.setattr(empty, "create", lambda *given: calls.append(len(calls)) or create(*given))
    return calls


def contents(path: Path) -> list[tuple]:
    """All tables and views with their columns, types, queries and comments."""
    with duckdb.connect(str(path), read_only=True) as database:
        columns = "SELECT table_name, column_name, data_type, comment FROM duckdb_columns()"
        views = "SELECT view_name, sql, comment, '' FROM duckdb_views()"
        mine = "WHERE database_name = current_database() AND NOT internal"
        found = f"{columns} {mine} UNION ALL {views} {mine} ORDER BY ALL"
        return database.execute(found).fetchall()


def test_the_second_one_is_the_first_one_again(tmp_path, made):
    for name in ("one", "two"):
        empty.write_empty(tmp_path / name, KEYS)
    assert made == [0]
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert {"scores", "leaderboard", "cells"} <= {row[0] for row in contents(tmp_path / "two")}


def test_other_keys_have_another_one(tmp_path, small, made):
    empty.write_empty(tmp_path / "one", KEYS)
    empty.write_empty(tmp_path / "two", key_columns([{"colour": "red"}]))
    assert made == [0, 1]
    assert ("settings", "colour", "VARCHAR") in [row[:3] for row in contents(tmp_path / "two")]


def test_another_release_of_duckdb_has_another_one(tmp_path, small, made, monkeypatch):
    empty.write_empty(tmp_path / "one", KEYS)
    monkeypatch.setattr(empty.duckdb, "__version__", "9.9.9")
    empty.write_empty(tmp_path / "two", KEYS)
    assert made == [0, 1]


@pytest.mark.parametrize("where", ["cut", "emptied", "in the middle", "no gzip"])
def test_a_damaged_one_is_made_again(tmp_path, memory, small, made, where):
    empty.write_empty(tmp_path / "one", KEYS)
    (kept,) = memory.iterdir()
    whole = kept.read_bytes()
    half = len(whole) // 2
    kept.write_bytes(
        {
            "cut": whole[:half],
            "emptied": b"",
            "in the middle": whole[:half] + bytes([whole[half] ^ 255]) + whole[half + 1 :],
            "no gzip": b"SELECT 1",
        }[where]
    )
    empty.write_empty(tmp_path / "two", KEYS)
    assert made == [0, 1]
    assert contents(tmp_path / "two") == contents(tmp_path / "one")
    assert gzip.decompress(kept.read_bytes()) == (tmp_path / "two").read_bytes()


def test_only_the_newest_are_kept(tmp_path, memory, small, monkeypatch):
    monkeypatch.setattr(empty, "REMEMBERED", 2)
    names = []
    for key in "abc":
        empty.write_empty(tmp_path / key, key_columns([{key: 1}]))
        names.append(*({path.name for path in memory.iterdir()} - set(names)))
    assert {path.name for path in memory.iterdir()} == set(names[1:])


def test_where_nothing_can_be_remembered_it_is_made_each_time(tmp_path, memory, small, made):
    memory.write_text("a file where the folder would be")
    for name in ("one", "two"):
        empty.write_empty(tmp_path / name, KEYS)
    assert made == [0, 1]
