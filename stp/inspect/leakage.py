"""How much of a split was seen before: clips of one video, trajectory or event in two splits."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from stp.prepare.output import SPLITS


@dataclass(frozen=True)
class Shared:
    """What the clips of one split share with those of another one, which came before.

    Attributes:
        split: whose clips are looked at.
        against: the split that may have shown them already.
        clips: number of clips in `split`.
        same_cluster: of these, clips whose cluster is also in `against`.
        overlapping: of these, clips that overlap in time with a clip of `against`: of the same
            cluster, and the times from first to last frame have one in common.
        clusters: number of clusters in `split`.
        shared_clusters: of these, clusters that are also in `against`.
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
    """Compare the clips of two splits.

    Args:
        index: columns split, start, stride, length and cluster. Equal frames have equal numbers:
            a clip covers ``start .. start + (length - 1) * stride``.
        split: whose clips are looked at.
        against: the split that may have shown them already.
    """
    clusters, _ = pd.factorize(index["cluster"])
    last = (index["start"] + (index["length"] - 1) * index["stride"]).to_numpy(np.int64)
    first = index["start"].to_numpy(np.int64)
    # One axis for all clusters: each has a stretch of its own, so that none reaches into another.
    base = clusters.astype(np.int64) * (int(last.max(initial=0)) + 1)
    first, last = base + first, base + last
    later = (index["split"] == split).to_numpy()
    earlier = (index["split"] == against).to_numpy()

    own = clusters[later]
    is_shared = np.isin(own, clusters[earlier])
    order = np.argsort(first[earlier], kind="stable")
    starts = first[earlier][order]
    # Of all clips that start before a moment, the latest end: it reaches the moment or none does.
    reach = np.maximum.accumulate(last[earlier][order])
    before = np.searchsorted(starts, last[later], side="right")
    overlaps = np.zeros(len(own), bool)
    some = before > 0
    overlaps[some] = reach[before[some] - 1] >= first[later][some]
    return Shared(
        split,
        against,
        len(own),
        int(is_shared.sum()),
        int(overlaps.sum()),
        len(np.unique(own)),
        len(np.unique(own[is_shared])),
    )


def report(index: pd.DataFrame) -> list[Shared]:
    """Compare every split with those that are used before it.

    Validation and test clips are compared with those of the training, test clips also with those
    of the validation. A subset that has training clips of its own (``<subset>-train``) is compared
    with these.
    """
    return [compare(index, *pair) for pair in _pairs(list(dict.fromkeys(index["split"])))]


def _pairs(names: list[str]) -> Iterator[tuple[str, str]]:
    """Pairs of splits (later, earlier) out of those that have clips."""
    ordered = [*(s for s in SPLITS if s in names), *(s for s in names if s not in SPLITS)]
    for name in ordered:
        if name == "train" or name.endswith("-train"):
            continue
        own = f"{name}-train" in names
        if name == "val":
            wanted = ["train"]
        elif name.endswith("-val"):
            wanted = [f"{name.removesuffix('-val')}-train"]
        else:
            wanted = [f"{name}-train", f"{name}-val"] if own else ["train", "val"]
        yield from ((name, against) for against in wanted if against in names)
