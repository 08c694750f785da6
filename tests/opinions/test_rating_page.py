"""The pages of a study of ratings in a real browser: what a rater sees, does and hands in."""

import csv
import os
from collections.abc import Iterator

import numpy as np
import pytest
from browser import CHROMIUM, DRIVER, Browser
from PIL import Image
from rating_study import Study

from stp.prepare.video import decode_film
from stp.studies.ratings import page_path, write_ratings

pytestmark = [
    pytest.mark.long(part="browser"),
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER) and "STP_REQUIRE_BROWSER" not in os.environ,
        reason="needs chromium and chromedriver (apt-get install)",
    ),
]

TITLE = "document.getElementById('ask-title').textContent"
READY = "document.getElementById('frame').textContent && !document.getElementById('ask').hidden"
PIXELS = """
return [...document.querySelectorAll('.clips canvas')].map((canvas) => {
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  return [canvas.width, canvas.height, canvas.clientWidth, [...data]];
});
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("window")) as window:
        yield window


def begin(browser: Browser) -> None:
    browser.click("#consent")
    browser.click("#begin")
    browser.wait_for(READY)


def at(browser: Browser, title: str) -> None:
    browser.wait_for(f"{TITLE} === '{title}' && {READY}")


def shown(browser: Browser) -> list[np.ndarray]:
    """What both canvases show, at the size of the screen."""
    found = []
    for width, height, seen, data in browser.run(PIXELS):
        assert seen == width
        found.append(np.array(data, np.uint8).reshape(height, width, 4)[..., :3])
    return found


def test_a_rater_trains_rates_and_comes_back_a_day_later(browser: Browser, study: Study):
    pages = study.pages
    browser.open(page_path(pages, 1, 2))
    assert not browser.run("return document.getElementById('begin').disabled")
    browser.open(page_path(pages, 1, 1))
    begin(browser)
    for number in (1, 2):
        at(browser, f"Training {number} of 2")
        browser.press("Enter")  # not before there is an answer
        assert browser.run("return document.getElementById('next').disabled")
        browser.run("document.getElementById('rating').focus()")
        browser.press("Up", "Enter")
    # With the mouse; in the middle the slider does not move, and still that is an answer.
    at(browser, "Question 1 of 4")
    browser.click("#rating")
    browser.click("#next")
    for number, key in ((2, "Home"), (3, "End"), (4, "Down")):
        at(browser, f"Question {number} of 4")
        browser.run("document.getElementById('rating').focus()")
        browser.press(key, "Enter")
    browser.wait_for("!document.getElementById('end').hidden")
    browser.click("#save")
    path = browser.saved("*.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["position"], row["choice"]) for row in rows] == [
        *[("1", "50"), ("2", "0"), ("3", "100"), ("4", "49")]
    ]
    table = path.with_name("Ratings")
    write_ratings([path], study.key, pages / "key.json", table)
    with table.open(newline="") as file:
        found = list(csv.DictReader(file))
    assert {one["Session"] for one in found} == {"1"}
    assert sorted(float(one["Rating"]) for one in found) == [0, 49, 50, 100]
    browser.open(page_path(pages, 1, 2))
    assert browser.run("return document.getElementById('begin').disabled")
    assert "can begin on" in browser.run("return document.getElementById('note').textContent")
    day = "Object.keys(localStorage).filter((key) => key.endsWith('session-1'))[0]"
    browser.run(f"localStorage.setItem({day}, Date.now() - 24 * 3600e3)")
    browser.open(page_path(pages, 1, 2))
    begin(browser)
    assert browser.complaints() == []


def test_videos_are_enlarged_bicubically_in_the_page(browser: Browser, study: Study):
    """As Pillow enlarges them; videos that are high enough keep their pixels. They are looped."""
    browser.open(page_path(study.pages, 2, 1))
    begin(browser)
    browser.click("#play")
    state = browser.run("return JSON.parse(localStorage.getItem(Object.keys(localStorage).find("
                        f"(key) => key.endsWith('{list(study.key.sessions)[1]}-1'))))")  # fmt: skip
    by_id = {asked.id: asked for asked in study.key.questions}
    heights = set()
    for question in state["order"][:4]:
        asked = by_id[question]
        frame = browser.run("return Number(document.getElementById('seek').value)")
        files = asked.natural, f"Predicted_Videos/{asked.video}.mp4"
        for found, file in zip(shown(browser), files, strict=True):
            pixels = list(decode_film(study.raw / "pvqa" / file))[frame]
            heights.add(len(pixels))
            if len(pixels) < 40:
                assert found.shape == (40, 48, 3)
                # In float: of bytes, Pillow rounds and clips between the two directions.
                large = [
                    Image.fromarray(channel.astype(np.float32)).resize(
                        (48, 40), Image.Resampling.BICUBIC
                    )
                    for channel in np.moveaxis(pixels, -1, 0)
                ]
                expected = np.stack(large, axis=-1).clip(0, 255)
                assert np.abs(found - expected).max() <= 0.51
            else:
                np.testing.assert_array_equal(found, pixels)
        browser.run("document.getElementById('rating').focus()")
        browser.press("Up", "Enter")
        browser.wait_for(READY)
    assert heights == {20, 48}
    assert browser.complaints() == []
