"""Sums over clusters as they are read from a file, and merged where a lead time is longer."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stp.collect import cluster_sums
from stp.metrics.metric import Metric
from stp.plan.column import Part

# January, February and March of one year, then of another; listed in another order.
MONTHS = {"feb": (31, 28), "jan": (0, 31), "mar": (59, 31)}
MONTHS |= {f"{name} 2": (start + 365, days) for name, (start, days) in MONTHS.items()}


def rows(**change: list[float | None]) -> pa.Table:
    """Of `MONTHS`: as many samples as days; two components at one lead time, 1 and 2 a sample."""
    start, length = (list(one) for one in zip(*MONTHS.values(), strict=True))
    columns = {
        **{"cluster": list(MONTHS), "n": length, "start": start, "length": length, "step": [1] * 6},
        **{"components": [2] * 6, "sums": [[days, 2 * days] for days in length]},
        "lacks": [None] * 6,
    }
    return pa.table({**columns, **change})


def test_clusters_are_merged_in_time_and_called_by_the_first_and_last():
    stored = cluster_sums._sums_from_rows(rows(), None).merge_blocks(40)
    # January and February are 59 days; March is too short, so the next January joins it.
    assert stored.names == ("jan to feb", "mar to jan 2", "feb 2 to mar 2")
    assert stored.counts.tolist() == [59, 62, 59]
    assert stored.sums.tolist() == [[[n], [2 * n]] for n in (59, 62, 59)]
    stored = cluster_sums._sums_from_rows(rows(), None).merge_blocks(300)
    assert stored.names == ("jan to mar 2",) and stored.counts.tolist() == [180]


def test_clusters_without_samples_are_left_out():
    nothing = [0 if days == 28 else days for _, days in MONTHS.values()]
    stored = cluster_sums._sums_from_rows(rows(n=nothing), None).merge_blocks(20)
    assert stored.names == ("jan", "mar", "jan 2", "mar 2")


@pytest.mark.parametrize("start", [[None] * 6, [0, 31, 59, 365, 396, None]])
def test_clusters_that_are_no_blocks_of_time_stay(start):
    stored = cluster_sums._sums_from_rows(rows(start=start), 3)
    assert stored.blocks is None and stored.merge_blocks(40) is stored
    assert (stored.leads, stored.lacks, np.shape(stored.sums)) == (3, "", (6, 2, 1))


STORED = cluster_sums._StoredSums(
    names=("a", "b", "c"),
    counts=np.array([2, 1, 3]),
    sums=np.arange(12.0).reshape(3, 1, 4) ** 2,
    defined=np.array([[True, True, False, True]]),
    blocks=None,
    leads=5,  # a running mean has no value at the first one
    lacks="",
)
"""Sums at lead times 2 to 5, of which the forecasts lack the fourth."""


def of_leads(leads: str | None, statistic: str = "mean", **change: Any) -> cluster_sums.Sums | str:
    metric = Metric(lambda predicted, observed: predicted)
    place = cluster_sums.Place("mine.plain", Part(leads=leads, statistic=statistic))
    overall = [SimpleNamespace(variable=None, level=None, threshold=None)]
    stored = STORED._replace(**change)
    return cluster_sums._of_place(metric, stored, {}, overall, place)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("leads", "columns", "lacks"),
    [
        ("2", [0], ""),
        ("5", [3], ""),
        ("1-3", [0, 1], ""),
        ("1-5", [0, 1, 3], "; lead times [2, 3, 5] alone"),
        ("3-5", [1, 3], "; lead times [3, 5] alone"),
        (None, [0, 1, 3], "; lead times [2, 3, 5] alone"),
    ],
)
def test_sums_of_some_lead_times_are_those_that_the_forecasts_have(leads, columns, lacks):
    found = of_leads(leads)
    assert isinstance(found, cluster_sums.Sums)
    assert found.clusters == (STORED.names, (2, 1, 3), lacks, "")
    means = found.sums.sum(axis=0) / found.counts.sum()
    expected = STORED.sums[:, 0, columns].mean(axis=1).sum() / 6
    assert found.values_from_means(means).tolist() == [pytest.approx(expected)]


def test_why_there_are_no_sums():
    assert of_leads("4") == "the forecasts have no lead times 4"
    assert of_leads("4-6") == "there are only 5 lead times"
    assert of_leads(None, "sd") == cluster_sums.NO_TEST_OF_SD
    assert of_leads(None, defined=np.zeros((1, 4), bool)) == "the forecasts have no value"


def test_a_value_belongs_to_one_series():
    def rows(*keys):
        return [SimpleNamespace(variable=v, level=n, threshold=t) for v, n, t in keys]

    def found(overall, variable=None, threshold=None, level=None, exactly=False):
        part = Part(variable=variable, threshold=threshold)
        return cluster_sums.series_of(overall, cluster_sums.Place("a.b", part, level, exactly))

    several = rows(("z", 500, None), ("z", 850, None), ("t", 500, None), ("t", 500, 3.0))
    assert found(several, "z", level=850) == 1 and found(several, "t", 3.0, 500) == 3
    assert found(several) is None and found(several, "t", 2.0, 500) is None
    assert found(several[:1] * 2, "z", level=500) is None  # two of them
    # The only series is meant unless it is named exactly, or by a threshold.
    (one,) = rows(("z", 500, None))
    assert found([one]) == 0 and found([one], "z", level=500, exactly=True) == 0
    assert found([one], exactly=True) is None and found([one], threshold=3.0) is None
