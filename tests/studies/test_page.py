"""The page in a real browser, without a network: what a rater sees, does and saves."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import zarr
from asking import csv_rows
from browser import CHROMIUM, DRIVER, Browser
from hostile import HOSTILE, UNHARMED, WORD
from latex import latex_problems
from PIL import Image
from population import write_models, write_pair_study
from rating_study import RatingStudy
from small_study import CONTEXT, LEADS, SIZES, STUDY, Paths

from stp.data.pixels import pixels
from stp.data.prepared import Prepared
from stp.plan.checked_config import read_yaml
from stp.prepare.video import decode_film
from stp.studies.answer_key import NONE, BestOfKey, PairKey, load_key
from stp.studies.answers import COLUMNS, read_answers
from stp.studies.pairs import write_next_page
from stp.studies.preferences_table import render_preferences
from stp.studies.questionnaire import write_questionnaire
from stp.studies.ratings import page_path, write_ratings

pytestmark = [
    pytest.mark.long(part="browser"),
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER) and "STP_REQUIRE_BROWSER" not in os.environ,
        reason="needs chromium and chromedriver (apt-get install)",
    ),
]

STATE = "JSON.parse(localStorage.getItem(Object.keys(localStorage)[0]))"
READY = "!document.getElementById('ask').hidden && document.getElementById('frame').textContent"
TITLE = "document.getElementById('ask-title').textContent"
PIXELS = """
return [...document.querySelectorAll('.clips canvas')].map((canvas) => {
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  return [canvas.width, canvas.height, canvas.clientWidth, canvas.clientHeight, [...data]];
});
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("window")) as browser:
        yield browser


@pytest.fixture
def window(opened: Browser) -> Browser:
    """A window of the usual size, without files of answers."""
    opened.command("Emulation.clearDeviceMetricsOverride")
    opened.command("Emulation.setEmulatedMedia", features=[])
    for path in opened.downloads.glob("*"):
        path.unlink()
    return opened


@pytest.fixture
def browser(window: Browser, written: Paths) -> Browser:
    """A window with the page, which has forgotten what was before."""
    forget(window, written.page)
    window.complaints()
    return window


def forget(browser: Browser, page: Path) -> None:
    # The page before keeps its state as it goes: in a process of its own, maybe after the new one.
    browser.run("addEventListener('pagehide', (event) => event.stopImmediatePropagation(), true)")
    browser.open(page)
    browser.run("document.getElementById('forget').click()")
    assert not browser.run("return document.getElementById('start').hidden")


def begin(browser: Browser) -> None:
    browser.click("#consent")
    browser.click("#consent-form button")
    browser.wait_for(READY)


def look_at(browser: Browser, frame: int) -> None:
    """Move the slider, which stops the clips."""
    browser.run(
        "const seek = document.getElementById('seek'); seek.value = arguments[0];"
        "seek.dispatchEvent(new Event('input'));",
        frame,
    )


def at(browser: Browser, title: str) -> None:
    browser.wait_for(f"{TITLE} === '{title}' && {READY}")


def shown(browser: Browser) -> list[np.ndarray]:
    """What all canvases show, uint8 (H, W, 3)."""
    return [
        np.array(data, np.uint8).reshape(height, width, 4)[..., :3]
        for width, height, _, _, data in browser.run(PIXELS)
    ]


def text_of(browser: Browser, name: str) -> str:
    return str(browser.run("return document.getElementById(arguments[0]).textContent", name))


def saved(browser: Browser) -> Path:
    browser.click("#save")
    return browser.saved("*.csv")


@pytest.fixture(scope="module")
def key(written: Paths) -> BestOfKey:
    return load_key(written.key, BestOfKey)


