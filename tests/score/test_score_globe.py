"""Scores of ensembles on the globe, from files: ranks, masks, batches of starts."""

from collections.abc import Callable

import numpy as np
import pyarrow.parquet as pq
import pytest
from toy_scored import Scored, assert_same_tables, rows, write, write_grid

from stp.core.job import Interrupted
from stp.data.zarr_write import create_group
from stp.metrics.finest import finest_spectrum
from stp.metrics.spectral_divergence import divergence
from stp.score.bootstrap import no_spread

VARIABLES = ["t2m", "z_500"]
SAMPLES, LEADS, MEMBERS = 40, 2, 3
LATITUDES = np.linspace(76, -76, 20)
SHAPE = (len(VARIABLES), 20, 24)
ENSEMBLE = ("crps.weighted", "spread.weighted", "spread.pooled", "rank_histogram.weighted")
BATCHED = ("spectral_divergence.high_wavenumbers_batch32", "wrmse.per_frame")
BATCHES = [slice(0, 11), slice(11, 22), slice(22, 32), slice(32, 40)]
"""Starts in the same 32 days: there is one every third day."""


def written(
    make_scored: Callable[..., Scored],
    *,
    members: int = 1,
    sea: str | None = None,
    alike: bool = False,
) -> Scored:
    """40 starts, 1 -> 2 days; nothing was observed in the south of a variable, or all of it.

    They may all be alike.
    """
    rng = np.random.default_rng(0)
    clips = rng.normal(280, 3, (SAMPLES, 1 + LEADS, *SHAPE)).astype(np.float32)
    noise = rng.normal(0, 2, (SAMPLES, members, LEADS, *SHAPE))
    predicted = (clips[:, None, 1:] + noise).astype(np.float32)
    if alike:
        clips[:], predicted[:] = clips[0], predicted[0]
    if sea == "in the south":
        clips[:, :, 1, 10:] = np.nan
    if sea == "everywhere":
        clips[:, :, 1] = np.nan
    scored = make_scored(clips, predicted[:, 0], units="physical", variables=VARIABLES)
    write_grid(scored, LATITUDES, np.nan, 500)
    if members > 1:
        store = scored.root / "predictions" / "predictions.zarr"
        store.rename(scored.root / "one.zarr")
        write(
            create_group(store, {"units": "physical"}),
            "predictions", predicted, "sample", "member", "lead",
        )  # fmt: skip
        scored.predicted = predicted
    return scored


def test_rows_of_ranks_and_of_each_variable(make_scored: Callable[..., Scored]) -> None:
    scored = written(make_scored, members=MEMBERS)
    out = scored.run(*ENSEMBLE, statistic="ensemble_mean")
    ranks = rows(out, "rank_histogram.weighted", lead=2)
    assert ranks.variable.tolist() == ["t2m"] * 4 + ["z500"] * 4
    assert ranks.threshold.tolist() == [0, 1, 2, 3] * 2
    weights = np.cos(np.deg2rad(LATITUDES))
    weights /= weights.sum() * SHAPE[-1]
    truth = scored.observed.astype(np.float32)[:, 1]
    below = (scored.predicted[:, :, 1] < truth[:, None]).sum(axis=1)
    for c, name in enumerate(("t2m", "z500")):
        shares = [
            np.einsum("nhw,h->n", below[:, c] == rank, weights).mean()
            for rank in range(MEMBERS + 1)
        ]
        found = ranks[ranks.variable == name].value.astype(float)
        np.testing.assert_allclose(found, shares, rtol=1e-9)
    assert scored.extras["values"]["rank_histogram.weighted"].keys() == {
        f"{name} {rank:.1f}" for name in ("t2m", "z500") for rank in range(4)
    }
    for convention in ENSEMBLE[:3]:  # none is of both variables
        assert rows(out, convention).variable.tolist() == ["t2m", "z500"]


def test_an_ensemble_may_lack_a_variable(make_scored: Callable[..., Scored]) -> None:
    scored = written(make_scored, members=MEMBERS)
    whole = scored.run(*ENSEMBLE, statistic="ensemble_mean", out="whole")
    frames = scored.predicted[:, :, :, 1:]
    store = scored.root / "predictions" / "predictions.zarr"
    store.rename(scored.root / "both.zarr")
    group = create_group(store, {"units": "physical", "variables": ["z_500"]})
    write(group, "predictions", np.ascontiguousarray(frames), "sample", "member", "lead")
    part = scored.run(*ENSEMBLE, statistic="ensemble_mean", out="part")
    for convention in ENSEMBLE:
        for lead in (None, 2):
            wanted = rows(whole, convention, lead)
            wanted = wanted[wanted.variable == "z500"]
            found = rows(part, convention, lead)
            absent = found[found.variable == "t2m"]
            assert absent.value.isna().all()
            assert set(absent.reason) <= {"the forecasts have no t2m"}
            found = found[found.variable == "z500"]
            np.testing.assert_allclose(
                found.value.astype(float), wanted.value.astype(float), rtol=1e-12
            )


