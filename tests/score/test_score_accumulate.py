"""Scores in blocks of samples and lead times, and of forecasts that lack some of everything."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from toy_scored import (
    Scored,
    assert_same_tables,
    keep,
    row,
    rows,
    scores,
    write_ensemble,
    write_grid,
)

from stp.core.errors import StpError
from stp.core.job import Interrupted
from stp.data.prepared import Clips
from stp.metrics.finest import finest_spectrum
from stp.metrics.spectral_divergence import divergence
from stp.score.bootstrap import no_spread
from stp.score.predictions import Predictions
from stp.score.target_cache import TargetCache

VARIABLES = ["t2m", "u_850", "z_500"]
CONVENTIONS = ("wrmse.per_frame", "wrmse.pooled", "rmse.pooled", "mse.pixel_mean")
SAMPLES, LEADS = 14, 6


@pytest.fixture
def globe(make_scored: Callable[..., Scored]) -> Scored:
    """14 samples, 2 -> 6 lead times, three variables on 4 x 6 boxes."""
    rng = np.random.default_rng(0)
    clips = rng.normal(280, 3, (SAMPLES, 2 + LEADS, 3, 4, 6)).astype(np.float32)
    noise = rng.normal(0, 1 + np.arange(LEADS)[:, None, None, None], (SAMPLES, LEADS, 3, 4, 6))
    predicted = clips[:, 2:] + noise.astype(np.float32)
    scored = make_scored(clips, predicted, units="physical", variables=VARIABLES)
    write_grid(scored, np.array([-60.0, -20, 20, 60]), np.nan, 850, 500)
    return scored


def squares(scored: Scored) -> np.ndarray:
    """Weighted means over the globe of squared errors, (N, T, C)."""
    weights = np.cos(np.deg2rad([-60.0, -20, 20, 60]))
    error = scored.predicted.astype(np.float64) - scored.observed
    return (error**2 * (weights / weights.sum() / 6)[:, None]).sum(axis=(3, 4))


# Blocks


def test_blocks_of_lead_times_change_no_bit(globe: Scored) -> None:
    whole = globe.run(*CONVENTIONS, out="whole")
    for samples, leads, threads in ((1, 1, 3), (3, 4, 1), (14, 5, 3)):
        sizes = {"block_samples": samples, "block_leads": leads, "threads": threads}
        apart = globe.run(*CONVENTIONS, out=f"blocks-of-{samples}", **sizes)
        assert_same_tables(whole, apart)


def read_sizes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Samples and frames of all that is read of what was observed."""
    sizes = []

    def read(self: Clips, rows: Any, **more: Any) -> np.ndarray:
        found = original(self, rows, **more)
        sizes.append(found.shape[:2])
        return found

    original = Clips.read
    monkeypatch.setattr(Clips, "read", read)
    return sizes


