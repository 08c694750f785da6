"""Forecasts in a real browser: the right frames, in step, by mouse and by keyboard."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from browser import CHROMIUM, DRIVER, Browser
from forecast_store import CONTEXT, LEADS, ForecastStore, filled

from stp.report.build import write_report

pytestmark = [
    pytest.mark.long(part="browser"),
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER) and "STP_REQUIRE_BROWSER" not in os.environ,
        reason="needs chromium and chromedriver (apt-get install)",
    ),
]

SECTION = "document.querySelector('#main section')"
READY = f"{SECTION}.dataset.pictures === 'ready'"
PLAY = "[data-key=forecasts-play]"
PIXELS = """
const panels = [...document.querySelectorAll('.panel')].filter((p) => p.querySelector('canvas'));
return panels.map((panel) => {
  const canvas = panel.querySelector('canvas');
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  return [panel.querySelector('b').textContent, canvas.height, canvas.width, [...data]];
});
"""
WIPE = """
const wipe = document.querySelector('[data-key=forecasts-wipe]');
wipe.value = arguments[0];
wipe.dispatchEvent(new Event('input'));
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ForecastStore:
    return filled(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def page(store: ForecastStore) -> Path:
    out = store.folder / "index.html"
    write_report(store.database(), out)
    return out


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory, page: Path) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("window")) as browser:
        open_page(browser, page)
        yield browser


@pytest.fixture
def browser(window: Browser) -> Iterator[Browser]:
    """The page, which complains of nothing when a test is done with it."""
    yield window
    assert window.complaints() == []


def open_page(browser: Browser, page: Path) -> None:
    browser.open(Path(os.devnull))  # the same address again would only scroll
    browser.open(page)
    browser.wait_for("document.documentElement.dataset.ready")


def look(browser: Browser, frame: int | None = None, **chosen: str) -> None:
    """Go to a view, and to a frame of it, which stops the clock."""
    query = "&".join(f"{key}={value}" for key, value in chosen.items())
    drawn = browser.run(
        "const {hash} = location; location.hash = `#forecasts?${arguments[0]}`;"
        "return location.hash === hash ? null : document.getElementById('main').dataset.drawn",
        query,
    )
    if drawn is not None:
        browser.wait_for(f"document.getElementById('main').dataset.drawn !== '{drawn}'")
    browser.wait_for(READY)
    if frame is not None:
        browser.run(
            "const seek = document.querySelector('[data-key=forecasts-seek]');"
            "seek.value = arguments[0]; seek.dispatchEvent(new Event('input'));",
            frame,
        )


def shown(browser: Browser) -> dict[str, np.ndarray]:
    """What the canvases show, by the name below them: uint8 (H, W, 4)."""
    return {
        name: np.array(values, np.uint8).reshape(height, width, 4)
        for name, height, width, values in browser.run(PIXELS)
    }


def grey(frame: np.ndarray) -> np.ndarray:
    """A frame (1, H, W) in 0..1 as the page draws it."""
    level = np.rint(np.clip(frame[0], 0, 1) * 255).astype(np.uint8)
    return np.dstack([level, level, level, np.full_like(level, 255)])


def coloured(values: np.ndarray, low: float, high: float, name: str) -> np.ndarray:
    """Values as a colour map shows them."""
    part = np.rint(np.clip((values - low) / (high - low), 0, 1) * 254) / 254
    return np.rint(mpl.colormaps[name](part) * 255).astype(np.uint8)


def text(browser: Browser, selector: str) -> str:
    return str(browser.run("return document.querySelector(arguments[0]).textContent", selector))


def frame(browser: Browser) -> int:
    return int(browser.run(f"return {SECTION}.dataset.frame"))


@pytest.mark.parametrize("rule, number", [("median", 0), ("hardest", 3)])
def test_all_panels_show_the_same_frame_of_the_store(
    browser: Browser, store: ForecastStore, rule: str, number: int
) -> None:
    truth = store.truth("moving_mnist", number)
    for at in range(CONTEXT + LEADS):
        look(browser, at, case="moving_mnist", sample=rule)
        canvas_of = shown(browser)
        np.testing.assert_array_equal(canvas_of["Truth"], grey(truth[at]))
        np.testing.assert_array_equal(canvas_of["Context"], grey(truth[min(at, CONTEXT - 1)]))
        for model, name in (("persistence", "Persistence"), ("convlstm", "ConvLSTM")):
            predicted = store.predicted[model, "moving_mnist"][number]
            expected = truth[at] if at < CONTEXT else predicted[at - CONTEXT]
            np.testing.assert_array_equal(canvas_of[name], grey(expected))
    assert text(browser, ".player output") == "lead 3 of 3 (+0.12 s)"


