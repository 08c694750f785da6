"""From raw files of a database to the agreement of measures with opinions, with known answers."""

import json
import re
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import yaml
from asking import csv_rows
from conventions import defined
from opinion_files import locked, prepare
from scipy.stats import spearmanr

from stp.core.errors import StpError
from stp.core.job import Job
from stp.data.zarr_rows import seal_arrays
from stp.datasets.pvqa.generator import COUNTS
from stp.opinions import prepared, quality
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER
from stp.predict import opinions as predict
from stp.prepare import opinions as preparing
from stp.score import opinions as score

CELL = dict.fromkeys(
    ("suite", "dimension", "model", "variant", "trained_on", "train_subset", "tested_on"), "x"
) | {"subset": "random", "setting": "horizon-16", "seed": None}


def tags(raw: Path) -> dict[str, dict[str, str]]:
    return {row["Video Name"]: row for row in csv_rows(raw / "pvqa" / "Tags.csv")}


def few(raw: Path, folder: Path) -> Path:
    """Copy three videos of each source, since decoding takes most of the time."""
    shutil.copytree(raw, folder, ignore=shutil.ignore_patterns("*_00[4-9].mp4"))
    for path in (folder / "pvqa").glob("*.csv"):
        header, *rows = path.read_text().splitlines(keepends=True)
        path.write_text(header + "".join(row for row in rows if re.search("_00[1-3],", row)))
    return folder


def predicted(data: Path, out: Path, model: str, **recipe: object) -> Path:
    out.mkdir()
    given = {"model": model, "context": 4, "split": "random", "predict": {}, **recipe}
    predict.run(Job(given, {"data": data}, out, out))
    return out


def scored(data: Path, folder: Path) -> dict[tuple[str, str], float]:
    conventions = ["srocc.magnitude", "plcc.magnitude", "opinion_rmse.points"]
    recipe = {"cell": CELL, "conventions": defined(*conventions), "split": "random"}
    out = folder / "scores"
    out.mkdir()
    score.run(Job(recipe, {"data": data, "predictions": folder}, out, out))
    table = pq.read_table(out / "scores.parquet", page_checksum_verification=True)
    return {
        (row["metric"], row["statistic"]): row["value"] if row["reason"] is None else row["reason"]
        for row in table.to_pylist()
    }


def test_strengths_of_damage_and_random_raters_come_back(raw: Path, data: Path):
    known = tags(raw)
    table = pq.read_table(data / prepared.OPINIONS, page_checksum_verification=True)
    strength = np.array([float(known[name]["Strength"]) for name in table["video"].to_pylist()])
    mos = table["mos"].to_numpy()
    assert np.corrcoef(strength, mos)[0, 1] < -0.98
    assert table["strength"].to_pylist() == strength.tolist()
    said = json.loads((data / "extras.json").read_text())
    assert said["raters"] == 40 and said["videos"] == 60 and said["with_truth"] == 60
    assert len({"rater_38", "rater_39", "rater_40"} & set(said["rejected"])) >= 2
    assert said["split_half"] > 0.9
    # MOS.csv was made from the same ratings
    stated = {row["Video Name"]: float(row["MOS"]) for row in csv_rows(raw / "pvqa" / "MOS.csv")}
    np.testing.assert_allclose(mos, [stated[v] for v in table["video"].to_pylist()], atol=1e-4)


def test_videos_keep_their_frames_and_context_is_not_damaged(raw: Path, data: Path):
    database = prepared.open_database(data, 4)
    known = tags(raw)
    for name, video in zip(database.names, database.videos(), strict=True):
        assert video.predicted.shape == (20, 64, 64, 3)
        assert video.truth is not None
        np.testing.assert_array_equal(video.predicted[:4], video.truth[:4])
        is_damaged = known[name]["Tags"] != "natural"
        assert (video.predicted[4:] != video.truth[4:]).any() == is_damaged


def test_a_flipped_bit_of_a_video_is_an_error(data: Path, tmp_path: Path):
    """Whoever reads the videos compares them: the runner leaves large arrays out of its check."""
    folder = tmp_path / "data"
    shutil.copytree(data, folder)
    seal_arrays(folder)
    assert len(list(prepared.open_database(folder, 4).videos())) == 60
    shard = next(path for path in (folder / prepared.VIDEOS).glob("predicted_*/c/0/**/*"))
    shard = next(path for path in shard.rglob("*") if path.is_file()) if shard.is_dir() else shard
    content = bytearray(shard.read_bytes())
    content[1000] ^= 4
    shard.write_bytes(content)
    with pytest.raises(StpError, match=str(shard)):
        list(prepared.open_database(folder, 4).videos())


