"""Sums over clusters as they are read from a file, and merged where a lead time is longer."""

import numpy as np
import pyarrow as pa
import pytest

from stp.collect import cluster_sums

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
    stored = cluster_sums._stored(rows(), None).merged(40)
    # January and February are 59 days; March is too short, so the next January joins it.
    assert stored.names == ("jan to feb", "mar to jan 2", "feb 2 to mar 2")
    assert stored.counts.tolist() == [59, 62, 59]
    assert stored.sums.tolist() == [[[n], [2 * n]] for n in (59, 62, 59)]
    stored = cluster_sums._stored(rows(), None).merged(300)
    assert stored.names == ("jan to mar 2",) and stored.counts.tolist() == [180]


def test_clusters_without_samples_are_left_out():
    nothing = [0 if days == 28 else days for _, days in MONTHS.values()]
    stored = cluster_sums._stored(rows(n=nothing), None).merged(20)
    assert stored.names == ("jan", "mar", "jan 2", "mar 2")


@pytest.mark.parametrize("start", [[None] * 6, [0, 31, 59, 365, 396, None]])
def test_clusters_that_are_no_blocks_of_time_stay(start):
    stored = cluster_sums._stored(rows(start=start), 3)
    assert stored.blocks is None and stored.merged(40) is stored
    assert (stored.leads, stored.lacks, np.shape(stored.sums)) == (3, "", (6, 2, 1))
