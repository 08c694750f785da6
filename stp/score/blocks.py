"""Clusters that are blocks of time, and their merging into longer blocks.

Forecasts with overlapping valid times depend on each other, so blocks are independent only if they
are longer than the lead time: the interval of a value at a lead time of 30 days uses blocks longer
than 30 days. Prepared data define the smallest blocks. Merging begins at the first block of the
split and does not depend on the forecasts, so that all models are compared on the same blocks.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from stp.core.errors import StpError

START, LENGTH = "cluster_start", "cluster_length"
"""Columns of an index whose clusters are blocks of time: the first frame of the row's cluster, and
its length in frames."""


class Blocks(NamedTuple):
    """Clusters that are blocks of time, each with a range of consecutive frames.

    Attributes:
        names: names of the G clusters.
        start: index of the first frame of each block, int64 (G,).
        length: number of frames of each block, int64 (G,).
        step: number of frames between successive lead times.
    """

    names: tuple[str, ...]
    start: np.ndarray
    length: np.ndarray
    step: int

    @classmethod
    def of(cls, index: pd.DataFrame, where: object) -> "Blocks | None":
        """Read the blocks of time from the table of a split's clips.

        Args:
            index: table of the split's clips. Clusters are blocks of time if it has the columns
                ``cluster_start`` and ``cluster_length``: the first frame of a clip's cluster, and
                its number of frames.
            where: source of the index, for errors.

        Returns:
            the blocks; None if the clusters are not blocks of time.

        Raises:
            StpError: a cluster has several starts or no length, or clips of the split differ in
                their stride (number of frames of the data from one frame of a clip to the next).
        """
        if START not in index.columns or LENGTH not in index.columns:
            return None
        clusters = index[["cluster", START, LENGTH]].drop_duplicates()
        twice = clusters["cluster"][clusters["cluster"].duplicated()]
        steps = index["stride"].unique()
        if len(twice) or len(steps) != 1 or (clusters[LENGTH] < 1).any():
            bad = (
                f"cluster {twice.iloc[0]!r} has several" if len(twice) else "not every one has one"
            )
            raise StpError(
                f"{where}: clusters are blocks of time, but {bad} start, length and step",
                expected=f"{START} and {LENGTH} (frames, from 1), the same in all rows of a "
                "cluster, and one stride in the split",
                remedy="prepare the data again",
            )
        start, length = (clusters[name].to_numpy(np.int64) for name in (START, LENGTH))
        return cls(tuple(map(str, clusters["cluster"])), start, length, int(steps[0]))

    def groups_for_lead(self, lead: int) -> np.ndarray:
        """Merge successive clusters into blocks that are longer than the time up to a lead time.

        Forecasts of different blocks are then independent (see the module). The time up to the lead
        time is ``lead * step`` frames, where ``step`` is the number of frames between successive
        lead times. Clusters that remain at the end are added to the last block.

        Args:
            lead: lead time, counted from 1.

        Returns:
            index of the merged block of each cluster, from 0 in the order of time, int64 (G,).
        """
        groups = np.zeros(len(self.start), np.int64)
        number, first = 0, None
        for cluster in np.argsort(self.start, kind="stable"):
            first = self.start[cluster] if first is None else first
            groups[cluster] = number
            if self.start[cluster] + self.length[cluster] - first > lead * self.step:
                number, first = number + 1, None
        if first is not None:
            groups[groups == number] = max(0, number - 1)
        _, firsts, inverse = np.unique(groups, return_index=True, return_inverse=True)
        return np.asarray(np.argsort(np.argsort(firsts))[inverse])


def sum_by_group(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Sum values of clusters over the clusters of each group.

    Args:
        values: values of G clusters, (G, ...).
        groups: index of the group of each cluster, from 0, int64 (G,). The largest index fixes the
            number of groups.

    Returns:
        sums, (largest index + 1, ...); 0 for an index that no cluster has.
    """
    sums = np.zeros((groups.max(initial=-1) + 1, *values.shape[1:]), values.dtype)
    np.add.at(sums, groups, values)
    return sums


def explain_too_few(clusters: int, needed: int, lead: int | None) -> str:
    """Write why an interval is missing: "only 4 clusters (10 needed)".

    Clusters may be blocks of time. Forecasts whose valid times overlap depend on each other, so the
    interval of a value at a lead time needs blocks that are longer than the lead time. The text is
    then, for example, "only 4 blocks longer than 30 lead times (10 needed)".

    Args:
        clusters: number of clusters that there are.
        needed: number of clusters that an interval needs.
        lead: lead time of the value, counted from 1; for the overall value, the last one. None if
            clusters are not blocks of time.
    """
    what = "clusters" if lead is None else f"blocks longer than {lead} lead times"
    return f"only {clusters} {what} ({needed} needed)"