def test_a_rater_answers_everything_by_keyboard(
    browser: Browser, written: Paths, key: BestOfKey
) -> None:
    """And what the file of answers says is what was pressed."""
    chosen: dict[str, str] = {}
    # Nobody goes on without consent.
    browser.click("#consent-form button")
    assert browser.run("return document.getElementById('ask').hidden")
    browser.run("document.getElementById('consent').focus()")
    browser.press("Space", "Tab", "1", "Tab", "f", "Tab", "Enter")
    browser.wait_for(READY)
    for position in range(len(key.questions)):
        assert browser.run(f"return {TITLE}") == f"Question {position + 1} of 12"
        state = browser.run(f"return {STATE}")
        question = state["order"][position]
        browser.press("Enter")  # not before there is an answer
        assert browser.run(f"return {TITLE}") == f"Question {position + 1} of 12"
        digit = (1, 2, 3, 0)[position % 4]
        chosen[question] = state["shown"][question][digit - 1] if digit else NONE
        browser.press(str(digit))
        if position == 1:  # a change of mind, with the arrow keys
            browser.press("Down")
            chosen[question] = state["shown"][question][2]
        browser.press("Enter")
    assert not browser.run("return document.getElementById('end').hidden")
    said = text_of(browser, "sum")
    assert said == "You answered 12 of 12 questions."
    path = saved(browser)
    assert browser.complaints() == []
    assert re.fullmatch(rf"answers-{key.study}-[0-9a-f]{{16}}\.csv", path.name)
    rows = csv_rows(path)
    assert tuple(rows[0]) == COLUMNS
    assert {row["question"]: row["choice"] for row in rows} == chosen
    assert [row["position"] for row in rows] == [str(n) for n in range(1, 13)]
    assert {(row["age"], row["gender"]) for row in rows} == {("18-24", "female")}
    found = read_answers([path], key, written.key)
    by_id = {asked.id: asked for asked in key.questions}
    assert [a.model for a in sorted(found.answers, key=lambda a: a.question)] == [
        by_id[asked.id].choices.get(chosen[asked.id]) for asked in key.questions
    ]
    assert all(0 <= answer.seconds < 60 for answer in found.answers)


def test_all_clips_show_the_same_moment_in_the_same_size(
    browser: Browser, written: Paths, key: BestOfKey
) -> None:
    by_id = {asked.id: asked for asked in key.questions}
    begin(browser)
    state = browser.run(f"return {STATE}")
    for position, question in enumerate(state["order"][:6]):
        asked = by_id[question]
        folder = written.folder / "store" / asked.dataset
        clip = pixels(Prepared(folder / "mcvd" / "data").clips("test").read([asked.sample])[0])
        models = [asked.choices[name] for name in state["shown"][question]]
        for frame in (0, CONTEXT, CONTEXT + LEADS - 1):
            look_at(browser, frame)
            expected = [clip[frame]]
            for model in models:
                store = folder / model / "predictions" / "predictions.zarr"
                if frame < CONTEXT:
                    expected.append(clip[frame])
                else:
                    forecast = zarr.open_group(str(store), mode="r")["predictions"]
                    predicted = np.asarray(forecast[asked.sample])
                    expected.append(pixels(predicted)[frame - CONTEXT])
            sizes = {tuple(canvas[:4]) for canvas in browser.run(PIXELS)}
            assert len(sizes) == 1, "one size"
            for drawn, wanted in zip(shown(browser), expected, strict=True):
                assert drawn.shape == (*SIZES[asked.dataset][1:], 3)
                assert (drawn == wanted).all(), (asked, frame)
        browser.press("1", "Enter")
        at(browser, f"Question {position + 2} of 12")
        assert browser.run("return document.querySelectorAll('.candidates .clip').length") == 3
    assert browser.complaints() == []


def test_clips_play_and_stop(browser: Browser, written: Paths) -> None:
    frame = "document.getElementById('frame').textContent"
    begin(browser)
    for text in ("1 of 5: given", "3 of 5: to predict", "5 of 5: to predict", "1 of 5: given"):
        browser.wait_for(f"{frame} === '{text}'")
    browser.press("Space")
    assert text_of(browser, "play") == "Play"
    still = browser.run(f"return {frame}")
    browser.run("return new Promise((done) => setTimeout(done, 700))")
    assert browser.run(f"return {frame}") == still
    browser.click("#play")
    browser.wait_for(f"{frame} !== '{still}'")
    calm = {"name": "prefers-reduced-motion", "value": "reduce"}
    browser.command("Emulation.setEmulatedMedia", features=[calm])
    forget(browser, written.page)
    begin(browser)
    assert text_of(browser, "play") == "Play"
    assert browser.run(f"return {frame}") == "1 of 5: given"


