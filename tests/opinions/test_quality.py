"""Videos that nobody has rated: known damage is found; what is unlike rated ones has no value."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fake_store import finish
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.datasets.pvqa.generator import PvqaOptions, video
from stp.external import quality
from stp.features.videos import features_of
from stp.metrics.fitted_quality import pool_features
from stp.metrics.frame_features import PARTS
from stp.metrics.networks.maps import FeatureMaps
from stp.opinions import network_features, regression
from stp.opinions.new_videos import fit
from stp.opinions.prepared import Video, open_database
from stp.options.score import CELL_KEYS
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER
from stp.score.tables import write_samples

DEMO = CONFIG_FOLDER / "pvqa-demo.yaml"
OWN = "alexnet_mcs_rfd"
CHANNELS = 512


def maps(frames: np.ndarray) -> np.ndarray:
    """Maps (T, 8, 8, 512) that need no network: the pixels of patches, repeated."""
    patches = frames.reshape(len(frames), 8, 8, 8, 8, 3).transpose(0, 1, 3, 2, 4, 5)
    flat = patches.reshape(len(frames), 8, 8, -1).astype(np.float32) / 255
    return np.tile(flat, (1, 1, 1, 3))[..., :CHANNELS]


@pytest.fixture(scope="module")
def plan(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plan]:
    """A plan whose rated videos are made, with maps that need no weights."""
    folder = tmp_path_factory.mktemp("quality")
    (folder / "alexnet_features.pth").write_bytes(b"")  # planned, not read
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STP_STORE_DIR", str(folder / "store"))
        patch.setenv("STP_WEIGHTS_DIR", str(folder))
        patch.setattr(quality, "read_verified", lambda path, identity: ({}, ""))
        network_maps = FeatureMaps(CHANNELS, maps, maps)
        patch.setattr(quality, "open_feature_maps", lambda network, state, device: network_maps)
        made = Plan.load(DEMO)
        cell = next(one for one in made.cells if one.cell.model == OWN)
        shutil.copytree(data, finish(made, cell.data), dirs_exist_ok=True)
        database = open_database(data, 4)
        rows = [
            features_of(Video(one.predicted, None), network_maps, 4, {})
            for one in database.videos()
        ]
        parts = {name: np.stack([row[name].reshape(-1) for row in rows]) for name in PARTS}
        network_features.write(finish(made, cell.features[0]), database.names, parts)
        yield made


def test_known_damage_is_found_within_the_intervals(plan: Plan, data: Path, tmp_path: Path):
    options = PvqaOptions(sizes=1, seed=9)
    new = [video("UCF", number, options) for number in range(24)]
    for one in new:
        np.save(tmp_path / f"{one.name}.npy", one.frames)
    noise = np.random.default_rng(0).integers(0, 256, (20, 64, 64, 3), dtype=np.uint8)
    np.save(tmp_path / "noise.npy", noise)
    np.save(tmp_path / "short.npy", new[0].frames[:12])
    np.save(tmp_path / "grey.npy", new[0].frames[..., :1])
    table = open_database(data, 4).table
    known = np.polyfit(table["strength"].to_numpy(), table["mos"].to_numpy(), 1)

    measure = quality.open_measure(plan, OWN)
    actual = measure.rate(quality.of_folder(tmp_path, context=4))
    by_name = {one.clip.removesuffix(".npy"): one for one in actual.ratings}
    assert by_name["noise"].quality is None and "farther" in by_name["noise"].reason
    assert by_name["noise"].distance > 1
    assert by_name["short"].features == "pooled" and by_name["short"].frames == 12
    assert by_name["grey"].features == "exact"  # one channel is shown as three equal ones
    rated = [(by_name[one.name], one) for one in new if by_name[one.name].quality is not None]
    assert len(rated) >= 20
    expected = np.polyval(known, [one.strength for _, one in rated])
    assert np.corrcoef([one.quality for one, _ in rated], expected)[0, 1] > 0.4
    inside = [one.low <= value <= one.high for (one, _), value in zip(rated, expected, strict=True)]
    assert np.mean(inside) > 0.85
    assert actual.trained["exact"].srocc > 0.4 and set(actual.trained) == {"exact", "pooled"}
    assert actual.source == "synthetic" and "say nothing" in quality.summary(actual)[0]


def test_the_verb_and_its_errors(plan: Plan, data: Path, tmp_path: Path):
    clips = tmp_path / "clips"
    clips.mkdir()
    np.save(clips / "a.npy", next(open_database(data, 4).videos()).predicted)

    def run(*words: str) -> tuple[str, BaseException | None]:
        words = (
            "videos",
            "quality",
            "--measure",
            OWN,
            *words,
            "--configfile",
            str(DEMO),
            "--format",
            "json",
        )
        done = CliRunner().invoke(app, words)
        return done.stdout, done.exception

    said, error = run(str(clips))
    assert error is None
    told = json.loads(said)
    (rating,) = told["ratings"]
    assert rating["distance"] < 1 and rating["low"] < rating["quality"] < rating["high"]
    assert told["rated"] == 60
    for words, message in (
        ([str(clips), "--context", "20"], "20"),
        ([str(clips), "--measure", "alexnet_mcs_rdf"], "alexnet_mcs_rfd"),
        ([str(clips), "--variant", "ridges"], "ridges"),
        ([str(clips), "--measure", "alexnet_lpips"], "alexnet_lpips (default)"),
        ([str(clips), "--measure", "sharpness"], "sharpness (default)"),
        ([str(tmp_path / "nowhere")], "nowhere"),
    ):
        _, error = run(*words)
        assert isinstance(error, StpError) and message in str(error), words
    np.save(clips / "four.npy", np.zeros((1, 20, 64, 64, 4), np.uint8))
    assert "C = 1 or 3" in str(run(str(clips))[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STP_WEIGHTS_DIR", str(tmp_path))
        assert "alexnet" in str(run(str(clips))[1])


def test_what_is_not_made_yet_is_said(plan: Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path))
    with pytest.raises(StpError, match="not made yet"):
        quality.open_measure(Plan.load(DEMO), OWN)


def test_metrics_of_the_same_clips_are_compared(tmp_path: Path):
    clips = list("abcdef")
    values = [None, *np.linspace(20.0, 60, 5).tolist()]
    ratings = [
        quality.Rating(clip, 20, value, value, value, 0.5, "exact", "" if value else quality.FAR)
        for clip, value in zip(clips, values, strict=True)
    ]
    actual = quality.ClipRatings(ratings, {"exact": quality.Trained(0.8, 9.0)}, 60, "synthetic")
    lpips, equal = np.arange(6.0)[::-1, None] * [1, 2], np.ones((6, 2))
    columns = {"lpips.alex": lpips, "psnr.pooled": equal, "csi.pooled.hits": lpips}
    write_samples(
        tmp_path / "sample_scores.parquet",
        *(dict.fromkeys(CELL_KEYS, "x") | {"seed": None}, None, clips, clips),
        {name: {None: np.ma.masked_invalid(column)} for name, column in columns.items()},
    )
    cell = SimpleNamespace(scores_folder=str(tmp_path), perceptual_folder=None)
    others = quality.agreements(actual, cell)
    assert others == [quality.Agreement("lpips.alex", pytest.approx(-1), 5)]
    lines = quality.summary(actual, others)
    assert "5 of 6 clips have a value, mean 40.0" in lines
    assert lines[-1] == "rank correlation with lpips.alex: -1.000 over 5 clips"


def test_intervals_hold_what_they_promise_and_distances_are_of_the_farthest_part():
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(300, 3))
    mos = 50 + 10 * latent[:, 0] + rng.normal(0, 4, 300)
    one = latent @ rng.normal(size=(3, 40)) + 0.05 * rng.normal(size=(300, 40))
    two = rng.normal(size=(300, 6))
    is_test = np.zeros((30, 100), bool)
    for row in is_test:
        row[rng.permutation(100)[:20]] = True
    learnt = fit([one[:100], two[:100]], mos[:100], is_test, "ridge", 240)
    assert learnt.srocc > 0.8
    actual = [learnt.estimate(pair) for pair in zip(one[100:], two[100:], strict=True)]
    kept = [(e, value) for e, value in zip(actual, mos[100:], strict=True) if e.value is not None]
    assert len(kept) > 150
    assert 0.9 < np.mean([e.low <= value <= e.high for e, value in kept]) < 0.995
    far = two[100] + 30  # in one of the two parts
    away = learnt.estimate([one[100], far])
    assert away.value is None and away.low is None and away.distance > 3


@pytest.mark.parametrize("kind", regression.AFFINE)
def test_the_linear_function_says_what_the_regression_says(kind: str):
    rng = np.random.default_rng(3)
    features, mos = rng.normal(size=(40, 300)), rng.uniform(0, 100, 30)
    gram = regression.products(features)
    expected = regression.predict(kind, gram, np.arange(30), mos, np.arange(30, 40), 240)
    known = regression.products(features[:30])
    slope, offset = regression.weights(kind, features[:30], known, mos, 240)
    np.testing.assert_allclose(offset + features[30:] @ slope, expected, rtol=1e-8)


def test_pooled_features_know_no_length_and_no_order():
    rng = np.random.default_rng(0)
    frames = rng.normal(size=(2, 6, 5))
    twice = np.concatenate([frames[:, :2], frames[:, 2:], frames[:, :1:-1]], axis=1)
    actual = pool_features(frames.reshape(2, -1), 5, predicted=4)
    assert actual.shape == (2, 10)
    np.testing.assert_allclose(actual, pool_features(twice.reshape(2, -1), 5, predicted=8))
    np.testing.assert_allclose(actual[:, :5], frames[:, 2:].mean(axis=1))