def test_families_of_splits(data: Path):
    database = prepared.open_database(data, 4)
    for family, many in (("published", 4), ("random", 20), ("source", 9), ("generator", 4)):
        numbers, tests = database.splits(family)
        assert len(numbers) == len(tests) == many
    _, published = database.splits("published")
    assert (published.sum(axis=1) == 12).all()
    _, sources = database.splits("source")
    assert (sources.sum(axis=0) == 1).all()
    with pytest.raises(StpError, match="'nowhere'"):
        database.splits("nowhere")


@pytest.mark.long(part="suites")
def test_without_generators_their_splits_have_no_value_and_say_why(raw: Path, tmp_path: Path):
    copy = tmp_path / "raw"
    shutil.copytree(raw, copy)
    (copy / "pvqa" / "Tags.csv").unlink()
    data = tmp_path / "data"
    assert prepare(copy, data)["splits"] == {
        **{"published": 4, "random": 20, "source": 9, "generator": 0}
    }
    numbers, tests = prepared.open_database(data, 4).splits("generator")
    assert numbers.shape == (0,) and tests.shape == (0, 60)
    folder = predicted(data, tmp_path / "sharp", "sharpness", split="generator")
    table, reason = quality.read(folder)
    assert len(table) == 0
    assert reason == "no splits 'generator': the model that made each video is not known"
    assert set(scored(data, folder).values()) == {reason}


def test_videos_may_lack_ratings_and_true_videos(raw: Path, tmp_path: Path):
    """Where opinion scores come from a file: one video nobody rated, one whose truth is lost."""
    copy = few(raw, tmp_path / "raw")
    names = sorted(tags(copy))
    path = copy / "pvqa" / "Ratings.csv"
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join(row for row in rows if names[0] not in row))
    assert len(path.read_text()) < len("".join(rows))
    (copy / "pvqa" / preparing.TRUE / f"{names[1]}.mp4").unlink()
    said = prepare(copy, tmp_path / "data", mos="file")
    assert said["videos"] == 27 and said["with_truth"] == 26
    table = pq.read_table(tmp_path / "data" / prepared.OPINIONS, page_checksum_verification=True)
    counts = dict(zip(table["video"].to_pylist(), table["ratings"].to_pylist(), strict=True))
    assert [name for name, count in counts.items() if count is None] == [names[0]]
    kept = pq.read_table(tmp_path / "data" / prepared.RATINGS, page_checksum_verification=True)
    assert set(kept["video"].to_pylist()) == set(names[1:])


@pytest.mark.sample_bytes
def test_the_released_splits_run_through_synthetic_features(raw_mirror: Path, tmp_path: Path):
    """The file has the names of the generator; in its splits, what is known is learnt."""
    declared = yaml.safe_load((CONFIG_FOLDER / "datasets" / "pvqa.yaml").read_text())["releases"]
    (said,) = declared["synthetic-released-splits"]["files"]
    path = raw_mirror / said["path"]
    actual = {"bytes": path.stat().st_size, "sha256": sha256(path.read_bytes()).hexdigest()}
    assert actual == {key: said[key] for key in actual} and said in declared["official"]["files"]
    names = sorted(f"{of}_{n:03d}" for of, many in COUNTS.items() for n in range(1, many + 1))
    files = SimpleNamespace(names=[said["path"]], find=lambda name: raw_mirror / name)
    splits = preparing.Source(files, "pvqa").read_splits(names)
    assert splits.shape == (100, 300) and set(splits.sum(axis=1)) == {60}
    assert (splits.sum(axis=0).min(), splits.sum(axis=0).max()) == (8, 32)

    data = tmp_path / "data"
    data.mkdir()
    rng = np.random.default_rng(0)
    known = rng.normal(size=(300, 50))
    mos = 50 + 2 * known.sum(axis=1) + 3 * rng.normal(size=300)
    rated = [{"video": name, "mos": value} for name, value in zip(names, mos, strict=True)]
    prepared.write(data / prepared.OPINIONS, prepared.OPINION_COLUMNS, rated)
    rows = [
        {"family": "published", "split": number, "video": name, "is_test": bool(test)}
        for number, split in enumerate(splits, start=1)
        for name, test in zip(names, split, strict=True)
    ]
    prepared.write(data / prepared.SPLITS, prepared.SPLIT_COLUMNS, rows)
    medians = {}
    for what, features in (("known", known), ("noise", rng.normal(size=known.shape))):
        folder, out = tmp_path / f"raw_{what}", tmp_path / what
        folder.mkdir()
        out.mkdir()
        columns = {f"f{n}": values for n, values in enumerate(features.T)}
        pd.DataFrame({"video": names, **columns}).to_csv(folder / "features.csv", index=False)
        recipe = {"model": what, "context": 4, "split": "published", "predict": {}}
        inputs = {"data": data, "archive": locked(folder)}
        predict.run(Job(recipe, inputs, out, out, {"raw_roots": [str(folder)]}))
        table = quality.read(out)[0].to_pandas()
        assert len(table) == 100 * 60
        medians[what] = np.median(
            [
                spearmanr(one["predicted"], one["observed"]).statistic
                for _, one in table.groupby("split")
            ]
        )
    assert medians["known"] > 0.95 and abs(medians["noise"]) < 0.15


