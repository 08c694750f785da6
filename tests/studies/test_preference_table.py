"""What the table says of raters whose preferences are known."""

import csv
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from latex import complaints, needs_latex
from raters import crowd, line, of_shares, write
from scipy.stats import binomtest
from small_store import convention_facts
from small_study import MODELS, NOISE, Paths

from stp.core.errors import StpError
from stp.score.tables import read_samples, write_samples
from stp.studies import shares
from stp.studies.answers import Answer, Answers, Rater, read_answers
from stp.studies.key import BestOfKey, load_key
from stp.studies.preferences import FEWEST_RATERS, counts, groups, places
from stp.studies.preferences_table import render_preferences

TRUE = {"earthformer": 0.5, "mcvd": 0.3, "persistence": 0.15}  # and 5 % cannot tell


@pytest.fixture
def key(written: Paths) -> BestOfKey:
    return load_key(written.key, BestOfKey)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def render(written: Paths, answers: Path, folder: Path, **more) -> Path:
    out = folder / "human_preferences.csv"
    render_preferences([answers], written.key, out, **more)
    return out


# -- intervals


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
    found = shares.share(hits, raters, questions, strata, resamples=4000)
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
    holds = Counter()
    for _ in range(60):
        # The share of the model depends on the clip, 0.4 on average, and a little on the rater.
        of_clip = rng.beta(0.8, 1.2, 15)
        of_rater = rng.normal(0, 0.05, 30)
        odds = np.clip(of_clip[questions] + of_rater[raters], 0, 1)
        hits = (rng.random(450) < odds).astype(float)
        found = shares.share(hits, raters, questions, np.zeros(450), resamples=500)
        for name in ("clustered", "wilson"):
            interval = getattr(found, name)
            holds[name] += interval.low <= 0.4 <= interval.high
    assert holds["clustered"] >= 52
    assert holds["wilson"] < 40


def test_too_few_raters_or_questions_have_no_clustered_interval() -> None:
    raters, questions = (index.ravel() for index in np.indices((9, 20)))
    hits = (raters % 2).astype(float)
    found = shares.share(hits, raters, questions, np.zeros(180))
    assert found.clustered == (None, None, "9 raters, 20 questions (10 of both needed)")
    assert found.wilson.low is not None
    found = shares.share(np.zeros(180), questions, raters, np.zeros(180))
    assert found.clustered.low is None


def test_never_chosen_is_no_certainty() -> None:
    raters, questions = (index.ravel() for index in np.indices((10, 10)))
    found = shares.share(np.zeros(100), raters, questions, np.zeros(100))
    assert found.clustered == (None, None, "no spread: never")
    assert 0.03 < found.wilson.high < 0.04


# -- shares


def test_known_preferences_are_found(written: Paths, key: BestOfKey, tmp_path: Path) -> None:
    answers = crowd(tmp_path / "answers", key, 60, of_shares(TRUE))
    out = render(written, answers, tmp_path)
    whole = {row["model"]: row for row in rows(out) if row["dataset"] == "all"}
    assert list(whole) == ["Earthformer", "MCVD", "Persistence", "cannot tell"]
    expected = [*TRUE.values(), 0.05]
    for row, share in zip(whole.values(), expected, strict=True):
        assert (row["raters"], row["questions"], row["answers"]) == ("60", "12", "720")
        assert float(row["low"]) <= share <= float(row["high"]), row
        assert float(row["wilson_low"]) <= share <= float(row["wilson_high"]), row
        # Answers are independent here, so the share is as binomial as Wilson takes it.
        assert abs(float(row["share"]) - share) < 4 * np.sqrt(share * (1 - share) / 720)
    assert sum(float(row["share"]) for row in whole.values()) == pytest.approx(1, abs=1e-5)
    assert {row["published"] for row in whole.values()} == {""}
    assert "are lost in the text" in whole["MCVD"]["notes"]


