"""Clusters that are blocks of time, merged into longer ones.

Forecasts whose valid times overlap depend on each other: a block says something of its own only if
it is longer than the lead time. Prepared data name the smallest blocks; a value at a lead time of
30 days rests on blocks that are longer than 30 days. They are merged from the first block of the
split on, whatever forecasts there are, so that all models are compared on the same ones.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from stp.core.errors import StpError

START, LENGTH = "cluster_start", "cluster_length"
"""Columns of an index whose clusters are blocks of time: the first frame of the row's cluster, and
how many frames it is long."""


class Blocks(NamedTuple):
    """Where clusters lie in time.

    Attributes:
        names: of the G clusters.
        start: first frame of each, int64 (G,).
        length: frames, int64 (G,).
        step: frames of one lead time.
    """

    names: tuple[str, ...]
    start: np.ndarray
    length: np.ndarray
    step: int

    @classmethod
    def of(cls, index: pd.DataFrame, where: object) -> "Blocks | None":
        """Read the blocks from the rows of a split; None where its clusters are not blocks of time.

        Args:
            index: with the columns ``START`` and ``LENGTH``, if they are.
            where: it is from, for errors.

        Raises:
            StpError: a cluster has several places or no length, or lead times are of several
                lengths.
        """
        if START not in index.columns or LENGTH not in index.columns:
            return None
        found = index[["cluster", START, LENGTH]].drop_duplicates()
        twice = found["cluster"][found["cluster"].duplicated()]
        steps = index["stride"].unique()
        if len(twice) or len(steps) != 1 or (found[LENGTH] < 1).any():
            bad = (
                f"cluster {twice.iloc[0]!r} has several" if len(twice) else "not every one has one"
            )
            raise StpError(
                f"{where}: clusters are blocks of time, but {bad} start, length and step",
                expected=f"{START} and {LENGTH} (frames, from 1), the same in all rows of a "
                "cluster, and one stride in the split",
                remedy="prepare the data again",
            )
        start, length = (found[name].to_numpy(np.int64) for name in (START, LENGTH))
        return cls(tuple(map(str, found["cluster"])), start, length, int(steps[0]))

    def merged(self, lead: int) -> np.ndarray:
        """Merge neighbours until each block is longer than a lead time.

        What is left at the end belongs to the last block.

        Args:
            lead: in steps, from 1.

        Returns:
            number of the merged block of each cluster, in the order of their first ones, int64
            (G,).
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
        _, seen, inverse = np.unique(groups, return_index=True, return_inverse=True)
        return np.asarray(np.argsort(np.argsort(seen))[inverse])


def summed(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Sum over the clusters of each group, (G, ...) to (groups, ...), in the order of clusters."""
    found = np.zeros((groups.max(initial=-1) + 1, *values.shape[1:]), values.dtype)
    np.add.at(found, groups, values)
    return found


def few(clusters: int, needed: int, lead: int | None) -> str:
    """Say that there are too few of them.

    Args:
        clusters: how many there are.
        needed: how many there have to be.
        lead: that blocks are longer than; None where clusters are no blocks of time.
    """
    what = "clusters" if lead is None else f"blocks longer than {lead} lead times"
    return f"only {clusters} {what} ({needed} needed)"