@pytest.mark.long(part="suites")
def test_measures_find_what_was_done_and_baselines_find_nothing(data: Path, tmp_path: Path):
    fitted = {"predict": {"regression": "logistic"}}
    error = scored(data, predicted(data, tmp_path / "mse", "video_mse", **fitted))
    similar = scored(data, predicted(data, tmp_path / "ssim", "video_ssim", **fitted))
    scales = scored(data, predicted(data, tmp_path / "scales", "video_ms_ssim", **fitted))
    mean = scored(data, predicted(data, tmp_path / "mean", "mean_opinion"))
    size = scored(data, predicted(data, tmp_path / "source", "source_dataset"))
    assert scales["srocc", "median"] > 0.4
    assert similar["srocc", "median"] > 0.5 and error["srocc", "median"] > 0.4
    assert size["srocc", "median"] < 0.4
    assert similar["opinion_rmse", "median"] < 0.9 * mean["opinion_rmse", "median"]
    assert "equal" in str(mean["srocc", "median"])
    mos = prepared.open_database(data, 4).mos
    assert mean["opinion_rmse", "median"] == pytest.approx(mos.std(), rel=0.15)


def test_scores_are_the_medians_and_deviations_of_the_rows(data: Path, tmp_path: Path):
    folder = predicted(data, tmp_path / "sharp", "sharpness")
    actual = scored(data, folder)
    table, reason = quality.read(folder)
    frame = table.to_pandas()
    assert reason == "" and len(frame) == 20 * 12
    errors = frame.groupby("split").apply(
        lambda one: float(np.sqrt(((one["predicted"] - one["observed"]) ** 2).mean()))
    )
    assert actual["opinion_rmse", "median"] == pytest.approx(errors.median())
    assert actual["opinion_rmse", "sd"] == pytest.approx(errors.std(ddof=0))


@pytest.mark.long(part="suites")
def test_a_share_of_the_training_and_fitting_on_the_test(data: Path, tmp_path: Path):
    """What is fitted to the test itself has no larger error than what is not."""
    errors = {}
    for name in ("logistic", "logistic_on_test"):
        recipe = {"predict": {"regression": name}}
        folder = predicted(data, tmp_path / name, "video_ssim", **recipe)
        errors[name] = scored(data, folder)["opinion_rmse", "median"]
    assert errors["logistic_on_test"] < errors["logistic"]
    with pytest.raises(StpError, match="6 training and 12 test"):
        predicted(data, tmp_path / "few", "sharpness", training=10)


def test_a_measure_from_a_file_is_a_row_like_others(data: Path, tmp_path: Path):
    database = prepared.open_database(data, 4)
    path = tmp_path / "mine.csv"
    lines = [f"{name},{mos}" for name, mos in zip(database.names, database.mos, strict=True)]

    def run(
        rows: list[str], name: str, header: str = "video,value"
    ) -> dict[tuple[str, str], float]:
        folder = tmp_path / f"raw_{name}"
        folder.mkdir()
        (folder / path.name).write_text("\n".join([header, *rows]))
        out = tmp_path / name
        out.mkdir()
        recipe = {"model": "mine", "context": 4, "split": "random", "predict": {}}
        inputs = {"data": data, "archive": locked(folder)}
        predict.run(Job(recipe, inputs, out, out, {"raw_roots": [str(folder)]}))
        return scored(data, out)

    assert run(lines, "good")["srocc", "median"] == pytest.approx(1)
    # Two features in other units, which have to be learnt from together, and one that never varies.
    known = zip(database.names, database.mos, np.random.default_rng(0).normal(size=60), strict=True)
    several = [f"{video},{1e6 * (mos + 20 * noise)},{noise},1" for video, mos, noise in known]
    actual = run(several, "several", "video,sum,noise,same")
    assert actual["srocc", "median"] == pytest.approx(1)
    with pytest.raises(StpError, match="a, b"):
        run(lines, "header", "a,b")
    for name, rows, message in (
        ("twice", [*lines, lines[0]], "two rows"),
        ("short", lines[1:], "no row of"),
        ("other", [*lines[1:], "nobody,3"], "unknown video 'nobody'"),
        ("text", [*lines[1:], lines[0].split(",")[0] + ",high"], "'high'"),
    ):
        with pytest.raises(StpError, match=message):
            run(rows, name)


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def _mos(raw: Path, value: Callable[[str], str]) -> None:
    path = raw / "pvqa" / "MOS.csv"
    header, first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([header, value(first), *rest]))


