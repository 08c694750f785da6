"""What the table says of raters whose preferences are known."""

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from asking import csv_rows
from latex import complaints, needs_latex
from raters import crowd, line, of_shares, write
from scipy.stats import binomtest
from small_store import convention_facts
from small_study import MODELS, NOISE, Paths

from stp.core.errors import StpError
from stp.score.tables import read_samples, write_samples
from stp.studies import shares
from stp.studies.answer_key import BestOfKey, load_key
from stp.studies.answers import Answer, Answers, Rater, read_answers
from stp.studies.preferences import FEWEST_RATERS, counts, groups, positions
from stp.studies.preferences_table import _is_papers, render_preferences

TRUE = {"earthformer": 0.5, "mcvd": 0.3, "persistence": 0.15}  # and 5 % cannot tell


@pytest.fixture(scope="module")
def key(written: Paths) -> BestOfKey:
    return load_key(written.key, BestOfKey)


def render(written: Paths, answers: Path, folder: Path, **more: Path) -> Path:
    out = folder / "human_preferences.csv"
    key = load_key(written.key, BestOfKey)
    render_preferences(key, read_answers([answers], key, written.key), out, **more)
    return out


# -- intervals


def votes(
    hits: np.ndarray, raters: np.ndarray, questions: np.ndarray, strata: np.ndarray | None = None
) -> list[shares.Vote]:
    named = [""] * len(hits) if strata is None else strata.tolist()
    columns = hits.tolist(), map(str, raters), questions.tolist(), named
    return [shares.Vote(*fields) for fields in zip(*columns, strict=True)]


@pytest.mark.parametrize(("hits", "answers"), [(0, 7), (3, 7), (7, 7), (37, 320), (1, 1)])
def test_wilson_is_that_of_scipy(hits: int, answers: int) -> None:
    expected = binomtest(hits, answers).proportion_ci(method="wilson")
    found = shares.wilson(hits, answers)
    assert found.low == pytest.approx(expected.low, abs=1e-12)
    assert found.high == pytest.approx(expected.high, abs=1e-12)


def test_the_bootstrap_draws_raters_and_questions() -> None:
    """Against a loop that draws them one after the other."""
    rng = np.random.default_rng(1)
    raters, questions = (index.ravel() for index in np.indices((12, 11)))
    hits = (rng.random(12 * 11) < rng.random(11)[questions]).astype(float)
    kept = rng.random(12 * 11) < 0.8  # not everybody answered everything
    raters, questions, hits = raters[kept], questions[kept], hits[kept]
    strata = np.where(questions < 5, "a", "b")
    found = shares.share(votes(hits, raters, questions, strata), resamples=4000)
    drawn = []
    for _ in range(4000):
        people = Counter(rng.integers(12, size=12).tolist())
        clips = Counter([*rng.integers(0, 5, 5).tolist(), *rng.integers(5, 11, 6).tolist()])
        weights = np.array([people[r] * clips[q] for r, q in zip(raters, questions, strict=True)])
        drawn.append((weights * hits).sum() / weights.sum())
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert found.value == hits.mean()
    assert found.clustered.low == pytest.approx(low, abs=0.015)
    assert found.clustered.high == pytest.approx(high, abs=0.015)


def test_where_clips_differ_only_the_clustered_interval_holds() -> None:
    """60 studies: how often does each interval contain the share in the population of clips?"""
    rng = np.random.default_rng(2)
    raters, questions = (index.ravel() for index in np.indices((30, 15)))
    holds: Counter[str] = Counter()
    for _ in range(60):
        # The share of the model depends on the clip, 0.4 on average, and a little on the rater.
        of_clip = rng.beta(0.8, 1.2, 15)
        of_rater = rng.normal(0, 0.05, 30)
        odds = np.clip(of_clip[questions] + of_rater[raters], 0, 1)
        hits = (rng.random(450) < odds).astype(float)
        found = shares.share(votes(hits, raters, questions), resamples=500)
        for name in ("clustered", "wilson"):
            interval = getattr(found, name)
            holds[name] += interval.low <= 0.4 <= interval.high
    assert holds["clustered"] >= 52
    assert holds["wilson"] < 40