@pytest.mark.parametrize("sea", ["in the south", "everywhere"])
def test_where_nothing_was_observed_nothing_counts(
    make_scored: Callable[..., Scored], sea: str
) -> None:
    conventions = ("wrmse.per_frame", "bias.weighted", "ms_ssim.joint_range_three_scales",
                   "spectral_divergence.high_wavenumbers", "spectral_residual.high_wavenumbers",
                   "crps.weighted")  # fmt: skip
    scored = written(make_scored, sea=sea)
    out = scored.run(*conventions)
    error = scored.predicted[:, :, 1, :10] - scored.observed.astype(np.float32)[:, :, 1, :10]
    weights = np.cos(np.deg2rad(LATITUDES[:10]))
    weights /= weights.sum() * SHAPE[-1]
    for convention in conventions:
        by_variable = rows(out, convention).set_index("variable")
        if "ms_ssim" in convention:
            assert "3 scales need 21" in by_variable.reason["t2m"]
            continue
        assert by_variable.value["t2m"] is not None
        assert (by_variable.value["z500"] is None) == (sea == "everywhere")
        if sea == "everywhere":
            assert "not a number" in by_variable.reason["z500"]
    if sea == "in the south":
        squares = np.einsum("nthw,h->nt", error.astype(float) ** 2, weights)
        found = rows(out, "wrmse.per_frame").value.tolist()[1]
        assert found == pytest.approx(np.sqrt(squares).mean(), rel=1e-6)


def test_batches_of_starts_are_whole_in_any_blocks(make_scored: Callable[..., Scored]) -> None:
    scored = written(make_scored)
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
    scored = written(make_scored, alike=True)
    table = pq.read_table(scored.run(BATCHED[0]) / "scores.parquet").to_pandas()
    values, ends = table[table.statistic == "mean"], table[table.statistic != "mean"]
    assert (values.value > 0.001).all()
    # All starts have one value, so there is no interval: any end would be the spread of weights.
    assert ends.value.isna().all()
    assert set(ends.reason) == {no_spread(SAMPLES)}


def test_a_start_has_no_score_of_its_own_in_a_batch(make_scored: Callable[..., Scored]) -> None:
    out = written(make_scored).run(*BATCHED)
    names = pq.read_schema(out / "sample_scores.parquet").names
    assert BATCHED[1] in names and BATCHED[0] not in names


def test_a_batch_that_is_stopped_within_ends_in_the_same_rows(
    make_scored: Callable[..., Scored],
) -> None:
    scored = written(make_scored)
    whole = scored.run(*BATCHED, out="whole")
    for out in ("first", "second"):  # after 5 and 10 of the 11 starts of the first batch
        with pytest.raises(Interrupted):
            scored.run(*BATCHED, out=out, block_samples=5, interrupted=lambda: True)
    last = scored.run(*BATCHED, out="last")
    assert [done for what, done, _ in scored.reported if what == "samples scored"] == [SAMPLES]
    assert_same_tables(last, whole)


def test_batches_of_an_ensemble_are_of_its_mean_alone(make_scored: Callable[..., Scored]) -> None:
    scored = written(make_scored, members=MEMBERS)
    found = rows(scored.run(BATCHED[0], statistic="ensemble_mean", out="mean"), BATCHED[0], 1)
    expected = []
    for batch in BATCHES:
        o = scored.observed[batch, 0].mean(axis=0)
        p = scored.predicted[batch, :, 0].astype(float).mean(axis=(0, 1))
        expected.append(divergence(finest_spectrum(o), finest_spectrum(p)))
    np.testing.assert_allclose(found.value.astype(float), np.mean(expected, axis=0), rtol=1e-4)
    out = scored.run(*BATCHED, statistic="mean_of_members", out="members")
    assert set(rows(out, BATCHED[0]).reason) == {
        "its means over starts are of one forecast, or of the mean of its members"
    }
