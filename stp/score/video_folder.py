"""Read clips from folders of films, pictures or arrays.

A clip is a film (.mp4, .gif, .webm, ...: `stp.prepare.video.SUFFIXES`), an array file (.npy, or
.npz with one array), or a folder of pictures (.png, .jpg), ordered by the last number in their
names. An array has the shape (T, H, W), (T, H, W, C) or (T, C, H, W) with one or three channels; a
further first axis counts clips. Integers range over 0..255, floating-point numbers over 0..1. If
all integers of a folder are 0 or 1, they are masks, black and white.
"""

import zipfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stp.core.disk import is_hidden, require_regular
from stp.core.errors import StpError
from stp.core.limits import require_zip
from stp.prepare.own.arrays import DAMAGE
from stp.prepare.own.pictures import in_order
from stp.prepare.pictures import decode_picture
from stp.prepare.video import SUFFIXES as FILMS
from stp.prepare.video import decode_film

ARRAYS = (".npy", ".npz")
PICTURES = (".png", ".jpg", ".jpeg")
_KINDS = "films (.mp4, .gif, ...), arrays (.npy, .npz) or folders of pictures (.png, .jpg)"


class Clip(NamedTuple):
    """A clip (short video) in a folder of videos, and where it is stored.

    Attributes:
        path: the film, array file or folder of pictures.
        number: index of the clip in an array of several clips; None for a single clip.
    """

    path: Path
    number: int | None = None

    def __str__(self) -> str:
        return str(self.path) if self.number is None else f"{self.path}, clip {self.number}"


def find_clips(folder: Path) -> list[Clip]:
    """List the clips of a folder, in the order of their names.

    Raises:
        StpError: the folder is missing, or has no clips.
    """
    if not folder.is_dir():
        raise StpError(f"there is no folder {folder}", expected=f"a folder of {_KINDS}")
    clips: list[Clip] = []
    for path in sorted(path for path in folder.iterdir() if not is_hidden(path.name)):
        suffix = path.suffix.lower()
        if suffix in (*FILMS, *ARRAYS):
            require_regular(path)
        if (path.is_dir() and _pictures(path)) or suffix in FILMS:
            clips.append(Clip(path))
        elif suffix in ARRAYS:
            array = read_array(path)
            several = array.ndim == 5 or (array.ndim == 4 and _channels_axis(array.shape) is None)
            clips += [Clip(path, i) for i in range(len(array))] if several else [Clip(path)]
    if not clips:
        loose = " (single pictures are not clips)" if _pictures(folder) else ""
        raise StpError(
            f"no videos in {folder}{loose}",
            expected=_KINDS,
            remedy="name the folder that contains them, with a film, array or folder for each clip",
        )
    return clips


def read_clip(clip: Clip, frames: int | None = None, interval: int = 1) -> np.ndarray:
    """Read the first frames of a clip (short video) of a folder.

    Args:
        clip: the clip.
        frames: number of frames; None for all.
        interval: spacing of the frames to read, in frames of the clip.

    Returns:
        frames in [0, 1], float32 (T, C, H, W), C is 1 or 3; fewer than ``frames`` if the clip is
        shorter.

    Raises:
        StpError: the clip cannot be read, or does not have the shape of a video.
    """
    stop = None if frames is None else (frames - 1) * interval + 1
    if clip.path.is_dir():
        frames_read = _from_pictures(clip.path, slice(None, stop, interval))
    elif clip.path.suffix.lower() in FILMS:
        frames_read = _from_film(clip.path, stop, interval)
    else:
        frames_read = _from_array(clip, slice(None, stop, interval))
    if not len(frames_read):
        raise StpError(f"{clip} has no frames", remedy="leave it out of the folder")
    return frames_read


def _pictures(folder: Path) -> list[str]:
    return [
        str(require_regular(path))
        for path in folder.iterdir()
        if path.suffix.lower() in PICTURES and not is_hidden(path.name)
    ]


def _unit(frames: np.ndarray) -> np.ndarray:
    """Scale frames to [0, 1], channels first: uint8 (T, H, W, C) to float32 (T, C, H, W)."""
    return np.ascontiguousarray(frames.transpose(0, 3, 1, 2), np.float32) / np.float32(255)