def test_too_few_raters_or_questions_or_no_spread_have_no_clustered_interval() -> None:
    raters, questions = (index.ravel() for index in np.indices((9, 20)))
    hits = (raters % 2).astype(float)
    found = shares.share(votes(hits, raters, questions))
    assert found.clustered[:2] == (None, None) and "9 raters, 20 questions" in found.clustered[2]
    assert found.wilson.low is not None
    assert shares.share(votes(hits, questions, raters)).clustered.low is None
    raters, questions = (index.ravel() for index in np.indices((10, 10)))
    found = shares.share(votes(np.zeros(100), raters, questions))
    assert found.clustered[:2] == (None, None) and "spread" in found.clustered[2]
    assert found.wilson.high is not None and 0.03 < found.wilson.high < 0.04


# -- shares


def test_known_preferences_are_found_and_whose_they_are_stands_everywhere(
    written: Paths, key: BestOfKey, tmp_path: Path
) -> None:
    answers = crowd(tmp_path / "answers", key, 60, of_shares(TRUE))
    out = render(written, answers, tmp_path)
    whole = {row["model"]: row for row in csv_rows(out) if row["dataset"] == "all"}
    assert list(whole) == ["Earthformer", "MCVD", "Persistence", "cannot tell"]
    for row, share in zip(whole.values(), [*TRUE.values(), 0.05], strict=True):
        assert (row["raters"], row["questions"], row["answers"]) == ("60", "12", "720")
        assert float(row["low"]) <= share <= float(row["high"]), row
        assert float(row["wilson_low"]) <= share <= float(row["wilson_high"]), row
        # Answers are independent here, so the share is as binomial as Wilson takes it.
        assert abs(float(row["share"]) - share) < 4 * np.sqrt(share * (1 - share) / 720)
    assert sum(float(row["share"]) for row in whole.values()) == pytest.approx(1, abs=1e-5)
    assert {row["published"] for row in whole.values()} == {""}
    # Counts are those of the files.
    counted: Counter[tuple[str, str]] = Counter()
    models = {i: model for asked in key.questions for i, model in asked.choices.items()}
    datasets = {asked.id: key.datasets[asked.dataset] for asked in key.questions}
    for row in (row for path in answers.glob("*.csv") for row in csv_rows(path)):
        model = MODELS[models[row["choice"]]] if row["choice"] in models else "cannot tell"
        counted[datasets[row["question"]], model] += 1
        counted["all", model] += 1
    found = {(row["dataset"], row["model"]): int(row["chosen"]) for row in csv_rows(out)}
    assert found == {**dict.fromkeys(found, 0), **counted} and len(found) == 3 * 4
    # Nobody takes them for those of the paper.
    for name in ("human_preferences.csv", "human_preferences_agreement.csv"):
        for row in csv_rows(tmp_path / name):
            assert (row["source"], row["comparable"]) == ("synthetic", "NO")
            assert "synthetic clips" in row["notes"] and row["study"] == key.study
    for kind in ("md", "tex", "html"):
        text = out.with_suffix(f".{kind}").read_text()
        assert "NOT COMPARABLE" in text and "identical answers" not in text


def test_raters_with_identical_answers_are_named(
    written: Paths, key: BestOfKey, tmp_path: Path
) -> None:
    folder = crowd(tmp_path / "answers", key, 3, of_shares(TRUE))
    first, second = sorted(folder.glob("*.csv"))[:2]
    second.write_text(first.read_text().replace(f"{0:016x}", f"{1:016x}"))
    text = render(written, folder, tmp_path).with_suffix(".md").read_text()
    (warning,) = (line for line in text.splitlines() if "identical answers" in line)
    assert f"{0:016x}, {1:016x}" in warning


@needs_latex
def test_it_compiles(written: Paths, key: BestOfKey, tmp_path: Path) -> None:
    out = render(written, crowd(tmp_path / "answers", key, 10, of_shares(TRUE)), tmp_path)
    assert complaints(out.with_suffix(".tex")) == []


def test_only_the_study_of_the_paper_is_comparable(key: BestOfKey) -> None:
    clips = [("bair", 15), ("robonet", 15), ("human36m", 5)]
    models = ["earthformer", "mcvd", "predrnnpp", "tau"]
    official = {"source": "official", "official_paper_protocol": True}
    source = key.sources[0].model_copy(update=official)
    other = source.model_copy(update={"official_paper_protocol": False})
    asked = [
        key.questions[0].model_copy(update={"dataset": name})
        for name, count in clips
        for _ in range(count)
    ]
    named = {"datasets": dict(clips), "models": dict.fromkeys(models, "")}
    papers = key.model_copy(update={**named, "sources": [source], "questions": asked})
    assert _is_papers(papers)
    for change in (
        {"questions": asked[1:]},
        {"models": {"mcvd": "", "tau": ""}},
        {"sources": [source, other]},
    ):
        assert not _is_papers(papers.model_copy(update=change))


