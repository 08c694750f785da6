"""Find clips of the same video, trajectory or event in two splits of a dataset."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from stp.prepare.output import SPLITS


@dataclass(frozen=True)
class Shared:
    """Numbers of clips of one split that depend on clips of a split that a model has seen before.

    Models see training clips first, then validation clips, then test clips. A cluster is a set of
    dependent clips, such as those of one video, trajectory or event.

    Attributes:
        split: name of the split whose clips are counted, such as "test".
        against: name of the split that a model has seen before, such as "train".
        clips: number of clips in `split`.
        same_cluster: number of clips of `split` whose cluster is also in `against`.
        overlapping: number of clips of `split` that overlap in time with a clip of the same
            cluster in `against`.
        clusters: number of clusters in `split`.
        shared_clusters: number of clusters of `split` that are also in `against`.
    """

    split: str
    against: str
    clips: int
    same_cluster: int
    overlapping: int
    clusters: int
    shared_clusters: int

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def compare(index: pd.DataFrame, split: str, against: str) -> Shared:
    """Count the clips of a split that share a cluster, or frames, with clips of another split.

    Args:
        index: table with columns split, start, stride, length and cluster. A clip consists of the
            frames ``start``, ``start + stride``, ..., ``start + (length - 1) * stride``.
        split: name of the split whose clips are counted, such as "test".
        against: name of the split that a model sees before it, such as "train".

    Returns:
        numbers of clips and clusters of ``split``, and how many of them are also in ``against``.
    """
    clusters, _ = pd.factorize(index["cluster"])
    last = (index["start"] + (index["length"] - 1) * index["stride"]).to_numpy(np.int64)
    first = index["start"].to_numpy(np.int64)
    # All clusters share an axis, on which each has a separate range.
    base = clusters.astype(np.int64) * (int(last.max(initial=0)) + 1)
    first, last = base + first, base + last
    later = (index["split"] == split).to_numpy()
    earlier = (index["split"] == against).to_numpy()

    own_clusters = clusters[later]
    is_shared = np.isin(own_clusters, clusters[earlier])
    order = np.argsort(first[earlier], kind="stable")
    starts = first[earlier][order]
    # The latest end of all clips that start before a moment: if it does not reach it, none does.
    reach = np.maximum.accumulate(last[earlier][order])
    before = np.searchsorted(starts, last[later], side="right")
    overlaps = np.zeros(len(own_clusters), bool)
    has_earlier = before > 0
    overlaps[has_earlier] = reach[before[has_earlier] - 1] >= first[later][has_earlier]
    return Shared(
        split,
        against,
        len(own_clusters),
        int(is_shared.sum()),
        int(overlaps.sum()),
        len(np.unique(own_clusters)),
        len(np.unique(own_clusters[is_shared])),
    )


def report(index: pd.DataFrame) -> list[Shared]:
    """Compare every split with the splits that a model sees before it.

    Validation and test clips are compared with training clips, and test clips also with validation
    clips. A subset with separate training clips (``<subset>-train``) is compared with these.

    Args:
        index: table of all clips, as for `compare`.

    Returns:
        numbers for each pair of splits, e.g. test against train.
    """
    return [compare(index, *pair) for pair in _pairs(list(dict.fromkeys(index["split"])))]


def _pairs(names: list[str]) -> Iterator[tuple[str, str]]:
    ordered = [*(s for s in SPLITS if s in names), *(s for s in names if s not in SPLITS)]
    for name in ordered:
        if name == "train" or name.endswith("-train"):
            continue
        has_own_training = f"{name}-train" in names
        if name == "val":
            earlier = ["train"]
        elif name.endswith("-val"):
            earlier = [f"{name.removesuffix('-val')}-train"]
        else:
            earlier = [f"{name}-train", f"{name}-val"] if has_own_training else ["train", "val"]
        yield from ((name, against) for against in earlier if against in names)
