"""PSNR and SSIM of the best of a hundred forecasts, beside FVD and KVD of the first."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from conventions import convention, defined
from test_score_perceptual import SUMS, moments, toy_network  # noqa: F401 (a fixture)
from toy_scored import CELL, Scored, write_scored

from stp.core.job import Job
from stp.data.zarr_write import SequentialWriter, create_array, create_group
from stp.features.run import run as see
from stp.metrics import frechet, kvd
from stp.plan.manifest import names_of_members
from stp.score.run import run

CLIPS, MEMBERS, CONTEXT, LEADS, SIDE = 12, 100, 2, 9, 16
BEST = {"psnr.per_frame": True, "ssim.range1": True, "mse.pixel_mean": False}
SETS = ("fvd.predicted_only", "kvd.predicted_only")


@pytest.fixture
def sampled(tmp_path: Path) -> tuple[Scored, np.ndarray]:
    """Observed clips, and a hundred noisy forecasts of each, some nearer than others."""
    rng = np.random.default_rng(0)
    clips = rng.integers(0, 256, (CLIPS, CONTEXT + LEADS, 1, SIDE, SIDE), dtype=np.uint8)
    future = clips[:, None, CONTEXT:].astype(np.float32) / np.float32(255)
    spread = rng.uniform(0.05, 0.3, (CLIPS, MEMBERS, 1, 1, 1, 1))
    noise = spread * rng.normal(size=(CLIPS, MEMBERS, LEADS, 1, SIDE, SIDE))
    members = (future + noise).clip(0, 1).astype(np.float32)
    scored = write_scored(tmp_path, clips, members[:, 0])
    store = tmp_path / "predictions" / "predictions.zarr"
    shutil.rmtree(store)
    group = create_group(store, {"units": "1"})
    dims = ("sample", "member", "lead", "channel", "y", "x")
    chunk = (1, *members.shape[1:])
    array = create_array(group, "predictions", members.shape, members.dtype, dims, chunk)
    with SequentialWriter(array) as writer:
        writer.append(members)
    return scored, members


def test_the_best_of_a_hundred_beside_the_first(
    sampled: tuple[Scored, np.ndarray],
    toy_network: list,  # noqa: F811
) -> None:
    scored, members = sampled
    inputs = {"data": scored.root / "data", "predictions": scored.root / "predictions"}
    recipe = {
        **{"network": "toy", "module": "toy", "layer": "moments", "frames": "predicted_only"},
        **{"weights": SUMS, "split": "test", "lead_times": LEADS},
    }
    runtime = {"weights": {"toy": "toy.pt"}, "device": "cpu"}
    name, more = "predicted_only/toy.moments", {}
    for of in ("observed", "predicted"):
        folder = scored.root / of
        folder.mkdir()
        given = inputs if of == "predicted" else {"data": inputs["data"]}
        see(Job(recipe, given, folder, scored.root / "state", runtime))
        more[f"{name}.{of}"] = folder
    out = scored.root / "out"
    out.mkdir()
    what = {
        "cell": CELL,
        "conventions": defined(*BEST, *SETS),
        "statistic": "best_of_members",
        "higher_is_better": {**BEST, **dict.fromkeys(SETS, False)},
        "features": dict.fromkeys(SETS, name),
    }
    extras = run(Job(what, inputs | more, out, scored.root / "state", {"block_samples": 5}))
    assert (extras["members"], extras["samples"]) == (MEMBERS, CLIPS)
    rows = pq.read_table(out / "scores.parquet").to_pylist()
    found = {
        row["convention"]: row["value"]
        for row in rows
        if row["lead"] is None and row["statistic"] == "mean"
    }

    # written down once more: the member with the best mean over lead times, for each metric
    observed = scored.observed[:, None]
    errors = np.square(members.astype(np.float64) - observed)
    per_frame = errors.mean(axis=(3, 4, 5))
    assert found["mse.pixel_mean"] == pytest.approx(per_frame.mean(2).min(1).mean())
    psnr = 10 * np.log10(1 / per_frame)
    assert found["psnr.per_frame"] == pytest.approx(psnr.mean(2).max(1).mean(), rel=1e-5)
    truth, ssim = scored.observed.astype(np.float32), convention("ssim.range1")
    likeness = np.stack([ssim.statistics(members[:, m], truth)[:, 0] for m in range(MEMBERS)])
    assert found["ssim.range1"] == pytest.approx(likeness.mean(2).max(0).mean())

    x, y = moments(scored.observed), moments(members[:, 0])
    assert found["fvd.predicted_only"] == pytest.approx(frechet.distance(x, y), rel=1e-5)
    assert found["kvd.predicted_only"] == pytest.approx(kvd.distance(x, y), rel=1e-4)


@pytest.mark.parametrize(
    ("statistic", "members", "seen"),
    [
        ("best_of_members", "best-of-100", "first-of-100"),
        ("mean_of_members", "mean-of-100", "first-of-100"),
        ("ensemble_mean", "ensemble-mean-of-100", "ensemble-mean-of-100"),
    ],
)
def test_columns_may_say_which_members_they_show(statistic: str, members: str, seen: str) -> None:
    names = names_of_members(100, statistic)
    assert ("PSNR-{members}".format(**names), "FVD-{seen}".format(**names)) == (
        f"PSNR-{members}",
        f"FVD-{seen}",
    )