def test_raters_with_identical_answers_are_named(
    written: Paths, key: BestOfKey, tmp_path: Path
) -> None:
    folder = crowd(tmp_path / "answers", key, 3, of_shares(dict.fromkeys(key.models, 0.25)))
    path = render(written, folder, tmp_path).with_suffix(".md")
    assert "identical answers" not in path.read_text()
    first, second = sorted(folder.glob("*.csv"))[:2]
    second.write_text(first.read_text().replace(f"{0:016x}", f"{1:016x}"))
    path = render(written, folder, tmp_path).with_suffix(".md")
    (warning,) = (line for line in path.read_text().splitlines() if "identical answers" in line)
    assert f"{0:016x}, {1:016x}" in warning


def test_counts_are_those_of_the_files(written: Paths, key: BestOfKey, tmp_path: Path) -> None:
    answers = crowd(tmp_path / "answers", key, 12, of_shares(TRUE))
    counted: Counter[tuple[str, str]] = Counter()
    models = {i: model for asked in key.questions for i, model in asked.choices.items()}
    datasets = {asked.id: key.datasets[asked.dataset] for asked in key.questions}
    for path in answers.glob("*.csv"):
        for row in rows(path):
            model = MODELS[models[row["choice"]]] if row["choice"] in models else "cannot tell"
            counted[datasets[row["question"]], model] += 1
            counted["all", model] += 1
    found = {
        (row["dataset"], row["model"]): int(row["chosen"])
        for row in rows(render(written, answers, tmp_path))
    }
    assert found == {**dict.fromkeys(found, 0), **counted}
    assert len(found) == 3 * 4


@needs_latex
def test_it_compiles(written: Paths, key: BestOfKey, tmp_path: Path) -> None:
    out = render(written, crowd(tmp_path / "answers", key, 10, of_shares(TRUE)), tmp_path)
    assert complaints(out.with_suffix(".tex")) == []


def test_whose_numbers_these_are_stands_everywhere(
    written: Paths, key: BestOfKey, tmp_path: Path
) -> None:
    answers = crowd(tmp_path / "answers", key, 10, of_shares(TRUE))
    out = render(written, answers, tmp_path)
    for name in ("human_preferences.csv", "human_preferences_agreement.csv"):
        for row in rows(tmp_path / name):
            assert (row["source"], row["comparable"]) == ("synthetic", "NO")
            assert "clips of synthetic bytes" in row["notes"]
            assert row["study"] == key.study
    for kind in ("md", "tex", "html"):
        text = out.with_suffix(f".{kind}").read_text()
        assert "NOT COMPARABLE with the study of the paper: synthetic bytes" in text
        assert "MCVD" in text


def test_only_the_study_of_the_paper_is_comparable(key: BestOfKey) -> None:
    from stp.studies.preferences_table import _is_papers

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


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_questions_are_won_by_most_answers(key: BestOfKey) -> None:
    def answer(rater: int, question: int, model: str | None) -> Answer:
        return Answer(f"{rater:016x}", question, model, None, 1.0, NOON)

    given = [answer(0, 0, "mcvd"), answer(1, 0, "mcvd"), answer(2, 0, "persistence")]
    given += [answer(0, 1, "mcvd"), answer(1, 1, "persistence"), answer(2, 1, None)]
    given += [answer(0, 2, None)]
    raters = {f"{n:016x}": Rater(f"{n:016x}", "", "") for n in range(3)}
    found = {c.model: c for c in counts(key, Answers(raters, given)) if not c.dataset}
    assert {m: c.won for m, c in found.items()} == {
        "earthformer": 0, "mcvd": 1.5, "persistence": 0.5, "cannot tell": 0,
    }  # fmt: skip
    assert found["mcvd"].chosen.hits == 3
    assert found["mcvd"].chosen.answers == 7


