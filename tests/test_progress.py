"""How long still? Estimated from what earlier work took."""

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from stp.core.units import duration
from stp.plan import config
from stp.plan.cells import Plan
from stp.run import workflow_files
from stp.run.costs.durations import Durations
from stp.run.progress import PAGES, Progress, count_pages, write_pages
from stp.verbs.app import say_wrote


def whole(*kinds: str) -> list[tuple[str, float]]:
    """Work of which nothing is done yet."""
    return [(kind, 1.0) for kind in kinds]


TINY = Path(__file__).parent / "workflow" / "tiny.yaml"
DEMO = Path(__file__).parents[1] / "config" / "demo.yaml"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59, "59 s"), (60, "1:00 min"), (187, "3:07 min"), (19_200, "5:20 h")],
)
def test_durations_read_as_people_say_them(seconds, text):
    assert duration(seconds) == text


def test_the_rest_is_the_mean_of_each_waiting_stage(tmp_path):
    begun = time.time() - 60
    durations = Durations(tmp_path / "state" / "durations.jsonl")
    durations.add("train", begun, 20)
    durations.add("train", begun, 40)
    durations.add("score", begun, 2)
    # one after the other: 62 s of work in 60 s; two trainings of 30 s and a score of 2 s
    assert durations.seconds_left(whole("train", "train", "score"), begun) == pytest.approx(
        62 / 1.033, rel=0.02
    )


def test_work_side_by_side_halves_the_rest(tmp_path):
    begun = time.time() - 60
    durations = Durations(tmp_path / "durations.jsonl")
    for _ in range(4):
        durations.add("train", begun, 30)  # 120 s of work in 60 s
    assert durations.seconds_left(whole("train") * 4, begun) == pytest.approx(60, rel=0.02)


def test_a_model_counts_with_its_own_mean(tmp_path):
    begun = time.time() - 100
    durations = Durations(tmp_path / "durations.jsonl")
    durations.add("train convlstm", begun, 50)
    durations.add("train climatology", begun, 2)
    assert durations.seconds_left(whole("train climatology") * 2, begun) == pytest.approx(4)
    # a model not seen yet takes what training takes on average
    assert durations.seconds_left(whole("train simvpv2"), begun) == pytest.approx(26)


def test_stages_not_seen_yet_are_not_guessed(tmp_path):
    """A preparation of seconds says nothing of a training of hours."""
    begun = time.time() - 100
    durations = Durations(tmp_path / "durations.jsonl")
    durations.add("prepare", begun, 10)
    assert durations.seconds_left(whole("prepare", "train"), begun) is None
    assert durations.seconds_left(whole("prepare"), begun) == pytest.approx(10)


def test_what_is_done_of_a_step_is_not_left(tmp_path):
    begun = time.time() - 100
    durations = Durations(tmp_path / "durations.jsonl")
    durations.add("train", begun, 40)
    assert durations.seconds_left([("train", 0.25), ("train", 1.0)], begun) == pytest.approx(50)


def test_nothing_is_estimated_from_nothing_or_from_an_earlier_run_alone(tmp_path):
    durations = Durations(tmp_path / "durations.jsonl")
    assert durations.seconds_left(whole("train"), 0) is None
    durations.add("train", 1000.0, 5)
    assert durations.seconds_left(whole("train"), time.time()) is None


def test_a_torn_line_is_passed_over(tmp_path):
    begun = time.time() - 10
    path = tmp_path / "durations.jsonl"
    Durations(path).add("train", begun, 5)
    path.write_text(path.read_text() + '{"kind": "tra')
    assert Durations(path).seconds_left(whole("train"), begun) == pytest.approx(5)
    assert json.loads(path.read_text().splitlines()[0])["kind"] == "train"


def test_while_it_works_a_job_looks_at_all_receipts_only_now_and_then(
    tmp_path, monkeypatch, capsys
):
    """Hundreds of jobs that look at thousands of receipts every ten seconds would be too many."""
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path))
    plan = Plan.load(TINY)
    lines = Progress("train", "convlstm on enso", plan, None)
    lines.say("starts")
    receipt = plan.store / next(iter(plan.artefacts.values())).receipt
    receipt.parent.mkdir(parents=True)
    receipt.touch()
    lines.shown = 0.0  # long enough ago to print again
    lines.report("step 1", 1, 2)
    lines.say("is saved")
    counts = [line.partition("]")[0] for line in capsys.readouterr().err.splitlines()]
    assert counts == ["[ 0/24", "[ 0/24", "[ 1/24"]


def test_tables_and_figures_of_a_run_are_counted(tmp_path, monkeypatch):
    """Their outputs tell: those that were there before the run count when they are made again."""
    monkeypatch.chdir(tmp_path)
    tables, figures = Path("results/demo/tables"), Path("results/demo/figures/short_term")
    pages = [tables / "short_term.csv", figures / "ranks.png", figures / "leads.png"]
    others = ["results/tables/short_term.csv", "results/demo/figures/all", "results/store/x.json"]
    jobs = [SimpleNamespace(output=[str(path)]) for path in (*pages, *others)]
    for path in pages:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (0, 0))
    write_pages(SimpleNamespace(dag=SimpleNamespace(needrun_jobs=lambda: iter(jobs))))
    assert count_pages(pages[1]) == "[0/3] "
    pages[1].touch()
    assert count_pages(pages[1].with_suffix(".svg")) == "[1/3] "
    assert count_pages(Path("ranks.png")) == ""  # of a person, beside the run
    PAGES.write_text("torn")
    assert count_pages(pages[1]) == ""


def test_a_verb_of_a_run_says_how_many(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = Path("results/demo/figures/short_term/ranks.png")
    jobs = [SimpleNamespace(output=[str(page)])]
    write_pages(SimpleNamespace(dag=SimpleNamespace(needrun_jobs=lambda: iter(jobs))))
    page.parent.mkdir(parents=True)
    page.touch()
    say_wrote(tmp_path / "ranks.log", page, " and ranks.svg")
    say_wrote(None, page)
    assert capsys.readouterr().err.splitlines() == [
        f"[1/1] wrote {page} and ranks.svg",
        f"wrote {page}",
    ]


def test_progress_counts_the_dimensions_that_were_asked_for(tmp_path):
    scale = yaml.safe_load(DEMO.read_text())
    plan = Plan(config.load(scale))
    everything = plan.dimensions
    plan.count(["short_term"])
    wanted = {a.folder for a in plan.artefacts.values() if plan.is_wanted(a)}
    assert plan.dimensions == ["short_term"] != everything
    needed = {a.folder for made in plan.cells[:15] for a in made.artefacts}
    assert wanted == needed < set(plan.artefacts)


@pytest.mark.parametrize(
    ("targets", "dimensions"),
    [
        (["results/tables/short_term.csv"], ["short_term"]),
        (
            ["results/figures/robustness/slopes.png", "results/tables/long_term.csv"],
            ["long_term", "robustness"],
        ),
        (["results/tables/all"], None),
        (["results/tables/short_term.csv", "results/figures/all"], None),
        ([], None),
    ],
)
def test_targets_say_which_dimensions_a_run_needs(tmp_path, targets, dimensions):
    plan = Plan.load(DEMO)
    workflow_files.write_counted(plan, targets, tmp_path)
    assert workflow_files.read_counted(tmp_path) == dimensions