def test_large_samples_are_read_in_lead_times(
    globe: Scored, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = read_sizes(monkeypatch)
    frame = 4 * 3 * 4 * 6  # bytes
    monkeypatch.setattr("stp.score.accumulate.BLOCK_BYTES", 2 * frame)
    globe.run(*CONVENTIONS)
    assert set(sizes) == {(1, 2)} and len(sizes) == SAMPLES * LEADS / 2
    sizes.clear()
    monkeypatch.setattr("stp.score.accumulate.BLOCK_BYTES", 2 * LEADS * frame)
    globe.run(*CONVENTIONS, out="whole-samples")
    assert set(sizes) == {(2, LEADS)}


def test_lead_times_that_belong_together_are_read_together(
    make_scored: Callable[..., Scored], monkeypatch: pytest.MonkeyPatch
) -> None:
    clips = np.random.default_rng(0).normal(27, 1, (12, 8, 1, 24, 48)).astype(np.float32)
    scored = make_scored(clips, clips[:, 3:] + np.float32(0.5))
    sizes = read_sizes(monkeypatch)
    scored.run("nino34.rmse", "mse.pixel_mean", block_samples=4, block_leads=1)
    assert set(sizes) == {(4, 5)}


# What forecasts lack


def test_lead_times_that_are_not_there_are_null_alone(globe: Scored) -> None:
    whole = globe.run(*CONVENTIONS, out="whole")
    by_hand = squares(globe)
    out = keep(globe, leads=[1, 2, 5]).run(*CONVENTIONS)
    t2m = by_hand[..., 0]
    for lead in range(1, LEADS + 1):
        found = row(out, "wrmse.per_frame", "t2m", lead)
        if lead in (1, 2, 5):
            assert found == row(whole, "wrmse.per_frame", "t2m", lead)
        else:
            assert found["value"] is None
            assert f" {lead}" in found["reason"]
    # Over all lead times: those that are there, each with the same weight.
    there = np.sqrt(t2m[:, [0, 1, 4]])
    assert row(out, "wrmse.per_frame", "t2m")["value"] == pytest.approx(there.mean(), rel=1e-6)
    pooled = np.sqrt(t2m[:, [0, 1, 4]].mean())
    assert row(out, "wrmse.pooled", "t2m")["value"] == pytest.approx(pooled, rel=1e-6)
    table = scores(out)
    ends = table[table.lead.isna() & (table.statistic == "ci95_low")]
    assert ends.value.notna().all() and set(ends.n) == {SAMPLES}
    samples = pq.read_table(out / "sample_scores.parquet").to_pandas()
    of_t2m = np.stack(samples[samples.variable == "t2m"]["wrmse.per_frame"].to_list())
    assert (np.isnan(of_t2m) == np.isin(range(LEADS), [2, 3, 5])).all()
    lists = pq.read_table(out / "sample_scores.parquet")["rmse.pooled"].drop_null().to_pylist()
    assert all(
        [v is None for v in each] == [False, False, True, True, False, True] for each in lists
    )


def test_a_variable_that_is_not_there_is_null_alone(globe: Scored) -> None:
    whole = globe.run(*CONVENTIONS, out="whole")
    out = keep(globe, variables=["t2m", "z_500"]).run(*CONVENTIONS)
    for convention in ("wrmse.per_frame", "wrmse.pooled"):
        for variable in ("t2m", "z500"):
            here = row(out, convention, variable)["value"]
            assert here == pytest.approx(row(whole, convention, variable)["value"], rel=1e-12)
        lacking = row(out, convention, "u850")
        assert lacking["value"] is None and "u850" in lacking["reason"]
    # Where all channels are one mean, it is that of those that are there.
    error = (globe.predicted - globe.observed)[:, :, [0, 2]]
    assert row(out, "mse.pixel_mean")["value"] == pytest.approx((error**2).mean(), rel=1e-6)
    samples = pq.read_table(out / "sample_scores.parquet").to_pandas()
    assert set(samples.variable.dropna()) == {"t2m", "z500"}
    sums = pq.read_table(out / "cluster_sums.parquet")
    of = dict(zip(sums["convention"].to_pylist(), sums["sums"], strict=True))
    there = [value is not None for value in of["wrmse.pooled"].as_py()]
    assert there == [True] * LEADS + [False] * LEADS + [True] * LEADS
    said = dict(zip(sums["convention"].to_pylist(), sums["lacks"].to_pylist(), strict=True))
    assert said["wrmse.pooled"] is None
    assert "1 of 3" in said["mse.pixel_mean"]


def test_samples_that_are_not_there_do_not_count(globe: Scored) -> None:
    held = [0, 1, 3, 4, 5, 6, 7, 8, 10, 11, 13]
    by_hand = squares(globe)[held][..., 2]
    out = keep(globe, samples=held).run(*CONVENTIONS)
    found = row(out, "wrmse.pooled", "z500")
    assert found["value"] == pytest.approx(np.sqrt(by_hand.mean()), rel=1e-6)
    assert found["n"] == len(held)
    clips = pq.read_table(out / "sample_scores.parquet")["clip"].unique().to_pylist()
    assert clips == [f"clip{n:03}" for n in held]


def test_all_may_be_lacking_at_once_in_any_blocks(globe: Scored) -> None:
    held = [0, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13]
    keep(globe, samples=held, leads=[2, 4, 5], variables=["u_850"])
    out = globe.run(*CONVENTIONS)
    by_hand = squares(globe)[held][:, [1, 3, 4], 1]
    assert row(out, "wrmse.per_frame", "u850")["value"] == pytest.approx(np.sqrt(by_hand).mean())
    apart = globe.run(*CONVENTIONS, out="apart", block_samples=5, block_leads=2)
    assert_same_tables(out, apart)


def test_what_needs_all_lead_times_says_so(make_scored: Callable[..., Scored]) -> None:
    clips = np.random.default_rng(0).normal(27, 1, (12, 8, 1, 24, 48)).astype(np.float32)
    scored = make_scored(clips, clips[:, 3:] + np.float32(0.5), units="physical")
    out = keep(scored, leads=[1, 2, 3, 5]).run("nino34.rmse", "mse.pixel_mean")
    found = row(out, "nino34.rmse")
    assert found["value"] is None
    assert "1 of 5" in found["reason"]
    assert row(out, "mse.pixel_mean")["value"] == pytest.approx(0.25, rel=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"leads": [1, 2, 9]}, "1, 2, 9"),
        ({"leads": [2, 1, 3]}, "2, 1, 3"),
        ({"leads": [0, 1, 2]}, "0, 1, 2"),
        ({"leads": [1, 2]}, "3"),
        ({"variables": ["t2m", "q_700", "z_500"]}, "t2m, q_700, z_500"),
        ({"variables": ["z_500", "t2m", "u_850"]}, "z_500, t2m, u_850"),
        ({"complete": False, "clips": [3, 2]}, "'clip002'"),
        ({"complete": False, "clips": [3, 99]}, "'clip099'"),
        ({"clips": [3, 4]}, "2 .*14 "),
    ],
)
def test_statements_that_cannot_be_are_refused(
    globe: Scored, changes: dict[str, Any], message: str
) -> None:
    import zarr

    clips = changes.pop("clips", None)
    keep(
        globe,
        leads=[1, 2, 3],
        samples=list(range(len(clips))) if clips and "complete" in changes else None,
    )
    store = zarr.open_group(str(globe.root / "predictions" / "predictions.zarr"), mode="r+")
    store.attrs.update(changes)
    if clips:
        path = globe.root / "predictions" / "index.parquet"
        index = pd.read_parquet(path).iloc[: len(clips)]
        index.assign(clip=[f"clip{n:03}" for n in clips]).to_parquet(path)
    with pytest.raises(StpError, match=message):
        globe.run("mse.pixel_mean")