def test_places_are_even_for_raters_who_look_and_not_for_those_who_do_not(
    key: BestOfKey, tmp_path: Path
) -> None:
    looking = crowd(tmp_path / "a", key, 40, of_shares(TRUE))
    for share in places(key, read_answers([looking], key, Path("key.json"))):
        assert abs(share.value - 1 / 3) < 4 * np.sqrt(2 / 9 / share.answers)
    rng = np.random.default_rng(0)
    clicked = [line(key, asked, "mcvd", rng, "f" * 16) for asked in key.questions]
    for one in clicked:
        one["choice"] = one["shown"].split()[0]
    write(tmp_path / "b" / "b.csv", clicked)
    found = places(key, read_answers([tmp_path / "b"], key, Path("key.json")))
    assert [share.hits for share in found] == [12, 0, 0]


# -- groups


def of_groups(sizes: dict[str, int]) -> Answers:
    names = [f"{n:016x}" for n in range(sum(sizes.values()))]
    ages = [age for age, size in sizes.items() for _ in range(size)]
    return Answers({n: Rater(n, age, "") for n, age in zip(names, ages, strict=True)}, [])


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
    found = groups(of_groups(sizes))
    assert {name: len(members) for name, members in found.items()} == shown
    left = sum(sizes.values()) - sum(shown.values())
    assert left == 0 or left >= FEWEST_RATERS


def test_groups_have_their_own_shares(written: Paths, key: BestOfKey, tmp_path: Path) -> None:
    """Women prefer Earthformer, men MCVD; of the age groups, one is too small."""

    def about(i: int) -> dict[str, str]:
        age = "18-24" if i < 20 else "25-34" if i < 22 else ""
        return {"gender": "female" if i < 15 else "male", "age": age}

    rng = np.random.default_rng(0)
    for i in range(30):
        rater, model = f"{i:016x}", "earthformer" if i < 15 else "mcvd"
        lines = [line(key, asked, model, rng, rater, **about(i)) for asked in key.questions]
        write(tmp_path / "answers" / f"{i}.csv", lines)
    found = rows(render(written, tmp_path / "answers", tmp_path))
    by_group = {(row["group"], row["model"]): float(row["share"]) for row in found if row["group"]}
    assert by_group["gender: female", "Earthformer"] == 1
    assert by_group["gender: male", "Earthformer"] == 0
    assert by_group["gender: male", "MCVD"] == 1
    assert {group for group, _ in by_group} == {"gender: female", "gender: male", "age: 18-24"}
    assert "25-34" not in (tmp_path / "human_preferences.md").read_text()


# -- agreement with metrics


def agreement(written: Paths, answers: Path, folder: Path) -> dict[tuple[str, str], dict[str, str]]:
    render(written, answers, folder, manifest=written.manifest)
    found = rows(folder / "human_preferences_agreement.csv")
    return {(row["metric"], row["dataset"]): row for row in found}


def test_raters_who_see_as_a_metric_does_agree_with_it(
    written: Paths, key: BestOfKey, tmp_path: Path
) -> None:
    """Noise grows from Earthformer to persistence, so any metric finds Earthformer best."""
    answers = crowd(tmp_path / "answers", key, 10, of_shares({"earthformer": 1.0}))
    found = agreement(written, answers, tmp_path)
    for metric in ("SSIM", "PSNR", "MSE"):
        for dataset, count in (("all", 120), ("BAIR", 60), ("KTH", 60)):
            row = found[metric, dataset]
            assert (int(row["answers"]), float(row["share"])) == (count, 1)
            assert row["chance"] == "0.333333"
    row = found["LPIPS", "all"]
    assert (row["share"], row["answers"]) == ("", "0")
    assert "the weights of alexnet are not there" in row["reason"]
    assert "no value for one clip" in found["FVD", "all"]["reason"]
    assert found["FVD", "all"]["share"] == ""


def test_blind_choices_agree_by_chance(written: Paths, key: BestOfKey, tmp_path: Path) -> None:
    even = of_shares(dict.fromkeys(MODELS, 0.25))  # a quarter cannot tell
    found = agreement(written, crowd(tmp_path / "answers", key, 60, even), tmp_path)
    row = found["MSE", "all"]
    assert float(row["low"]) < 1 / 3 < float(row["high"])
    assert 480 < int(row["answers"]) < 600, "who cannot tell does not count"


