"""FVD and KVD between two folders of unpaired videos."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from stp.core.errors import StpError
from stp.core.job import Report, report_nothing
from stp.features.frames import CHOICES
from stp.features.networks import i3d
from stp.metrics import frechet, kvd
from stp.metrics.perceptual import Embed
from stp.metrics.set_distance import draw_indices
from stp.score.sample_size import Extrapolated, Resolution, extrapolate, resolution, why_no_line
from stp.score.video_folder import Clip, find_clips, read_clip

CONVENTIONS = tuple(CHOICES)
BATCH = 16
"""Number of clips that the network processes at a time."""


class Options(NamedTuple):
    """Choice of the clips and frames that are compared.

    Attributes:
        frames: number of frames of each clip, including the context; None for all frames (all clips
            must then have the same number).
        interval: spacing of the frames, in frames of the clip.
        context: number of context frames among `frames`.
        convention: frames of a clip that the network gets: "predicted_only", those after the
            context; "with_context", all; "zero_padded", those after the context, filled up to ten
            with grey frames.
        clips: number of clips of each folder; None for the number in the smaller folder.
        seed: seed for drawing clips from a folder that has more than ``clips``.
        extrapolate: whether FVD at infinite N is estimated too.
    """

    frames: int | None = None
    interval: int = 1
    context: int = 0
    convention: str = "predicted_only"
    clips: int | None = None
    seed: int = 0
    extrapolate: bool = False


class UnpairedDistances(NamedTuple):
    """FVD and KVD between two folders, with numbers and sizes of the compared clips.

    Attributes:
        fvd: Frechet video distance.
        kvd: kernel video distance.
        n: number of compared clips of each folder, N.
        available: numbers of clips in the folders of real and of generated videos.
        frames: number of frames of each clip that the network processed.
        height: height of a frame, pixels.
        width: width of a frame, pixels.
        resolution: two values of FVD, each a mean over random halves of the clips: between two
            halves of the real clips, and between a half of the real and a half of the generated
            clips. If they are alike, the clips are too few to tell the folders apart
            (`Resolution.is_hidden`). None for fewer than four clips.
        at_infinite_n: FVD extrapolated to infinite N, with its standard error; None unless
            requested and possible.
        why_not: reason why FVD cannot be extrapolated; else empty.
    """

    fvd: float
    kvd: float
    n: int
    available: tuple[int, int]
    frames: int
    height: int
    width: int
    resolution: Resolution | None = None
    at_infinite_n: Extrapolated | None = None
    why_not: str = ""


def compare(
    real: Path,
    generated: Path,
    options: Options,
    embed: Embed,
    report: Report = report_nothing,
) -> UnpairedDistances:
    """Compute FVD and KVD between two folders of videos.

    Args:
        real: folder of real videos (see `stp.score.video_folder`).
        generated: folder of generated videos.
        options: frames and clips to compare.
        embed: function of clips, float32 (N, T, C, H, W) in [0, 1], that returns features of a
            network, float64 (N, D), such as `stp.features.networks.i3d.embed` makes.
        report: function that receives the progress.

    Raises:
        StpError: folders, clips or options are unsuitable, clips are too short, or a folder has
            fewer than two clips.
    """
    if options.convention not in CONVENTIONS:
        raise StpError(
            f"unknown convention {options.convention!r}", expected=", ".join(CONVENTIONS)
        )
    if options.context < 0 or options.interval < 1:
        raise StpError(
            f"context {options.context}, interval {options.interval}",
            expected="context from 0, interval from 1",
        )
    clips = find_clips(real), find_clips(generated)
    available = len(clips[0]), len(clips[1])
    n = min(available) if options.clips is None else options.clips
    _check_number(n, available, real, generated)
    real_clips, generated_clips = (
        [own[i] for i in draw_indices(len(own), n, options.seed)] for own in clips
    )
    first = _read(real_clips[0], options)
    shortened = _select_frames(first[None], options)
    if shortened.shape[1] < i3d.SHORTEST:
        raise StpError(
            f"{real_clips[0]} gives {shortened.shape[1]} frames for {options.convention}",
            expected=f"at least {i3d.SHORTEST}, what I3D needs",
            remedy="use longer clips, --convention with_context, or zero_padded (whose values "
            "can only be compared with each other)",
        )
    features = []
    for part, own in enumerate((real_clips, generated_clips)):
        blocks = []
        for start in range(0, n, BATCH):
            some = own[start : start + BATCH]
            read = [
                _require_same_shape(clip, _read(clip, options), real_clips[0], first)
                for clip in some
            ]
            blocks.append(embed(_select_frames(np.stack(read), options)))
            report("clips processed", part * n + start + len(some), 2 * n)
        features.append(np.concatenate(blocks))
    for folder, own_features in zip((real, generated), features, strict=True):
        if not np.isfinite(own_features).all():
            raise StpError(
                f"features of {folder} are NaN or infinite",
                expected="finite features",
                remedy="check the weights of I3D: `stp list weights --check`",
            )
    x, y = features
    split = resolution(x, y, frechet.distance, seed=options.seed) if n >= 4 else None
    line, why_not = None, why_no_line(*x.shape) if options.extrapolate else ""
    if options.extrapolate and not why_not:
        line = extrapolate(x, y, frechet.distance, seed=options.seed)
    return UnpairedDistances(
        fvd=frechet.distance(x, y),
        kvd=kvd.distance(x, y),
        n=n,
        available=available,
        frames=shortened.shape[1],
        height=first.shape[2],
        width=first.shape[3],
        resolution=split,
        at_infinite_n=line,
        why_not=why_not,
    )


def _read(clip: Clip, options: Options) -> np.ndarray:
    """Read the compared frames of a clip as RGB, (T, 3, H, W)."""
    frames = read_clip(clip, options.frames, options.interval)
    if options.frames is not None and len(frames) < options.frames:
        raise StpError(
            f"{clip} has only {len(frames)} frames at interval {options.interval}",
            expected=f"{options.frames} (--frames)",
            remedy="ask for fewer frames or a smaller interval, or leave the clip out",
        )
    return np.repeat(frames, 3 // frames.shape[1], axis=1)


def _select_frames(clips: np.ndarray, options: Options) -> np.ndarray:
    """Select the frames of clips (N, T, C, H, W) that the network processes."""
    return CHOICES[options.convention](clips[:, : options.context], clips[:, options.context :])


def _require_same_shape(
    clip: Clip, frames: np.ndarray, first: Clip, expected: np.ndarray
) -> np.ndarray:
    """Refuse a clip with another length or frame size than the first, which would change FVD."""
    if len(frames) != len(expected):
        raise StpError(
            f"{clip} has {len(frames)} frames, {first} has {len(expected)}",
            expected="clips of one length",
            remedy=f"--frames {min(len(frames), len(expected))} takes the first ones of each",
        )
    if frames.shape != expected.shape:
        sizes = ["{3} x {2}".format(*one.shape) for one in (frames, expected)]
        raise StpError(
            f"{clip} has {sizes[0]} pixels, {first} has {sizes[1]}",
            expected="frames of one size in both folders",
            remedy="scale one of them first, as the model's data were scaled",
        )
    return frames


def _check_number(n: int, available: tuple[int, int], real: Path, generated: Path) -> None:
    if n < 2:
        raise StpError(
            f"{n} clip(s) to compare: {real} has {available[0]}, {generated} has {available[1]}",
            expected="at least 2 of each; published values are of hundreds",
            remedy="generate more clips",
        )
    if n > min(available):
        raise StpError(
            f"--n {n}: {real} has {available[0]} clips, {generated} has {available[1]}",
            expected=f"at most {min(available)}: FVD depends on N, which is the same for both sets",
            remedy="generate more clips, or leave --n out",
        )