# Batches

BATCHED = ("spectral_divergence.high_wavenumbers_batch32", "wrmse.per_frame")
STARTS = 40
BATCHES = [slice(0, 11), slice(11, 22), slice(22, 32), slice(32, STARTS)]
"""Starts in the same 32 days: there is one every third day."""


def test_batches_of_starts_are_whole_in_any_blocks(make_scored: Callable[..., Scored]) -> None:
    scored = write_ensemble(make_scored)
    whole = scored.run(*BATCHED, out="whole")
    parts = scored.run(*BATCHED, out="parts", block_samples=5, block_leads=1, threads=2)
    assert_same_tables(parts, whole)
    expected = []
    for batch in BATCHES:
        o, p = (
            finest_spectrum(frames[batch].astype(float).mean(axis=0))
            for frames in (scored.observed, scored.predicted)
        )
        expected.append(divergence(o, p))  # (T, C)
    found = [rows(whole, BATCHED[0], lead).value.astype(float) for lead in (1, 2)]
    np.testing.assert_allclose(found, np.mean(expected, axis=0), rtol=1e-6)


def test_the_weights_of_batches_are_no_spread_of_starts(
    make_scored: Callable[..., Scored],
) -> None:
    scored = write_ensemble(make_scored, alike=True)
    table = pq.read_table(scored.run(BATCHED[0]) / "scores.parquet").to_pandas()
    values, ends = table[table.statistic == "mean"], table[table.statistic != "mean"]
    assert (values.value > 0.001).all()
    # All starts have one value, so there is no interval: any end would be the spread of weights.
    assert ends.value.isna().all()
    assert set(ends.reason) == {no_spread(STARTS)}