def test_scores_are_those_of_the_predictions_that_raters_saw(
    written: Paths, key: BestOfKey, tmp_path: Path
) -> None:
    answers = crowd(tmp_path / "answers", key, 10, of_shares(TRUE))
    plan = json.loads(written.manifest.read_text())
    for cell in plan["cells"]:
        if cell["key"]["tested_on"] == "kth":
            cell["predictions"] += "-anew"
    other = tmp_path / "short_term.json"
    other.write_text(json.dumps(plan))
    render(written, answers, tmp_path, manifest=other)
    found = rows(tmp_path / "human_preferences_agreement.csv")
    kth = next(r for r in found if (r["metric"], r["dataset"]) == ("SSIM", "KTH"))
    assert "KTH: these predictions are no longer part of the plan" in kth["reason"]
    both = next(r for r in found if (r["metric"], r["dataset"]) == ("SSIM", "all"))
    assert both["questions"] == "6", "the clips of BAIR"
    assert "KTH: these predictions are no longer" in both["reason"]


@pytest.mark.parametrize(("liked", "share"), [("earthformer", 1), ("persistence", 0)])
def test_predicted_quality_is_one_of_the_metrics(
    written: Paths, key: BestOfKey, tmp_path: Path, liked: str, share: float
) -> None:
    """A question of whose clips one is far from all rated videos does not count."""
    convention = "predicted_quality.squeezenet"
    plan = json.loads(written.manifest.read_text())
    plan["conventions"][convention] = convention_facts(True)
    far = next(asked.clip for asked in key.questions if asked.dataset == "bair")
    for cell in plan["cells"]:
        model, dataset = cell["key"]["model"], cell["key"]["tested_on"]
        found = read_samples(Path(cell["scores"]), "ssim.range2")
        assert found is not None
        rated = np.array([(clip, dataset, model) != (far, "bair", "mcvd") for clip in found[0]])
        quality = np.where(rated, 80 - 100 * NOISE[model], 0)
        folder = tmp_path / dataset / model
        folder.mkdir(parents=True)
        columns = {"rated": rated.astype(float), "quality": quality}
        write_samples(
            folder / "sample_scores.parquet",
            cell["key"],
            None,
            found[0],
            found[0],
            {f"{convention}.{name}": {None: one[:, None]} for name, one in columns.items()},
        )
        cell["perceptual"] = str(folder)
    manifest = tmp_path / "short_term.json"
    manifest.write_text(json.dumps(plan))
    answers = crowd(tmp_path / "answers", key, 10, of_shares({liked: 1.0}))
    out = render(written, answers, tmp_path, manifest=manifest)
    table = rows(out.with_name("human_preferences_agreement.csv"))
    of_quality = {row["dataset"]: row for row in table if row["metric"] == "Predicted quality"}
    assert [of_quality[name]["questions"] for name in ("all", "BAIR", "KTH")] == ["11", "5", "6"]
    assert all(float(row["share"]) == share for row in of_quality.values())
    assert of_quality["BAIR"]["reason"].startswith(f"BAIR: some clips have no {convention}")
    assert of_quality["KTH"]["convention"] == convention


def test_damaged_scores_are_refused_and_nothing_is_written(
    written: Paths, key: BestOfKey, tmp_path: Path
) -> None:
    answers = crowd(tmp_path / "answers", key, 2, of_shares(TRUE))
    plan = json.loads(written.manifest.read_text())
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores" / "sample_scores.parquet").write_bytes(b"no parquet")
    plan["cells"][0]["scores"] = str(tmp_path / "scores")
    other = tmp_path / "short_term.json"
    other.write_text(json.dumps(plan))
    with pytest.raises(StpError, match=r"sample_scores\.parquet"):
        render(written, answers, tmp_path / "out", manifest=other)
    assert not list((tmp_path / "out").glob("*"))
