"""The SQL console: the store as Parquet, the packages of npm, and the page in a real browser."""

import csv
import functools
import io
import json
import math
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import pytest
from browser import CHROMIUM, DRIVER, Browser
from console_store import console_store
from hostile import HOSTILE, UNHARMED

from stp.collect.questions import QUESTIONS
from stp.collect.views import VIEWS
from stp.core.errors import StpError
from stp.report import npm, sql_data
from stp.report.build import write_report
from stp.report.sql import PARTS, write_console
from stp.report.sql_data import Understood, relations, write_data

needs_npm = pytest.mark.skipif(
    not (shutil.which("npm") and shutil.which("node")) and "STP_REQUIRE_NPM" not in os.environ,
    reason="needs npm and Node.js, and once the registry that npm is configured for",
)
needs_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER) and "STP_REQUIRE_BROWSER" not in os.environ,
    reason="needs chromium and chromedriver (apt-get install)",
)
READY = "['ready', 'failed'].includes(document.documentElement.dataset.state)"
STATUS = "document.getElementById('status').textContent"
ASKED = [pytest.param(asked, sql, id=asked) for asked, _, sql in QUESTIONS]
# Many things asked at once of the page's own engine.
ASK_ALL = """
const engine = await import(new URL('engine.js', document.baseURI).href);
const store = await engine.open(() => {});
const answers = {};
for (const name of arguments[0]) {
  const {columns} = await store.ask(`FROM ${name}`);
  const plain = (_, value) => typeof value === 'bigint' ? String(value) : value;
  answers[name] = JSON.stringify(columns, plain);
}
return answers;
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return console_store(tmp_path_factory.mktemp("store"))


def ask(database: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(sql).fetchall()


# The data: neither npm nor a browser


REFUSING = Understood("v0", [v.name for v in VIEWS if v.name != "lineage"], {"lineage": "no JSON"})


def written(database: Path, folder: Path) -> dict[str, Any]:
    with duckdb.connect(str(database), read_only=True) as connection:
        write_data(connection, relations(connection), REFUSING, folder)
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


# The page in a browser, served from this machine


class Served(SimpleHTTPRequestHandler):
    """Python's own server, which says nothing."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def console(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("console") / "sql"
    try:
        write_console(database, folder, tmp_path_factory.mktemp("npm"))
    except StpError as error:
        if "STP_REQUIRE_NPM" in os.environ or "could not install" not in error.what:
            raise
        pytest.skip(str(error))
    return folder


