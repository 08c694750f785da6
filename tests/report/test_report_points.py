"""Marks of the report's charts open where they come from: by mouse, and by keyboard in a table."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, DRIVER, Browser
from chart_page import at, click_mark, opened, text, unfold

pytestmark = [
    pytest.mark.long(part="browser"),
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER) and "STP_REQUIRE_BROWSER" not in os.environ,
        reason="needs chromium and chromedriver (apt-get install)",
    ),
]

OPEN = "document.getElementById('dialog').open"
TERMS = """
const terms = [...document.querySelectorAll('#dialog dl dt')];
return Object.fromEntries(terms.map((dt) => [dt.textContent, dt.nextElementSibling.textContent]));
"""
# The button on the number of a row whose first cells say this.
NUMBER = """
const [name, ...says] = arguments;
const details = [...document.querySelectorAll('main details')]
  .find((one) => one.querySelector('summary').dataset.key === `fold-${name}`);
const row = [...details.querySelectorAll('tbody tr')]
  .find((one) => says.every((word, i) => one.cells[i].textContent === word));
row.querySelector('button.number').focus();
"""
Ask = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def window(curves: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("window")) as browser:
        opened(browser, curves)
        yield browser


@pytest.fixture
def page(window: Browser) -> Browser:
    """The page without a dialog; each test goes to its section."""
    close(window)
    at(window, "overview")
    window.complaints()
    return window


def close(browser: Browser) -> None:
    if browser.run(f"return {OPEN}"):
        browser.press("Escape")
        browser.wait_for(f"!{OPEN}")
        browser.wait_for("!/cell=|pair=/.test(location.hash)")


def told(browser: Browser) -> dict[str, str]:
    """The dialog, once it is open: its title, its terms."""
    browser.wait_for(OPEN)
    terms: dict[str, str] = browser.run(TERMS)
    return {"title": text(browser, "#dialog-title"), **terms}


def press_number(browser: Browser, name: str, *says: str) -> None:
    """Press Enter on the number of a row."""
    browser.run(NUMBER, name, *says)
    browser.press("Enter")


def queries(browser: Browser) -> list[str]:
    found: list[str] = browser.run(
        "return [...document.querySelectorAll('#dialog pre')].map((e) => e.textContent)"
    )
    return found


def test_a_point_over_lead_time_opens_its_cell_at_that_lead(page: Browser, ask: Ask) -> None:
    at(page, "lead-time", tested="kth")
    click_mark(page, "lead-time", "SimVPv2", 2)
    said = told(page)
    ((value, low, high, fingerprint),) = ask(
        "SELECT value, ci95_low, ci95_high, scores_fingerprint FROM by_lead "
        "WHERE model = 'simvpv2' "
        "AND tested_on = 'kth' AND convention = 'ssim.range2' AND lead = 3"
    )
    assert said["title"] == "SimVPv2 on KTH"
    assert said["Measure"] == "ssim.range2, at lead time 3"
    assert float(said["Value"].split()[0]) == pytest.approx(value, rel=1e-4)
    ends = said["95 % interval"].split(" (")[0].split(" to ")
    assert [float(end) for end in ends] == pytest.approx([low, high], rel=1e-4)
    assert "80" in said["All lead times"]
    # The query below it gives all digits.
    (row,) = ask(queries(page)[-1])
    assert row[0] == value and row[-1] == fingerprint
    assert page.complaints() == []


def test_by_keyboard_the_same_dialog_opens(page: Browser) -> None:
    at(page, "lead-time", tested="kth")
    click_mark(page, "lead-time", "SimVPv2", 2)
    by_mouse = told(page), page.run("return location.hash"), text(page, "#dialog")
    close(page)
    unfold(page, "lead-time-numbers")
    press_number(page, "lead-time-numbers", "SimVPv2", "3")
    assert (told(page), page.run("return location.hash"), text(page, "#dialog")) == by_mouse
    close(page)
    assert page.run("return document.activeElement.className") == "number"
    assert page.complaints() == []


def test_the_mean_of_trainings_leads_to_each_of_them_at_the_same_lead(
    page: Browser, ask: Ask
) -> None:
    at(page, "lead-time", tested="kth")
    click_mark(page, "lead-time", "ConvLSTM", 1)
    said = told(page)
    found = ask(
        "SELECT value FROM by_lead WHERE model = 'convlstm' AND tested_on = 'kth' "
        "AND convention = 'ssim.range2' AND lead = 2 ORDER BY seed"
    )
    values = [value for (value,) in found]
    assert float(said["Mean"].split(",")[0]) == pytest.approx(sum(values) / 2, rel=1e-4)
    assert "of 2 trainings" in said["Mean"]
    page.click("#dialog tbody .number")
    assert float(told(page)["Value"].split()[0]) == pytest.approx(values[1], rel=1e-4)
    assert told(page)["Measure"] == "ssim.range2, at lead time 2"


def test_a_thin_line_opens_its_own_training(page: Browser) -> None:
    at(page, "lead-time", tested="kth")
    click_mark(page, "lead-time", "ConvLSTM, seed 1", 0)
    assert "1" in text(page, "#dialog tbody tr:nth-child(2)") and "shown here" in text(
        page, "#dialog tbody tr:nth-child(2)"
    )


def test_a_point_over_the_frame_interval_opens_the_cell_of_that_interval(
    page: Browser, ask: Ask
) -> None:
    for show in ("value", "decline"):
        at(page, "by-setting", tested="nuscenes", show=show)
        click_mark(page, "by-setting", "ConvLSTM", 2)
        said = told(page)
        ((value,),) = ask(
            "SELECT value FROM overall WHERE dimension = 'robustness' AND model = 'convlstm' "
            "AND tested_on = 'nuscenes' AND convention = 'ssim.range2' AND setting LIKE '%l-3'"
        )
        assert said["title"] == "ConvLSTM on nuScenes, interval 3"
        assert float(said["Value"]) == value == 0.4
        close(page)
    unfold(page, "by-setting-numbers")
    press_number(page, "by-setting-numbers", "ConvLSTM", "3")
    assert told(page) == said
    assert page.complaints() == []


def test_a_distance_at_equal_n_says_so_and_shows_that_of_all_clips_too(
    page: Browser, ask: Ask
) -> None:
    at(page, "by-setting", tested="bridge", metric="fvd.predicted_only")
    click_mark(page, "by-setting", "ConvLSTM", 1)
    said = told(page)
    assert said["Measure"].startswith("fvd.predicted_only, of 20 clips")
    assert said["Value"] == "200" and said["All clips"].startswith("200")
    assert said["SD of drawings"] == "5, of 3 drawings of 20 of 20 clips"
    ((value, sd, n, *_),) = ask(queries(page)[-1])
    assert (value, sd, n) == (200, 5, 20)
    sent = page.run("return location.hash")
    close(page)
    at(page, "overview")
    # A link to it opens the same, wherever it is followed.
    page.run("location.hash = 'overview?' + arguments[0].split('?')[1]", sent)
    assert told(page) == said


def test_both_ends_of_a_slope_open_their_tests(page: Browser) -> None:
    at(page, "other-tests", trained="kitti")
    click_mark(page, "other-tests", "ConvLSTM", 0)
    assert told(page)["title"] == "ConvLSTM on KITTI" and told(page)["Value"] == "0.9"
    close(page)
    click_mark(page, "other-tests", "ConvLSTM", 1)
    assert told(page)["title"] == "ConvLSTM on KITTI -> Caltech" and told(page)["Value"] == "0.45"


def test_a_spectrum_opens_the_scores_that_summed_it(page: Browser) -> None:
    traces = at(page, "spectra", tested="kth")
    assert traces["truth"]["hover"] is None, "the truth is no score"
    click_mark(page, "spectra", "SimVPv2", 3)
    said = told(page)
    assert said["title"] == "SimVPv2 on KTH"
    assert said["Measure"] == "spectral_divergence.mean_spectra" and said["Value"] == "0.1"
    assert "summed while these scores were computed" in said["Spectra"]


def test_cost_and_ranks_open_the_value_behind_them(page: Browser) -> None:
    at(page, "cost", dimension="short_term", tested="kth")
    click_mark(page, "cost", "SimVPv2", 0)
    assert told(page)["title"] == "SimVPv2 on KTH" and told(page)["Value"] == "0.8"
    close(page)
    at(page, "significance", tested="kth")
    click_mark(page, "ranks", "Persistence", 0)
    assert told(page)["title"] == "Persistence on KTH" and told(page)["Value"] == "0.5"


def test_a_pair_opens_its_test_with_the_command_that_repeats_it(page: Browser, ask: Ask) -> None:
    at(page, "significance", tested="kth")
    page.run("document.querySelector('.pairs button').focus()")
    page.press("Enter")
    said = told(page)
    assert said["title"] == "SimVPv2 against ConvLSTM"
    assert said["Difference"] == "+0.150 (SimVPv2 minus ConvLSTM)"
    assert said["Verdict"] == "▲ SimVPv2 is significantly better"
    assert said["SimVPv2"].startswith("0.8000")
    assert said["ConvLSTM"].startswith("0.6500") and "mean of 2 trainings" in said["ConvLSTM"]
    command, query = queries(page)
    assert command == "stp compare simvpv2 convlstm --cell kth --metric SSIM --results results/demo"
    (row,) = ask(query)
    # In the store it is the other one minus the model.
    assert (row[0], row[2], row[4]) == ("convlstm", "simvpv2", pytest.approx(0.15))
    by_button = text(page, "#dialog")
    # A link opens it again, and a value in it its provenance.
    sent = page.run("return location.hash")
    close(page)
    at(page, "overview")
    page.run("location.hash = arguments[0]", sent)
    assert told(page) == said
    page.click("#dialog dl .number")
    assert told(page)["title"] == "SimVPv2 on KTH" and told(page)["Value"] == "0.8"
    close(page)
    assert "pair=" not in page.run("return location.hash")
    unfold(page, "significance-pairs")
    press_number(page, "significance-pairs", "ConvLSTM", "SimVPv2")
    assert told(page)["title"] == "ConvLSTM against SimVPv2"
    assert told(page)["Difference"] == "−0.150 (ConvLSTM minus SimVPv2)"
    assert by_button != text(page, "#dialog") and page.complaints() == []


def test_a_table_of_points_is_made_when_it_is_opened_and_stays_open(page: Browser) -> None:
    at(page, "lead-time", tested="kth")
    assert page.run("return document.querySelectorAll('main table').length") == 0
    unfold(page, "lead-time-numbers")
    page.run("document.querySelector('[data-key=\"lead-time-numbers-value\"]').focus()")
    page.press("Enter")
    values = page.run(
        "return [...document.querySelectorAll('main tbody .number')]"
        ".map((e) => Number(e.textContent))"
    )
    assert values == sorted(values) and len(values) == 9
    assert page.run("return document.activeElement.dataset.key") == "lead-time-numbers-value"
    at(page, "by-setting")
    at(page, "lead-time", tested="kth")
    assert page.run("return document.querySelectorAll('main table').length") == 0


def test_a_chart_can_be_saved_as_a_picture(page: Browser) -> None:
    at(page, "lead-time", tested="kth")
    page.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(page.downloads))
    buttons = "[...document.querySelectorAll('.modebar-btn')].map((e) => e.dataset.title)"
    assert not [title for title in page.run(f"return {buttons}") if "hare" in title], "no uploads"
    page.run(
        "[...document.querySelectorAll('.modebar-btn')]"
        ".find((e) => e.dataset.title.startsWith('Download')).click()"
    )
    assert page.saved("lead-time-chart.png").read_bytes().startswith(b"\x89PNG")
    assert not page.run(f"return {OPEN}")


def test_a_phone_shows_points_and_tests_without_scrolling_sideways(page: Browser) -> None:
    phone = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.command("Emulation.setDeviceMetricsOverride", **phone)
    for section, name in (
        ("lead-time", "lead-time-numbers"),
        ("significance", "significance-pairs"),
    ):
        at(page, section, tested="kth")
        unfold(page, name)
        assert page.run("return document.documentElement.scrollWidth") <= 390, section
    page.run("document.querySelector('.pairs button').click()")
    assert told(page)["title"] == "SimVPv2 against ConvLSTM"
    assert page.run("return document.documentElement.scrollWidth") <= 390
    page.command("Emulation.clearDeviceMetricsOverride")


def test_a_finger_on_a_chart_moves_the_page(page: Browser) -> None:
    phone = {"width": 390, "height": 500, "deviceScaleFactor": 1, "mobile": True}
    page.command("Emulation.setDeviceMetricsOverride", **phone)
    page.command("Emulation.setTouchEmulationEnabled", enabled=True)
    at(page, "lead-time", tested="kth")
    x, y = page.run(
        "const place = document.querySelector('.nsewdrag');"
        "place.scrollIntoView({block: 'center'});"
        "const box = place.getBoundingClientRect(); return [box.x + 150, box.y + box.height / 2]"
    )
    before = page.run("return scrollY")
    moves = [("touchStart", [{"x": x, "y": y}])]
    moves += [("touchMove", [{"x": x, "y": y + 10 * n}]) for n in range(1, 15)]
    for what, points in [*moves, ("touchEnd", [])]:
        page.command("Input.dispatchTouchEvent", type=what, touchPoints=points)
    page.wait_for(f"scrollY < {before}")
    page.command("Emulation.setTouchEmulationEnabled", enabled=False)
    page.command("Emulation.clearDeviceMetricsOverride")


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (1090.4, 3, "1090"), (0.12345, 4, "0.1235"), (12, 4, "12"), (7.25e-9, 3, "7.25e-9"),
        (3.21e8, 3, "3.21e+8"), (-1234.5, 2, "-1200"),
    ],
)  # fmt: skip
def test_numbers_are_written_for_people(
    page: Browser, value: float, digits: int, shown: str
) -> None:
    assert page.run("return stp.number(arguments[0], arguments[1])", value, digits) == shown
