"""Pairs of models: forty small models, simulated raters of known taste, and the table of the paper.

All answers here are simulated.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from asking import ask
from population import (
    FVD,
    KVD,
    MODELS,
    PSNR,
    STUDY,
    write_models,
    write_pair_study,
    write_population,
)
from raters import Taste, line, pair_crowd, write
from typer.testing import CliRunner

from stp.cli import app
from stp.collect.database import build
from stp.collect.people_agreement import read_agreements, with_people
from stp.core.errors import StpError
from stp.plan.checked_config import CONFIG_FOLDER
from stp.studies import selection
from stp.studies.answer_key import NONE, ModelGroup, PairKey, PairQuestion, ScoredModel, load_key
from stp.studies.answers import SIMULATED, Answer, Answers, read_answers
from stp.studies.options import Pairs, load_item
from stp.studies.page import read_page
from stp.studies.pair_agreement import agreements
from stp.studies.pair_table import render_agreement
from stp.studies.pairs import write_next_page
from stp.studies.questionnaire import write_questionnaire

RATERS = 14
NOISE, SIMILAR, LAPSE = 60.0, 15.0, 0.1


class Study:
    """Where a study lies."""

    def __init__(self, folder: Path, population: Path, **changes: object) -> None:
        self.folder = folder
        self.page = folder / "out" / "questionnaire.html"
        self.key_path = folder / "out" / "key.json"
        self.answers = folder / "out" / "answers"
        self.study = write_pair_study(folder / "study.yaml", **changes)
        write_questionnaire(population, self.page, study_file=self.study)
        self.key = load_key(self.key_path, PairKey)


@pytest.fixture(scope="module")
def population(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_population(tmp_path_factory.mktemp("population"))


@pytest.fixture(scope="module")
def study(population: Path, tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study(tmp_path_factory.mktemp("study"), population)


@pytest.fixture(scope="module")
def answered(study: Study) -> Iterator[Study]:
    """All answers are there: of two raters, and of a third one where these disagree."""
    taste = Taste(study.key, "FVD", noise=NOISE, similar=SIMILAR, lapse=LAPSE)
    everything = {asked.id: 2 for asked in study.key.questions}
    pair_crowd(study.answers, taste, everything, raters=range(RATERS), day=1)
    following = study.folder / "out" / "next.html"
    third, second = write_next_page(study.page, [study.answers], following)
    assert (third > 100, second) == (True, 0)
    wanted = {one["id"]: 1 for one in read_page(following)["questions"]}
    assert len(wanted) == third
    others = range(RATERS, 2 * RATERS)
    pair_crowd(study.answers, taste, wanted, raters=others, day=2)
    with pytest.raises(StpError, match="no pair needs"):
        write_next_page(study.page, [study.answers], following)
    yield study


def scenario(key: PairKey, name: str):
    (found,) = [one for one in key.scenarios if one.name == name]
    return found


def test_models_are_chosen_equal_and_spread_as_the_paper_does() -> None:
    values = np.random.default_rng(0).permutation(np.arange(101.0))
    low = values[selection.equal(values, 10, higher_is_better=False)]
    high = values[selection.equal(values, 10, higher_is_better=True)]
    assert sorted(low) == list(range(20, 30)) and list(low) == sorted(low)
    assert sorted(high) == list(range(71, 81))
    assert list(values[selection.spread(values, 9)]) == list(range(10, 91, 10))
    # The first wanted value takes no model that a later one needs more.
    assert selection.spread(np.array([0.0, 5, 6, 10]), 4).tolist() == [0, 1, 2, 3]
    rng = np.random.default_rng(0)
    drawn = {values[n] for _ in range(40) for n in selection.draw_near(values, 50, 2, 3, rng)}
    assert drawn == {48, 49, 50, 51, 52}


def test_a_population_becomes_pairs_whose_page_says_nothing_of_models(study: Study) -> None:
    key = study.key
    assert key.size == MODELS and load_key(study.key_path, PairKey) == key
    equal, spread = scenario(key, "eq. FVD"), scenario(key, "spr. FVD")
    assert len(equal.models) == len(set(equal.models)) == len(spread.models) == 10
    assert equal.low is not None and equal.high is not None and equal.high - equal.low < 0.011
    assert [scenario(key, f"base200 +{step}").reason for step in (10, 200, 900)] == [
        f"{number} of 5 models at this step" for number in (1, 1, 0)
    ]
    per = Counter(name for asked in key.questions for name in asked.scenarios)
    assert per["eq. FVD"] == per["spr. FVD"] == 45 * 3 and per["base200 +10"] == 3
    pairs = Counter((frozenset(asked.choices.values()), asked.clip) for asked in key.questions)
    assert set(pairs.values()) == {1}, "what two scenarios want is asked once"
    shown = study.page.read_text()
    about = read_page(study.page)
    about["pictures"] = None  # random letters
    words = [*key.models, *key.about.metrics, FVD, PSNR, "eq.", "spr.", "base200", "small0", "bair"]
    assert not [word for word in words if word in json.dumps(about)]
    again = write_questionnaire(
        Path(key.population), study.folder / "again" / "q.html", study_file=study.study
    )
    assert again == key and (study.folder / "again" / "q.html").read_text() == shown


def test_raters_who_like_fvd_agree_with_it_and_are_at_chance_where_it_is_equal(
    answered: Study,
) -> None:
    """The design of Table 1, end to end; all raters are simulated."""
    out = answered.folder / "tables" / "agreement_with_people.csv"
    key = answered.key
    printed = CONFIG_FOLDER / "suites" / "fvd_study" / "published.csv"
    read = read_answers([answered.answers], key, answered.key_path)
    render_agreement(key, read, out, published=printed)
    found = {(row.scenario, row.metric, row.counting): row for row in read_agreements(out)}
    taste = Taste(key, "FVD", noise=NOISE, similar=SIMILAR, lapse=LAPSE)
    for name, metric in (
        ("spr. FVD", "FVD"), ("spr. FVD", "PSNR"), ("eq. FVD", "PSNR"), ("eq. PSNR", "FVD"),
    ):  # fmt: skip
        asked = [one for one in key.questions if name in one.scenarios]
        for counting in ("decided", "all"):
            row = found[name, metric, counting]
            known = taste.agreement(metric, asked, counting)
            assert row.value == pytest.approx(known, abs=5), (name, metric, counting)
            assert row.ci95_low is not None and row.ci95_low < known < (row.ci95_high or 0)
            assert RATERS < row.raters <= 2 * RATERS
            assert counting == "decided" or (row.pairs, row.comparisons) == (45, 135)
    assert (found["spr. FVD", "FVD", "decided"].value or 0) > 75
    assert (found["spr. FVD", "FVD", "decided"].ci95_low or 0) > 65
    assert found["eq. FVD", "PSNR", "decided"].value == pytest.approx(50, abs=5)
    more = found["spr. FVD", "FVD", "majority"].value
    assert more is not None and more > (found["spr. FVD", "FVD", "decided"].value or 0)
    # As printed, and empty with a reason.
    own = found["eq. FVD", "FVD", "decided"]
    assert (own.value, own.reason) == (None, "models were chosen to be equal in it")
    assert found["spr. FVD", "KVD", "decided"].reason == f"no value of {KVD}"
    assert found["eq. PSNR", "FVD", "decided"].published == 81.0
    assert found["spr. FVD", "Among raters", "all"].published == 83.3
    # Raters among each other: the first two alike.
    first = [one for one in read.answers if one.answered_at.day == 1]
    chosen: dict[int, list[str | None]] = {}
    for one in first:
        chosen.setdefault(one.question, []).append(one.model)
    here = [n for n, asked in enumerate(key.questions) if "spr. FVD" in asked.scenarios]
    alike = np.mean([chosen[n][0] == chosen[n][1] for n in here])
    row = found["spr. FVD", "Among raters", "all"]
    assert row.value == pytest.approx(100 * alike) and row.comparisons == 135
    # Figure 5: answers of no difference disagree.
    gap = found["base200 +10", "FVD", "all"]
    assert gap.value is not None and gap.value < (found["base200 +200", "FVD", "all"].value or 0)
    assert found["base200 +900", "FVD", "all"].reason == "0 of 5 models at this step"
    assert all(row.simulated and not row.comparable for row in found.values() if row.answers)
    # Trust cards have no number of programs.
    rows = read_agreements(out)
    assert with_people(rows, FVD) == (None, "raters are simulated")
    people = [replace(row, simulated=False) for row in rows]
    assert with_people(people, FVD) == (found["spr. FVD", "FVD", "decided"].value, "")
    assert with_people(people, KVD) == (None, "no study with people has compared it")
    for reason in ("too few answers", ""):
        without = [replace(row, value=None, reason=reason) for row in people]
        assert with_people(without, FVD) == (None, reason or "no study with people has compared it")
    # The results store has all of it.
    folder = Path(key.population).parent
    database = out.with_suffix(".duckdb")
    build([folder / "manifest.json"], [folder / "short_term.parquet"], database, people=out)
    held = ask(database, "FROM agreement_with_people ORDER BY rowid")
    assert held == [tuple(vars(row).values()) for row in rows]
    text = out.with_suffix(".md").read_text()
    assert "SIMULATED" in text and "1,800 comparisons" in text and "(71.9)" in text
    for kind in (".html", ".tex", ".png", ".svg"):
        assert out.with_suffix(kind).stat().st_size > 500
    assert len(read.answers) > 2 * len(key.questions)


def test_a_third_answer_counts_only_where_two_disagree(study: Study, tmp_path: Path) -> None:
    key, rng = study.key, np.random.default_rng(0)
    asked = next(one for one in key.questions if "spr. FVD" in one.scenarios)
    better = key.better("FVD", asked)
    (worse,) = {*asked.choices.values()} - {better}

    def rows(*choices: str):
        folder = tmp_path / "-".join(str([better, worse, NONE].index(one)) for one in choices)
        for number, choice in enumerate(choices):
            rater = f"{SIMULATED}{number:016x}"
            moment = f"2026-01-31T12:0{number}:00Z"
            lines = [line(key, asked, choice, rng, rater, answered_at=moment)]
            write(folder / f"{9 - number}.csv", lines)
        return {
            (row.metric, row.counting): (row.value, row.answers)
            for row in agreements(key, read_answers([folder], key, study.key_path), [])
            if row.scenario == "spr. FVD" and row.metric in ("FVD", "Among raters")
        }

    assert better is not None
    found = rows(better, better, worse)
    assert found["FVD", "decided"] == (100, 2) and found["Among raters", "all"] == (100, 1)
    found = rows(better, worse, worse)
    assert found["FVD", "decided"] == (pytest.approx(100 / 3), 3)
    assert found["FVD", "majority"] == (0, 1) and found["Among raters", "all"] == (0, 1)
    found = rows(better, NONE, better, worse)
    assert found["FVD", "decided"] == (100, 2)
    assert found["FVD", "all"] == (pytest.approx(200 / 3), 3)
    found = rows(NONE, NONE)
    assert found["FVD", "decided"] == (None, 0) and found["Among raters", "all"] == (100, 1)


def test_a_rater_may_have_a_file_of_each_round_and_counts_once(
    study: Study, tmp_path: Path
) -> None:
    key, rng = study.key, np.random.default_rng(0)
    lines = [line(key, asked, NONE, rng, f"{3:016x}") for asked in key.questions[:3]]
    first = write(tmp_path / "one.csv", lines[:2])
    second = write(tmp_path / "two.csv", lines[2:])
    assert len(read_answers([first, second], key, study.key_path).answers) == 3
    write(second, lines[1:])
    with pytest.raises(StpError, match=r"two\.csv, line 2.*one\.csv, line 3"):
        read_answers([first, second], key, study.key_path)


def test_a_key_of_pairs_that_does_not_fit_is_refused(study: Study, tmp_path: Path) -> None:
    text, damaged = study.key_path.read_text(), tmp_path / "key.json"
    name = scenario(study.key, "spr. FVD").models[0]
    for old, new, said in (
        ('"higher_is_better": false', '"higher_is_better": 7', "higher_is_better"),
        ('"questions": [', '"questions": [7,', "questions.0"),
        (f'"{name}": {{', '"other": {', r"key\.json"),
    ):
        assert old in text
        damaged.write_text(text.replace(old, new, 1))
        with pytest.raises(StpError, match=said):
            load_key(damaged, PairKey)


def test_a_csv_file_is_a_population_and_the_verbs_lead_to_the_table(tmp_path: Path) -> None:
    table = write_models(tmp_path, 4)
    changes = {"models": 4, "equal": ["PSNR"], "spread": ["FVD"], "gaps": None}
    config = write_pair_study(tmp_path / "study.yaml", **changes)
    page = tmp_path / "out" / "questionnaire.html"

    def stp(*command: object, ok: bool = True) -> str:
        done = CliRunner().invoke(app, list(map(str, command)))
        if ok:
            assert done.exit_code == 0, done.output + str(done.exception)
            return done.output
        return str(done.exception)

    ask_about = "study", "questionnaire", table, "--study", config, "--out", page
    told = stp(*ask_about)
    assert "18 questions, 4 models" in told and "eq. PSNR: 0 models" in told
    key = load_key(page.with_name("key.json"), PairKey)
    two = {asked.id: 2 for asked in key.questions[:10]} | {key.questions[10].id: 1}
    taste = Taste(key, "FVD", noise=5, similar=3, lapse=0)
    answers = pair_crowd(page.parent / "answers", taste, two, raters=range(3), day=1)
    told = stp("study", "questionnaire", "--after", answers, "--page", page)
    following = read_page(page.with_name("questionnaire-next.html"))
    assert "8 with fewer than two" in told
    by = {one["id"]: one["answered_by"] for one in following["questions"]}
    assert len(by[key.questions[10].id]) == 1 and by[key.questions[11].id] == []
    assert following["study"] == key.study and following["round"] != "first"
    out = tmp_path / "tables" / "made.csv"
    stp("study", "preferences", answers, "--key", page.with_name("key.json"), "--out", out)
    assert any(row.value is not None for row in read_agreements(out))
    stp("study", "preferences", "--study", config, "--key", tmp_path / "none.json", "--out", out)
    printed = {(row.scenario, row.metric): row for row in read_agreements(out)}
    assert {row.value for row in printed.values()} == {None}
    assert printed["spr. FVD", "Among raters"].published == 83.3
    # What does not fit is one clear error.
    np.save(tmp_path / "m3" / "all.npy", np.zeros((3, 5, 3, 10, 12), np.uint8))
    told = stp(*ask_about, ok=False)
    assert "model 3, clip 0: 5 frames" in told and "model 0 has 4" in told
    assert "--where" in stp(*ask_about, "--where", "true", ok=False)
    table.write_text("model,clips\na,b\n")
    assert "columns model, clips" in stp(*ask_about, ok=False)


def test_a_store_is_selected_from_in_sql_and_directions_are_checked(
    population: Path, tmp_path: Path
) -> None:
    few = {"models": 8, "equal": [], "gaps": None}
    study = Study(tmp_path, population, **few)
    assert study.key.size == MODELS
    config = write_pair_study(tmp_path / "few.yaml", **few)
    write_questionnaire(population, study.page, where="variant = 'v1'", study_file=config)
    key = load_key(study.key_path, PairKey)
    assert key.size == 8 and all("/v1/" in name for name in key.models)
    with pytest.raises(StpError, match=r"5 models.*FVD"):
        write_questionnaire(population, study.page, where="model = 'small1'", study_file=config)
    with pytest.raises(StpError, match="nonsense"):
        write_questionnaire(population, study.page, where="nonsense", study_file=config)
    wrong = {"FVD": {"convention": FVD, "higher_is_better": True}}
    config = write_pair_study(tmp_path / "wrong.yaml", **few, metrics=wrong, spread=["FVD"])
    with pytest.raises(StpError, match="higher_is_better"):
        write_questionnaire(population, study.page, study_file=config)
    assert load_item(Pairs, CONFIG_FOLDER / "human_pairs.yaml").gaps is not None


def test_the_bases_of_a_step_have_an_interval_together() -> None:
    """Five others of each of two bases: 5 pairs are too few, 10 are enough."""
    scenarios, questions, models = [], [], {}
    for base in (200.0, 400.0):
        names = [f"{base:g}", *(f"{base + 50:g}, {i}" for i in range(5))]
        models |= {
            name: ScoredModel(
                values={"FVD": base if name == names[0] else base + 50},
                **{"source": "synthetic", "protocol": "", "predictions": ""},
            )
            for name in names
        }
        point = f"base{base:g} +50"
        gap = {"kind": "gap", "metric": "FVD", "base": base, "step": 50.0}
        scenarios.append(ModelGroup(name=point, models=names, **gap))
        questions += [
            PairQuestion(
                id=f"{name}/{v}",
                clip=f"clip{v}",
                scenarios=[point],
                choices={"A": names[0], "B": name},
            )
            for name in names[1:]
            for v in range(3)
        ]
    about = Pairs.model_validate(STUDY)
    key = PairKey(about=about, models=models, scenarios=scenarios, questions=questions)
    rng, day = np.random.default_rng(0), datetime(2024, 1, 1, tzinfo=UTC)
    given = [
        Answer(f"r{(q + rater) % 12}", q, one.choices["AB"[rng.random() < 0.3]], 0, 1.0, day)
        for q, one in enumerate(questions)
        for rater in (0, 1)
    ]
    found = {(r.scenario, r.counting): r for r in agreements(key, Answers({}, given), [])}
    each = [found[f"base{base} +50", "all"] for base in (200, 400)]
    assert all(row.pairs == 5 and row.ci95_low is None and row.reason for row in each)
    whole = found["all bases +50", "all"]
    assert (whole.pairs, whole.comparisons, whole.answers) == (10, 30, 60)
    assert whole.value == pytest.approx(np.mean([row.value for row in each if row.value]))
    assert whole.ci95_low is not None and whole.ci95_high is not None
    assert whole.ci95_low < (whole.value or 0) < whole.ci95_high and whole.published is None
