"""The report in a real browser, without a network: what people see, do, hear and send."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from asking import ask
from browser import CHROMIUM, DRIVER, Browser
from hostile import HOSTILE, UNHARMED
from report_store import SSIM

from stp.report.build import write_report

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER) and "STP_REQUIRE_BROWSER" not in os.environ,
    reason="needs chromium and chromedriver (apt-get install)",
)

BOARD = "leaderboards?tested=short_term:moving_mnist&metric=ssim&convention=ssim.range2"
PHONE = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": False}
MODELS = "[...document.querySelectorAll('tbody th')].map((e) => e.textContent)"
ASKED = """
return performance.getEntriesByType('resource').map((entry) => entry.name)
    .filter((name) => !/^(data|blob|file):/.test(name));
"""
# Of every text that is seen: its colour on what is behind it, as WCAG 2 defines contrast.
DIM = """
const parse = (text) => text.match(/[0-9.]+/g).map(Number);
const light = (rgb) => {
  const [r, g, b] = rgb.map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (e) => {
  for (let at = e; at; at = at.parentElement) {
    const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
    if (a > 0) return [r, g, b];
  }
  return [255, 255, 255];
};
const seen = (e) => e.checkVisibility() && !e.closest('.hidden, .skip, .plot, option');
return [...document.querySelectorAll('body *')].filter((e) => seen(e)
  && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())).map((e) => {
    const [x, y] = [light(parse(getComputedStyle(e).color).slice(0, 3)), light(behind(e))];
    const contrast = (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
    return [contrast, e.tagName, e.className, e.textContent.slice(0, 40)];
  }).filter(([contrast]) => contrast < 4.5);
"""
# What somebody who does not see the page would miss.
UNHEARD = """
const own = (e) => [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent);
const name = (e) => (e.ariaLabel ?? '') + (e.matches('select, input')
  ? [...e.labels].flatMap(own).join('') : e.textContent);
const any = (selector) => [...document.querySelectorAll(selector)];
const all = (selector) => any(selector).filter((e) => e.checkVisibility());
const ids = any('[id]').map((e) => e.id);
const levels = all('h1, h2, h3, h4').map((e) => Number(e.tagName[1]));
return {
  unnamed: all('button, a, select, input, summary').filter((e) => !name(e).trim())
    .map((e) => e.outerHTML),
  skipped: levels.filter((level, i) => level > (levels[i - 1] ?? 0) + 1),
  'one title': levels.filter((level) => level === 1).length === 1 ? [] : levels,
  'no caption': all('table').filter((e) => !e.caption?.textContent.trim()).length,
  'no heads': all('table').filter((e) => !e.querySelector('thead th[scope=col]')).length,
  'no row head': all('.grid tbody tr').filter((e) => !e.querySelector('th')).length,
  'no text': all('img, [role=img], canvas, svg')
    .filter((e) => !e.closest('[role=img]')?.ariaLabel && !e.alt)
    .filter((e) => !e.closest('.plot, #js-plotly-tester')).length,
  unreachable: all('.scroll').filter((e) => e.tabIndex !== 0 && e.scrollWidth > e.clientWidth)
    .length,
  'same id': ids.filter((id, i) => id && ids.indexOf(id) < i),
};
"""

ASKS = "--database results/demo/results.duckdb"


@pytest.fixture(scope="module")
def page(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "report" / "index.html"
    write_report(database, out)
    return out


@pytest.fixture(scope="module")
def window(page: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("window"), (1200, 900)) as browser:
        browser.open(page)
        browser.wait_for("document.documentElement.dataset.ready")
        yield browser


@pytest.fixture
def browser(window: Browser) -> Browser:
    """The page, as it was when it was opened."""
    window.command("Emulation.clearDeviceMetricsOverride")
    window.run("document.documentElement.dataset.theme = 'light'")
    go(window, "overview")
    window.complaints()
    return window


def go(browser: Browser, to: str) -> None:
    """Follow a link within the page."""
    browser.run(
        "const main = document.getElementById('main'), before = main.dataset.drawn;"
        "if (location.hash === arguments[0]) return;"
        "location.hash = arguments[0];"
        "return new Promise((done) => { const look = () =>"
        " main.dataset.drawn === before ? setTimeout(look, 5) : done(); look(); })",
        f"#{to}",
    )


def close(browser: Browser) -> None:
    """Close the dialog; its address follows a little later."""
    browser.press("Escape")
    browser.wait_for("!document.getElementById('dialog').open")
    browser.wait_for("!location.hash.includes('cell=')")


def sections(browser: Browser) -> list[str]:
    found = browser.run(
        "return [...document.querySelectorAll('#sections a')].map((a) => a.hash.slice(1))"
    )
    assert isinstance(found, list) and len(found) >= 5
    return found


def choose(browser: Browser, name: str, value: str) -> None:
    """Choose in a filter, as a person does."""
    browser.run(
        "const select = document.querySelector(`select[name=${arguments[0]}]`);"
        "select.value = arguments[1]; select.dispatchEvent(new Event('change'))",
        name,
        value,
    )


def address(browser: Browser) -> str:
    return str(browser.run("return location.hash"))


def text(browser: Browser, selector: str) -> str:
    return str(browser.run(f"return document.querySelector({selector!r})?.textContent ?? ''"))


def test_every_section_draws_without_errors_and_without_a_network(browser: Browser) -> None:
    for section in sections(browser):
        go(browser, section)
        assert browser.run("return document.querySelector('nav a[aria-current]').hash") == (
            f"#{section}"
        )
        drawn = browser.run("return document.querySelector('main section').childElementCount")
        assert drawn > 2, section
    assert browser.complaints() == []
    assert browser.run(ASKED) == []


def test_the_heading_names_suite_scale_table_and_day(browser: Browser, database: Path) -> None:
    with duckdb.connect(str(database), read_only=True) as store:
        (suite,) = store.execute("SELECT title FROM suites").fetchone() or ("",)
        scales = store.execute("SELECT DISTINCT scale FROM cells").fetchall()
    heading = text(browser, "#heading")
    assert heading == f"{suite}, scale {scales[0][0]}"
    assert browser.run("return document.title") == f"Overview – {heading}"
    assert re.fullmatch(r".*Short-term prediction.*, \d+ \w+ \d{4}", text(browser, "#made"))


def test_the_heading_says_whose_data_and_for_which_share_of_the_cells(browser: Browser) -> None:
    kinds = browser.run("return document.getElementById('origin').textContent").split("; ")
    counted = [re.match(r"(\d+) of (\d+) cells: (official|synthetic) data, ", k) for k in kinds]
    assert len(kinds) > 1 and all(counted)
    assert sum(int(found[1]) for found in counted) == int(counted[0][2])
    assert not any("synthetic" in kind and "paper" in kind for kind in kinds)


def test_the_page_opens_on_the_table_that_was_made(browser: Browser) -> None:
    read = (
        "return [...document.querySelector('table.grouped').rows].map((row) =>"
        "[...row.cells].map((cell) => cell.textContent))"
    )
    groups, heads, *rows = browser.run(read)
    assert groups == ["", "Moving-MNIST", "ICAR-ENSO"]
    assert heads == ["Model", "SSIM\u00a0↑", "Digits\u00a0↑", "RMSE\u00a0↓"]
    mean = sum(run.mean() for run in SSIM["convlstm"]) / 2
    best = next(row for row in rows if row[0].startswith("ConvLSTM"))
    assert best == [
        "ConvLSTM", f"★ {mean:.4f} (best)printed 0.929", f"★ {mean / 2:.4f} (best)",
        "★ 0.2500 (best)printed 0.4158",
    ]  # fmt: skip


def test_nothing_of_a_paper_stands_beside_data_of_ones_own(
    window: Browser, database: Path, page: Path, tmp_path: Path
) -> None:
    other = tmp_path / "results.duckdb"
    shutil.copyfile(database, other)
    with duckdb.connect(str(other)) as store:
        store.execute("UPDATE cells SET source = 'own', comparable = false")
        store.execute("UPDATE cells SET official_paper_protocol = false")
        store.execute("DELETE FROM published")
    write_report(other, tmp_path / "index.html")
    window.open(tmp_path / "index.html")
    window.wait_for("document.documentElement.dataset.ready")
    assert "deltas" not in sections(window)
    assert "your own data" in text(window, "#origin")
    assert "published" not in text(window, "#origin") + text(window, "main")
    window.open(page)
    window.wait_for("document.documentElement.dataset.ready")


def test_coverage_tells_what_ran_on_whose_bytes_and_what_did_not(browser: Browser) -> None:
    said = browser.run(
        "return [...document.querySelectorAll('.grid tbody tr:not(.group)')].map((row) =>"
        "[...row.cells].map((cell) => (cell.querySelector('.hidden') ?? cell).textContent))"
    )
    by_name = {(row[0], row[1]): row[2:] for row in said}
    assert set(by_name) == {("ICAR-ENSO", "short term"), ("Moving-MNIST", "short term")}
    cells_of_mnist = by_name["Moving-MNIST", "short term"]
    assert len(cells_of_mnist) == 3 and all("official data" in cell for cell in cells_of_mnist)
    assert sum("2 trainings" in cell for cell in cells_of_mnist) == 1
    cells_of_enso = by_name["ICAR-ENSO", "short term"]
    assert len(cells_of_enso) == 3 and sum("not run" in cell for cell in cells_of_enso) == 1
    assert sum("leaky" in cell and "synthetic" in cell for cell in cells_of_enso) == 2
    choose(browser, "show", "missing")
    assert browser.run("return document.querySelectorAll('.grid tbody tr:not(.group)').length") == 1
    browser.click(".sign-button.waiting.number")
    assert "not run" in text(browser, "#dialog")
    close(browser)


@pytest.mark.long(part="browser")
def test_what_failed_stands_apart_from_what_nobody_asked_for(
    browser: Browser, database: Path, page: Path, tmp_path: Path
) -> None:
    other = tmp_path / "results.duckdb"
    shutil.copyfile(database, other)
    with duckdb.connect(str(other)) as store:
        for changed in (
            "'out of memory' AS how, 'killed at 8 GB' AS detail",
            "'saved' AS how",
            "'not collected' AS how",
            "'long_term' AS dimension",
        ):
            store.execute(
                f"INSERT INTO missing SELECT * REPLACE ({changed}) FROM missing "
                "WHERE how = 'not run' AND dimension = 'short_term'"
            )
    write_report(other, tmp_path / "index.html")
    browser.open(tmp_path / "index.html")
    browser.wait_for("document.documentElement.dataset.ready")
    assert re.search(r"1 failed.*4 not run", text(browser, ".tiles"))
    heads = browser.run("return [...document.querySelectorAll('h4')].map((e) => e.textContent)")
    assert [head.rpartition(": ")[2] for head in heads] == ["1 cell"] * 3
    assert "killed at 8 GB" in text(browser, "h4 ~ div table")
    # What is only planned is folded, with what runs it.
    folded = "document.querySelector('main details')"
    assert browser.run(f"return {folded}.textContent").endswith(": 2 cells")
    browser.run("document.querySelector('[data-key=fold-not-run]').focus()")
    browser.press("Enter")
    browser.wait_for(f"{folded}.querySelector('table')")
    said = browser.run(f"return {folded}.textContent")
    assert "long term: 1 cell" in said
    assert "--configfile config/demo.yaml -- results/tables/long_term.csv" in said
    choose(browser, "dimension", "long_term")
    assert browser.run(f"return {folded}.open"), "it stays open while filters change"
    assert browser.complaints() == []
    browser.open(page)
    browser.wait_for("document.documentElement.dataset.ready")


def test_a_leaderboard_ranks_and_says_how_sure_it_is(browser: Browser, database: Path) -> None:
    go(browser, BOARD)
    means = {model: sum(run.mean() for run in runs) / len(runs) for model, runs in SSIM.items()}
    order = sorted(means, key=means.__getitem__, reverse=True)
    shown = browser.run(
        "return [...document.querySelectorAll('tbody tr')].map((row) =>"
        "[...row.cells].map((cell) => cell.textContent))"
    )
    titles = {"convlstm": "ConvLSTM", "simvpv2": HOSTILE, "persistence": "Persistencebaseline"}
    assert [row[1] for row in shown] == [titles[model] for model in order]
    assert [float(row[2].split()[0]) for row in shown] == pytest.approx(
        [means[model] for model in order], abs=1e-4
    )
    heads = browser.run(
        "return [...document.querySelectorAll('thead th')].map((e) => e.textContent)"
    )
    first = dict(zip(heads, shown[0], strict=True))
    assert first["Rank, 95\u00a0%"] == "1"
    assert first["Against the best"] == "the best" and first["Printed"] == "0.929"
    assert float(first["Difference"].replace("−", "-")) == pytest.approx(
        means["convlstm"] - 0.929, rel=1e-2
    )
    sd = abs(SSIM["convlstm"][0].mean() - SSIM["convlstm"][1].mean()) / 2**0.5
    assert first["SD of seeds"] == f"{sd:.2g} (2)"
    against_best = dict(zip(heads, shown[1], strict=True))["Against the best"]
    assert "worse" in against_best and "sign test" in against_best
    # Where there is no value, the reason stands in its place.
    choose(browser, "metric", "lpips")
    assert text(browser, "tbody td.numeric .reason") == "metric not available yet"


def test_filters_live_in_the_address_and_a_link_brings_them_back(
    browser: Browser, page: Path
) -> None:
    go(browser, "leaderboards")
    choose(browser, "domain", "weather")
    assert address(browser) == "#leaderboards?domain=weather"
    assert "leaky" in text(browser, "caption") and "synthetic" in text(browser, "caption")
    choose(browser, "models", "trained")
    assert browser.run(f"return {MODELS}") == ["ConvLSTM"]
    choose(browser, "domain", "")
    assert address(browser) == "#leaderboards?models=trained"
    go(browser, "overview")
    go(browser, "leaderboards?domain=weather&layout=paper")
    chosen = "document.querySelector('select[name={}]').value"
    assert browser.run(f"return {chosen.format('layout')}") == "paper"
    assert browser.run(f"return {chosen.format('domain')}") == "weather"
    # What a link names and the store does not have falls back to what it has.
    go(browser, "leaderboards?domain=sea&metric=none")
    assert browser.run(f"return {chosen.format('domain')}") == ""
    assert browser.complaints() == []


def test_the_papers_table_marks_the_best_and_shows_what_is_printed(browser: Browser) -> None:
    go(browser, BOARD + "&layout=paper")
    rows = browser.run(
        "return [...document.querySelectorAll('tbody tr')].map((row) =>"
        "[...row.cells].map((cell) => cell.innerText))"
    )
    (best,) = [row for row in rows if "★" in row[1]]
    assert best[0] == "ConvLSTM" and "0.929" in best[1]
    assert all(row[2].startswith("none") for row in rows)
    assert "metric not available yet" in text(browser, "ol.note")


def test_whether_the_predicted_happens_stands_beside_the_columns_of_the_table(
    browser: Browser,
) -> None:
    """No table has a column of it: its convention declares that it says so."""
    go(browser, BOARD + "&layout=paper")
    heads = browser.run(
        "return [...document.querySelectorAll('thead th')].map((e) => e.innerText.trim())"
    )
    assert [head.split()[0] for head in heads] == ["Model", "SSIM", "LPIPS", "Digits"]
    (best,) = browser.run(
        "return [...document.querySelectorAll('tbody tr')].map((row) => [...row.cells])"
        ".filter((cells) => cells[3].innerText.includes('★')).map((cells) => cells[0].innerText)"
    )
    assert best == "ConvLSTM"
    go(browser, "leaderboards?tested=short_term:moving_mnist")
    options = browser.run(
        "return [...document.querySelector('select[name=metric]').options].map((o) => o.value)"
    )
    assert options == ["ssim", "digits", "lpips"]


def test_tables_sort_by_keyboard(browser: Browser) -> None:
    go(browser, BOARD)
    browser.run("document.querySelector('[data-key=\"board-value\"]').focus()")
    for expected, way in ((False, "ascending"), (True, "descending")):
        browser.press("Enter")
        values = browser.run(
            "return [...document.querySelectorAll('tbody td .number')]"
            ".map((e) => Number(e.textContent))"
        )
        assert values == sorted(values, reverse=expected)
        sorted_by = "document.querySelector('th[aria-sort]')"
        assert browser.run(f"return {sorted_by}.ariaSort") == way
        # The focus stays where it was, though all was drawn anew.
        assert browser.run("return document.activeElement.dataset.key") == "board-value"
    assert "board-sort=value%2Cdown" in address(browser)


def test_a_number_opens_where_it_comes_from(browser: Browser, database: Path) -> None:
    go(browser, BOARD)
    browser.run("document.querySelector('tbody .number').focus()")
    browser.press("Enter")
    dialog = text(browser, "#dialog")
    value = float(SSIM["convlstm"][0].mean())
    assert repr(value) in dialog, "all digits"
    for part in ("data range 2", "4b2fd97", "node1", "Python 3.11.7", "bootstrap over 20 clusters"):
        assert part in dialog, part
    # The query on it returns it.
    commands = browser.run(
        "return [...document.querySelectorAll('#dialog pre')].map((e) => e.textContent)"
    )
    (row,) = ask(database, commands[-1])
    assert row[0] == value
    assert any("config/demo.yaml -- results/tables/short_term.csv" in one for one in commands)
    assert any(re.fullmatch(rf"stp trace a0+1 {ASKS}", command) for command in commands)
    assert f"stp trace {value!r} --cell convlstm/moving_mnist {ASKS}" in commands
    # The other seed is one button away.
    browser.click("#dialog tbody .number")
    assert repr(float(SSIM["convlstm"][1].mean())) in text(browser, "#dialog")
    close(browser)


def test_the_dialog_holds_the_focus_closes_and_has_an_address(browser: Browser) -> None:
    go(browser, BOARD)
    browser.run("document.querySelector('tbody .number').focus()")
    browser.press("Enter")
    sent = address(browser)
    assert "cell=" in sent
    inside = "document.getElementById('dialog').contains(document.activeElement)"
    assert browser.run(f"return {inside}")
    for _ in range(25):
        browser.press("Tab")
        assert browser.run(f"return {inside} || document.activeElement === document.body")
    close(browser)
    assert browser.run("return document.activeElement.className") == "number"
    go(browser, "overview")
    go(browser, sent[1:])
    assert browser.run("return document.getElementById('dialog').open")
    assert "ConvLSTM on Moving-MNIST" in text(browser, "#dialog-title")
    close(browser)
    go(browser, "overview?cell=ffff")
    assert "another report" in text(browser, "#dialog")
    close(browser)
    assert browser.complaints() == []


def test_published_values_that_can_be_compared_come_first(browser: Browser) -> None:
    go(browser, "deltas")
    shown = browser.run(
        "return [...document.querySelectorAll('tbody tr')].map((row) =>"
        "[...row.cells].map((cell) => cell.textContent))"
    )
    assert [bool(row[8]) for row in shown] == [False, False, True]
    assert "synthetic data, demo protocol" in shown[2][8] and shown[2][6] == "–"
    choose(browser, "show", "compared")
    assert browser.run("return document.querySelectorAll('tbody tr').length") == 2


def test_conventions_say_what_they_mean_and_change(browser: Browser) -> None:
    go(browser, "conventions?metric=ssim")
    # By range1 the model that wins by range2 comes last, see report_store.py.
    tables = browser.run(
        "return [...document.querySelectorAll('table')].map((table) =>"
        "[...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent)))"
    )
    (pair,), (ranking,), meanings = tables
    assert pair[:4] == ["ssim.range1", "ssim.range2", "1 of 1", "1 of 1"]
    assert "ConvLSTM ≠" in ranking
    assert [row[0] for row in meanings] == ["ssim.range1", "ssim.range2"]


def test_ten_questions_have_a_query_and_an_answer(browser: Browser) -> None:
    go(browser, "ask")
    # Answers first; queries, and questions that the store cannot answer, are folded.
    answered = browser.run("return document.querySelectorAll('main h3 ~ div table').length")
    folded = browser.run(
        "return [...document.querySelectorAll('summary')].map((e) => e.textContent)"
    )
    assert answered == folded.count("The query") and len(folded) == 10
    assert not browser.run("return [...document.querySelectorAll('main pre')].length")
    links = browser.run(
        "return [...document.querySelectorAll('main p a')].map((a) => a.hash.slice(1))"
    )
    assert links == ["overview?show=missing"], "only what is answered is linked"
    known = sections(browser)
    for link in links:
        go(browser, link)
        assert link.split("?")[0] in known
        assert browser.run("return document.querySelector('nav a[aria-current]').hash") == (
            "#" + link.split("?")[0]
        )
    assert browser.complaints() == []


def test_a_title_that_looks_like_code_is_shown_as_it_is(browser: Browser) -> None:
    for section in sections(browser):
        go(browser, section)
        assert browser.run(UNHARMED), section
    go(browser, BOARD)
    assert HOSTILE in browser.run(f"return {MODELS}")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_can_be_read(browser: Browser, theme: str) -> None:
    browser.run("document.documentElement.dataset.theme = arguments[0]", theme)
    for section in [*sections(browser), BOARD, BOARD + "&layout=paper"]:
        go(browser, section)
        assert browser.run(DIM) == [], section
    go(browser, BOARD)
    browser.click("tbody .number")
    assert browser.run(DIM) == []
    close(browser)


def test_everything_can_be_heard(browser: Browser) -> None:
    for section in [*sections(browser), BOARD, BOARD + "&layout=paper"]:
        go(browser, section)
        found: dict[str, Any] = browser.run(UNHEARD)
        assert not {what: which for what, which in found.items() if which}, section


def test_a_phone_scrolls_nothing_sideways_but_tables(browser: Browser) -> None:
    browser.command("Emulation.setDeviceMetricsOverride", **PHONE)
    for section in [*sections(browser), BOARD, BOARD + "&layout=paper"]:
        go(browser, section)
        root = "document.documentElement"
        assert browser.run(f"return {root}.scrollWidth - {root}.clientWidth") == 0, section
    go(browser, BOARD)
    browser.run("document.querySelector('tbody .number').click()")
    dialog = "document.getElementById('dialog')"
    assert browser.run(f"return {dialog}.scrollWidth <= {dialog}.clientWidth")
    close(browser)


@pytest.mark.parametrize("width", [1200, 800, 360])
def test_the_keyboard_reaches_every_section_at_every_width(browser: Browser, width: int) -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.command("Emulation.setDeviceMetricsOverride", **size)
    # A report of people has all sections of this one, and this one as well.
    browser.run(
        "const last = document.querySelector('#sections li:last-child').cloneNode(true);"
        "last.id = 'one-more'; last.firstChild.textContent = 'Trajectories';"
        "document.getElementById('sections').append(last);"
        "document.querySelector('#sections a').focus()"
    )
    try:
        if width > 640:  # a narrower one is a phone's, whose line scrolls
            assert browser.run("const nav = document.querySelector('nav');"
                               "return nav.scrollWidth - nav.clientWidth") == 0  # fmt: skip
        for number in range(len(sections(browser))):
            seen = browser.run(
                "const here = document.activeElement, box = here.getBoundingClientRect();"
                "const under = document.elementFromPoint("
                " (box.left + box.right) / 2, (box.top + box.bottom) / 2);"
                "return [[...document.querySelectorAll('#sections a')].indexOf(here),"
                " box.left >= 0 && box.right <= innerWidth && under === here]"
            )
            assert seen == [number, True]
            browser.press("Tab")
    finally:
        browser.run("document.getElementById('one-more').remove()")


def test_light_and_dark_follow_the_system_and_the_button(browser: Browser) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"

    def brightness() -> int:
        return sum(map(int, re.findall(r"\d+", browser.run(ground))[:3]))

    for scheme in ("dark", "light"):
        wanted = {"name": "prefers-color-scheme", "value": scheme}
        browser.command("Emulation.setEmulatedMedia", features=[wanted])
        browser.wait_for(f"document.documentElement.dataset.theme === '{scheme}'")
        assert (brightness() < 200) == (scheme == "dark")
    browser.click("#theme")
    assert brightness() < 200
    browser.command("Emulation.setEmulatedMedia", features=[])
