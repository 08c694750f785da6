"""Clusters that are blocks of time are merged until they are longer than the lead time."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from toy_scored import Scored, keep, scores

from stp.core.errors import StpError
from stp.score import bootstrap
from stp.score.blocks import Blocks, sum_by_group
from stp.score.jackknife import leave_one_out_means


def blocks(start: list[int], length: list[int], step: int = 1) -> Blocks:
    names = tuple(f"b{n}" for n in range(len(start)))
    return Blocks(names, np.array(start), np.array(length), step)


@pytest.mark.parametrize(
    ("lead", "groups"),
    [
        (7, [0, 1, 2, 3, 4, 5, 6]),  # eight days are longer than seven
        (8, [0, 0, 1, 1, 2, 2, 2]),  # and not longer than eight; the last one is left over
        (15, [0, 0, 1, 1, 2, 2, 2]),
        (16, [0, 0, 0, 1, 1, 1, 1]),
        (55, [0] * 7),
        (100, [0] * 7),
    ],
)
def test_blocks_of_eight_days(lead: int, groups: list[int]) -> None:
    assert blocks([8 * n for n in range(7)], [8] * 7).groups_for_lead(lead).tolist() == groups


def test_blocks_of_several_lengths_gaps_and_any_order() -> None:
    # January, February and March of one year, then of another; listed in another order.
    start = [31, 0, 59, 396, 365, 424]
    length = [28, 31, 31, 28, 31, 31]
    found = blocks(start, length)
    assert found.groups_for_lead(20).tolist() == [0, 1, 2, 3, 4, 5]
    # January and February are 59 days; March is too short, so the next January joins it.
    assert found.groups_for_lead(40).tolist() == [0, 0, 1, 2, 1, 2]
    assert blocks(start, length, step=2).groups_for_lead(20).tolist() == [0, 0, 1, 2, 1, 2]


def test_this_years_320_starts() -> None:
    """ChaosBench: blocks longer than the lead time in 320 starts, one a day."""
    daily = blocks(list(range(320)), [1] * 320)
    counts = {lead: daily.groups_for_lead(lead).max() + 1 for lead in (1, 7, 14, 28, 44)}
    assert counts == {1: 160, 7: 40, 14: 21, 28: 11, 44: 7}


def test_sums_of_merged_clusters() -> None:
    values = np.arange(10.0).reshape(5, 2)
    assert sum_by_group(values, np.array([0, 1, 0, 1, 1])).tolist() == [[4, 6], [16, 19]]


def index(**columns: Any) -> pd.DataFrame:
    rows = {"cluster": ["a", "a", "b"], "stride": 1, "cluster_start": [0, 0, 4]}
    return pd.DataFrame(rows | {"cluster_length": 4} | columns)


def test_an_index_says_where_its_clusters_lie() -> None:
    found = Blocks.of(index(), "here")
    assert found is not None and found.names == ("a", "b")
    assert (found.start.tolist(), found.length.tolist(), found.step) == ([0, 4], [4, 4], 1)
    assert Blocks.of(index().drop(columns="cluster_start"), "here") is None
    with pytest.raises(StpError, match=r"here: .*'a'"):
        Blocks.of(index(cluster_start=[0, 1, 4]), "here")
    for bad in ({"cluster_length": 0}, {"stride": [1, 1, 2]}):
        with pytest.raises(StpError, match="here"):
            Blocks.of(index(**bad), "here")


# Scores


DAYS, LEADS = 48, 6


@pytest.fixture
def series(make_scored: Callable[..., Scored]) -> Scored:
    """48 starts, one a day, in blocks of three days: 2 -> 6 lead times, two channels."""
    rng = np.random.default_rng(0)
    clips = rng.normal(0, 1, (DAYS, 2 + LEADS, 2, 3, 4)).astype(np.float32)
    predicted = clips[:, 2:] + rng.normal(0.3, 1, (DAYS, LEADS, 2, 3, 4)).astype(np.float32)
    number = np.arange(DAYS) // 3
    return make_scored(
        clips,
        predicted,
        units="physical",
        variables=["a", "b"],
        clusters=[f"block{n:02}" for n in number],
        cluster_start=3 * number,
        cluster_length=3,
    )


def low_ends(table: pd.DataFrame) -> pd.DataFrame:
    """By lead time, 0 for all together."""
    ends = table[table.statistic == "ci95_low"]
    return ends.set_index(ends.lead.fillna(0).astype(int))


def test_intervals_of_long_lead_times_rest_on_longer_blocks(series: Scored) -> None:
    out = series.run("mse.pixel_mean")
    table = scores(out)
    ends = low_ends(table)
    # 16 blocks of 3 days, 8 of 6, 5 of 9 (the last one longer); all lead times: those of the last.
    assert dict(ends.n) == {0: 5, 1: 16, 2: 16, 3: 8, 4: 8, 5: 8, 6: 5}
    assert ends.value[1] is not None and ends.value[2] is not None
    for lead, number in {0: 5, 3: 8, 4: 8, 5: 8, 6: 5}.items():
        assert ends.value[lead] is None
        assert f" {number} " in ends.reason[lead] and f" {lead or LEADS} " in ends.reason[lead]
    assert table[table.statistic == "mean"].value.notna().all()


def test_intervals_are_those_of_sums_over_merged_blocks(make_scored: Callable[..., Scored]) -> None:
    rng = np.random.default_rng(1)
    clips = rng.normal(0, 1, (60, 4, 1, 3, 3)).astype(np.float32)
    predicted = clips[:, 1:] + rng.normal(0, 1, (60, 3, 1, 3, 3)).astype(np.float32)
    number = np.arange(60) // 2
    places = {"cluster_start": 2 * number, "cluster_length": 2}
    scored = make_scored(clips, predicted, clusters=[f"b{n:02}" for n in number], **places)
    table = scores(scored.run("mse.pixel_mean"))
    errors = ((predicted - clips[:, 1:]) ** 2).mean(axis=(2, 3, 4)).astype(np.float64)
    for lead, days in ((1, 2), (3, 4)):
        each = errors[:, lead - 1].reshape(-1, days).sum(axis=1)[:, None]
        counts = np.full(len(each), days)
        value = each.sum(axis=0) / 60
        low, high = bootstrap.intervals(
            value, leave_one_out_means(each, counts), counts, resamples=200, seed=0
        )
        rows = table[table.lead == lead].set_index("statistic")
        assert rows.n["ci95_low"] == 60 // days
        assert rows.value["ci95_low"] == pytest.approx(low[0], rel=1e-5)
        assert rows.value["ci95_high"] == pytest.approx(high[0], rel=1e-5)


def test_starts_that_are_not_there_move_no_block(series: Scored) -> None:
    whole = series.run("mse.pixel_mean", out="whole")
    held = [n for n in range(DAYS) if n not in (0, 1, 2, 7)]  # the first block has none
    out = keep(series, samples=held).run("mse.pixel_mean")
    sums, of_all = (pq.read_table(f / "cluster_sums.parquet").to_pandas() for f in (out, whole))
    places = ["cluster", "start", "length", "step"]
    pd.testing.assert_frame_equal(sums[places], of_all[places])
    assert sums.n.tolist() == [0, 3, 2, *[3] * 13]
    ends = low_ends(scores(out))
    assert (ends.n[1], ends.n[3]) == (15, 8)