def test_a_closed_page_goes_on_where_it_was(written: Paths, key: BestOfKey, tmp_path: Path) -> None:
    with Browser(tmp_path) as browser:
        browser.open(written.page)
        begin(browser)
        browser.press("2", "Enter", "1", "Enter")
        browser.wait_for(f"{TITLE} === 'Question 3 of 12'")
        before = browser.run(f"return {STATE}")
    with Browser(tmp_path) as browser:
        browser.open(written.page)
        browser.wait_for(READY)
        assert browser.run(f"return {TITLE}") == "Question 3 of 12"
        after = browser.run(f"return {STATE}")
        for name in ("rater", "order", "shown"):
            assert after[name] == before[name]
        assert {q: a["choice"] for q, a in after["answers"].items()} == {
            q: a["choice"] for q, a in before["answers"].items()
        }
        browser.click("#back")
        browser.wait_for(f"{TITLE} === 'Question 2 of 12'")
        checked = browser.run("return document.querySelector('input[name=choice]:checked').value")
        assert checked == before["answers"][before["order"][1]]["choice"]
        # Left out: not answered.
        browser.click("#skip")
        browser.wait_for(f"{TITLE} === 'Question 3 of 12'")
        browser.click("#finish")
        path = saved(browser)
    found = read_answers([path], key, written.key)
    assert len(found.answers) == 1
    assert [rater.age for rater in found.raters.values()] == [""]


def test_a_page_that_is_behind_brings_nothing_back(browser: Browser, written: Paths) -> None:
    """Answers that were deleted in one tab stay deleted when another tab is used, or closed."""
    begin(browser)
    browser.press("2", "Enter")
    browser.wait_for(f"{TITLE} === 'Question 2 of 12'")
    before = browser.run(f"return {STATE}")
    first = browser.tab()
    browser.open(written.page)
    browser.wait_for(READY)
    browser.click("#finish")
    browser.click("summary")
    browser.click("#forget")
    after = browser.run(f"return {STATE}")
    assert after["rater"] != before["rater"] and not after["answers"]
    second = browser.tab(first)
    browser.wait_for(f"{STATE}.rater === '{after['rater']}'")
    browser.run("window.old = true")
    browser.press("1")  # too late: nobody has begun
    browser.wait_for("!window.old && !document.getElementById('start').hidden")
    assert browser.run(f"return {STATE}") == after
    browser.tab(second)
    begin(browser)
    begun = browser.run(f"return {STATE}")
    browser.tab(first)
    browser.wait_for(f"{STATE}.begun")
    browser.close_tab(second)
    assert browser.run(f"return {STATE}") == begun


def test_deleting_deletes_what_another_tab_has_kept(browser: Browser, written: Paths) -> None:
    begin(browser)
    browser.click("#finish")
    first = browser.tab()
    browser.open(written.page)
    browser.wait_for("!document.getElementById('end').hidden")
    browser.click("#again")
    browser.wait_for(READY)
    browser.press("2")
    other = browser.run(f"return {STATE}")
    assert len(other["answers"]) == 1
    second = browser.tab(first)
    browser.wait_for(f"Object.keys({STATE}.answers).length === 1")
    browser.click("summary")
    browser.click("#forget")
    state = browser.run(f"return {STATE}")
    assert state["rater"] != other["rater"] and not state["answers"]
    browser.tab(second)
    browser.close_tab(first)


def test_texts_that_look_like_code_are_shown_as_they_are(written: Paths, tmp_path: Path) -> None:
    """On the page, and in the table of what raters preferred."""
    manifest, study = tmp_path / "short_term.json", tmp_path / "human_study.yaml"
    planned = json.loads(written.manifest.read_text())
    planned["names"]["models"]["mcvd"] = planned["names"]["datasets"]["kth"] = HOSTILE
    manifest.write_text(json.dumps(planned))
    texts = dict.fromkeys(("question", "consent", "return_to"), HOSTILE)
    few = {"clips": {"bair": 1, "kth": 1}, "age_groups": [WORD, "25-34"]}
    (tmp_path / "study.yaml").write_text(STUDY)
    study.write_text(json.dumps({**read_yaml(tmp_path / "study.yaml"), **texts, **few}))
    page = tmp_path / "questionnaire.html"
    key = write_questionnaire(manifest, page, study_file=study)
    with Browser(tmp_path / "window") as browser:
        browser.open(page)
        for place in ("consent-text", "return", "ask-text"):
            assert text_of(browser, place) == HOSTILE
        browser.run("document.getElementById('age').value = arguments[0]", WORD)
        begin(browser)
        browser.press("1", "Enter", "2", "Enter")
        browser.wait_for("!document.getElementById('end').hidden")
        answers = saved(browser)
        assert browser.run(UNHARMED) and browser.complaints() == []
        found = read_answers([answers], key, page.with_name("key.json"))
        assert [rater.age for rater in found.raters.values()] == [WORD]
        table = tmp_path / "table" / "human_preferences.csv"
        render_preferences(key, found, table, manifest=manifest)
        browser.open(table.with_suffix(".html"))
        cells = browser.run("return [...document.querySelectorAll('td')].map((e) => e.textContent)")
        assert " ".join(HOSTILE.split()) in {" ".join(cell.split()) for cell in cells}
        assert browser.run(UNHARMED)
    assert latex_problems(table.with_suffix(".tex").read_text()) == []
    assert HOSTILE in {row["model"] for row in csv_rows(table)}


