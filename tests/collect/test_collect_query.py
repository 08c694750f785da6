"""Asking the database: four formats, and answers to mistakes."""

import json
from pathlib import Path

import duckdb
import pytest

from stp.collect.query import of_csv, query
from stp.core.errors import StpError

ONE_OF_EACH = "SELECT 'a|b' AS name, 1/3 AS third, NULL AS nothing, [0.25, 1e9/7] AS list"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "results.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'x' AS name, 12 AS n")
        connection.execute("INSERT INTO t VALUES ('long name', 3)")
    return path


def test_table_aligns_columns(database: Path) -> None:
    assert (
        query(database, "FROM t") == "name        n\n---------  --\nx          12\nlong name   3\n"
    )


def test_table_rounds_and_writes_null(database: Path) -> None:
    # 1e9 / 7 = 142857142.857...; six significant digits are 1.42857e+08.
    lines = query(database, ONE_OF_EACH).splitlines()
    assert lines[2].split() == ["a|b", "0.333333", "NULL", "[0.25,", "1.42857e+08]"]


def test_markdown_escapes_bars(database: Path) -> None:
    assert query(database, ONE_OF_EACH, "markdown").splitlines() == [
        "| name | third | nothing | list |",
        "|---|---|---|---|",
        r"| a\|b | 0.333333 | NULL | [0.25, 1.42857e+08] |",
    ]


def test_csv_keeps_all_digits_and_leaves_null_empty(database: Path) -> None:
    text = query(database, "SELECT 1/3 AS third, NULL AS nothing, 'a,b' AS name", "csv")
    assert text == 'third,nothing,name\n0.3333333333333333,,"a,b"\n'


def test_json_keeps_all_digits_and_null(database: Path) -> None:
    rows = json.loads(query(database, ONE_OF_EACH, "json"))
    assert rows == [{"name": "a|b", "third": 1 / 3, "nothing": None, "list": [0.25, 1e9 / 7]}]


def test_json_writes_what_json_lacks_as_text(database: Path) -> None:
    sql = "SELECT ['nan'::DOUBLE] AS list, DATE '2020-02-29' AS day"
    assert json.loads(query(database, sql, "json")) == [{"list": ["nan"], "day": "2020-02-29"}]


def test_json_refuses_two_columns_of_one_name(database: Path) -> None:
    with pytest.raises(StpError, match="n, n"):
        query(database, "SELECT n, n FROM t", "json")


def test_no_rows_is_an_answer(database: Path) -> None:
    assert query(database, "FROM t WHERE n > 99") == "name  n\n----  -\n"
    assert json.loads(query(database, "FROM t WHERE n > 99", "json")) == []


def test_missing_database_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(StpError, match=r"results\.duckdb") as caught:
        query(tmp_path / "results.duckdb", "FROM scores")
    assert caught.value.remedy
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("FROM tt", "tt"),
        ("CREATE TABLE u (a INT)", "read-only"),
        ("DELETE FROM t", "read-only"),
        ("", "columns"),
    ],
)
def test_mistakes_are_answered_in_the_words_of_duckdb(
    database: Path, sql: str, message: str
) -> None:
    with pytest.raises(StpError, match=message):
        query(database, sql)


def test_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "results.duckdb"
    path.write_text("not a database" * 1000)
    with pytest.raises(StpError, match=r"results\.duckdb"):
        query(path, "SELECT 1")


def test_unknown_format(database: Path) -> None:
    with pytest.raises(StpError, match="html"):
        query(database, "FROM t", "html")  # type: ignore[arg-type]


def test_values_of_a_csv_file_have_the_type_of_their_column(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("name,n,value\n007,1,0.5\nx,2,\n")
    assert of_csv(path) == (["name", "n", "value"], [("007", 1, 0.5), ("x", 2, None)])
    path.write_bytes(b"name,n\n\xff\xfe\n")
    with pytest.raises(StpError, match=path.name):
        of_csv(path)