def test_the_report_opens_on_the_best_forecast_below_the_truth(
    browser: Browser, store: ForecastStore
) -> None:
    browser.run("location.hash = '#overview'")
    canvases = "document.querySelectorAll('.strips canvas')"
    browser.wait_for(
        f"{canvases}.length && [...{canvases}].every((canvas) => canvas.dataset.drawn)"
    )
    named = browser.run(
        "return [...document.querySelectorAll('.strips')].map((strip) =>"
        "[strip.querySelector('a').textContent,"
        "[...strip.querySelectorAll('.strip-name')].map((name) => name.textContent),"
        "[...strip.querySelectorAll('canvas')].map((canvas) => [...canvas.getContext('2d')"
        ".getImageData(0, 0, canvas.width, canvas.height).data])])"
    )
    _, best, pixels = named[0]
    assert [name for name, *_ in named] == ["Moving-MNIST", "BridgeData", "ICAR-ENSO"]
    # Of the models whose forecasts are kept the first in rank; all of this store share rank 1.
    assert best == ["Truth", "ConvLSTM, best in SSIM (0.5000)"]
    truth, predicted = store.truth(tested_on := "moving_mnist", 0), store.predicted
    expected = [*truth[CONTEXT - 1 :], *predicted["convlstm", tested_on][0]]
    assert [grey(one).reshape(-1).tolist() for one in expected] == pixels


def test_a_field_has_the_colours_of_its_scale_with_north_at_the_top(
    browser: Browser, store: ForecastStore
) -> None:
    look(browser, CONTEXT + 1, case="enso")
    frames = store.truth("enso", 0)[:, 0, ::-1]
    low, high = np.percentile(frames, (1, 99))
    canvas_of = shown(browser)
    predicted = store.predicted["persistence", "enso"][0, 1, 0, ::-1]
    for name, values in (("Truth", frames[CONTEXT + 1]), ("Persistence", predicted)):
        np.testing.assert_array_equal(canvas_of[name], coloured(values, low, high, "viridis"))
    assert browser.run("return document.querySelectorAll('.picture svg path').length") == 3
    label = browser.run("return document.querySelector('.bar').getAttribute('aria-label')")
    assert label.startswith(f"Colours of sst: from {low:.1f} °C to {high:.1f} °C")


def test_errors_are_drawn_around_zero(browser: Browser, store: ForecastStore) -> None:
    look(browser, CONTEXT, case="enso", view="errors")
    truth = store.truth("enso", 0)[:, 0, ::-1]
    error = store.predicted["persistence", "enso"][0, :, 0, ::-1] - truth[CONTEXT:]
    low, high = np.percentile(truth, (1, 99))
    end = min(np.percentile(np.abs(error), 99), high - low)
    expected = coloured(error[0], -end, end, "RdBu_r")
    np.testing.assert_array_equal(shown(browser)["Persistence"], expected)
    look(browser, 0, case="enso", view="errors")
    assert not shown(browser)["Persistence"].any()  # there is none before the forecast begins
    assert "forecast − truth" in text(browser, ".bar:nth-of-type(2)")


def test_the_clock_runs_and_stops(browser: Browser, page: Path) -> None:
    open_page(browser, page)
    look(browser, case="moving_mnist")
    assert text(browser, PLAY) == "Pause"
    seen = set()
    for _ in range(200):
        seen.add(frame(browser))
        if len(seen) == CONTEXT + LEADS:
            break
        browser.run("return new Promise((done) => setTimeout(done, 40))")
    assert seen == set(range(CONTEXT + LEADS))
    browser.click(PLAY)
    assert text(browser, PLAY) == "Play"
    before = frame(browser)
    browser.run("return new Promise((done) => setTimeout(done, 700))")
    assert frame(browser) == before
    browser.click(PLAY)
    browser.wait_for(f"{SECTION}.dataset.frame !== '{before}'")


def test_keys_play_and_step(browser: Browser) -> None:
    look(browser, 0, case="moving_mnist")
    browser.run("document.activeElement.blur()")
    browser.press("\ue014", "\ue014")  # →
    assert frame(browser) == 2
    assert text(browser, ".player output") == "lead 1 of 3 (+0.04 s)"
    browser.press("\ue012")  # ←
    assert frame(browser) == 1
    assert text(browser, ".player output") == "context 0, the last"
    browser.press("\ue010")  # End
    assert frame(browser) == CONTEXT + LEADS - 1
    browser.press("\ue014")
    assert frame(browser) == CONTEXT + LEADS - 1
    browser.press("\ue011")  # Home
    assert frame(browser) == 0
    live = "document.querySelector('.player output').getAttribute('aria-live')"
    assert browser.run(f"return {live}") == "polite"
    browser.press("Space")
    assert text(browser, PLAY) == "Pause" and browser.run(f"return {live}") == "off"
    browser.press("Space")
    # On a button, space presses it, once; on the slider, arrows move it.
    browser.run(f"document.querySelector('{PLAY}').focus()")
    browser.press("Space")
    assert text(browser, PLAY) == "Pause"
    browser.press("Space")
    browser.run("document.querySelector('[data-key=forecasts-seek]').focus()")
    browser.press("\ue011", "\ue014")
    assert frame(browser) == 1