def _surplus(raw: Path, folder: str) -> None:
    """A video that nobody rated."""
    shutil.copy(raw / "pvqa" / folder / "KTH_001.mp4", raw / "pvqa" / folder / "KTH_099.mp4")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda raw: _mos(raw, lambda row: row.split(",")[0] + ",104.5"), "MOS of .* is 104.5"),
        pytest.param(
            lambda raw: _mos(raw, lambda row: row.split(",")[0] + ",good"),
            "'good'",
            marks=pytest.mark.long(part="suites"),
        ),
        (lambda raw: _mos(raw, lambda row: f"{row}\n{row}"), "has two rows"),
        (lambda raw: _mos(raw, lambda row: "KTH_099," + row.split(",")[1]), "missing|no opinion"),
        pytest.param(
            lambda raw: _mos(raw, lambda row: row + ",extra"),
            "not 2 fields",
            marks=pytest.mark.long(part="suites"),
        ),
        pytest.param(
            lambda raw: replaced(raw / "pvqa" / "TrainTestSplit.csv", "KITTI_003", "KITTY_003"),
            "KITTY_003 has no opinion score",
            marks=pytest.mark.long(part="suites"),
        ),
        pytest.param(
            lambda raw: replaced(raw / "pvqa" / "TrainTestSplit.csv", ",Test", ",test"),
            "is 'test'",
            marks=pytest.mark.long(part="suites"),
        ),
        (
            lambda raw: replaced(raw / "pvqa" / "Ratings.csv", "KITTI_003", "KITTY_003"),
            r"Ratings\.csv: KITTY_003 has no opinion score",
        ),
        (lambda raw: _surplus(raw, "Predicted_Videos"), "Predicted_Videos: KTH_099 has no opinion"),
        pytest.param(
            lambda raw: _surplus(raw, "True_Videos"),
            "True_Videos: KTH_099 has no opinion score",
            marks=pytest.mark.long(part="suites"),
        ),
        (
            lambda raw: replaced(raw / "pvqa" / "TrainTestSplit.csv", "Split002", "Split001"),
            "two columns 'Split001'",
        ),
        pytest.param(
            lambda raw: (raw / "pvqa" / "Predicted_Videos" / "KTH_001.mp4").unlink(),
            "KTH_001",
            marks=pytest.mark.long(part="suites"),
        ),
        (
            lambda raw: (raw / "pvqa" / "Predicted_Videos" / "KTH_001.mp4").write_bytes(b"0"),
            "cannot be decoded",
        ),
    ],
)
def test_damage_ends_in_one_clear_error(
    raw: Path, tmp_path: Path, damage: Callable[[Path], None], message: str
):
    copy = few(raw, tmp_path / "raw")
    damage(copy)
    with pytest.raises(StpError, match=message):
        prepare(copy, tmp_path / "data")


def test_videos_of_another_length_are_refused(raw: Path, tmp_path: Path):
    from stp.datasets.pvqa.generator import write_video

    copy = few(raw, tmp_path / "raw")
    write_video(copy / "pvqa" / "Predicted_Videos" / "PENN_001.mp4", np.zeros((9, 64, 64, 3), "u1"))
    with pytest.raises(StpError, match=r"PENN_001\.mp4"):
        prepare(copy, tmp_path / "data")


@pytest.mark.parametrize("scale", ["pvqa", "pvqa-300", "pvqa-demo"])
def test_scales_have_all_families_of_splits_and_both_fits_of_a_logistic_function(scale: str):
    plan = Plan.load(CONFIG_FOLDER / f"{scale}.yaml")
    cells = [made.cell for made in plan.cells if made.cell.dimension == "quality_measures"]
    assert {cell.subset for cell in cells} == set(prepared.FAMILIES)
    fitted = {
        cell.model
        for cell in cells
        if plan.config.models[cell.model].predict.get("regression") == "logistic"
    }
    on_test = {cell.model for cell in cells if cell.variant == "on_test"}
    assert on_test >= {"video_mse", "video_ssim", "video_ms_ssim"}
    assert on_test == fitted or scale == "pvqa-demo"