def test_questions_are_won_by_most_answers(key: BestOfKey) -> None:
    chosen = {0: ["mcvd", "mcvd", "persistence"], 1: ["mcvd", "persistence", None], 2: [None]}
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    given = [
        Answer(f"{rater:016x}", question, model, None, 1.0, noon)
        for question, models in chosen.items()
        for rater, model in enumerate(models)
    ]
    raters = {f"{n:016x}": Rater(f"{n:016x}", "", "") for n in range(3)}
    found = {c.subject: c for c in counts(key, Answers(raters, given)) if not c.dataset}
    assert {m: c.won for m, c in found.items()} == {
        "earthformer": 0, "mcvd": 1.5, "persistence": 0.5, "cannot tell": 0,
    }  # fmt: skip
    assert found["mcvd"].share[:2] == (3, 7)


def test_places_are_even_for_raters_who_look_and_not_for_those_who_do_not(
    key: BestOfKey, tmp_path: Path
) -> None:
    looking = crowd(tmp_path / "a", key, 40, of_shares(TRUE))
    for share in positions(key, read_answers([looking], key, Path("key.json"))):
        assert share.value is not None
        assert abs(share.value - 1 / 3) < 4 * np.sqrt(2 / 9 / share.answers)
    rng = np.random.default_rng(0)
    clicked = [line(key, asked, "mcvd", rng, "f" * 16) for asked in key.questions]
    for one in clicked:
        one["choice"] = one["shown"].split()[0]
    write(tmp_path / "b" / "b.csv", clicked)
    found = positions(key, read_answers([tmp_path / "b"], key, Path("key.json")))
    assert [share.hits for share in found] == [12, 0, 0]


# -- groups


@pytest.mark.parametrize(
    ("sizes", "shown"),
    [
        ({"18-24": 9, "25-34": 5}, {"age: 18-24": 9, "age: 25-34": 5}),
        ({"18-24": 9, "25-34": 6, "": 5}, {"age: 18-24": 9, "age: 25-34": 6, "age: not given": 5}),
        ({"": 30}, {}),  # nobody said
        ({"18-24": 9, "25-34": 4}, {}),  # 4 are what is left of 13
        ({"18-24": 9, "25-34": 4, "": 8}, {"age: 18-24": 9}),
        ({"18-24": 9, "25-34": 3, "": 2}, {"age: 18-24": 9}),  # five are left: no one to single out
    ],
)
def test_small_groups_cannot_be_singled_out(sizes: dict[str, int], shown: dict[str, int]) -> None:
    ages = [age for age, size in sizes.items() for _ in range(size)]
    raters = {f"{n:016x}": Rater(f"{n:016x}", age, "") for n, age in enumerate(ages)}
    found = groups(Answers(raters, []))
    assert {name: len(members) for name, members in found.items()} == shown
    left = sum(sizes.values()) - sum(shown.values())
    assert left == 0 or left >= FEWEST_RATERS


def test_groups_have_their_own_shares(written: Paths, key: BestOfKey, tmp_path: Path) -> None:
    """Women prefer Earthformer, men MCVD; of the age groups, one is too small."""
    rng = np.random.default_rng(0)
    for i in range(30):
        age = "18-24" if i < 20 else "25-34" if i < 22 else ""
        gender, model = ("female", "earthformer") if i < 15 else ("male", "mcvd")
        about = {"age": age, "gender": gender}
        lines = [line(key, asked, model, rng, f"{i:016x}", **about) for asked in key.questions]
        write(tmp_path / "answers" / f"{i}.csv", lines)
    found = csv_rows(render(written, tmp_path / "answers", tmp_path))
    by_group = {(row["group"], row["model"]): float(row["share"]) for row in found if row["group"]}
    assert by_group["gender: female", "Earthformer"] == 1
    assert by_group["gender: male", "Earthformer"] == 0
    assert by_group["gender: male", "MCVD"] == 1
    assert {group for group, _ in by_group} == {"gender: female", "gender: male", "age: 18-24"}
    assert "25-34" not in (tmp_path / "human_preferences.md").read_text()


# -- agreement with metrics

Agreed = dict[tuple[str, str], dict[str, str]]
Compare = Callable[..., Agreed]