@pytest.fixture(scope="module")
def address(console: Path) -> Iterator[str]:
    handler = functools.partial(Served, directory=str(console.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/sql/index.html"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def window(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    only_here = ("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",)
    with Browser(tmp_path_factory.mktemp("window"), options=only_here) as browser:
        browser.visit(address)
        browser.wait_for(READY)
        yield browser


@pytest.fixture
def browser(window: Browser) -> Browser:
    """The console, opened before and ready."""
    window.complaints()
    for path in window.downloads.glob("*"):
        path.unlink()
    return window


def run(browser: Browser, sql: str) -> None:
    browser.run(
        "document.getElementById('query').value = arguments[0];"
        "document.getElementById('ask').requestSubmit();",
        sql,
    )
    browser.wait_for(READY)


def shown(browser: Browser) -> list[list[str]]:
    """The answer's cells as text, its head first."""
    return browser.run(
        "return [...document.querySelectorAll('#answer tr')].map("
        "(row) => [...row.children].map((cell) => cell.textContent));"
    )


def saved(browser: Browser, kind: str) -> Path:
    browser.click(f"#downloads [data-kind={kind}]")
    return browser.saved(f"answer.{kind}")


def plain(value: Any) -> Any:
    """A value of Python's DuckDB as the page has it: no wider integers, times as text."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | float | str):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    return str(value).rstrip("0").removesuffix(".") if "." in str(value) else str(value)


def in_any_order(rows: list[Any]) -> list[str]:
    """Rows as texts; JavaScript has one kind of number."""

    def same(value: Any) -> Any:
        if isinstance(value, list):
            return [same(one) for one in value]
        return float(value) if type(value) is int else value

    return sorted(repr([same(value) for value in row]) for row in rows)


@needs_npm
@needs_browser
@pytest.mark.parametrize(("question", "sql"), ASKED)
def test_questions_are_answered_as_by_the_store(
    browser: Browser, database: Path, question: str, sql: str
) -> None:
    browser.run(
        "[...document.querySelectorAll('#questions button')]"
        ".find((button) => button.textContent === arguments[0]).click()",
        question,
    )
    browser.wait_for(READY)
    expected = [[plain(value) for value in row] for row in ask(database, sql)]
    found = [list(row.values()) for row in json.loads(saved(browser, "json").read_text())]
    assert expected and in_any_order(found) == in_any_order(expected)
    assert f"{len(expected)} row" in browser.run(f"return {STATUS}")
    assert len(shown(browser)) == len(expected) + 1
    assert browser.complaints() == []


@needs_npm
@needs_browser
def test_every_table_and_view_is_that_of_the_store(browser: Browser, database: Path) -> None:
    names = [name for (name,) in ask(database, "SHOW TABLES")]
    answers = browser.run(
        f"return (async function () {{ {ASK_ALL} }}).apply(null, arguments)", names
    )
    for name in names:
        columns = json.loads(answers[name])
        rows = zip(*(column["values"] for column in columns), strict=True)
        expected = [tuple(map(plain, row)) for row in ask(database, f"FROM {name}")]
        assert in_any_order(list(map(tuple, rows))) == in_any_order(expected), name
    assert len(names) > 20 and browser.complaints() == []


@needs_npm
@needs_browser
def test_nothing_is_loaded_from_elsewhere(browser: Browser, address: str) -> None:
    loaded = browser.run("return performance.getEntriesByType('resource').map((one) => one.name)")
    here = address.removesuffix("sql/index.html")
    assert loaded and all(name.startswith((here, f"blob:{here}")) for name in loaded)
    run(browser, "FROM 'https://example.com/a.csv'")
    assert "NetworkError" in browser.run("return document.getElementById('error').textContent")
    assert any("Content Security Policy" in said for said in browser.complaints())


@needs_npm
@needs_browser
def test_a_wrong_query_is_explained_where_it_stands(browser: Browser) -> None:
    run(browser, "SELECT valu FROM leaderboard")
    said = browser.run("return document.getElementById('error').innerText")
    assert 'column "valu" not found' in said and "Candidate" in said
    assert shown(browser) == []
    run(browser, "SELEC 1")
    said = browser.run("return document.getElementById('error').innerText")
    assert said.startswith("Parser Error: syntax error") and "exception_type" not in said
    run(browser, "SELECT 1 AS one")
    assert browser.run("return document.getElementById('error').hidden")
    assert shown(browser) == [["one"], ["1"]]


@needs_npm
@needs_browser
def test_values_of_every_type_are_shown(browser: Browser) -> None:
    run(
        browser,
        "SELECT -1::HUGEINT, 170141183460469231731687303715884105727, -2.50::DECIMAL(9,2), "
        "[1.5, NULL], TIMESTAMP '2020-01-02 03:04:05.678901', DATE '1969-07-20', INTERVAL 3 DAY, "
        "NULL, 'nan'::DOUBLE, 9007199254740993, {'a': 1}, true, '<b>', TIMESTAMP 'infinity', "
        "[[DATE '2020-01-01']]",
    )
    assert shown(browser)[1] == [
        "-1", "170141183460469231731687303715884105727", "-2.5", "[1.5, NULL]",
        "2020-01-02 03:04:05.678901", "1969-07-20", "3 days", "NULL",
        "NaN", "9007199254740993", "{'a': 1}", "true", "<b>", "infinity", "[[2020-01-01]]",
    ]  # fmt: skip


@needs_npm
@needs_browser
def test_files_hold_the_whole_answer(browser: Browser, database: Path) -> None:
    sql = (
        "SELECT model, value, l.reason, title "
        "FROM leaderboard l JOIN conventions USING (convention) ORDER BY ALL"
    )
    run(browser, sql)
    rows = ask(database, sql)
    found = list(csv.reader(io.StringIO(saved(browser, "csv").read_text())))
    assert found[0] == ["model", "value", "reason", "title"]
    assert [[x or None for x in row] for row in found[1:]] == [
        [None if value in (None, "") else str(value) for value in row] for row in rows
    ]
    path = saved(browser, "parquet")
    assert duckdb.sql(f"FROM '{path}'").fetchall() == rows
    assert any("," in (row[2] or "") for row in rows) and any('"' in (row[3] or "") for row in rows)


@needs_npm
@needs_browser
def test_names_that_look_like_code_are_shown_as_they_are(
    browser: Browser, database: Path, address: str
) -> None:
    sql = "SELECT title FROM models WHERE model = 'simvpv2'"
    assert ask(database, sql) == [(HOSTILE,)]
    run(browser, sql)
    assert shown(browser) == [["title"], [HOSTILE]]
    # In the text of a query, as the name of a column, in the address and the list of queries.
    literal, name = HOSTILE.replace("'", "''"), HOSTILE.replace('"', '""')
    browser.visit("about:blank")
    typed = f"""SELECT '{literal}' AS "{name}" """
    browser.visit(f"{address}#sql={quote(typed)}")
    browser.wait_for(READY)
    assert shown(browser) == [[HOSTILE], [HOSTILE]]
    run(browser, f'SELECT "{name}"')
    assert "bad=1" in browser.run("return document.getElementById('error').textContent")
    assert browser.run(UNHARMED)
    assert [message for message in browser.complaints() if "favicon" not in message] == []


@needs_npm
@needs_browser
def test_no_cell_of_a_file_is_run_by_a_spreadsheet(browser: Browser) -> None:
    run(browser, "SELECT '=1+1' AS a, '+x' AS b, '-2.5' AS c, -2.5 AS d, '@f' AS \"=e\", '-' AS f")
    assert saved(browser, "csv").read_text() == "a,b,c,d,'=e,f\n'=1+1,'+x,-2.5,-2.5,'@f,-\n"


@needs_npm
@needs_browser
def test_columns_sort_by_their_heads_with_null_last(browser: Browser) -> None:
    run(browser, "SELECT * FROM (VALUES (2, 'b'), (NULL, 'a'), (10, 'c')) t(n, s)")
    for expected, sorting in (
        (["2", "10", "NULL"], "ascending"),
        (["10", "2", "NULL"], "descending"),
        (["2", "NULL", "10"], None),
    ):
        browser.click("#answer th button")
        assert [row[0] for row in shown(browser)[1:]] == expected
        assert (
            browser.run("return document.querySelector('th').getAttribute('aria-sort')") == sorting
        )
    assert browser.run("return document.activeElement.textContent") == "n"


@needs_npm
@needs_browser
def test_the_address_holds_the_query(browser: Browser, address: str) -> None:
    sql = "SELECT 'a&b#c' AS \"50 %\""
    browser.visit("about:blank")
    browser.visit(f"{address}#sql={quote(sql)}")
    browser.wait_for(READY)
    assert shown(browser) == [["50 %"], ["a&b#c"]]
    run(browser, "SELECT 2 AS two")
    assert browser.run("return location.hash") == "#sql=SELECT%202%20AS%20two"
    browser.run("history.back()")
    browser.wait_for("document.getElementById('query').value.includes('a&b')")
    browser.wait_for(READY)
    assert shown(browser)[0] == ["50 %"]
    kept = browser.run(
        "return [...document.querySelectorAll('#history option')].map((o) => o.text)"
    )
    assert {sql, "SELECT 2 AS two"} < set(kept)


@needs_npm
@needs_browser
def test_a_query_runs_by_keyboard_and_an_endless_one_stops(browser: Browser) -> None:
    browser.run(
        "const query = document.getElementById('query'); query.value = 'SELECT 3 AS three';"
        "query.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', ctrlKey: true}));"
    )
    browser.wait_for(f"{READY} && {STATUS}.startsWith('1 row')")
    assert shown(browser) == [["three"], ["3"]]
    browser.run(
        "document.getElementById('query').value = 'SELECT count(*) FROM range(1000000) a, "
        "range(1000000) b, range(1000) c WHERE a.range + b.range > c.range';"
        "document.getElementById('ask').requestSubmit();"
    )
    browser.wait_for("!document.getElementById('stop').hidden")
    browser.click("#stop")
    browser.wait_for(READY)
    assert browser.run(f"return {STATUS}") == "Stopped."
    run(browser, "SELECT 4 AS four")
    assert shown(browser) == [["four"], ["4"]]


@needs_npm
@needs_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_fits_a_phone(browser: Browser, theme: str) -> None:
    browser.command(
        "Emulation.setDeviceMetricsOverride",
        width=390,
        height=800,
        deviceScaleFactor=1,
        mobile=True,
    )
    browser.command(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}]
    )
    run(browser, "FROM leaderboard")
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    assert browser.run("return document.documentElement.dataset.theme") == theme
    browser.command("Emulation.clearDeviceMetricsOverride")


@needs_browser
def test_the_report_leads_to_the_console_or_says_how_to_make_it(
    database: Path, tmp_path: Path
) -> None:
    write_report(database, tmp_path / "index.html")
    with Browser(tmp_path) as browser:
        browser.open(tmp_path / "index.html")
        browser.run("location.hash = '#sql'")
        browser.wait_for("document.getElementById('main').dataset.section === 'sql'")
        assert browser.complaints() == []
        browser.click("#main section a[href='sql/index.html']")
        browser.wait_for("document.getElementById('dialog').open")
        said = browser.run("return document.getElementById('dialog').innerText")
        assert "results/report/sql/index.html" in said
        browser.click("#dialog .close")
        shutil.copytree(PARTS, tmp_path / "sql")
        browser.click("#main section a[href='sql/index.html']")
        browser.wait_for("document.documentElement.dataset.state === 'unserved'")


@needs_npm
@needs_browser
def test_the_command_for_a_folder_with_any_name_is_that_folder_alone(
    console: Path, tmp_path: Path
) -> None:
    folder = tmp_path / 'it\'s $(touch owned) `id` "x" \\'
    shutil.copytree(console, folder / "sql")
    with Browser(tmp_path / "window") as browser:
        browser.open(folder / "sql" / "index.html")
        browser.wait_for("document.documentElement.dataset.state === 'unserved'")
        command = browser.run("return document.getElementById('command').textContent")
    said = f"printf '%s\\n' {command.partition('--directory ')[2]}"
    done = subprocess.run(["bash", "-c", said], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == f"{folder}\n8000\n" and not (tmp_path / "owned").exists()


@needs_npm
@needs_browser
def test_from_a_disk_the_page_says_what_to_do(
    console: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with Browser(tmp_path_factory.mktemp("disk")) as browser:
        browser.open(console / "index.html")
        browser.wait_for("document.documentElement.dataset.state === 'unserved'")
        said = browser.run("return document.getElementById('unserved').innerText")
        assert f'python -m http.server --bind 127.0.0.1 --directory "{console.parent}" 8000' in said
        assert browser.run("return document.getElementById('served').href") == (
            "http://127.0.0.1:8000/sql/index.html"
        )
        assert browser.run("return document.getElementById('console').hidden")
        style = "return getComputedStyle(document.querySelector('pre')).whiteSpace"
        assert browser.run(style) == "pre-wrap"  # its styles are loaded from a disk too
        assert browser.complaints() == []
