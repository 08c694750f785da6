"""RoboNet: 162,417 trajectories of seven kinds of robot, one HDF5 file each, some with 5 cameras.

Dasari et al. 2019, "RoboNet: Large-scale multi-robot learning". In a file, the group ``env`` has
the attributes ``cam_encoding`` (mp4 or jpg) and ``n_cams``, and for each camera k a group
``cam<k>_video``: with mp4, its dataset ``frames`` is the bytes of a video file, with the attributes
T (number of frames), image_format (RGB or BGR) and shape; with jpg, there is a dataset ``frame<t>``
of JPEG bytes for each frame. Some files state image_format for camera 0 only, which applies to all
cameras. Other data (states, actions, metadata) vary by robot and are not used.

``meta_data.pkl``, which PredBench also needs, repeats attributes of the files. It is not read,
since unpickling can run any code. Splits are PredBench's lists of file names; files in neither the
validation nor the test list are for training, since the training list was not released.
"""

import io
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import h5py
import numpy as np
from av.video.reformatter import VideoReformatter

from stp.core.errors import RawFileError, StpError
from stp.core.job import Extras, Job, Recipe
from stp.core.json_files import read_json
from stp.core.options import build, require
from stp.data.raw_files import RawFiles
from stp.prepare.frames import Piece
from stp.prepare.members import Member, find, member_location, read
from stp.prepare.output import SPLITS, write_index
from stp.prepare.pictures import decode_picture
from stp.prepare.pixels import read_inputs, write_pixels
from stp.prepare.planned_counts import Lists, Planned
from stp.prepare.random_order import number_by_name
from stp.prepare.resize import bilinear
from stp.prepare.trajectories import RANDOM_WINDOWS, clip_of, clips_of
from stp.prepare.video import apply_orientation, open_film, video_stream

LISTS = {
    "val": "predbench_annotations/robonet/robonet_val.json",
    "test": "predbench_annotations/robonet/robonet_test.json",
}
FILES = r"hdf5/([^/]+\.hdf5)"
FPS = 10  # stated in the mp4 files
MOST_FRAMES = 1000  # per trajectory; the real ones have 15..50. A damaged attribute may claim more
MOST_PIXELS = 1 << 22  # per frame; the largest frames have 0.3 million
MOST_BYTES = 1 << 28  # per compressed video
_HEAP = b"GCOL\x01\0\0\0"


@dataclass(frozen=True)
class RobonetOptions:
    """Options of the reader of RoboNet.

    Attributes:
        splits: lists of file names, ``{val: [...], test: [...]}``, optionally with ``train``; null
            for PredBench's lists. Without ``train``, all other files are for training.
    """

    splits: dict[str, list[str]] | None = None

    def __post_init__(self) -> None:
        lists = self.splits
        ok = lists is None or {"val", "test"} <= set(lists) <= set(SPLITS)
        require(ok, "splits", lists, "{val: [names], test: [names]}, perhaps train, or null")
        listed = [name for names in (lists or {}).values() for name in names]
        require(len(set(listed)) == len(listed), "splits", lists, "no name twice")


class Trajectory(NamedTuple):
    """The view of a trajectory from one camera.

    Attributes:
        name: name of the file.
        member: the file.
        camera: index of the camera, from 0.
        frames: number of frames stated in the file.
        encoding: mp4 or jpg.
        order: channels of the decoded pictures, RGB or BGR.
    """

    name: str
    member: Member
    camera: int
    frames: int
    encoding: str
    order: str