@pytest.fixture
def agreement(written: Paths, key: BestOfKey, tmp_path: Path) -> Compare:
    """Rows by metric and dataset, of raters of some taste and a plan that a test changes."""

    def rows_of(
        number: int, taste: dict[str, float], change: Callable[[dict], object] = lambda plan: None
    ) -> Agreed:
        answers = crowd(tmp_path / "answers", key, number, of_shares(taste))
        plan = json.loads(written.manifest.read_text())
        change(plan)
        manifest = tmp_path / "short_term.json"
        manifest.write_text(json.dumps(plan))
        render(written, answers, tmp_path / "tables", manifest=manifest)
        found = csv_rows(tmp_path / "tables" / "human_preferences_agreement.csv")
        return {(row["metric"], row["dataset"]): row for row in found}

    return rows_of


def test_raters_who_see_as_a_metric_does_agree_with_it(agreement: Compare) -> None:
    """Noise grows from Earthformer to persistence, so any metric finds Earthformer best."""
    found = agreement(10, {"earthformer": 1.0})
    for metric in ("SSIM", "PSNR", "MSE"):
        for dataset, count in (("all", 120), ("BAIR", 60), ("KTH", 60)):
            row = found[metric, dataset]
            assert (int(row["answers"]), float(row["share"])) == (count, 1)
            assert row["chance"] == "0.333333"
    row = found["LPIPS", "all"]
    assert (row["share"], row["answers"]) == ("", "0")
    assert "alexnet" in row["reason"]
    assert found["FVD", "all"]["share"] == ""


def test_blind_choices_agree_by_chance(agreement: Compare) -> None:
    row = agreement(60, dict.fromkeys(MODELS, 0.25))["MSE", "all"]  # a quarter cannot tell
    assert float(row["low"]) < 1 / 3 < float(row["high"])
    assert 480 < int(row["answers"]) < 600, "who cannot tell does not count"


def test_scores_are_those_of_the_predictions_that_raters_saw(agreement: Compare) -> None:
    def anew(plan: dict) -> None:
        for cell in plan["cells"]:
            cell["predictions"] += "-anew" * (cell["key"]["tested_on"] == "kth")

    found = agreement(10, TRUE, anew)
    assert all("KTH" in found["SSIM", dataset]["reason"] for dataset in ("KTH", "all"))
    assert found["SSIM", "all"]["questions"] == "6", "the clips of BAIR"


@pytest.mark.parametrize(("liked", "share"), [("earthformer", 1), ("persistence", 0)])
def test_predicted_quality_is_one_of_the_metrics(
    agreement: Compare, key: BestOfKey, tmp_path: Path, liked: str, share: float
) -> None:
    """A question of whose clips one is far from all rated videos does not count."""
    convention = "predicted_quality.squeezenet"
    far = next(asked.clip for asked in key.questions if asked.dataset == "bair")

    def rate(plan: dict) -> None:
        plan["conventions"][convention] = convention_facts(True)
        for cell in plan["cells"]:
            model, dataset = cell["key"]["model"], cell["key"]["tested_on"]
            found = read_samples(Path(cell["scores"]), "ssim.range2")
            assert found is not None
            rated = np.array([(n, dataset, model) != (far, "bair", "mcvd") for n in found[0]])
            columns = {"rated": rated * 1.0, "quality": rated * (80 - 100 * NOISE[model])}
            folder = tmp_path / dataset / model
            folder.mkdir(parents=True)
            values = {f"{convention}.{n}": {None: one[:, None]} for n, one in columns.items()}
            path = folder / "sample_scores.parquet"
            write_samples(path, cell["key"], None, found[0], found[0], values)
            cell["perceptual"] = str(folder)

    table = agreement(10, {liked: 1.0}, rate)
    own = {name: table["Predicted quality", name] for name in ("all", "BAIR", "KTH")}
    assert [row["questions"] for row in own.values()] == ["11", "5", "6"]
    assert all(float(row["share"]) == share for row in own.values())
    assert "BAIR" in own["BAIR"]["reason"] and convention in own["BAIR"]["reason"]
    assert own["KTH"]["convention"] == convention


def test_damaged_scores_are_refused_and_nothing_is_written(
    agreement: Compare, tmp_path: Path
) -> None:
    (tmp_path / "sample_scores.parquet").write_bytes(b"no parquet")
    with pytest.raises(StpError, match=r"sample_scores\.parquet"):
        agreement(2, TRUE, lambda plan: plan["cells"][0].update(scores=str(tmp_path)))
    assert not list((tmp_path / "tables").glob("*"))