def test_where_nothing_can_be_kept_it_says_so_and_goes_on(browser: Browser) -> None:
    """As in a browser whose storage is full: answers are in the page alone, until saved."""
    begin(browser)
    browser.run("Storage.prototype.setItem = () => { throw new Error('full'); }")
    for position in (2, 3, 4):
        browser.press("1", "Enter")
        browser.wait_for(f"{TITLE} === 'Question {position} of 12'")
    assert not browser.run("return document.getElementById('unkept').hidden")
    browser.click("#finish")
    said = text_of(browser, "sum")
    assert said == "You answered 3 of 12 questions."


def test_every_rater_has_an_order_of_their_own(browser: Browser, written: Paths) -> None:
    states = []
    for _ in range(6):
        begin(browser)
        states.append(browser.run(f"return {STATE}"))
        browser.click("#finish")
        assert browser.run("return document.getElementById('save').disabled")
        browser.click("summary")
        browser.click("#forget")
        assert not browser.run("return document.getElementById('start').hidden")
    assert len({state["rater"] for state in states}) == 6
    assert len({tuple(state["order"]) for state in states}) == 6
    question = states[0]["order"][0]
    in_file = [sorted(state["shown"][question]) for state in states]
    assert in_file == [in_file[0]] * 6
    orders = {tuple(state["shown"][q]) for state in states for q in state["order"]}
    assert len(orders) > 12 * 3, "orders change from question to question and rater to rater"


def test_pairs_are_shown_without_a_truth_and_nobody_is_asked_twice(
    window: Browser, tmp_path: Path
) -> None:
    """Two rounds in one browser: what it has answered is for others."""
    changes = {"models": 2, "equal": [], "spread": ["FVD"], "gaps": None}
    config = write_pair_study(tmp_path / "study.yaml", **changes)
    page = tmp_path / "out" / "questionnaire.html"
    write_questionnaire(write_models(tmp_path, 2), page, study_file=config)
    key = load_key(page.with_name("key.json"), PairKey)
    window.open(page)
    window.wait_for("!document.getElementById('start').hidden")
    assert "Number of questions: 3." in text_of(window, "intro")
    begin(window)
    text = window.run("return document.getElementById('ask').innerText")
    assert "Indistinguishable" in text and "really happened" not in text
    assert "predict" not in text.lower()
    state = f"JSON.parse(localStorage.getItem('human-study-{key.study}-first'))"
    answers = window.run(f"return {state}")
    question = answers["order"][0]
    by_id = {asked.id: asked for asked in key.questions}
    look_at(window, 1)
    made = [by_id[question].choices[name] for name in answers["shown"][question]]
    # The first canvas is that of the hidden truth.
    for drawn, model in zip(shown(window)[1:], made, strict=True):
        films = np.load(tmp_path / key.models[model].predictions / "all.npy")
        assert (drawn == films[int(by_id[question].clip), 1].transpose(1, 2, 0)).all()
    window.press("2", "Enter")
    at(window, "Question 2 of 3")
    window.press("0", "Enter")
    at(window, "Question 3 of 3")
    window.click("#finish")
    path = saved(window)
    found = read_answers([path], key, page.with_name("key.json"))
    chosen = {key.questions[one.question].id: one.model for one in found.answers}
    assert chosen == {question: made[1], answers["order"][1]: None}
    following = tmp_path / "out" / "next.html"
    assert write_next_page(page, [path], following) == (0, 3)
    window.open(following)
    begin(window)
    assert window.run(f"return {TITLE}") == "Question 1 of 1"
    window.press("1", "Enter")
    for old in window.downloads.glob("*"):
        old.unlink()
    rounds = [path, saved(window)]
    both = read_answers(rounds, key, page.with_name("key.json"))
    assert len(both.answers) == 3 and len(both.raters) == 1
    assert write_next_page(page, rounds, following) == (0, 3)
    window.run("location.reload()")
    window.wait_for("!document.getElementById('end').hidden")
    said = text_of(window, "sum")
    assert said.startswith("You have answered all of these questions before")
    assert window.complaints() == []


