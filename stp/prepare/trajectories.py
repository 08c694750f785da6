"""Clips of robot trajectories as PredBench cuts them: random windows to train on, central to test.

The rules are those of its loader (``SampleFrames``, as in MMAction2).
"""

import hashlib
from collections.abc import Iterable, Sequence

from stp.prepare.output import Clip

WINDOW_SEED = 0
"""Of the random training windows, which PredBench draws without a recorded seed."""


def centre(frames: int, span: int) -> int:
    """First frame of the central window of `span` frames; offset 9 for 12 of 30 frames."""
    return (frames - span + 1) // 2


def clip_of(split: str, name: str, first: int, frames: int, span: int, cluster: str) -> Clip:
    """The one clip of a trajectory.

    Args:
        split: for train, the clip is the whole trajectory, in which each epoch draws a window; for
            all others, the central window.
        name: name of the clip.
        first: number of the first frame of the trajectory in the store.
        frames: length of the trajectory, at least `span`.
        span: frames in a window.
        cluster: name that statistically dependent clips share.
    """
    if split == "train":
        return Clip(split, name, first, 1, frames, cluster)
    return Clip(split, name, first + centre(frames, span), 1, span, cluster)


def clips_of(trajectories: Iterable[tuple[str, str, int, str]], span: int) -> list[Clip]:
    """The clips of trajectories whose frames lie one after the other.

    Args:
        trajectories: split, name, number of frames and cluster of each; see `clip_of`.
        span: frames in a window.
    """
    clips, first = [], 0
    for split, name, frames, cluster in trajectories:
        clips.append(clip_of(split, name, first, frames, span, cluster))
        first += frames
    return clips


def number_by_name(name: str, seed: int) -> int:
    """A random number of 64 bits that depends on nothing but a name and a seed."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{name}".encode()).digest()[:8], "big")


def deal_by_name(
    names: Iterable[str], counts: Sequence[tuple[str, int]], seed: int
) -> dict[str, str]:
    """Assign names to splits at random: {name: split}.

    Args:
        names: all of them, in any order.
        counts: (split, number of names), in the order in which splits take names. Names that are
            left over are not in the result.
        seed: seed of the order.
    """
    order = sorted(names, key=lambda name: (number_by_name(name, seed), name))
    split_of: dict[str, str] = {}
    first = 0
    for split, count in counts:
        split_of |= dict.fromkeys(order[first : first + count], split)
        first += count
    return split_of