def test_a_start_has_no_score_of_its_own_in_a_batch(make_scored: Callable[..., Scored]) -> None:
    out = write_ensemble(make_scored).run(*BATCHED)
    names = pq.read_schema(out / "sample_scores.parquet").names
    assert BATCHED[1] in names and BATCHED[0] not in names


def test_a_batch_that_is_stopped_within_ends_in_the_same_rows(
    make_scored: Callable[..., Scored],
) -> None:
    scored = write_ensemble(make_scored)
    whole = scored.run(*BATCHED, out="whole")
    for out in ("first", "second"):  # after 5 and 10 of the 11 starts of the first batch
        with pytest.raises(Interrupted):
            scored.run(*BATCHED, out=out, block_samples=5, interrupted=lambda: True)
    for part in (scored.root / "state" / "scored").iterdir():  # of a batch, its sums alone
        saved = np.load(part).files
        assert f"{BATCHED[1]}:samples" in saved and f"{BATCHED[0]}:samples" not in saved
    last = scored.run(*BATCHED, out="last")
    assert [done for what, done, _ in scored.reported if what == "samples scored"] == [STARTS]
    assert_same_tables(last, whole)


def test_spectra_of_observed_days_come_from_the_cache(
    make_scored: Callable[..., Scored], monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[np.ndarray] = []
    original = TargetCache.of

    def of(self: TargetCache, transform: Any, observed: Any, samples: Any, leads: Any) -> Any:
        starts.append(samples)
        return original(self, transform, observed, samples, leads)

    monkeypatch.setattr(TargetCache, "of", of)
    write_ensemble(make_scored).run(BATCHED[0])
    assert np.concatenate(starts).tolist() == list(range(STARTS))


def test_batches_of_an_ensemble_are_of_its_mean_alone(make_scored: Callable[..., Scored]) -> None:
    scored = write_ensemble(make_scored, members=3)
    found = rows(scored.run(BATCHED[0], statistic="ensemble_mean", out="mean"), BATCHED[0], 1)
    expected = []
    for batch in BATCHES:
        o = scored.observed[batch, 0].mean(axis=0)
        p = scored.predicted[batch, :, 0].astype(float).mean(axis=(0, 1))
        expected.append(divergence(finest_spectrum(o), finest_spectrum(p)))
    np.testing.assert_allclose(found.value.astype(float), np.mean(expected, axis=0), rtol=1e-4)
    out = scored.run(*BATCHED, statistic="mean_of_members", out="members")
    assert rows(out, BATCHED[0]).value.isna().all() and rows(out, BATCHED[0]).reason.notna().all()


# Memory


def test_a_pass_holds_few_blocks_at_a_time(globe: Scored, monkeypatch: pytest.MonkeyPatch) -> None:
    import weakref

    held: list[weakref.ref[np.ndarray]] = []
    most = 0

    def read(self: Predictions, *where: Any) -> tuple[np.ndarray, np.ndarray]:
        nonlocal most
        predicted, observed = original(self, *where)
        frames = np.array(predicted)
        held.append(weakref.ref(frames))
        most = max(most, sum(one() is not None for one in held))
        return frames, observed

    original = Predictions.read
    monkeypatch.setattr(Predictions, "read", read)
    globe.run(*CONVENTIONS, threads=2, block_samples=1, block_leads=1)
    assert len(held) == SAMPLES * LEADS
    assert most <= 2 + 2  # threads + 2, as the module says
