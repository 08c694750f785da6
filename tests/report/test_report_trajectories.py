"""People in pictures and in the report: the right paths and errors, by mouse and by keyboard."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
from asking import ask
from browser import CHROMIUM, DRIVER, Browser
from trajectory_store import FUTURE, OBSERVED, SAMPLES, make_store
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.plan.manifest import load_manifest
from stp.render.pictures.trajectories import (
    Compared,
    compare,
    draw_differing,
    evaluation_of,
    evaluations,
)
from stp.report.build import write_report
from stp.report.columns import as_json
from stp.report.trajectories import _scene, pieces
from stp.tracks import errors
from stp.tracks.densities import Mixture

LABELS = ["Social force (Hall)", "Constant velocity"]
SECTION = "document.querySelector('#main section')"
STEP = f"return Number({SECTION}.dataset.step)"
with_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER) and "STP_REQUIRE_BROWSER" not in os.environ,
    reason="needs chromium and chromedriver (apt-get install)",
)


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
def compared(people: Path) -> Compared:
    return evaluation_of(load_manifest(people.parent / "plan" / "atlas_synthetic.json"))


@pytest.fixture(scope="module")
def page(people: Path) -> Path:
    out = people.parent / "index.html"
    write_report(people, out)
    return out


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory, page: Path) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("window")) as browser:
        browser.open(page)
        browser.wait_for("document.documentElement.dataset.ready")
        yield browser


@pytest.fixture
def browser(window: Browser) -> Iterator[Browser]:
    """The page, which complains of nothing when a test is done with it."""
    look(window)
    yield window
    assert window.complaints() == []


def look(browser: Browser, **chosen: str) -> None:
    query = "&".join(f"{key}={value}" for key, value in chosen.items())
    browser.run("location.hash = '#overview'")
    browser.wait_for("document.getElementById('main').dataset.section === 'overview'")
    browser.run("location.hash = `#trajectories?${arguments[0]}`", query)
    browser.wait_for(f"{SECTION}.dataset.step !== undefined")


# Which scenarios


def test_the_scenarios_are_those_in_which_models_differ_most(compared):
    paths = [drawn.mean(axis=0) for drawn in compared.predicted.values()]
    apart = [
        np.mean([np.linalg.norm(paths[0][s, n] - paths[1][s, n], axis=-1) for n in people])
        for s, people in enumerate(np.flatnonzero(row) for row in compared.scenarios.present)
    ]
    np.testing.assert_allclose(compared.difference, apart)
    episodes = compared.scenarios.episode
    number = len(np.unique(episodes))
    first = compared.choose_scenarios(number)
    assert sorted(episodes[first]) == sorted(np.unique(episodes))  # one of each
    assert first[0] == int(np.argmax(apart))
    for one in first:
        assert apart[one] == max(np.array(apart)[episodes == episodes[one]])
    assert sorted(compared.choose_scenarios(1000)) == list(range(len(compared.scenarios)))


def test_a_scene_has_what_was_predicted_and_says_what_lines_are(compared):
    number = compared.choose_scenarios(1)[0]
    scene = compared.scene(number)
    assert [one.label for one in scene.predicted] == LABELS
    assert [len(one.samples) for one in scene.predicted] == [1, SAMPLES]
    assert scene.notes[0].startswith("Own data") and "3 samples" in " ".join(scene.notes)
    assert len(scene.obstacles.position) == 2
    assert compared.measure(number) == f"models {compared.difference[number]:.2f} m apart"
    with pytest.raises(StpError, match="no scenario 999"):
        compared.scene(999)


def test_the_report_opens_on_a_map_with_the_truth_and_the_best_model(browser, compared):
    means = {
        label: np.mean([errors.by_scenario(errors.displacement(drawn, compared.scenarios.future)
                                           .mean(axis=0)[..., step]).mean()
                        for step in range(FUTURE)])
        for label, drawn in compared.predicted.items()
    }  # fmt: skip
    best = min(means, key=means.get)
    browser.run("location.hash = '#overview'")
    browser.wait_for("document.querySelector('.paths svg.trajectories')")
    text = browser.run("return document.querySelector('.paths figcaption').textContent")
    assert f"Hall, strict: scenario {compared.choose_scenarios(1)[0]}" in text and best in text
    shown = browser.run(
        "return [...document.querySelectorAll('.paths g[data-model]')]"
        ".filter((one) => one.style.display !== 'none').map((one) => one.dataset.model)"
    )
    assert shown == [best]
    ends = (
        "return [...document.querySelectorAll('.paths figure > svg path.truth:not(.faded)')]"
        ".map((path) => path.getAttribute('d').split('L').length)"
    )
    assert set(browser.run(ends)) == {FUTURE + 1}
    led = browser.run("return document.querySelector('.paths + .links a').hash")
    assert led.startswith("#trajectories")


def test_pictures_and_animations_are_written(people, tmp_path):
    manifest = people.parent / "plan" / "atlas_synthetic.json"
    outs = [tmp_path / f"out{suffix}" for suffix in (".png", ".svg", ".pdf")]
    draw_differing(load_manifest(manifest), outs)
    words = re.sub("<[^>]*>", " ", outs[1].read_text())
    assert "models differ most" in words and "Social force (calibrated)" in words
    assert all(out.stat().st_size > 1000 for out in outs)
    given = ["draw", "trajectories", str(manifest), "--scenario", "0", "--layout", "side", "--out"]
    done = CliRunner().invoke(app, [*given, str(tmp_path / "side.png")])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(
        app, ["draw", "trajectories", str(manifest), "--cell", "x", "--out", "a.png"]
    )
    assert "--scenario" in str(done.exception)


def test_a_scenario_is_drawn_with_chosen_models(people, tmp_path):
    manifest, out = people.parent / "plan" / "atlas_synthetic.json", tmp_path / "cell.svg"
    words_of_call = ["draw", "trajectories", str(manifest), "--scenario", "1", "--out", str(out)]
    done = CliRunner().invoke(app, [*words_of_call, "--models", "constant_velocity:default"])
    assert done.exit_code == 0, done.output
    words = re.sub("<[^>]*>", " ", out.read_text())
    assert "Hall, strict, scenario 1" in words and "Constant velocity, ADE" in words
    assert "Social force" not in words
    done = CliRunner().invoke(app, [*words_of_call, "--models", "constant"])
    assert isinstance(done.exception, StpError) and "constant" in str(done.exception)


def test_a_dataset_shows_all_its_tracks(people, tmp_path):
    scale, out = people.parent / "people.yaml", tmp_path / "hall.svg"
    given = ["draw", "clips", "hall", "--configfile", str(scale), "--out", str(out)]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    assert "hall: 10 tracks" in out.read_text()


def test_mixtures_are_those_of_the_people_of_the_scene(compared):
    shape = (*compared.scenarios.person.shape, FUTURE, 2)
    means = np.arange(np.prod(shape) * 2, dtype=float).reshape(*shape, 2)
    spread = np.broadcast_to(np.eye(2), (*shape, 2, 2))
    mixture = Mixture(np.full(shape, 0.5), means, spread)
    scene = replace(compared, mixtures={LABELS[1]: mixture}).scene(3)
    assert scene.predicted[0].mixture is None
    np.testing.assert_array_equal(scene.predicted[1].mixture.means, means[3])
    assert "two standard deviations" in scene.notes[-1]


def test_neighbours_are_drawn_and_not_followed(compared):
    future = compared.scenarios.future.copy()
    future[3, 1, -1] = np.nan  # the second one leaves before the end
    relaxed = replace(compared, scenarios=replace(compared.scenarios, future=future))
    scene = relaxed.scene(3)
    assert len(scene.person) == 1 and scene.neighbours.shape == (1, OBSERVED, 2)
    assert np.isfinite(relaxed.difference).all()
    assert as_json(_scene(scene))


# The report


def test_the_page_has_whole_centimetres_and_unrounded_errors(people, compared):
    with duckdb.connect(str(people), read_only=True) as store:
        found = json.loads(as_json(pieces(store)))
    (about,) = found["trajectories"]["tests"]
    piece = found[about["piece"]]
    assert [model["label"] for model in about["models"]] == LABELS
    assert len(piece["scenes"]) == len(about["scenarios"]) <= 12
    number, scene = about["scenarios"][0]["number"], piece["scenes"][0]
    expected = compared.scene(number)
    np.testing.assert_allclose(
        np.reshape(scene["future"], (2, FUTURE, 2)) / 100, expected.future, atol=0.0051
    )
    np.testing.assert_allclose(
        np.array(scene["predicted"][1]["errors"]) / 1000,
        expected.predicted[1].errors(expected.future),
        atol=0.00051,
    )
    assert len(scene["predicted"][1]["samples"]) == SAMPLES
    assert scene["predicted"][0]["samples"] == []
    # The line of the chart is that of the store.
    lines = ask(
        people,
        "SELECT value FROM by_lead WHERE model = 'social_force' AND "
        "convention = 'displacement.by_scenario' ORDER BY lead",
    )
    assert about["models"][0]["mean"] == pytest.approx([v for (v,) in lines], abs=1e-4)


def test_a_damaged_prediction_leaves_a_gap(people, compared, tmp_path):
    manifest = load_manifest(people.parent / "plan" / "atlas_synthetic.json")
    (cells,) = evaluations(manifest.cells).values()
    cells[1] = replace(cells[1], predictions=str(tmp_path))
    found = compare(cells, manifest.names, lenient=True)
    assert list(found.predicted) == LABELS[:1] and "missing" in found.absent[LABELS[1]]
    with pytest.raises(StpError):
        compare(cells, manifest.names)


@with_browser
def test_the_map_draws_every_path(browser):
    count = "return document.querySelectorAll(arguments[0]).length"
    svg = "svg.trajectories:not(.swatch)"
    assert browser.run(count, f"{svg} .person") == 2
    assert browser.run(count, f"{svg} .truth") == 2 * 2  # all of it faintly, and what has passed
    assert browser.run(count, f"{svg} [data-model='Constant velocity'] .one-sample") == SAMPLES * 2
    assert browser.run(count, f"{svg} [data-model='Social force (Hall)'] .sign") == 2
    assert "2 people" in browser.run(f"return document.querySelector('{svg}').ariaLabel")
    assert browser.run("return document.querySelector('#main .badge').textContent").startswith(
        "own"
    )


@with_browser
def test_keys_step_through_time_and_errors_follow(browser, people):
    assert browser.run(STEP) == FUTURE  # everything is there at first
    browser.press("\ue011")  # Home
    assert browser.run(STEP) == 1 - OBSERVED
    output = "return document.querySelector('.player output').textContent"
    assert browser.run(output) == "observed, −1.2 s"
    mean = "return document.querySelector('.people tbody td').textContent"
    assert browser.run(mean) == "–"
    browser.press(*["\ue014"] * OBSERVED)  # →
    assert browser.run(STEP) == 1 and browser.run(output) == "predicted, +0.4 s"
    with duckdb.connect(str(people), read_only=True) as store:
        found = json.loads(as_json(pieces(store)))
    errors = found["trajectories-0"]["scenes"][0]["predicted"][0]["errors"]
    assert browser.run(mean) == f"{np.mean([leads[0] for leads in errors]) / 1000:.2f}"
    browser.press("\ue012")  # ←
    assert browser.run(STEP) == 0
    browser.press("\ue010", "\ue014")  # End, and no further
    assert browser.run(STEP) == FUTURE


@with_browser
def test_it_plays_to_the_end_and_stops(browser):
    browser.run("document.activeElement.blur()")
    browser.press("Space")
    browser.wait_for(f"Number({SECTION}.dataset.step) < 0")
    browser.run(
        "const s = document.querySelector('[data-key=trajectories-speed]'); s.value = 4;"
        "s.dispatchEvent(new Event('change'))"
    )
    browser.wait_for(f"Number({SECTION}.dataset.step) === {FUTURE}")
    browser.wait_for(
        "document.querySelector('[data-key=trajectories-play]').textContent === 'Play'"
    )


@with_browser
def test_a_model_is_hidden_in_map_and_chart(browser):
    browser.click("[data-key=trajectories-0]")
    shown = "getComputedStyle(document.querySelector(`[data-model='Social force (Hall)']`)).display"
    assert browser.run(f"return {shown}") == "none"
    visible = "return document.querySelector('#plot-trajectories .plot').data.map((t) => t.visible)"
    assert browser.run(visible) == [False, False, True, True]
    assert "without=Social" in browser.run("return location.hash")


@with_browser
def test_a_score_opens_where_it_comes_from(browser):
    browser.click(".people tbody button.number")
    browser.wait_for("document.getElementById('dialog').open")
    text = browser.run("return document.getElementById('dialog').textContent")
    assert "displacement.by_scenario" in text and "Social force" in text
    browser.press("Escape")


@with_browser
def test_another_scenario_is_chosen(browser):
    select = "document.querySelector('[data-key=scenario]')"
    other = browser.run(f"return {select}.options[1].value")
    browser.run(f"{select}.value = '{other}'; {select}.dispatchEvent(new Event('change'))")
    browser.wait_for(f"{SECTION}.textContent.includes('Scenario {other},')")


@with_browser
def test_the_other_sections_stand_in_a_store_of_people_only(browser):
    names = json.loads(
        browser.run(
            "return JSON.stringify([...document.querySelectorAll('#sections a')]"
            ".map((a) => a.hash))"
        )
    )
    assert "#trajectories" in names
    for name in names:
        browser.run("location.hash = arguments[0]", name)
        browser.wait_for(f"document.getElementById('main').dataset.section === '{name[1:]}'")
        assert browser.complaints() == [], name
        assert browser.run("return document.querySelector('#main section').childElementCount") > 2


@with_browser
def test_a_phone_shows_the_map_without_scrolling_sideways(browser):
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.command("Emulation.setDeviceMetricsOverride", **size)
    try:
        look(browser)
        assert browser.run("return document.documentElement.scrollWidth") <= 390
        width = "return document.querySelector('svg.trajectories').getBoundingClientRect().width"
        assert browser.run(width) > 330
    finally:
        browser.command("Emulation.clearDeviceMetricsOverride")
