"""Asking the store is reading: no files, no network, nothing that terminals or spreadsheets run."""

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from stp.cli import _exit_with_error, app
from stp.collect.artefact_views import KEPT_ROWS
from stp.collect.query import query, run_query, save
from stp.core.errors import StpError

ROOT = Path(__file__).parents[2]
VIEWS = ("sample_scores", *(Path(kept.file).stem for kept in KEPT_ROWS))
"""Files that views of a store read, without their suffix."""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A store with a view over files of its artefacts, in a folder with a quote in its name."""
    path = tmp_path / "results.duckdb"
    folder = tmp_path / "it's" / "scores"
    folder.mkdir(parents=True)
    for name in (*VIEWS, "other"):
        pq.write_table(pa.table({"n": [1, 2]}), folder / f"{name}.parquet")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'x' AS name, 12 AS n")
        for name in (*VIEWS, "other"):
            text = str(folder / f"{name}.parquet").replace("'", "''")
            connection.execute(f"CREATE VIEW {name} AS FROM read_parquet(['{text}'])")
    return path


@pytest.mark.parametrize(
    "sql",
    [
        "FROM read_text('{secret}')",
        "FROM read_csv('{secret}')",
        "FROM '{secret}'",
        "FROM glob('{folder}/*')",
        "COPY (SELECT 1) TO '{folder}/written.csv'",
        "EXPORT DATABASE '{folder}/exported'",
        "ATTACH '{folder}/other.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "FROM read_csv('http://localhost:1/x.csv')",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "RESET lock_configuration",
        "FROM other",
    ],
)
def test_a_statement_reaches_nothing_but_the_store(database, tmp_path, sql):
    (tmp_path / "secret.csv").write_text("a secret\n1\n")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(StpError, match="DuckDB: "):
        query(database, sql.format(secret=tmp_path / "secret.csv", folder=tmp_path))
    assert sorted(tmp_path.rglob("*")) == before


def test_the_stores_own_views_read_their_files(database):
    for view in VIEWS:
        assert run_query(database, f"SELECT sum(n) FROM {view}")[1] == [(3,)]


def test_files_are_read_where_somebody_allows_it(database, tmp_path):
    (tmp_path / "more.csv").write_text("a\n7\n")
    sql = f"SELECT a FROM read_csv('{tmp_path}/more.csv')"
    with pytest.raises(StpError, match="--allow-files"):
        query(database, sql)
    assert query(database, sql, "csv", allow_files=True) == "a\n7\n"
    given = ["query", sql, "--database", str(database), "-f", "csv"]
    assert CliRunner().invoke(app, [*given, "--allow-files"]).output == "a\n7\n"
    assert CliRunner().invoke(app, given).exit_code == 1


def test_an_answer_is_saved_as_parquet_and_nothing_else_is(database, tmp_path):
    assert save(database, "FROM t", tmp_path / "t.parquet") == 1
    assert pq.read_table(tmp_path / "t.parquet")["n"].to_pylist() == [12]
    with pytest.raises(StpError, match="--allow-files"):
        save(database, f"FROM '{tmp_path}/t.parquet'", tmp_path / "u.parquet")


def test_spreadsheets_run_no_cell(database):
    sql = (
        "SELECT '=1+1' AS a, '+cmd|x' AS b, '-2+3' AS c, '@SUM(A1)' AS d, '-1.5' AS e, -1.5 AS f, "
        "'-' AS g, chr(9) || '=1' AS h, 'a=b' AS i, '=x' AS \"=head\""
    )
    assert query(database, sql, "csv").splitlines() == [
        "a,b,c,d,e,f,g,h,i,'=head",
        "'=1+1,'+cmd|x,'-2+3,'@SUM(A1),-1.5,-1.5,-,'\t=1,a=b,'=x",
    ]


def test_names_of_files_in_errors_do_not_reach_a_terminal_either(capsys):
    name = "\x1b]0;title\x07\x9b2J\u202egnp.exe"
    with pytest.raises(SystemExit):
        _exit_with_error(StpError(f"{name}: damaged", remedy=f"delete {name}"))
    shown = capsys.readouterr().err
    assert shown.count("gnp.exe") == 2 and "remedy: delete" in shown
    assert not any(bad in shown for bad in ("\x1b", "\x07", "\x9b", "\u202e"))


PRINT_IN_EVERY_FORMAT = """
import sys
from stp.cli import main
database, sql = sys.argv[1:]
for name in ("table", "csv", "markdown", "json"):
    sys.argv = ["stp", "query", sql, "-f", name, "--database", database]
    try:
        main()
    except SystemExit as end:
        assert not end.code
"""


def test_control_characters_do_not_reach_a_terminal(database):
    """Codes that clear the screen and set the title of the window, the former also as a C1 code."""
    sql = "SELECT chr(27) || '[2Jend' AS a, chr(27) || ']0;x' || chr(7) AS b, chr(155) || '2J' AS c"
    command = [sys.executable, "-c", PRINT_IN_EVERY_FORMAT, str(database), sql]
    mine, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"}
    subprocess.run(command, stdout=theirs, env=environment, check=True)
    os.close(theirs)
    content = b""
    with contextlib.suppress(OSError):  # Linux says so when nobody writes any more
        while part := os.read(mine, 65536):
            content += part
    os.close(mine)
    shown = content.decode()
    assert shown.count("[2Jend") == 4
    assert not any(bad in shown for bad in ("\x1b[2J", "\x1b]", "\x07", "\x9b"))