def _from_pictures(folder: Path, chosen: slice) -> np.ndarray:
    frames: list[np.ndarray] = []
    ordered, _ = in_order(_pictures(folder), "ignore")
    for path in ordered[chosen]:
        frames.append(decode_picture(Path(path).read_bytes(), path, "RGB"))
        if frames[-1].shape != frames[0].shape:
            raise StpError(
                f"{path} has {frames[-1].shape[1]} x {frames[-1].shape[0]} pixels",
                expected=f"{frames[0].shape[1]} x {frames[0].shape[0]}, as the first of its folder",
                remedy="scale the pictures to one size",
            )
    return _unit(np.stack(frames)) if frames else np.empty((0, 3, 0, 0), np.float32)


def _from_film(path: Path, stop: int | None, interval: int) -> np.ndarray:
    return _unit(np.stack(list(decode_film(path, stop, interval))))


def _from_array(clip: Clip, chosen: slice) -> np.ndarray:
    whole = read_array(clip.path)
    array = np.asarray((whole if clip.number is None else whole[clip.number])[chosen])
    if array.ndim == 3:
        array = array[..., None]
    axis = _channels_axis(array.shape)
    if array.ndim != 4 or axis is None or array.dtype.kind not in "buif":
        raise StpError(
            f"{clip} has the shape {array.shape} ({array.dtype})",
            expected="numbers (T, H, W), (T, H, W, C) or (T, C, H, W) with C = 1 or 3",
            remedy="write the array with these axes",
        )
    if not array.size:
        return np.empty((0, 3, 0, 0), np.float32)
    array = array if axis == 3 else array.transpose(0, 2, 3, 1)
    is_mask = array.dtype == bool
    if array.dtype.kind in "iu" and array.max() == 1:
        is_mask = _are_masks(clip.path.parent, clip.path.parent.stat().st_mtime_ns)
    if is_mask:  # black and white
        array = array.astype(np.float32)
    is_float = np.issubdtype(array.dtype, np.floating)
    low, high = float(array.min()), float(array.max())
    limit = 1.0 if is_float else 255.0
    if not (low >= 0 and high <= limit):
        raise StpError(
            f"{clip} has values from {low:g} to {high:g} ({array.dtype})",
            expected=f"0..{limit:g}: floating-point numbers in [0, 1], integers in 0..255",
            remedy="scale the values, without NaN",
        )
    if is_float:
        return np.ascontiguousarray(array.transpose(0, 3, 1, 2), np.float32)
    return _unit(array)


@lru_cache(maxsize=16)
def _are_masks(folder: Path, changed: int) -> bool:
    """Whether all integers of a folder are 0 or 1, cached by its modification time ``changed``."""
    arrays = (read_array(path) for path in folder.iterdir() if path.suffix.lower() in ARRAYS)
    return all(array.max(initial=0) <= 1 for array in arrays if array.dtype.kind in "iu")


def _channels_axis(shape: Sequence[int]) -> int | None:
    """Index of the channel axis in a shape (T, ...); None without channels."""
    if len(shape) == 4:
        for axis in (3, 1):
            if shape[axis] in (1, 3):
                return axis
    return None


def read_array(path: Path) -> np.ndarray:
    """Open the array of a .npy file, memory-mapped, or read the only array of a .npz file.

    Raises:
        StpError: the file is damaged, not a regular file, or has several arrays.
    """
    require_regular(path)
    try:
        if path.suffix.lower() == ".npy":
            mapped: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
            return mapped
        with zipfile.ZipFile(path) as archive:
            require_zip(path, archive)
        with np.load(path, allow_pickle=False) as file:
            if len(file.files) != 1:
                raise StpError(
                    f"{path} holds the arrays {', '.join(file.files) or 'none'}",
                    expected="one array",
                    remedy="write a file for each clip, or one array (N, T, H, W, C) for all",
                )
            return np.asarray(file[file.files[0]])
    except DAMAGE as error:
        raise _damage_error(path, error) from error


def _damage_error(path: Path, error: BaseException) -> StpError:
    return StpError(
        f"{path} cannot be read ({error})",
        expected="a complete file",
        remedy="write it again, or leave it out of the folder",
    )
