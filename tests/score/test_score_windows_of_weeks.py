"""Means over windows of lead times, weeks, are scored as such, in any blocks, and without some."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from toy_scored import Scored, assert_same_tables, keep, scores, write, write_grid

from stp.data.zarr_rows import MappedRows
from stp.data.zarr_write import create_group
from stp.metrics.weeks import WEEKS
from stp.prepare.output import write_coordinate
from stp.prepare.terciles import write_terciles

SAMPLES, LEADS, SHAPE = 3, 44, (2, 5, 8)
LATITUDES = np.linspace(60, -60, 5)
WEIGHTS = np.cos(np.deg2rad(LATITUDES)) / np.cos(np.deg2rad(LATITUDES)).sum() / SHAPE[-1]
CONVENTIONS = (
    "wrmse.weekly",
    "wrmse.pooled",
    "acc.weekly",
    "rpss.weekly_terciles",
    "rpss.terciles",
)
DAYS = np.arange("2019-01-01", "2023-01-01", dtype="datetime64[D]")


@pytest.fixture
def scored(make_scored: Callable[..., Scored]) -> Scored:
    """Three starts of 44 days; errors of single days, and of weeks."""
    rng = np.random.default_rng(0)
    clips = rng.normal(280, 3, (SAMPLES, 1 + LEADS, *SHAPE)).astype(np.float32)
    clips[:, 1:] += rng.normal(0, 2, (SAMPLES, 1, *SHAPE)).astype(np.float32)
    error = rng.normal(0, 3, (SAMPLES, LEADS, *SHAPE)) + rng.normal(0, 1, (SAMPLES, 1, *SHAPE))
    predicted = (clips[:, 1:] + error).astype(np.float32)
    scored = make_scored(clips, predicted, units="physical", variables=["t2m", "z_500"])
    group = write_grid(scored, LATITUDES, np.nan, 500)
    # The frames of the starts follow each other from 1 January on.
    valid = np.arange(SAMPLES * (1 + LEADS)) + np.datetime64("2022-01-01", "D")
    hours = valid.astype("datetime64[h]").astype(np.int64)
    write_coordinate(group, "time", "frame", hours, units="hours since 1970-01-01")
    write_climate(scored)
    return scored


def write_climate(scored: Scored) -> None:
    """Three years of days before, of which a mean of 280 and terciles are made."""
    history = np.random.default_rng(1).normal(280, 3, (len(DAYS), *SHAPE)).astype(np.float32)
    group = create_group(scored.root / "data" / "climatology.zarr", {})
    names = sorted({str(day)[5:] for day in DAYS})[: SAMPLES * (1 + LEADS) + 1]
    shape = (len(names), *SHAPE)
    write(group, "without_validation", np.full(shape, 280, np.float32), "day")
    group.create_array("day", shape=shape[:1], dtype="str", chunks=shape[:1])[:] = np.array(
        names, object
    )
    store = create_group(scored.root / "history.zarr", {})
    write(store, "frames", history, "frame")
    frames = MappedRows(scored.root / "history.zarr" / "frames")
    write_terciles(group, frames, DAYS, [2019, 2020, 2021], (1, 7, 14), lambda *_: None)
    scored.climate = history  # type: ignore[attr-defined]


def rows(out: Path, convention: str) -> pd.DataFrame:
    """Of all lead times."""
    table = scores(out)
    return table[(table.convention == convention) & (table.statistic == "mean")]


def weekly(frames: np.ndarray) -> np.ndarray:
    """(N, T, ...) to (N, 4, ...)."""
    means = [frames[:, first - 1 : last].astype(float).mean(axis=1) for first, last in WEEKS]
    return np.stack(means, axis=1)


def test_weeks_are_scored_by_their_means_and_not_by_means_of_scores(scored: Scored) -> None:
    out = scored.run(*CONVENTIONS)
    p, o = weekly(scored.predicted), weekly(scored.observed)
    squares = np.einsum("ntchw,h->tc", (p - o) ** 2, WEIGHTS) / SAMPLES
    anomalies = p - 280, o - 280
    po, pp, oo = (
        np.einsum("ntchw,ntchw,h->ntc", a, b, WEIGHTS)
        for a, b in (anomalies, anomalies[:1] * 2, anomalies[1:] * 2)
    )
    correlation = (po / np.sqrt(pp * oo)).mean(axis=0)
    for c, name in enumerate(("t2m", "z500")):
        for convention, expected in (
            ("wrmse.weekly", np.sqrt(squares[:, c])),
            ("acc.weekly", correlation[:, c]),
        ):
            found = rows(out, convention)
            found = found[(found.variable == name) & ~found.lead.isna()]
            assert found.lead.tolist() == [7, 14, 28, 42]
            np.testing.assert_allclose(found.value.astype(float), expected, rtol=1e-5)
        whole = rows(out, "wrmse.weekly")
        whole = whole[(whole.variable == name) & whole.lead.isna()].value.item()
        assert whole == pytest.approx(np.sqrt(squares[:, c].mean()), rel=1e-5)
        daily = rows(out, "wrmse.pooled")
        first = daily[(daily.variable == name) & (daily.lead == 7)].value.item()
        assert np.sqrt(squares[0, c]) < 0.7 * first  # errors of single days cancel


def terciles(scored: Scored, n: int, last: int, span: int) -> np.ndarray:
    """Of means over so many days that end with a lead time of a start, as stored, (2, C, H, W)."""
    history = scored.climate  # type: ignore[attr-defined]
    valid = np.datetime64("2022-01-01", "D") + n * (1 + LEADS) + last
    years = []
    for year in (2019, 2020, 2021):
        end = int(np.flatnonzero(np.datetime64(f"{year}{str(valid)[4:]}") == DAYS)[0])
        if end + 1 >= span:
            years.append(history[end + 1 - span : end + 1].mean(axis=0))
    return np.quantile(years, [1 / 3, 2 / 3], axis=0).astype(np.float32)


def test_terciles_of_weeks_are_those_of_means_over_as_many_days(scored: Scored) -> None:
    out = scored.run("rpss.weekly_terciles")
    scores = np.zeros((2, len(WEEKS)))
    for n in range(SAMPLES):
        for w, (first, last) in enumerate(WEEKS):
            lower, upper = terciles(scored, n, last, last - first + 1)
            p, o = (
                a[n, first - 1 : last].mean(axis=0) for a in (scored.predicted, scored.observed)
            )
            for limit, usual in ((lower, 1 / 3), (upper, 2 / 3)):
                for k, share in enumerate(((p < limit), usual)):
                    score = (share - (o < limit).astype(float)) ** 2
                    scores[k, w] += np.einsum("hw,h->", score[0], WEIGHTS)
    found = rows(out, "rpss.weekly_terciles")
    found = found[(found.variable == "t2m") & ~found.lead.isna()]
    np.testing.assert_allclose(found.value.astype(float), 1 - scores[0] / scores[1], rtol=1e-6)


MEMBERS = 4


@pytest.mark.parametrize("fair", [True, False], ids=["fair", "biased"])
def test_shares_of_members_are_probabilities(scored: Scored, fair: bool) -> None:
    """Of days and of weeks; fair ones lack what sampling adds."""
    noise = np.random.default_rng(2).normal(0, 2, (SAMPLES, MEMBERS, LEADS, *SHAPE))
    predicted = (scored.predicted[:, None] + noise).astype(np.float32)
    store = scored.root / "predictions" / "predictions.zarr"
    store.rename(scored.root / "one.zarr")
    group = create_group(store, {"units": "physical"})
    write(group, "predictions", predicted, "sample", "member", "lead")
    names = [f"rpss.{of}{'' if fair else '_biased'}" for of in ("terciles", "weekly_terciles")]
    out = scored.run(*names, statistic="ensemble_mean")
    windows = {names[0]: [(lead, lead) for lead in (1, 14, 44)], names[1]: WEEKS}
    for name, of_name in windows.items():
        table = rows(out, name)
        for first, last in of_name:
            scores = np.zeros((2, 2))  # of forecast and climatology, of both variables
            for n in range(SAMPLES):
                p = predicted[n, :, first - 1 : last].astype(float).mean(axis=1)
                o = scored.observed[n, first - 1 : last].mean(axis=0)
                lower, upper = terciles(scored, n, last, last - first + 1)
                for share, below, usual in (
                    ((p < lower).mean(axis=0), o < lower, 1 / 3),
                    ((p <= upper).mean(axis=0), o <= upper, 2 / 3),
                ):
                    sampling = share * (1 - share) / (MEMBERS - 1) if fair else 0
                    points = (share - below) ** 2 - sampling, (usual - below) ** 2
                    scores += [np.einsum("chw,h->c", score, WEIGHTS) for score in points]
            for c, variable in enumerate(("t2m", "z500")):
                found = table[(table.variable == variable) & (table.lead == last)].value.item()
                assert found == pytest.approx(1 - scores[0, c] / scores[1, c], rel=1e-6), (
                    name,
                    variable,
                    last,
                )


def test_blocks_do_not_matter(scored: Scored) -> None:
    whole = scored.run(*CONVENTIONS, out="whole")
    parts = scored.run(*CONVENTIONS, out="parts", block_samples=2, block_leads=5, threads=2)
    assert_same_tables(parts, whole)


def test_a_window_that_is_not_whole_has_no_value(scored: Scored) -> None:
    whole = rows(scored.run("wrmse.weekly", out="whole"), "wrmse.weekly")
    keep(scored, leads=[lead for lead in range(1, 45) if lead != 10])
    part = rows(scored.run("wrmse.weekly", out="part"), "wrmse.weekly").set_index(
        ["variable", "lead"]
    )
    for row in whole[~whole.lead.isna()].itertuples():
        found = part.loc[(row.variable, row.lead)]
        if row.lead == 14:
            assert found.value is None and "8 to 14" in found.reason
        else:
            assert found.value == row.value
    keep(scored, leads=[3, 9])
    found = rows(scored.run("wrmse.weekly", "wrmse.pooled", out="none"), "wrmse.weekly")
    assert found.value.isna().all() and found.reason.notna().all()
