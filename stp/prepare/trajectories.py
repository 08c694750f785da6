"""Cut clips of robot trajectories as PredBench does: random windows for training, central ones
otherwise.

The rules are those of PredBench's loader (``SampleFrames``, as in MMAction2).
"""

from collections.abc import Iterable

from stp.prepare.output import Clip

RANDOM_WINDOWS = {"random_windows": {"train": 0}}
"""Attribute of prepared data: the seed with which each epoch draws its training windows. PredBench
records none."""


def centre(frames: int, span: int) -> int:
    """First frame of the central window: ``centre(30, 12)`` is 9."""
    return (frames - span + 1) // 2


def clip_of(split: str, name: str, first: int, frames: int, span: int, cluster: str) -> Clip:
    """Make the single clip of a trajectory.

    Args:
        split: name of the split; for train, the clip is the whole trajectory, from which each epoch
            draws a window; for other splits, it is the central window.
        name: name of the clip.
        first: index of the first frame of the trajectory in the store.
        frames: length of the trajectory, at least `span`.
        span: number of frames in a window.
        cluster: name of the cluster, which statistically dependent clips share.
    """
    if split == "train":
        return Clip(split, name, first, 1, frames, cluster)
    return Clip(split, name, first + centre(frames, span), 1, span, cluster)


def clips_of(trajectories: Iterable[tuple[str, str, int, str]], span: int) -> list[Clip]:
    """Make the clips of trajectories whose frames are stored one after the other.

    Args:
        trajectories: split, name, number of frames and cluster of each; see `clip_of`.
        span: number of frames in a window.
    """
    clips, first = [], 0
    for split, name, frames, cluster in trajectories:
        clips.append(clip_of(split, name, first, frames, span, cluster))
        first += frames
    return clips