def read_lists(raw: RawFiles | Lists, options: RobonetOptions) -> dict[str, list[str]]:
    """Read the lists of the files of each split, from the options or from PredBench's lists.

    Args:
        raw: finds PredBench's lists: `RawFiles` in the preparation; `Lists` in `count`, which is
            called before the checksums of raw files are recorded.
        options: options of the reader. If they have lists, PredBench's are not read.

    Returns:
        names of files by split. Without a list of training files, "train" is missing.

    Raises:
        StpError: a list is missing or is not a list of file names, or a name is in two lists.
    """
    if options.splits is not None:
        return options.splits
    lists = {}
    for split, file in LISTS.items():
        path = raw.find(file)
        expected = "a JSON list of names of hdf5 files"
        names = read_json(path, list, expected, error=RawFileError)
        if not all(isinstance(name, str) for name in names):
            raise RawFileError(path, "no list of names", expected=expected)
        lists[split] = names
    listed = [name for names in lists.values() for name in names]
    if len(set(listed)) != len(listed):
        twice = next(name for name in listed if listed.count(name) > 1)
        raise RawFileError(" and ".join(LISTS.values()), f"{twice} is listed twice")
    return lists


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``) and the clips (``index.parquet``) of RoboNet.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong, or a listed trajectory is missing.
    """
    options, raw, height, width, span = read_inputs(job, RobonetOptions, channels=3)
    lists = read_lists(raw, options)
    files = {name: member for (name,), member in find(raw, FILES).items()}
    missing = sorted({name for names in lists.values() for name in names} - set(files))
    if missing:
        raise StpError(
            f"{len(missing)} listed trajectories of RoboNet are missing, first {missing[0]}",
            expected="every file of the lists, below robonet/hdf5",
            remedy="unpack the whole archive",
        )
    split_of = {name: split for split, names in lists.items() for name in names}
    if "train" not in lists:
        split_of = {**dict.fromkeys(files, "train"), **split_of}
    used = sorted(split_of)
    trajectories = []
    for done, name in enumerate(used, start=1):
        trajectories.append(trajectory_of(raw, name, files[name], split_of[name]))
        if done % 1000 == 0 or done == len(used):
            job.report("look into files", done, len(used))
    chosen = [trajectory for trajectory in trajectories if trajectory.frames >= span]
    pieces = [Piece(t.name, t.frames, (t, height, width), t.member.bytes) for t in chosen]
    attrs = {**RANDOM_WINDOWS, "fps": FPS}
    written = write_pixels(job, raw, pieces, decode_trajectory, "trajectories", **attrs)
    stems = [t.name.removesuffix(".hdf5") for t in chosen]
    clips = clips_of(
        (
            (split_of[t.name], f"{stem}/cam{t.camera}", t.frames, stem)
            for t, stem in zip(chosen, stems, strict=True)
        ),
        span,
    )
    short = {f"trajectories shorter than {span} frames": len(trajectories) - len(chosen)}
    return {**write_index(job.out, clips), **written.extras, **short}


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, from PredBench's lists of files, without videos.

    Used before the data are downloaded, to compare the numbers with the published ones.
    Trajectories that turn out to be too short for a clip, once their files are read, are included.

    Args:
        recipe: recipe of the preparation, with ``options``, ``context`` and ``horizon``.
        raw: finds PredBench's lists among the raw files. Not used if the options have lists.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option or a list is wrong, or a list is missing.
    """
    options = build(RobonetOptions, recipe["options"], "prepare options")
    lists = read_lists(raw, options)
    span = recipe["context"] + recipe["horizon"]
    names = [(split, name) for split, listed in lists.items() for name in listed]
    clips = [
        clip_of(split, stem, i * span, span, span, stem)
        for i, (split, name) in enumerate(names)
        for stem in [name.removesuffix(".hdf5")]
    ]
    unknown = "all trajectories in neither list, counted when read; their list was not released"
    return Planned(clips, unknown={} if "train" in lists else {"train": unknown})


def trajectory_of(raw: RawFiles, name: str, member: Member, split: str) -> Trajectory:
    """Choose the camera of a trajectory, and read its properties from the file.

    Camera 0 is used in training. For validation and test, PredBench draws a camera in each run;
    here, the choice depends on the name of the file.

    Args:
        raw: the raw files.
        name: name of the file.
        member: the file.
        split: train, val or test.

    Raises:
        StpError: the file is damaged, or lacks required data.
    """

    def read_header(file: h5py.File) -> Trajectory:
        env = file["env"]
        cameras = int(env.attrs["n_cams"])
        if not 1 <= cameras <= 100:
            raise ValueError(f"n_cams is {cameras}")
        camera = 0 if split == "train" else number_by_name(name) % cameras
        group = env[f"cam{camera}_video"]
        encoding = _read_text(env.attrs, "cam_encoding")
        if encoding == "mp4":
            frames = int(group["frames"].attrs["T"])
            first = env["cam0_video/frames"].attrs
        elif encoding == "jpg":
            frames = sum(key.startswith("frame") for key in group)
            first = env["cam0_video/frame0"].attrs
        else:
            raise ValueError(f"cam_encoding is {encoding!r} instead of mp4 or jpg")
        order = _read_text(first, "image_format")
        if order not in ("RGB", "BGR"):
            raise ValueError(f"image_format is {order!r} instead of RGB or BGR")
        if not 1 <= frames <= MOST_FRAMES:
            raise ValueError(f"{frames} frames")
        return Trajectory(name, member, camera, frames, encoding, order)

    return _read_hdf5(raw, member, read_header)


