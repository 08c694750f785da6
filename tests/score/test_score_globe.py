"""Scores of ensembles on the globe, from files: ranks and masks."""

from collections.abc import Callable

import numpy as np
import pytest
from toy_scored import LATITUDES, Scored, rows, write, write_ensemble

from stp.data.zarr_write import create_group

MEMBERS = 3

ENSEMBLE = ("crps.weighted", "spread.weighted", "spread.pooled", "rank_histogram.weighted")


def test_rows_of_ranks_and_of_each_variable(make_scored: Callable[..., Scored]) -> None:
    scored = write_ensemble(make_scored, members=MEMBERS)
    out = scored.run(*ENSEMBLE, statistic="ensemble_mean")
    ranks = rows(out, "rank_histogram.weighted", lead=2)
    assert ranks.variable.tolist() == ["t2m"] * 4 + ["z500"] * 4
    assert ranks.threshold.tolist() == [0, 1, 2, 3] * 2
    weights = np.cos(np.deg2rad(LATITUDES))
    weights /= weights.sum() * 24
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
    scored = write_ensemble(make_scored, members=MEMBERS)
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
            assert absent.reason.str.contains("t2m").all()
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
    scored = write_ensemble(make_scored, sea=sea)
    out = scored.run(*conventions)
    error = scored.predicted[:, :, 1, :10] - scored.observed.astype(np.float32)[:, :, 1, :10]
    weights = np.cos(np.deg2rad(LATITUDES[:10]))
    weights /= weights.sum() * 24
    for convention in conventions:
        by_variable = rows(out, convention).set_index("variable")
        if "ms_ssim" in convention:
            assert "21" in by_variable.reason["t2m"]
            continue
        assert by_variable.value["t2m"] is not None
        assert (by_variable.value["z500"] is None) == (sea == "everywhere")
        if sea == "everywhere":
            assert by_variable.reason["z500"]
    if sea == "in the south":
        squares = np.einsum("nthw,h->nt", error.astype(float) ** 2, weights)
        found = rows(out, "wrmse.per_frame").value.tolist()[1]
        assert found == pytest.approx(np.sqrt(squares).mean(), rel=1e-6)
