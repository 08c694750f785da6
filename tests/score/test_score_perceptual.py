"""Scores that look through a network: with weights, without them, and between sets of clips."""

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from conventions import defined
from toy_scored import CELL, Scored, write_scored

from stp.core.errors import StpError
from stp.core.file_identity import identify
from stp.core.job import Job
from stp.data import feature_table as table
from stp.data.prepared import Prepared
from stp.features.clip_features import blocks_of
from stp.features.run import run as see
from stp.metrics import frechet, kvd, lpips
from stp.metrics.networks.trunks import Trunk
from stp.metrics.perceptual import Weights
from stp.metrics.set_distance import SetFeatures, at_n, draw_indices, read_features
from stp.score.run import run

CONTEXT, LEADS = 2, 9
SUMS = {"sha256": "0" * 64}


@pytest.fixture
def scored(tmp_path: Path) -> Scored:
    rng = np.random.default_rng(0)
    clips = rng.integers(0, 256, (20, CONTEXT + LEADS, 1, 32, 32), dtype=np.uint8)
    return write_scored(tmp_path, clips, rng.random((20, LEADS, 1, 32, 32)).astype(np.float32))


def moments(clips: np.ndarray) -> np.ndarray:
    """Features that need no network: three of each clip."""
    flat = clips.reshape(len(clips), -1).astype(np.float64)
    return np.stack([flat.mean(1), flat.std(1), flat[:, -1]], axis=1)


def corners(clips: np.ndarray) -> np.ndarray:
    """Other ones: two of each clip."""
    return clips[:, [0, -1], 0, 0, 0].astype(np.float64)


@pytest.fixture
def toy_network(monkeypatch: pytest.MonkeyPatch) -> list[Weights]:
    """A module of networks that needs no weights; those that were asked for."""
    asked: list[Weights] = []
    module = types.ModuleType("stp.features.networks.toy")

    def embed(weights: Weights, layer: str) -> Any:
        asked.append(weights)
        return {"moments": moments, "corners": corners}[layer]

    vars(module).update(LAYERS=("moments", "corners"), SHORTEST=9, embed=embed)
    monkeypatch.setitem(sys.modules, "stp.features.networks.toy", module)
    return asked


def look(
    scored: Scored, frames: str, of: str, layer: str = "moments", network: str = "toy", **more: Any
) -> Path:
    """Features of a convention's choice of frames, observed or predicted."""
    folder = scored.root / f"features-{frames}-{network}-{layer}-{of}"
    if folder.is_dir():
        return folder
    folder.mkdir()
    recipe = {
        "network": network,
        "module": "toy",
        "layer": layer,
        "frames": frames,
        "weights": SUMS,
        "split": "test",
        "lead_times": scored.predicted.shape[1],
        **more,
    }
    inputs = {"data": scored.root / "data"}
    inputs |= {"predictions": scored.root / "predictions"} if of == "predicted" else {}
    runtime = {"weights": {network: f"{network}.pt"}, "device": "cpu"}
    see(Job(recipe, inputs, folder, scored.root / "state", runtime))
    return folder


def distances(
    scored: Scored, *conventions: str, out: str = "out", layers: Any = None
) -> dict[str, dict]:
    """Score distances between sets of clips: their rows by convention."""
    named = {}
    inputs = {"data": scored.root / "data", "predictions": scored.root / "predictions"}
    for convention in conventions:
        frames = convention.partition(".")[2]
        network, layer = (layers or {}).get(convention, ("toy", "moments"))
        named[convention] = f"{frames}/{network}.{layer}"
        for of in ("observed", "predicted"):
            inputs[f"{named[convention]}.{of}"] = look(scored, frames, of, layer, network)
    recipe = {"cell": CELL, "conventions": defined(*conventions), "features": named}
    folder = scored.root / out
    folder.mkdir()
    run(Job(recipe, inputs, folder, scored.root / "state"))
    rows = pq.read_table(folder / "scores.parquet").to_pylist()
    return {row["convention"]: row for row in rows}