def test_another_dataset_is_chosen(browser: Browser, store: ForecastStore) -> None:
    look(browser, CONTEXT, case="moving_mnist")
    browser.run(
        "const select = document.querySelector('[data-key=case]'); select.value = 'bridge';"
        "select.dispatchEvent(new Event('change'));"
    )
    browser.wait_for(READY)
    assert "BridgeData" in text(browser, "#main h3")
    assert "synthetic, demo protocol" in text(browser, "#main h3 .badge")
    assert frame(browser) == CONTEXT  # the clock stands where it stood
    expected = np.moveaxis(store.frames["bridge"][CONTEXT], 0, -1)
    np.testing.assert_array_equal(shown(browser)["Truth"][..., :3], expected)


def test_what_is_not_kept_is_a_gap(browser: Browser) -> None:
    look(browser, case="enso")
    assert set(shown(browser)) == {"Context", "Truth", "Persistence"}
    gap = browser.run("return document.querySelector('.panel .gap').closest('.panel').textContent")
    assert "ConvLSTM" in gap and "its predictions are not kept" in gap


def test_a_wipe_divides_truth_and_forecast(browser: Browser, store: ForecastStore) -> None:
    look(browser, CONTEXT, case="moving_mnist", view="truth")
    truth = grey(store.truth("moving_mnist", 0)[CONTEXT])
    predicted = grey(store.predicted["convlstm", "moving_mnist"][0, 0])
    for part, cut in ((0, 0), (25, 2), (100, 8)):
        browser.run(WIPE, part)
        expected = np.concatenate([truth[:, :cut], predicted[:, cut:]], axis=1)
        np.testing.assert_array_equal(shown(browser)["ConvLSTM"], expected)


def test_two_models_lie_one_over_the_other(browser: Browser, store: ForecastStore) -> None:
    look(browser, CONTEXT, case="moving_mnist", view="pair", left="0", right="1")
    one, two = (
        grey(store.predicted[name, "moving_mnist"][0, 0]) for name in ("persistence", "convlstm")
    )
    browser.run(WIPE, 50)
    assert "Left: Persistence" in text(browser, ".panel figcaption")
    (canvas_of,) = shown(browser).values()
    np.testing.assert_array_equal(canvas_of, np.concatenate([one[:, :4], two[:, 4:]], axis=1))
    browser.click("[data-key=forecasts-swap]")
    (canvas_of,) = shown(browser).values()
    np.testing.assert_array_equal(canvas_of, np.concatenate([two[:, :4], one[:, 4:]], axis=1))
    assert "Left: ConvLSTM" in text(browser, ".panel figcaption")
    label = browser.run("return document.querySelector('.panel canvas').getAttribute('aria-label')")
    assert label.startswith("ConvLSTM on the left, Persistence on the right")


def test_scores_are_those_of_the_sample_and_of_the_frame(browser: Browser) -> None:
    look(browser, CONTEXT + 2, case="moving_mnist", sample="hardest")
    cells = browser.run(
        "return [...document.querySelectorAll('.scores tbody tr')].map((row) => "
        "[...row.cells].map((cell) => cell.textContent))"
    )
    assert cells == [["SSIM ↑", "3.60*", "3.70"]] * 2


def test_nothing_moves_by_itself_for_those_who_want_no_motion(browser: Browser, page: Path) -> None:
    wanted: list[dict[str, Any]] = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    browser.command("Emulation.setEmulatedMedia", features=wanted)
    try:
        open_page(browser, page)
        look(browser, case="moving_mnist")
        assert text(browser, PLAY) == "Play" and frame(browser) == CONTEXT
        browser.run("return new Promise((done) => setTimeout(done, 500))")
        assert frame(browser) == CONTEXT
        browser.click(PLAY)
        browser.wait_for(f"{SECTION}.dataset.frame !== '{CONTEXT}'")
    finally:
        browser.command("Emulation.setEmulatedMedia", features=[])


def test_a_phone_shows_it_without_scrolling_sideways(browser: Browser) -> None:
    browser.command(
        "Emulation.setDeviceMetricsOverride",
        width=390,
        height=800,
        deviceScaleFactor=1,
        mobile=True,
    )
    try:
        for case in ("moving_mnist", "enso"):
            for view in ("values", "errors", "truth", "pair"):
                look(browser, CONTEXT, case=case, view=view)
                assert browser.run("return document.documentElement.scrollWidth") <= 390
    finally:
        browser.command("Emulation.clearDeviceMetricsOverride")
