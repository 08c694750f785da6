"""Clips of robot trajectories as PredBench cuts them: random windows to train on, central to test.

The rules are those of its loader (``SampleFrames``, as in MMAction2).
"""

from collections.abc import Iterable

from stp.prepare.output import Clip

RANDOM_WINDOWS = {"random_windows": {"train": 0}}
"""Attribute of prepared data: the seed of the training windows. PredBench records none."""


def centre(frames: int, span: int) -> int:
    """First frame of the central window of `span` of `frames` frames, such as 9 for 12 of 30."""
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