def score(scored: Scored, *conventions: str, out: str = "out", weights: Any = None) -> list[dict]:
    """Score; ``weights`` are path and checksums by network. The rows of all lead times."""
    given = weights or {}
    recipe = {
        "cell": CELL,
        "conventions": defined(*conventions),
        "weights": {name: declared for name, (_, declared) in given.items()},
    }
    folder = scored.root / out
    folder.mkdir()
    inputs = {"data": scored.root / "data", "predictions": scored.root / "predictions"}
    runtime = {"weights": {name: str(path) for name, (path, _) in given.items()}, "device": "cpu"}
    run(Job(recipe, inputs, folder, scored.root / "state", runtime))
    rows = pq.read_table(folder / "scores.parquet").to_pylist()
    return [row for row in rows if row["lead"] is None and row["statistic"] == "mean"]


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
    with pytest.raises(StpError, match=r"a\.pt"):
        score(scored, "lpips.squeeze", weights=weights, out="wrong")


def test_without_weights_values_are_null_and_say_why(scored: Scored) -> None:
    found = score(scored, "lpips.alex", "fvd.predicted_only", "mse.pixel_mean")
    reasons = {row["convention"]: row["reason"] for row in found}
    assert {row["convention"] for row in found if row["value"] is None} == {
        "lpips.alex",
        "fvd.predicted_only",
    }
    assert "alexnet" in reasons["lpips.alex"]
    assert all(
        "stp list weights" in (reasons[name] or "") for name in reasons.keys() - {"mse.pixel_mean"}
    )


def test_weights_that_are_gone_are_no_reason_but_an_error(scored: Scored) -> None:
    recipe = {
        "cell": CELL,
        "conventions": defined("lpips.alex"),
        "weights": {"alexnet": {"sha256": "0"}},
    }
    inputs = {"data": scored.root / "data", "predictions": scored.root / "predictions"}
    with pytest.raises(StpError, match="alexnet"):
        run(Job(recipe, inputs, scored.root, scored.root))


def test_distances_between_all_clips(scored: Scored, toy_network: list[Weights]) -> None:
    names = ("fvd.predicted_only", "kvd.predicted_only", "fvd.with_context", "fvd.zero_padded")
    found = distances(scored, *names)
    assert len(toy_network) == 3 * 2  # FVD and KVD are made from the same features
    assert {(str(one.path), one.declared["sha256"]) for one in toy_network} == {
        ("toy.pt", "0" * 64)
    }
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
    assert {row["lead"] for row in found.values()} == {None}


def test_two_networks_and_two_layers_have_values_of_their_own(
    scored: Scored, toy_network: list[Weights]
) -> None:
    """Features were known by their frames alone once: the second took the place of the first."""
    same = {"frames": "predicted_only"}
    folders = {
        (network, layer, of): look(scored, of=of, layer=layer, network=network, **same)
        for network in ("toy", "other")
        for layer in ("moments", "corners")
        for of in ("observed", "predicted")
    }
    assert len(set(folders.values())) == 8
    assert {str(one.path) for one in toy_network} == {"toy.pt", "other.pt"}
    named = {
        "fvd.predicted_only": "predicted_only/toy.moments",
        "fvd.corners": "predicted_only/toy.corners",
    }
    inputs = {"data": scored.root / "data", "predictions": scored.root / "predictions"}
    for name, (network, layer) in zip(
        named.values(), (("toy", "moments"), ("toy", "corners")), strict=True
    ):
        for of in ("observed", "predicted"):
            inputs[f"{name}.{of}"] = folders[network, layer, of]
    (scored.root / "out").mkdir()
    recipe = {
        "cell": CELL,
        "conventions": {convention: {"function": "frechet"} for convention in named},
        "features": named,
    }
    run(Job(recipe, inputs, scored.root / "out", scored.root / "state"))
    rows = pq.read_table(scored.root / "out" / "scores.parquet").to_pylist()
    found = {row["convention"]: row["value"] for row in rows}
    observed, predicted = scored.observed, scored.predicted
    wanted = {
        "fvd.predicted_only": frechet.distance(moments(observed), moments(predicted)),
        "fvd.corners": frechet.distance(corners(observed), corners(predicted)),
    }
    assert found == pytest.approx(wanted) and len(set(found.values())) == 2


def test_context_comes_first(scored: Scored, toy_network: list[Weights]) -> None:
    row = distances(scored, "fvd.with_context")["fvd.with_context"]
    whole = Prepared(scored.root / "data").clips("test").read(range(20), length=CONTEXT + LEADS)
    x = moments(whole)
    y = moments(np.concatenate([whole[:, :CONTEXT], scored.predicted], axis=1))
    assert row["value"] == pytest.approx(frechet.distance(x, y))


