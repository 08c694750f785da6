"""Metrics of ensembles on an archived hindcast: real skill, and how it is lost.

RMM1 of the Madden-Julian oscillation by GMAO-GEOS-V2p1 (SubX), 510 starts from 1999 to 2015, 4
members, 45 days, and what was observed; both from climpred-data.
"""

from pathlib import Path

import duckdb
import numpy as np
import pytest
import xarray as xr
from s2s_store import add, replace_view, s2s_store
from small_store import built

from stp.metrics import rank_histogram
from stp.metrics.acc import anomaly_products, correlation
from stp.metrics.crps import weighted_crps
from stp.metrics.globe import by_group

ONE = np.ones(1)  # an index is a globe with one grid point


@pytest.fixture(scope="module")
def hindcast(raw_mirror: Path) -> tuple[np.ndarray, np.ndarray]:
    """Members (N, M, T, 1, 1, 1) and observed (N, T, 1, 1, 1)."""
    folder = raw_mirror / "climate"
    with xr.open_dataset(folder / "climpred_GMAO-GEOS-V2p1.RMM1.nc", decode_times=False) as given:
        members = given.RMM1.transpose("S", "M", "L").values
        starts = np.datetime64("1960-01-01") + given.S.values.astype(int)
    name = "climpred_RMM1.observed.interannual.1974-06.2017-07.nc"
    with xr.open_dataset(folder / name) as given:
        observed = given.rmm1.isel(time=np.unique(given.time.values, return_index=True)[1]).load()
    # A lead of 0.5 days is the mean of the day of the start.
    valid = starts[:, None] + np.arange(members.shape[2])
    truth = observed.reindex(time=valid.ravel().astype("datetime64[ns]")).values
    return members[..., None, None, None], truth.reshape(valid.shape)[..., None, None, None]


@pytest.mark.sample_bytes
def test_correlation_falls_with_lead_time_as_published(
    hindcast: tuple[np.ndarray, np.ndarray],
) -> None:
    members, truth = hindcast
    assert members.shape == (510, 4, 45, 1, 1, 1) and np.isfinite(truth).all()
    mean = members.mean(axis=1)
    # Drift of the model with lead time, and the mean of the index, are no anomalies.
    mean, truth = mean - mean.mean(axis=0), truth - truth.mean(axis=0)
    products = anomaly_products(mean, truth, lambda n, t: np.zeros((1, 1, 1)), ONE)
    actual = correlation(products.mean(axis=0))[0]
    # Pearson's coefficients of the files, by NumPy.
    expected = {
        1: 0.978,
        5: 0.940,
        10: 0.869,
        15: 0.792,
        20: 0.674,
        25: 0.543,
        30: 0.450,
        45: 0.262,
    }
    for day, number in expected.items():
        assert actual[day - 1] == pytest.approx(number, abs=0.001), day


@pytest.mark.sample_bytes
def test_skill_ends_where_the_correlation_says(
    hindcast: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    """Horizons of the results store, of real forecasts; RMM1 is an index of the longest wave.

    Correlations by NumPy are 0.674, 0.543 and 0.450 on days 20, 25 and 30: skill by ACC (0.6) ends
    between the first two, and the wave is lost (0.5) between the last two.
    """
    members, truth = hindcast
    mean = members.mean(axis=1)
    mean, truth = mean - mean.mean(axis=0), truth - truth.mean(axis=0)
    products = anomaly_products(mean, truth, lambda n, t: np.zeros((1, 1, 1)), ONE)
    acc = np.broadcast_to(correlation(products.mean(axis=0))[0], mean.shape[:2])
    errors, none = ((x - truth)[..., 0, 0, 0] ** 2 for x in (mean, np.zeros_like(mean)))
    starts = [f"start{n:03}" for n in range(len(mean))]
    store = s2s_store(tmp_path)
    add(store, "daily_climatology", starts, {"wrmse.pooled": none})
    name = "acc.per_frame_without_validation"
    add(store, "my_model", starts, {"wrmse.pooled": errors, name: acc})
    with duckdb.connect(str(built(store))) as connection:
        actual = connection.execute(
            "SELECT threshold, first_lead, n FROM s2s_skill_horizon "
            "WHERE side = 'ours' AND forecast = 'my_model' ORDER BY threshold"
        ).fetchall()
        connection.execute(
            "CREATE TABLE waves AS SELECT * REPLACE (1 AS threshold, "
            f"'spectral_coherence.octaves_in_phase' AS convention) FROM by_lead "
            f"WHERE convention = '{name}'"
        )
        replace_view(connection, "by_lead", "waves")
        ((lost,),) = connection.execute("SELECT first_lead FROM s2s_lost_scales").fetchall()
    (by_acc, days, n), (by_rmse, until, common) = actual
    assert (by_acc, by_rmse, n, common) == ("ACC < 0.6", "RMSE >= climatology", 510, 510)
    assert 21 <= days <= 25 and 26 <= lost <= 30
    behind = np.flatnonzero(errors.mean(axis=0) >= none.mean(axis=0))
    assert until == (behind[0] + 1 if len(behind) else None)


@pytest.mark.sample_bytes
@pytest.mark.long(part="suites")
def test_probabilities_are_lost_as_well(hindcast: tuple[np.ndarray, np.ndarray]) -> None:
    members, truth = hindcast
    scores = weighted_crps(members, truth, ONE, fair=True).mean(axis=(0, 1))
    assert scores[0] < scores[9] < scores[29]
    shares = by_group(rank_histogram._rank_shares, members, truth, ONE, 5).mean(axis=0)
    np.testing.assert_allclose(shares.sum(axis=0), 1)
    # On the first day the members hardly differ: the truth often lies outside all four.
    assert shares[[0, -1], 0].sum() > shares[[0, -1], 29].sum() > 2 / 5
