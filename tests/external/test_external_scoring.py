"""Two folders or arrays are scored as the score stage would, without a plan."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import stp
from stp.cli import app
from stp.core.errors import StpError
from stp.external.scoring import evaluate
from stp.metrics import frechet
from stp.metrics.ssim import structural_similarity

N, T, SIDE = 12, 11, 32


@pytest.fixture(scope="module")
def clips() -> tuple[np.ndarray, np.ndarray]:
    """Predicted and true, the first two frames alike."""
    random = np.random.default_rng(0)
    true = random.uniform(0, 1, (N, T, 3, SIDE, SIDE)).astype(np.float32)
    noise = random.normal(0, 1, true.shape) * np.linspace(0.02, 0.2, N)[:, None, None, None, None]
    predicted = np.clip(true + noise, 0, 1).astype(np.float32)
    predicted[:, :2] = true[:, :2]
    return predicted, true


def test_values_are_those_computed_by_hand(clips) -> None:
    predicted, true = clips
    names = ["psnr.pooled", "ssim.range1", "mse.pixel_mean"]
    found = {one.convention: one for one in stp.evaluate(predicted, true, names, context=2)}
    assert list(found) == names
    p, t = predicted[:, 2:].astype(float), true[:, 2:].astype(float)
    error = np.square(p - t).mean()
    assert found["mse.pixel_mean"].value == pytest.approx(error, rel=1e-5)
    assert found["psnr.pooled"].value == pytest.approx(-10 * np.log10(error), rel=1e-6)
    similarity = structural_similarity(predicted[:, 2:], true[:, 2:], data_range=1).mean()
    assert found["ssim.range1"].value == pytest.approx(similarity, rel=1e-6)
    for one in found.values():
        assert one.n == N and one.low < one.value < one.high and one.reason == ""


def test_few_clips_have_a_value_and_no_interval(clips) -> None:
    (one,) = evaluate(clips[0][:3], clips[1][:3], ["ssim.range1"])
    assert one.value is not None and (one.low, one.high, one.n) == (None, None, 3)


@pytest.mark.parametrize("context", [0, 2])
def test_clips_that_equal_the_truth_are_said_to(clips, context: int) -> None:
    """Context frames as well, where nobody says that they are context."""
    _, true = clips
    noise = np.random.default_rng(1).normal(0, 0.1, true.shape).astype(np.float32)
    predicted = np.clip(true + noise, 0, 1)
    predicted[:, :context] = true[:, :context]
    names = ["mse.pixel_mean", "average_fid.random_means"]
    assert {one.note for one in evaluate(predicted, true, names, context=context)} == {""}
    predicted[[4, 7]] = true[[4, 7]]
    (note,) = {one.note for one in evaluate(predicted, true, names, context=context)}
    compared = T - max(context, 1)
    assert f"{2 * compared} of {N * compared} " in note and "sample 4 (000004)" in note


def test_distances_between_sets_are_made_from_what_a_network_sees(clips) -> None:
    from stp.features.networks import squeezenet_frames

    predicted, true = clips
    names = ["average_fid.random_means", "fvd.predicted_only", "fvd.random_logits"]
    fid, real, short = evaluate(predicted, true, names, context=3)
    look = squeezenet_frames.embed_random(0, "means", "cpu")
    expected = frechet.distance(look(true[:, 3:]), look(predicted[:, 3:]))
    assert fid.value == pytest.approx(expected, rel=1e-5) and fid.n == N and fid.low is None
    assert real.value is None and "i3d" in real.reason
    assert short.value is None and "8 frames" in short.reason and "9" in short.reason


def test_two_folders_are_the_same_as_two_arrays(clips, tmp_path: Path) -> None:
    bytes_of = [np.rint(one * 255).astype(np.uint8) for one in clips]
    folders = [tmp_path / "predicted", tmp_path / "true"]
    for folder, whole in zip(folders, bytes_of, strict=True):
        folder.mkdir()
        for number, clip in enumerate(whole):
            np.save(folder / f"{number:03}.npy", clip)
    metrics = ["--metric", "mse.pixel_mean", "--metric", "lpips.alex", "--context", "2"]
    weights = ["--folder", str(tmp_path / "none")]
    said = CliRunner().invoke(
        app, ["videos", "evaluate", *map(str, folders), *metrics, *weights, "--format", "json"]
    )
    assert said.exit_code == 0, said.output
    error, lpips = json.loads(said.stdout)
    (expected,) = evaluate(*bytes_of, ["mse.pixel_mean"], context=2)
    assert error["value"] == expected.value and error["low"] == expected.low
    assert lpips["value"] is None and "alexnet" in lpips["reason"]
    for name, whole in zip(("p.npy", "t.npy"), bytes_of, strict=True):
        np.save(tmp_path / name, whole)
    arrays = [str(tmp_path / "p.npy"), str(tmp_path / "t.npy")]
    said = CliRunner().invoke(app, ["videos", "evaluate", *arrays, *metrics, *weights])
    assert f"{expected.value:.6g}" in said.stdout and "N 12" in said.stdout
    (folders[0] / "000.npy").rename(folders[0] / "x.npy")
    with pytest.raises(StpError, match="000, x"):
        evaluate(*folders, ["mse.pixel_mean"])


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool"])
def test_whole_numbers_that_reach_only_1_are_black_and_white(clips, tmp_path: Path, dtype) -> None:
    true = clips[1][:3] > 0.5
    predicted = np.where(true, 0.93, 0.07).astype(np.float32)
    expected = -20 * np.log10(0.07)
    (one,) = evaluate(predicted, true.astype(dtype), ["psnr.pooled"])
    assert one.value == pytest.approx(expected, rel=1e-5)
    for name, whole in (("predicted", predicted), ("true", true.astype(dtype))):
        (tmp_path / name).mkdir()
        for number, clip in enumerate(whole):
            np.save(tmp_path / name / f"{number}.npy", clip)
    (one,) = evaluate(tmp_path / "predicted", tmp_path / "true", ["psnr.pooled"])
    assert one.value == pytest.approx(expected, rel=1e-5)


def test_a_dark_clip_among_others_is_dark(clips, tmp_path: Path) -> None:
    whole = np.rint(clips[1][:3] * 255).astype(np.uint8)
    whole[1] = whole[1] > 127
    for number, clip in enumerate(whole):
        np.save(tmp_path / f"{number}.npy", clip)
    (folder,) = evaluate(tmp_path, tmp_path, ["mse.pixel_mean"])
    assert folder.value == 0
    (array,) = evaluate(tmp_path, np.zeros_like(whole), ["mse.pixel_mean"])
    assert array.value == pytest.approx(np.square(whole / 255).mean(), rel=1e-4)


def test_files_of_arrays_are_read_like_arrays(clips, tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", clips[0])
    np.savez(tmp_path / "t.npz", clips[1])
    from_files = evaluate(tmp_path / "p.npy", tmp_path / "t.npz", ["mse.pixel_mean"])
    assert from_files == evaluate(*clips, ["mse.pixel_mean"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"predicted": np.zeros((3, 4, 8, 8, 3))}, r"shape \(3, 4, 8, 8, 3\)"),
        ({"predicted": np.full((N, T, 3, SIDE, SIDE), 2.0)}, "2.0 .*2.0"),
        ({"predicted": np.zeros((N - 1, T, 3, SIDE, SIDE))}, "11 .*12 "),
        ({"predicted": np.zeros((N, T - 1, 3, SIDE, SIDE))}, "000000"),
        ({"metrics": ["psnr.best"]}, "psnr"),
        ({"metrics": ["beauty.of_frames"]}, "beauty"),
        ({"context": T}, "context"),
    ],
)
def test_what_does_not_fit_is_refused(clips, change, message: str) -> None:
    given = {"predicted": clips[0], "true": clips[1], "metrics": ["mse.pixel_mean"]} | change
    with pytest.raises(StpError, match=message):
        evaluate(**given)