def test_features_serve_comparisons_at_equal_numbers(
    scored: Scored, toy_network: list[Weights]
) -> None:
    row = distances(scored, "fvd.predicted_only")["fvd.predicted_only"]
    folder = look(scored, "predicted_only", "predicted")
    kept = table.read(folder)
    np.testing.assert_array_equal(kept.values, moments(scored.predicted))
    clips = pq.read_table(folder / "features.parquet")
    assert clips["clip"].to_pylist() == [f"clip{n:03}" for n in range(20)]
    pair = SetFeatures(table.read(look(scored, "predicted_only", "observed")).values, kept.values)
    assert at_n(pair, frechet.distance, 20) == pytest.approx(row["value"])
    chosen = draw_indices(20, 7)
    fewer = frechet.distance(pair.observed[chosen], pair.predicted[chosen])
    assert at_n(pair, frechet.distance, 7) == fewer
    with pytest.raises(StpError, match=r"21 .*20"):
        at_n(pair, frechet.distance, 21)
    (folder / "features.parquet").write_bytes(b"no table")
    with pytest.raises(StpError, match=r"features\.parquet"):
        table.read(folder)


def test_short_clips_have_no_value_unless_padded(
    tmp_path: Path, toy_network: list[Weights]
) -> None:
    rng = np.random.default_rng(0)
    clips = rng.integers(0, 256, (3, 6, 1, 8, 8), dtype=np.uint8)
    short = write_scored(tmp_path, clips, rng.random((3, 4, 1, 8, 8)).astype(np.float32))
    found = distances(short, "fvd.predicted_only", "fvd.with_context", "fvd.zero_padded")
    for name, frames in (("fvd.predicted_only", 4), ("fvd.with_context", 6)):
        assert f" {frames} " in found[name]["reason"] and "9" in found[name]["reason"]
    assert found["fvd.zero_padded"]["value"] > 0


def test_predictions_that_are_not_numbers(tmp_path: Path, toy_network: list[Weights]) -> None:
    rng = np.random.default_rng(0)
    clips = rng.integers(0, 256, (3, CONTEXT + LEADS, 1, 8, 8), dtype=np.uint8)
    predicted = rng.random((3, LEADS, 1, 8, 8)).astype(np.float32)
    predicted[1, 4] = np.nan
    bad = write_scored(tmp_path, clips, predicted)
    row = distances(bad, "fvd.predicted_only")["fvd.predicted_only"]
    assert row["value"] is None and "1 of 3" in row["reason"]


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ({"layer": "logits"}, "'logits'(.|\n)*moments"),
        ({"frames": "all"}, "frames .*'all'(.|\n)*predicted_only"),
        ({"member": "last"}, "member .*'last'"),
        ({"network": "gone"}, "gone"),
    ],
)
def test_features_that_cannot_be_are_refused(
    scored: Scored, toy_network: list[Weights], recipe: dict[str, str], message: str
) -> None:
    whole = {
        **{"network": "toy", "module": "toy", "layer": "moments", "frames": "predicted_only"},
        **{"weights": SUMS, "split": "test", "lead_times": LEADS},
        **recipe,
    }
    runtime = {"weights": {"toy": "toy.pt"}}
    with pytest.raises(StpError, match=message):
        see(Job(whole, {"data": scored.root / "data"}, scored.root, scored.root, runtime))


def test_features_of_both_sides_are_of_the_same_clips(
    scored: Scored, toy_network: list[Weights]
) -> None:
    inputs = {"a.observed": scored.root / "a", "a.predicted": scored.root / "b"}
    for folder, count in zip(inputs.values(), (20, 19), strict=True):
        folder.mkdir()
        table.write(folder, [str(n) for n in range(count)], table.Features(np.ones((count, 3))))
    with pytest.raises(StpError, match=r"\(19, 3\)"):
        read_features(inputs, "a")


def test_blocks_are_cut_anew_whatever_the_batches() -> None:
    whole = np.arange(50)
    batches = [whole[:3], whole[3:20], whole[20:21], whole[21:50]]
    found = list(blocks_of(batches, 16))
    assert [len(block) for block in found] == [16, 16, 16, 2]
    assert np.array_equal(np.concatenate(found), whole)
