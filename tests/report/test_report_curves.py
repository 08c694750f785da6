"""The report's charts in a real browser: what they draw is what the results store says."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from browser import CHROMIUM, DRIVER, Browser
from chart_page import at, drawn, opened, text, unfold
from curve_store import TRUTH, short_store

from stp.report import leads
from stp.report.build import write_report

pytestmark = [
    pytest.mark.long(part="browser"),
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER) and "STP_REQUIRE_BROWSER" not in os.environ,
        reason="needs chromium and chromedriver (apt-get install)",
    ),
]

SECTIONS = ("lead-time", "by-setting", "other-tests", "spectra", "significance", "cost")
Ask = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def window(curves: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("window")) as browser:
        yield browser


@pytest.fixture
def page(window: Browser, curves: Path) -> Browser:
    """The page; each test goes to its section."""
    if window.run("return decodeURI(location.pathname)") != str(curves.with_name("index.html")):
        opened(window, curves)
    window.complaints()
    return window


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_draws_without_complaints_and_says_what_it_shows(
    page: Browser, section: str
) -> None:
    assert at(page, section)
    label = page.run("return document.querySelector('.plot').getAttribute('aria-label')")
    assert label == text(page, "figure:first-of-type figcaption")
    assert "synthetic data" in text(page, "main .note") or "official data" in text(page, "main")
    assert page.run("return document.querySelectorAll('main :is(table, summary)').length > 0")
    assert page.complaints() == []


def test_lines_over_lead_time_are_those_of_the_store(page: Browser, ask: Ask) -> None:
    traces = at(page, "lead-time", tested="kth")
    found = ask(
        "SELECT model, lead, avg(value), any_value(ci95_low), any_value(ci95_high) FROM by_lead "
        "WHERE tested_on = 'kth' AND convention = 'ssim.range2' GROUP BY ALL ORDER BY lead"
    )
    for model, name in (("convlstm", "ConvLSTM"), ("persistence", "Persistence")):
        rows = [row[1:] for row in found if row[0] == model]
        assert traces[name]["x"] == [lead for lead, *_ in rows]
        assert traces[name]["y"] == pytest.approx([value for _, value, *_ in rows], rel=1e-4)
    band = traces["SimVPv2, 95 % band"]
    ends = [row[3:] for row in found if row[0] == "simvpv2"]
    assert band["x"] == [1, 2, 3, 3, 2, 1]
    assert band["y"][:3] == pytest.approx([low for low, _ in ends])
    assert band["y"][3:] == pytest.approx([high for _, high in reversed(ends)])


def test_several_seeds_are_thin_lines_around_their_mean_and_have_no_band(page: Browser) -> None:
    traces = at(page, "lead-time", tested="kth")
    seeds = [traces[f"ConvLSTM, seed {seed}"]["y"] for seed in (0, 1)]
    assert traces["ConvLSTM"]["y"] == pytest.approx(
        [(a + b) / 2 for a, b in zip(*seeds, strict=True)]
    )
    assert "ConvLSTM, 95 % band" not in traces


def test_a_baseline_is_dashed_and_no_two_models_look_alike(page: Browser) -> None:
    traces = at(page, "lead-time", tested="kth")
    assert traces["Persistence"]["dash"] == "longdash"
    looks = {(traces[name]["dash"], traces[name]["symbol"]) for name in ("ConvLSTM", "SimVPv2")}
    assert len(looks) == 2


def test_a_description_names_who_leads_and_how_far(page: Browser) -> None:
    at(page, "lead-time", tested="kth")
    said = text(page, "figcaption")
    assert "SimVPv2 (0.8500)" in said and "SimVPv2 (0.7500)" in said


def test_filters_change_what_is_drawn(page: Browser) -> None:
    before = at(page, "lead-time", tested="kth")
    page.run(
        "const choice = document.querySelector('[name=tested]'); choice.value = 'kitti';"
        "choice.dispatchEvent(new Event('change'))"
    )
    after = drawn(page, "lead-time")
    assert "Persistence" in before
    assert set(after) == {
        "ConvLSTM", "ConvLSTM, 95 % band", "SimVPv2", "SimVPv2, 95 % band",
    }  # fmt: skip
    assert "tested=kitti" in page.run("return location.hash")


def test_a_model_is_hidden_by_its_checkbox(page: Browser) -> None:
    at(page, "lead-time", tested="kth")
    page.run("document.querySelector('[data-key=\"model-ConvLSTM\"]').click()")
    traces = drawn(page, "lead-time")
    assert traces["ConvLSTM"]["visible"] == "legendonly"
    assert traces["SimVPv2"]["visible"] is True
    assert "Models shown: 2 of 3" in text(page, ".switches summary")


def test_a_metric_without_values_says_why(page: Browser) -> None:
    assert at(page, "lead-time", tested="kth", metric="lpips.alex") == {}
    assert "the weights of alexnet are not there" in text(page, ".absent")
    assert at(page, "by-setting", metric="lpips.alex") == {}
    assert "the weights of alexnet are not there" in text(page, ".absent")


def test_with_too_many_numbers_only_the_tables_conventions_are_in(
    curves: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with duckdb.connect(str(curves), read_only=True) as connection:
        full = leads.data(connection, curves.parent)
        monkeypatch.setattr(leads, "MOST", 1)
        less = leads.data(connection, curves.parent)
    words = [set(one["lines"].columns["convention"].words) for one in (full, less)]
    assert (full["complete"], less["complete"]) == (True, False)
    assert words[0] - words[1] == {"spectral_divergence.mean_spectra"}


def test_robustness_declines_as_the_store_says(page: Browser, ask: Ask) -> None:
    traces = at(page, "by-setting", tested="nuscenes", show="decline")
    found = ask(
        "SELECT decline FROM paper_changes WHERE side = 'ours' AND comparison = 'robustness' "
        "AND model = 'convlstm' AND tested_on = 'nuscenes' AND base_interval = 1 "
        "AND metric = 'SSIM' ORDER BY frame_interval"
    )
    assert traces["ConvLSTM"]["x"] == [1, 2, 3]
    assert traces["ConvLSTM"]["y"] == pytest.approx([0.0, *[decline for (decline,) in found]])
    assert "ConvLSTM (50 %" in text(page, "figcaption")


def test_printed_values_are_drawn_only_where_they_compare(page: Browser, ask: Ask) -> None:
    official = at(page, "by-setting", tested="nuscenes")
    found = ask(
        "SELECT published FROM deltas WHERE dimension = 'robustness' AND model = 'simvpv2' "
        "AND difference IS NOT NULL AND metric = 'SSIM' ORDER BY setting"
    )
    assert official["SimVPv2, printed"]["y"] == pytest.approx([None, *[v for (v,) in found]])
    synthetic = at(page, "by-setting", tested="bridge")
    assert not any("printed" in name for name in synthetic)


def test_distances_between_sets_are_those_at_equal_n(page: Browser, ask: Ask) -> None:
    traces = at(page, "by-setting", tested="bridge", metric="fvd.predicted_only")
    found = ask("SELECT value, sd FROM matched_distances WHERE model = 'convlstm' ORDER BY setting")
    assert traces["ConvLSTM"]["y"] == [value for value, _ in found]
    assert traces["ConvLSTM"]["up"] == [sd for _, sd in found]
    assert "20 clips" in text(page, "figcaption")
    # Of other numbers of clips there is a value, but not one to compare.
    assert traces["SimVPv2"]["y"][:2] == [None, None]


def test_a_slope_leads_from_the_own_test_to_the_other(page: Browser, ask: Ask) -> None:
    traces = at(page, "other-tests", trained="kitti")
    ((base, value, decline),) = ask(
        "SELECT base_value, value, decline FROM paper_changes WHERE side = 'ours' "
        "AND comparison = 'generalization' AND model = 'convlstm' AND tested_on = 'caltech' "
        "AND trained_on = 'kitti' AND metric = 'SSIM' AND value IS NOT NULL"
    )
    assert traces["ConvLSTM"]["y"][:3] == [base, value, None]
    assert decline == pytest.approx(0.5)
    for value in ("0.9000", "0.4500", "50 %"):
        assert value in text(page, "figcaption")


def test_without_its_own_test_a_training_has_no_slope(page: Browser) -> None:
    traces = at(page, "other-tests", trained="nuscenes")
    assert traces["SimVPv2"]["y"] == [0.5, None]
    assert "nuScenes" in text(page, ".absent")


def test_spectra_are_those_of_the_sums(page: Browser) -> None:
    traces = at(page, "spectra", tested="kth")
    assert traces["truth"]["x"] == [1, 2, 3, 4]
    assert traces["truth"]["y"] == list(TRUTH[:, 2])
    assert traces["SimVPv2"]["y"] == [8.0, 2.0, 0.5, 0.125]
    ratio = at(page, "spectra", tested="kth", show="ratio")
    assert ratio["SimVPv2"]["y"] == [1.0, 0.5, 0.25, 0.125]
    assert ratio["truth"]["y"] == [1.0] * 4
    axes = page.run(
        "const p = document.querySelector('.plot').layout; return [p.xaxis.type, p.yaxis.type]"
    )
    assert axes == ["log", "log"]
    assert "ConvLSTM" in text(page, "main .note")
    assert at(page, "spectra", tested="kitti") == {}
    assert "spectral_divergence" in text(page, ".absent")


def test_a_pair_shows_its_difference_with_a_sign_and_its_test_on_focus(page: Browser) -> None:
    at(page, "significance", tested="kth")
    cells = page.run(
        "return [...document.querySelectorAll('.pairs tbody tr')].map((row) => [...row.cells]"
        ".map((cell) => cell.textContent.trim()))"
    )
    assert cells == [
        ["SimVPv2", "", "▲ +0.150", "▲ +0.150"],
        ["ConvLSTM", "▼ −0.150", "", "≈ +0.150"],
        ["Persistence", "▼ −0.150", "≈ −0.150", ""],
    ]
    page.run("document.querySelectorAll('.pairs button')[0].focus()")
    said = text(page, "#pair")
    numbers = re.findall(r"[+−]?\d\.\d+", said)
    assert numbers == ["+0.150", "0.1300", "0.1700", "0.0030", "0.0010", "0.01000"]
    page.press("Down")  # over the empty diagonal
    said = text(page, "#pair")
    assert "Persistence" in said and "−0.150" in said


def test_the_table_of_pairs_and_the_ranks_are_those_of_the_store(page: Browser, ask: Ask) -> None:
    ranks = at(page, "significance", tested="kth")
    found = ask(
        "SELECT model, rank, rank_low, rank_high FROM ranks "
        "WHERE tested_on = 'kth' AND convention = 'ssim.range2' ORDER BY rank"
    )
    titles = {"convlstm": "ConvLSTM", "simvpv2": "SimVPv2", "persistence": "Persistence"}
    shown = {
        name: (one["x"][0], one["x"][0] - one["left"][0], one["x"][0] + one["right"][0])
        for name, one in ranks.items()
    }
    assert shown == {titles[model]: tuple(ends) for model, *ends in found}
    ((pairs,),) = ask(
        "SELECT count(*) FROM comparisons WHERE tested_on = 'kth' AND convention = 'ssim.range2'"
    )
    unfold(page, "significance-pairs")
    rows = page.run("return document.querySelector('main details table').tBodies[0].rows.length")
    assert rows == pairs


def test_costs_are_marked_where_nothing_is_better_and_cheaper(page: Browser, ask: Ask) -> None:
    traces = at(page, "cost", tested="kth")
    ((seconds,),) = ask(
        "SELECT avg(train_seconds) FROM cost WHERE model = 'convlstm' AND tested_on = 'kth'"
    )
    assert traces["ConvLSTM"]["x"] == pytest.approx([seconds])
    (front,) = (trace for name, trace in traces.items() if name.startswith("Pareto front"))
    assert front["x"] == traces["Persistence"]["x"] + traces["SimVPv2"]["x"]
    assert (
        page.run(
            "return [...document.querySelectorAll('main table')].find((t) => t.caption.textContent"
            ".startsWith('Costs on')).rows.length"
        )
        == 1 + 3
    )
    logarithmic = at(page, "cost", tested="kth", axis="log")
    assert "Persistence" not in logarithmic
    assert "Persistence" in text(page, "main .note")


def test_times_of_different_devices_have_fronts_of_their_own(page: Browser) -> None:
    traces = at(page, "cost", tested="kitti", cost="predict_per_clip")
    assert {name for name in traces if name.startswith("Pareto front")} == {
        "Pareto front, cpu", "Pareto front, NVIDIA H200",
    }  # fmt: skip
    for name in ("cpu", "NVIDIA H200", "of-convlstm", "of-simvpv2"):
        assert name in text(page, "main .note")


def test_totals_count_each_artefact_once(page: Browser, ask: Ask) -> None:
    at(page, "cost")
    ((artefacts, seconds),) = ask("SELECT count(*), sum(seconds) FROM artefacts")
    # Those of training had two GPUs each.
    ((gpu,),) = ask("SELECT 2 * sum(seconds) FROM artefacts WHERE stage = 'model'")
    said = text(page, "main p")
    assert f"in {artefacts} artefacts" in said
    assert float(said.split(" hours of computing")[0].split()[-1]) == pytest.approx(
        seconds / 3600, rel=1e-2
    )
    assert float(said.split(" GPU hours")[0].split()[-1]) == pytest.approx(gpu / 3600, rel=1e-2)
    assert "out of memory" in text(page, "main table")


def test_a_training_that_serves_several_tests_counts_once(page: Browser, ask: Ask) -> None:
    at(page, "cost")
    rows = page.run(
        "const table = [...document.querySelectorAll('main table')]"
        ".find((t) => t.caption.textContent.startsWith('Time by model'));"
        "return [...table.tBodies[0].rows].map((row) =>"
        "[...row.cells].slice(0, 4).map((cell) => cell.textContent))"
    )
    # The same two trainings on KTH, of 90 s each, whatever was tested with them.
    assert ["ConvLSTM", "KTH", "2", "3 min"] in [
        [*row[:3], row[3].replace(".0", "")] for row in rows
    ]
    ((cells,),) = ask("SELECT count(DISTINCT (model, variant, trained_on)) FROM cells")
    assert len(rows) == cells


def test_sections_without_data_are_left_out_and_named(window: Browser, tmp_path: Path) -> None:
    database = short_store(tmp_path)
    write_report(database, tmp_path / "index.html")
    opened(window, database)
    titles = window.run(
        "return [...document.querySelectorAll('#sections a')].map((a) => a.textContent)"
    )
    assert "Lead time" in titles and not {"By setting", "Other tests"} & set(titles)
    assert "left out: By setting, Other tests, Forecasts." in text(window, "main .note")
    assert window.complaints() == []


def test_nothing_but_tables_and_charts_is_wider_than_a_phone(page: Browser) -> None:
    page.command(
        "Emulation.setDeviceMetricsOverride",
        width=390,
        height=800,
        deviceScaleFactor=1,
        mobile=True,
    )
    for section in SECTIONS:
        at(page, section)
        assert page.run("return document.documentElement.scrollWidth") <= 390, section
    page.command("Emulation.clearDeviceMetricsOverride")
