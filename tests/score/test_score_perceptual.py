"""Scores that look through a network: with weights, without them, and between sets of clips."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from toy_scored import CELL, Scored, write_scored

from stp.core.errors import StpError
from stp.core.file_identity import identify
from stp.core.job import Job
from stp.metrics import frechet, fvd, kvd, lpips
from stp.metrics.networks.trunks import Trunk
from stp.metrics.perceptual import Weights, matched
from stp.score.features import at_n, read_features
from stp.score.run import run

CONTEXT, LEADS = 2, 9


@pytest.fixture
def scored(tmp_path: Path) -> Scored:
    rng = np.random.default_rng(0)
    clips = rng.integers(0, 256, (20, CONTEXT + LEADS, 1, 32, 32), dtype=np.uint8)
    return write_scored(tmp_path, clips, rng.random((20, LEADS, 1, 32, 32)).astype(np.float32))


def moments(clips: np.ndarray) -> np.ndarray:
    """Features that need no network: three of each clip."""
    flat = clips.reshape(len(clips), -1).astype(np.float64)
    return np.stack([flat.mean(1), flat.std(1), flat[:, -1]], axis=1)


@pytest.fixture
def toy_network(monkeypatch: pytest.MonkeyPatch) -> list[Weights]:
    """I3D is replaced by `moments`; the weights that were asked for."""
    asked: list[Weights] = []

    def embed(weights: Weights) -> Any:
        asked.append(weights)
        return moments

    for module in (fvd, kvd):
        for name in ("predicted_only", "with_context", "zero_padded"):
            monkeypatch.setattr(module, name, getattr(module, name)._replace(embed=embed))
    return asked


def score(scored: Scored, *conventions: str, out: str = "out", weights: Any = None) -> list[dict]:
    """Score; ``weights`` are path and checksums by network. The rows of all lead times."""
    given = weights or {}
    recipe = {
        "cell": CELL,
        "conventions": list(conventions),
        "weights": {name: declared for name, (_, declared) in given.items()},
    }
    folder = scored.root / out
    folder.mkdir()
    inputs = {"data": scored.root / "data", "predictions": scored.root / "predictions"}
    runtime = {"weights": {name: str(path) for name, (path, _) in given.items()}, "device": "cpu"}
    run(Job(recipe, inputs, folder, scored.root / "state", runtime))
    rows = pq.read_table(folder / "scores.parquet").to_pylist()
    return [row for row in rows if row["lead"] is None and row["statistic"] == "mean"]


I3D = {"i3d": ("somewhere.pt", {"sha256": "0" * 64})}


def test_lpips_with_seeded_weights(scored: Scored, tmp_path: Path) -> None:
    torch.manual_seed(0)
    state = Trunk("squeezenet").state_dict()
    torch.save(state, tmp_path / "a.pt")
    declared = {"sha256": identify(tmp_path / "a.pt")["sha256"]}
    weights = {"squeezenet": (tmp_path / "a.pt", declared)}
    found = score(scored, "lpips.squeeze", "mse.pixel_mean", weights=weights)
    (row,) = (row for row in found if row["convention"] == "lpips.squeeze")
    network = lpips.Lpips("squeezenet", state)
    assert row["value"] == pytest.approx(
        lpips.compare(network, scored.predicted, scored.observed).mean()
    )
    assert (row["n"], row["reason"]) == (20, None)
    samples = pq.read_table(tmp_path / "out" / "sample_scores.parquet")
    assert len(samples["lpips.squeeze"][0].as_py()) == LEADS

    declared["sha256"] = "0" * 64
    with pytest.raises(StpError, match="not the declared ones"):
        score(scored, "lpips.squeeze", weights=weights, out="wrong")


def test_without_weights_values_are_null_and_say_why(scored: Scored) -> None:
    found = score(scored, "lpips.alex", "fvd.predicted_only", "mse.pixel_mean")
    reasons = {row["convention"]: (row["value"] is None, row["reason"]) for row in found}
    assert reasons == {
        "lpips.alex": (True, "the weights of alexnet are not there (see `stp weights`)"),
        "fvd.predicted_only": (True, "the weights of i3d are not there (see `stp weights`)"),
        "mse.pixel_mean": (False, None),
    }
    assert not (scored.root / "out" / "features.parquet").exists()


def test_weights_that_are_gone_are_no_reason_but_an_error(scored: Scored) -> None:
    recipe = {"cell": CELL, "conventions": ["lpips.alex"], "weights": {"alexnet": {"sha256": "0"}}}
    inputs = {"data": scored.root / "data", "predictions": scored.root / "predictions"}
    with pytest.raises(StpError, match="are gone since this was planned"):
        run(Job(recipe, inputs, scored.root, scored.root))


def test_distances_between_all_clips(scored: Scored, toy_network: list[Weights]) -> None:
    names = ("fvd.predicted_only", "kvd.predicted_only", "fvd.with_context", "fvd.zero_padded")
    found = {row["convention"]: row for row in score(scored, *names, weights=I3D)}
    assert len(toy_network) == 1  # one network for all of them
    assert str(toy_network[0].path) == "somewhere.pt"
    assert toy_network[0].declared == I3D["i3d"][1]
    observed, predicted = scored.observed, scored.predicted
    x, y = moments(observed), moments(predicted)
    assert found["fvd.predicted_only"]["value"] == pytest.approx(frechet.distance(x, y))
    assert found["kvd.predicted_only"]["value"] == pytest.approx(kvd.distance(x, y))
    grey = np.full_like(observed[:, :1], 0.5)
    x, y = (moments(np.concatenate([clips, grey], axis=1)) for clips in (observed, predicted))
    assert found["fvd.zero_padded"]["value"] == pytest.approx(frechet.distance(x, y), rel=1e-4)
    assert {row["n"] for row in found.values()} == {20}
    values = [found[name]["value"] for name in names]
    assert len(set(values)) == 4  # each sees other frames, or another distance


def test_context_comes_first(scored: Scored, toy_network: list[Weights]) -> None:
    (row,) = score(scored, "fvd.with_context", weights=I3D)
    from stp.data.prepared import Prepared

    whole = Prepared(scored.root / "data").clips("test").read(range(20), length=CONTEXT + LEADS)
    x = moments(whole)
    y = moments(np.concatenate([whole[:, :CONTEXT], scored.predicted], axis=1))
    assert row["value"] == pytest.approx(frechet.distance(x, y))


def test_features_stay_for_comparisons_at_equal_numbers(
    scored: Scored, toy_network: list[Weights]
) -> None:
    (row,) = score(scored, "fvd.predicted_only", weights=I3D)
    kept = read_features(scored.root / "out" / "features.parquet", "predicted_only")
    np.testing.assert_array_equal(kept.predicted, moments(scored.predicted))
    assert at_n(kept, frechet.distance, 20) == pytest.approx(row["value"])
    chosen = matched(20, 7)
    fewer = frechet.distance(kept.observed[chosen], kept.predicted[chosen])
    assert at_n(kept, frechet.distance, 7) == fewer
    with pytest.raises(StpError, match="21 clips of 20"):
        at_n(kept, frechet.distance, 21)
    with pytest.raises(StpError, match="no features of with_context"):
        read_features(scored.root / "out" / "features.parquet", "with_context")


def test_short_clips_have_no_value_unless_padded(
    tmp_path: Path, toy_network: list[Weights]
) -> None:
    rng = np.random.default_rng(0)
    clips = rng.integers(0, 256, (3, 6, 1, 8, 8), dtype=np.uint8)
    short = write_scored(tmp_path, clips, rng.random((3, 4, 1, 8, 8)).astype(np.float32))
    names = ("fvd.predicted_only", "fvd.with_context", "fvd.zero_padded")
    found = {row["convention"]: row for row in score(short, *names, weights=I3D)}
    said = {name: row["reason"] for name, row in found.items()}
    assert said == {
        "fvd.predicted_only": "clips of 4 frames; the network needs 9",
        "fvd.with_context": "clips of 6 frames; the network needs 9",
        "fvd.zero_padded": None,
    }
    assert found["fvd.zero_padded"]["value"] > 0


def test_predictions_that_are_not_numbers(tmp_path: Path, toy_network: list[Weights]) -> None:
    rng = np.random.default_rng(0)
    clips = rng.integers(0, 256, (3, CONTEXT + LEADS, 1, 8, 8), dtype=np.uint8)
    predicted = rng.random((3, LEADS, 1, 8, 8)).astype(np.float32)
    predicted[1, 4] = np.nan
    (row,) = score(write_scored(tmp_path, clips, predicted), "fvd.predicted_only", weights=I3D)
    assert row["value"] is None
    assert row["reason"].startswith("not a number in 1 of 3 clips")
