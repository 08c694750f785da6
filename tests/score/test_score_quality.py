"""Predicted quality as a metric: it sees the context, and far clips have no value."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from conventions import defined
from small_store import SmallStore, convention_facts, table_column, write_receipt
from toy_scored import CELL, Scored, write_scored

from stp.collect.trust_card import cards_by_dataset
from stp.core.errors import StpError
from stp.core.file_identity import identify
from stp.core.job import Job
from stp.data.pixels import pixels
from stp.data.prepared import Prepared
from stp.metrics import fitted_quality
from stp.metrics.fitted_quality import EXACT, MOST_ARE_FAR, POOLED, FittedQuality, pool_features
from stp.metrics.frame_features import features_of
from stp.metrics.networks.maps import FeatureMaps, open_feature_maps
from stp.metrics.networks.random_weights import draw
from stp.metrics.networks.trunks import Trunk
from stp.opinions.new_videos import fit
from stp.plan.manifest import load_manifest
from stp.score.run import run

NAMES = ("ssa", "mcs")
CONTEXT, HORIZON, CLIPS = 4, 3, 12


@pytest.fixture(scope="module")
def state() -> dict[str, torch.Tensor]:
    return draw(Trunk("squeezenet"), 0).state_dict()


@pytest.fixture(scope="module")
def network_maps(state: dict[str, torch.Tensor]) -> FeatureMaps:
    return open_feature_maps("squeezenet", state, torch.device("cpu"))


def clips_of(seed: int, count: int, frames: int, noise: int = 20) -> np.ndarray:
    """Clips that hardly differ, uint8 (N, T, 1, 32, 32)."""
    rng = np.random.default_rng(seed)
    scene = np.random.default_rng(9).integers(60, 190, (1, 1, 1, 32, 32))
    return (scene + rng.integers(0, noise, (count, frames, 1, 32, 32))).astype(np.uint8)


@pytest.fixture(scope="module")
def fitted(network_maps: FeatureMaps) -> FittedQuality:
    """Learnt from 30 clips whose opinion is their brightness."""
    clips = clips_of(1, 30, CONTEXT + HORIZON)
    clips[0] = clips_of(4, 1, CONTEXT + HORIZON, noise=60)  # an odd one: others may be as far
    clips = np.clip(clips + np.linspace(-60, 60, 30)[:, None, None, None, None], 0, 255)
    rgb = [pixels(clip.astype(np.float32) / 255) for clip in clips.astype(np.uint8)]
    with torch.inference_mode():
        seen = [features_of(clip, network_maps.maps, CONTEXT, NAMES) for clip in rgb]
    parts = [np.stack([one[name].reshape(-1) for one in seen]).astype("f4") for name in NAMES]
    mos = clips.mean(axis=(1, 2, 3, 4)) / 2.55
    splits = np.arange(30) % 5 == np.arange(5)[:, None]
    kinds = {EXACT: parts, POOLED: [pool_features(part, 512, HORIZON) for part in parts]}
    learnt = {kind: fit(own, mos, splits, "ridge", 240) for kind, own in kinds.items()}
    return FittedQuality("squeezenet", NAMES, CONTEXT, HORIZON, 30, "synthetic", learnt)


@pytest.fixture(scope="module")
def weights(
    fitted: FittedQuality, state: dict[str, torch.Tensor], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("weights") / "quality.npz"
    fitted_quality.write(path, fitted, state)
    return path


def score(
    scored: Scored, weights: Path, convention: str = "predicted_quality.squeezenet_synthetic"
) -> tuple[dict[str, Any], Any]:
    """The row of all lead times, and the values of single clips."""
    name = f"quality_{convention.partition('.')[2]}"
    recipe = {
        "cell": CELL,
        "conventions": defined(convention, "mse.pixel_mean"),
        "weights": {name: {"sha256": identify(weights)["sha256"]}},
        "bootstrap": {"resamples": 200},
    }
    folder = scored.root / "out"
    folder.mkdir()
    inputs = {"data": scored.root / "data", "predictions": scored.root / "predictions"}
    runtime = {"weights": {name: str(weights)}, "device": "cpu", "block_samples": 5}
    run(Job(recipe, inputs, folder, scored.root / "state", runtime))
    rows = pq.read_table(folder / "scores.parquet").to_pylist()
    (row,) = (
        row
        for row in rows
        if (row["convention"], row["lead"], row["statistic"]) == (convention, None, "mean")
    )
    samples = pq.read_table(folder / "sample_scores.parquet")
    return row, samples


def prediction(horizon: int) -> Callable[[Path], Scored]:
    """Clips, and predictions of them that are darker."""

    def make(root: Path) -> Scored:
        root.mkdir(exist_ok=True)
        clips = clips_of(2, CLIPS, 2 + CONTEXT + horizon)  # more context than the measure sees
        darker = clips[:, 2 + CONTEXT :].astype(np.float32) / 255 - 0.02
        return write_scored(root, clips, darker)

    return make


@pytest.mark.parametrize(("horizon", "kind"), [(HORIZON, EXACT), (HORIZON + 2, POOLED)])
def test_values_are_those_of_the_measure(
    fitted: FittedQuality,
    weights: Path,
    network_maps: FeatureMaps,
    tmp_path: Path,
    horizon: int,
    kind: str,
) -> None:
    scored = prediction(horizon)(tmp_path)
    context = 2 + CONTEXT
    observed = Prepared(scored.root / "data").clips("test").read(range(CLIPS), length=context)
    wanted = []
    for shown, predicted in zip(observed, scored.predicted, strict=True):
        used, one = fitted.rate(pixels(np.concatenate([shown, predicted])), context, network_maps)
        assert used == kind and one.value is not None
        wanted.append(one.value)
    row, samples = score(scored, weights)
    assert row["value"] == pytest.approx(np.mean(wanted)) and row["n"] == CLIPS
    name = "predicted_quality.squeezenet_synthetic"
    found = [values[-1] for values in samples[f"{name}.quality"].to_pylist()]
    np.testing.assert_allclose(found, wanted)
    assert len(samples["mse.pixel_mean"][0]) == horizon  # others see what they always saw


def test_the_first_frames_of_the_real_clip_count_where_there_is_no_context(
    fitted: FittedQuality, weights: Path, network_maps: FeatureMaps, tmp_path: Path
) -> None:
    clips = clips_of(2, CLIPS, CONTEXT + HORIZON)
    scored = write_scored(tmp_path, clips, clips.astype(np.float32)[:, ::-1] / 255)
    whole = [
        fitted.rate(pixels(np.concatenate([real[:CONTEXT], own[CONTEXT:]])), CONTEXT, network_maps)[
            1
        ].value
        for real, own in zip(clips.astype(np.float32) / 255, scored.predicted, strict=True)
    ]
    row, _ = score(scored, weights)
    assert row["value"] == pytest.approx(np.mean([value for value in whole if value is not None]))


def test_far_clips_have_no_value(weights: Path, tmp_path: Path) -> None:
    scored = prediction(HORIZON)(tmp_path)
    for number, folder in ((4, "some"), (6, "half")):
        noise = np.random.default_rng(0).random(scored.predicted[:number].shape)
        predicted = scored.predicted.copy()
        predicted[:number] = noise
        (tmp_path / folder).mkdir()
        clips = clips_of(2, CLIPS, 2 + CONTEXT + HORIZON)
        row, samples = score(write_scored(tmp_path / folder, clips, predicted), weights)
        rated = samples["predicted_quality.squeezenet_synthetic.rated"].to_pylist()
        assert [one[-1] for one in rated] == [0] * number + [1] * (CLIPS - number)
        if number < CLIPS / 2:
            assert 0 < row["value"] < 100 and row["reason"] is None
        else:
            assert row["value"] is None and MOST_ARE_FAR in row["reason"]


def test_its_trust_card_follows_what_it_has_learnt_and_says_where_it_has_no_value(
    weights: Path, tmp_path: Path
) -> None:
    """Darker clips are worse by each step; clips of noise are far from all that were rated."""
    convention = "predicted_quality.squeezenet_synthetic"
    store = SmallStore(tmp_path)
    store.manifest |= {
        "dimension": "video_distortions",
        "conventions": {convention: convention_facts(True)},
        "tables": {
            "video_distortions": {"columns": {"toy": [table_column(convention, convention)]}}
        },
    }
    clips = clips_of(2, CLIPS, CONTEXT + HORIZON)
    true = clips[:, CONTEXT:].astype(np.float32) / 255
    noise = np.random.default_rng(0).random(true.shape).astype(np.float32)
    for intensity in (1, 2, 3):
        shown = {"darker": true - 0.01 * intensity, "noise": noise if intensity == 3 else true}
        for model, predicted in shown.items():
            root = tmp_path / f"{model}-{intensity}"
            root.mkdir()
            score(write_scored(root, clips, predicted), weights)
            key = {"dimension": "video_distortions", "setting": f"horizon-3+intensity-{intensity}"}
            cell = store.add(model, "toy", {}, scored=False, **key)
            shutil.move(root / "out", cell["scores"])
            write_receipt(Path(cell["scores"]), "score")
    found = cards_by_dataset(load_manifest(store.write()), convention)["toy"]
    darker, far = found.curves
    assert (darker.distortion, darker.correlation, darker.n) == ("darker", 1, CLIPS)
    assert None not in darker.values and list(darker.values) == sorted(darker.values, reverse=True)
    assert found.follows(temporal=False) == ["darker"]
    assert (far.distortion, far.correlation, far.values[2]) == ("noise", None, None)
    assert MOST_ARE_FAR in far.why


def test_what_has_no_value_says_why(weights: Path, tmp_path: Path) -> None:
    clips = np.zeros((3, 6, 2, 32, 32), np.uint8)
    for folder in ("two", "small"):
        (tmp_path / folder).mkdir()
    two = write_scored(tmp_path / "two", clips, clips[:, 2:].astype(np.float32))
    assert "2" in score(two, weights)[0]["reason"]
    clips = np.zeros((3, 6, 1, 16, 16), np.uint8)
    small = write_scored(tmp_path / "small", clips, clips[:, 2:].astype(np.float32))
    assert "17" in score(small, weights)[0]["reason"]


def test_another_file_is_refused(weights: Path, tmp_path: Path) -> None:
    scored = prediction(HORIZON)(tmp_path / "scored")
    for choice in ("squeezenet", "alexnet"):
        with pytest.raises(StpError, match="synthetic"):
            score(scored, weights, f"predicted_quality.{choice}")
        (scored.root / "out").rmdir()
    other = tmp_path / "other.npz"
    np.savez(other, names=NAMES)
    with pytest.raises(StpError, match=r"other\.npz"):
        score(scored, other)
    with pytest.raises(StpError, match=r"ends in \.npz"):
        fitted_quality.write(tmp_path / "measure.pt", None, {})  # type: ignore[arg-type]


def test_equal_measures_are_equal_files(
    fitted: FittedQuality, weights: Path, state: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    fitted_quality.write(tmp_path / "again.npz", fitted, state)
    assert (tmp_path / "again.npz").read_bytes() == weights.read_bytes()
    assert fitted.learnt[EXACT].srocc > 0.8
