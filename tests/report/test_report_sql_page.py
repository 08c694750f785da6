"""The SQL console in a real browser, served from this machine."""

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
from console_store import ask, console_store
from hostile import HOSTILE, UNHARMED

from stp.collect.questions import QUESTIONS
from stp.core.errors import StpError
from stp.report.build import write_report
from stp.report.sql import PARTS, write_console

pytestmark = [
    pytest.mark.long(part="browser"),
    pytest.mark.skipif(
        not (shutil.which("npm") and shutil.which("node")) and "STP_REQUIRE_NPM" not in os.environ,
        reason="needs npm and Node.js (apt-get install npm), and once the registry of npm",
    ),
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER) and "STP_REQUIRE_BROWSER" not in os.environ,
        reason="needs chromium and chromedriver (apt-get install)",
    ),
]
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


def test_nothing_is_loaded_from_elsewhere(browser: Browser, address: str) -> None:
    loaded = browser.run("return performance.getEntriesByType('resource').map((one) => one.name)")
    here = address.removesuffix("sql/index.html")
    assert loaded and all(name.startswith((here, f"blob:{here}")) for name in loaded)
    run(browser, "FROM 'https://example.com/a.csv'")
    assert "NetworkError" in browser.run("return document.getElementById('error').textContent")
    assert any("Content Security Policy" in said for said in browser.complaints())


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


def test_no_cell_of_a_file_is_run_by_a_spreadsheet(browser: Browser) -> None:
    run(browser, "SELECT '=1+1' AS a, '+x' AS b, '-2.5' AS c, -2.5 AS d, '@f' AS \"=e\", '-' AS f")
    assert saved(browser, "csv").read_text() == "a,b,c,d,'=e,f\n'=1+1,'+x,-2.5,-2.5,'@f,-\n"


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
        assert "config/demo.yaml -- results/demo/report/sql/index.html" in said
        browser.click("#dialog .close")
        shutil.copytree(PARTS, tmp_path / "sql")
        browser.click("#main section a[href='sql/index.html']")
        browser.wait_for("document.documentElement.dataset.state === 'unserved'")


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
