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
        split: train, for a row as long as the trajectory, in which each epoch chooses another
            window; all others get the central window.
        name: of the clip.
        first: its first frame in the store.
        frames: how many it has, at least `span`.
        span: frames in a window.
        cluster: what is statistically dependent.
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
    names: Iterable[str], wanted: Sequence[tuple[str, int]], seed: int
) -> dict[str, str]:
    """Deal names to splits at random: {name: split}.

    Args:
        names: all of them, in any order.
        wanted: (split, how many) in the order in which they take theirs; those left over are not
            in the result.
        seed: chooses the order.
    """
    order = sorted(names, key=lambda name: (number_by_name(name, seed), name))
    dealt: dict[str, str] = {}
    at = 0
    for split, count in wanted:
        dealt |= dict.fromkeys(order[at : at + count], split)
        at += count
    return dealt