def decode_trajectory(raw: RawFiles, task: tuple[Trajectory, int, int]) -> np.ndarray:
    """Read and resize the frames of a trajectory, RGB, uint8 (T, 3, H, W).

    Args:
        raw: the raw files.
        task: the trajectory, and height and width of the result, pixels.

    Raises:
        StpError: the file or the video in it is damaged, or the video has fewer frames than stated.
    """
    t, height, width = task
    name = f"{member_location(raw, t.member)}: cam{t.camera}_video"

    def read_bytes(file: h5py.File) -> list[bytes]:
        group = file[f"env/cam{t.camera}_video"]
        keys = ["frames"] if t.encoding == "mp4" else [f"frame{i}" for i in range(t.frames)]
        for key in keys:
            content = group[key]
            if content.dtype != np.uint8 or content.ndim != 1 or content.size > MOST_BYTES:
                raise ValueError(f"{key} is {content.dtype} {content.shape}, not uint8 of one axis")
        return [group[key][:].tobytes() for key in keys]

    contents = _read_hdf5(raw, t.member, read_bytes)
    pictures: Iterator[np.ndarray]
    if t.encoding == "mp4":
        pictures = _decode_video(contents[0], name, t.frames)
    else:
        pictures = (decode_picture(c, f"{name}: frame{i}", "RGB") for i, c in enumerate(contents))
    frames = np.empty((t.frames, 3, height, width), np.uint8)
    number = 0
    for picture in pictures:  # one at a time: some are large
        ordered = picture[..., ::-1] if t.order == "BGR" else picture
        frames[number] = bilinear(ordered.transpose(2, 0, 1), height, width)
        number += 1
    if number < t.frames:
        raise RawFileError(
            name, f"only {number} frames", expected=f"{t.frames}, as its attribute T says"
        )
    return frames


def _decode_video(content: bytes, name: str, frames: int) -> Iterator[np.ndarray]:
    """Yield the first frames of a video, RGB (H, W, 3)."""
    number, converter = 0, VideoReformatter()
    try:
        with open_film(io.BytesIO(content)) as container:
            stream = video_stream(container, name)
            if stream.width * stream.height > MOST_PIXELS:
                raise ValueError(f"{stream.width} x {stream.height} pixels")
            for frame in container.decode(stream):
                if number == frames:
                    return
                yield apply_orientation(
                    frame, converter.reformat(frame, format="rgb24").to_ndarray()
                )
                number += 1
    # For damaged videos PyAV raises its own errors, but others as well: a stream without a codec
    # has no width (AttributeError).
    except Exception as error:
        raise RawFileError(
            name,
            f"cannot be decoded ({error or type(error).__name__})",
        ) from error


T = TypeVar("T")


def _read_hdf5(raw: RawFiles, member: Member, extract: Callable[[h5py.File], T]) -> T:
    content = read(raw, member)
    try:
        _check_heaps(content)
        with h5py.File(io.BytesIO(content), "r") as file:
            return extract(file)
    # h5py raises almost anything for damaged files: OSError, KeyError, ValueError, RuntimeError,
    # TypeError, AttributeError, UnicodeDecodeError, MemoryError ...
    except Exception as error:
        raise RawFileError(
            member_location(raw, member),
            f"cannot be read ({error or type(error).__name__})",
            expected="a trajectory of RoboNet: env with n_cams, cam_encoding and cam<k>_video",
        ) from error


def _check_heaps(content: bytes) -> None:
    """Check that the heaps of an HDF5 file, which contain its texts, are intact.

    With some damaged heaps, the HDF5 library never returns. A heap consists of "GCOL", version 1,
    three zeros, and its size; then objects, each with number, references, four zeros, size, and
    data padded to 8 bytes. Object 0 is the free space; its size includes its head. (HDF5 file
    format, III.E.)
    """
    at = content.find(_HEAP)
    while at >= 0:
        (size,) = struct.unpack_from("<Q", content, at + 8)
        stop, position = at + size, at + 16
        if not 16 <= size <= len(content) - at:
            raise ValueError("a damaged heap")
        while position + 16 <= stop:
            number, _, length = struct.unpack_from("<HHxxxxQ", content, position)
            needed = 16 + -(-length // 8) * 8 if number else length
            if not 16 <= needed <= stop - position:
                raise ValueError("a damaged heap")
            position += needed
        at = content.find(_HEAP, at + 16)


def _read_text(attrs: h5py.AttributeManager, key: str) -> str:
    # HDF5 may crash when it reads a value of a type that damage has made up.
    kind = attrs.get_id(key).get_type()
    if not isinstance(kind, h5py.h5t.TypeStringID) or kind.get_cset() > h5py.h5t.CSET_UTF8:
        raise ValueError(f"the attribute {key} is no text")
    value = attrs[key]
    return value.decode() if isinstance(value, bytes) else str(value)