def test_a_rater_trains_rates_and_comes_back_a_day_later(
    window: Browser, rated: RatingStudy
) -> None:
    pages = rated.pages
    window.open(page_path(pages, 1, 2))
    assert not window.run("return document.getElementById('begin').disabled")
    window.open(page_path(pages, 1, 1))
    begin(window)
    for number in (1, 2):
        at(window, f"Training {number} of 2")
        window.press("Enter")  # not before there is an answer
        assert window.run("return document.getElementById('next').disabled")
        window.run("document.getElementById('rating').focus()")
        window.press("Up", "Enter")
    # With the mouse; in the middle the slider does not move, and still that is an answer.
    at(window, "Question 1 of 4")
    window.click("#rating")
    window.click("#next")
    for number, key in ((2, "Home"), (3, "End"), (4, "Down")):
        at(window, f"Question {number} of 4")
        window.run("document.getElementById('rating').focus()")
        window.press(key, "Enter")
    window.wait_for("!document.getElementById('end').hidden")
    path = saved(window)
    rows = csv_rows(path)
    assert [(row["position"], row["choice"]) for row in rows] == [
        *[("1", "50"), ("2", "0"), ("3", "100"), ("4", "49")]
    ]
    table = path.with_name("Ratings")
    write_ratings(rated.key, read_answers([path], rated.key, pages / "key.json"), table)
    found = csv_rows(table)
    assert {one["Session"] for one in found} == {"1"}
    assert sorted(float(one["Rating"]) for one in found) == [0, 49, 50, 100]
    window.open(page_path(pages, 1, 2))
    assert window.run("return document.getElementById('begin').disabled")
    assert "can begin on" in text_of(window, "note")
    day = "Object.keys(localStorage).filter((key) => key.endsWith('session-1'))[0]"
    window.run(f"localStorage.setItem({day}, Date.now() - 24 * 3600e3)")
    window.open(page_path(pages, 1, 2))
    begin(window)
    assert window.complaints() == []


def test_videos_are_enlarged_bicubically_in_the_page(window: Browser, rated: RatingStudy) -> None:
    """As Pillow enlarges them; videos that are high enough keep their pixels. They are looped."""
    window.open(page_path(rated.pages, 2, 1))
    begin(window)
    window.click("#play")
    state = window.run("return JSON.parse(localStorage.getItem(Object.keys(localStorage).find("
                        f"(key) => key.endsWith('{list(rated.key.sessions)[1]}-1'))))")  # fmt: skip
    by_id = {asked.id: asked for asked in rated.key.questions}
    heights = set()
    for question in state["order"][:4]:
        asked = by_id[question]
        frame = window.run("return Number(document.getElementById('seek').value)")
        assert all(width == seen for width, _, seen, *_ in window.run(PIXELS))
        files = asked.natural, f"Predicted_Videos/{asked.video}.mp4"
        for drawn, file in zip(shown(window), files, strict=True):
            frames = list(decode_film(rated.raw / "pvqa" / file))[frame]
            heights.add(len(frames))
            if len(frames) < 40:
                assert drawn.shape == (40, 48, 3)
                # In float: of bytes, Pillow rounds and clips between the two directions.
                large = [
                    Image.fromarray(channel.astype(np.float32)).resize(
                        (48, 40), Image.Resampling.BICUBIC
                    )
                    for channel in np.moveaxis(frames, -1, 0)
                ]
                expected = np.stack(large, axis=-1).clip(0, 255)
                assert np.abs(drawn - expected).max() <= 0.51
            else:
                np.testing.assert_array_equal(drawn, frames)
        window.run("document.getElementById('rating').focus()")
        window.press("Up", "Enter")
        window.wait_for(READY)
    assert heights == {20, 48}
    assert window.complaints() == []
