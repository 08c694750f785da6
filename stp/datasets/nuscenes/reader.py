"""nuScenes: drives in Boston and Singapore, the front camera, 1600 x 900 at about 12 Hz.

Caesar et al. 2020, "nuScenes: a multimodal dataset for autonomous driving". Pictures are

    samples/CAM_FRONT/<log>__CAM_FRONT__<microseconds since 1970>.jpg     key frames, 2 Hz
    sweeps/CAM_FRONT/...                                                  all others

A log is a recording of hours, of which only scenes of 20 s were published, so there are gaps
between scenes. PredBench lists the pictures of its validation and test logs; its training list was
never released. Here, all other logs of the official table ``v1.0-trainval/sample_data.json`` are
for training. Windows and preprocessing are those of predbench/datasets/nuscenes.py and
configs/_base_/datasets/nuscenes.py.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import PositiveInt

from stp.core.errors import RawFileError, StpError
from stp.core.job import Extras, Job, Recipe
from stp.core.json_files import read_json
from stp.core.options import build, require
from stp.data.raw_files import RawFiles
from stp.prepare.driving import (
    RECORDING,
    Drive,
    Size,
    check_times,
    count_gaps,
    cut_windows,
    require_clusters,
    require_crop,
    write_drives,
)
from stp.prepare.members import Member
from stp.prepare.output import SPLITS, Clip, write_index
from stp.prepare.pictures import read_pictures, resize_and_crop
from stp.prepare.pixels import read_inputs
from stp.prepare.planned_counts import Lists, Planned

LIST = "predbench_annotations/nuscenes/nuscenes_{}.json"
LISTED = ("val", "test")
TABLE = "nuscenes/v1.0-trainval/sample_data.json"
PICTURE = re.compile(
    r"(?:samples|sweeps)/CAM_FRONT/(n\d{3}-\d{4}(?:-\d\d){5}[+-]\d{4})__CAM_FRONT__(\d{16})\.jpg"
)
FPS = 12
GAP_S = 1.0
"""Longest time step in seconds within a scene; test windows without longer ones are the subset
``without_gaps``."""
_BLOCK = 1 << 20  # characters of the table that are read at a time
_MOST_ENTRY = 1 << 16  # characters; an entry has about 600


@dataclass(frozen=True)
class NuscenesOptions:
    """Options of the reader of nuScenes; the defaults are PredBench's (datasets/nuscenes.py).

    Attributes:
        resize: height and width to which pictures are resized by linear interpolation before the
            centre is cropped.
        released_crop: whether to resize validation and test pictures to the shape of frames without
            a crop, as in the released configuration. They are then squeezed horizontally, unlike
            training pictures.
        stride: number of frames between the starts of windows.
        subsets: further test subsets with longer windows: number of frames of a window, by name.
        clusters: which windows are one cluster (statistically dependent). ``recording``: all
            windows of a log; the test has 5 logs, too few for confidence intervals. ``block-60s``,
            or another number of seconds: windows that start within the same 60 s of a log.
    """

    resize: Size = (128, 228)
    released_crop: bool = False
    stride: PositiveInt = 4
    subsets: dict[str, PositiveInt] = field(
        default_factory=lambda: {"extrapolation": 40, "robustness": 60}
    )
    clusters: str = RECORDING

    def __post_init__(self) -> None:
        ok = not set(self.subsets) & {*SPLITS, "without_gaps"}
        require(ok, "subsets", self.subsets, "{name: frames}")
        require_clusters(self.clusters)


class Log(NamedTuple):
    """A log: a recording of the front camera.

    Attributes:
        drive: split, name, length and times of the recording.
        pictures: names of its pictures, sorted by time.
    """

    drive: Drive
    pictures: list[str]


def make_log(split: str, name: str, pictures: list[str], source: str) -> Log:
    """Make a log from the names of its pictures, which contain their times.

    Args:
        split: train, val or test.
        name: name of the log.
        pictures: names of its pictures, sorted by time.
        source: file that lists the pictures, for errors.

    Raises:
        StpError: a name is wrong or belongs to another log, or the times do not increase.
    """
    times = []
    for picture in pictures:
        match = PICTURE.fullmatch(picture)
        if not match or match[1] != name:
            raise RawFileError(
                source,
                f"{picture!r} is not a picture of {name}",
                expected=f"samples/CAM_FRONT/{name}__CAM_FRONT__1532402927612460.jpg",
            )
        times.append(int(match[2]))
    check_times(f"{source}: {name}", np.array(times, np.int64))
    return Log(Drive(split, name, len(times), np.array(times, np.int64)), pictures)


def read_lists(find_list: Callable[[str], Path]) -> list[Log]:
    """Read PredBench's lists of the validation and test logs, with the pictures of each.

    Args:
        find_list: function that returns the path of a raw file, given its path below the folder of
            raw files.

    Raises:
        StpError: a list is missing or damaged, or a log is in both lists.
    """
    logs: list[Log] = []
    for split in LISTED:
        path = find_list(LIST.format(split))
        expected = "a JSON object {log: [pictures]}"
        listed = read_json(path, dict, expected, error=RawFileError)
        if not all(
            isinstance(names, list) and names and all(isinstance(name, str) for name in names)
            for names in listed.values()
        ):
            raise RawFileError(path, "no list of pictures", expected=expected)
        logs += [make_log(split, name, names, str(path)) for name, names in listed.items()]
    names = [log.drive.name for log in logs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise RawFileError(LIST.format("*"), f"{twice} is in both lists")
    return logs


def read_table(path: Path) -> Iterator[dict[str, Any]]:
    """Read the entries of a JSON table one by one: sample_data.json has 1.2 GB.

    Raises:
        StpError: the table is cut off, or not a list of objects.
    """
    decoder = json.JSONDecoder()
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_BLOCK).lstrip()
            if not text.startswith("["):
                raise ValueError("it does not begin with [")
            position = 1
            while True:
                # An entry that may be cut off waits for the next block.
                if len(text) - position < _MOST_ENTRY:
                    text = text[position:] + file.read(_BLOCK)
                    position = 0
                while text[position : position + 1] in (" ", "\t", "\n", "\r", ","):
                    position += 1
                if text[position : position + 1] == "]":
                    return
                entry, position = decoder.raw_decode(text, position)
                if not isinstance(entry, dict):
                    raise ValueError("an entry is not an object")
                yield entry
    except (ValueError, RecursionError) as error:
        raise RawFileError(
            path, f"cannot be read ({error})", expected="a JSON list of objects, complete"
        ) from error


def training_logs(table: Path, other: Iterable[str]) -> list[Log]:
    """Make the training logs: all logs in the official table except given ones, sorted by name.

    Args:
        table: path of sample_data.json.
        other: names of the logs to leave out, which are for validation and test.

    Raises:
        StpError: the table is damaged, or lists a picture twice.
    """
    pictures: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for entry in read_table(table):
        match = PICTURE.fullmatch(str(entry.get("filename")))
        if match:
            pictures[match[1]].append((int(match[2]), match[0]))
    names = sorted(set(pictures) - set(other))
    return [
        make_log("train", name, [p for _, p in sorted(pictures[name])], str(table))
        for name in names
    ]


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``) and the clips (``index.parquet``) of nuScenes.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong, or pictures are missing.
    """
    options, raw, height, width, span = read_inputs(job, NuscenesOptions, channels=3)
    require_crop(options.resize, height, width)
    listed = read_lists(raw.find)
    logs = training_logs(raw.find(TABLE), [log.drive.name for log in listed]) + listed
    _check_pictures(raw, logs)
    recordings = [
        (
            log.drive,
            [(log.drive.split, Member(f"nuscenes/{picture}")) for picture in log.pictures],
            [0] * log.drive.length,
        )
        for log in logs
    ]
    decode = partial(decode_pictures, options=options, crop=(height, width))
    written = write_drives(job, raw, recordings, decode, fps=FPS, clusters=options.clusters)
    gaps = count_gaps([log.drive for log in logs], GAP_S)
    return {
        **write_index(job.out, _cut_logs(logs, options, span)),
        **written.extras,
        "logs": len(logs),
        f"gaps of more than {GAP_S} s": gaps,
    }


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, without pictures, before these are downloaded.

    PredBench's lists state the validation and test pictures. The official table
    ``sample_data.json``, if it is there, states the training pictures.

    Args:
        recipe: recipe of the preparation, with ``options``, ``context`` and ``horizon``.
        raw: finds PredBench's lists and ``sample_data.json`` among the raw files.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option or a file is wrong, or a list is missing.
    """
    options = build(NuscenesOptions, recipe["options"], "prepare options")
    logs = read_lists(raw.find)
    unknown = {}
    try:
        table = raw.find(TABLE)
    except StpError:
        unknown["train"] = (
            "the list of the training logs was never released; all other logs are taken, "
            f"which needs {TABLE} of the official metadata"
        )
    else:
        logs = training_logs(table, [log.drive.name for log in logs]) + logs
    span = recipe["context"] + recipe["horizon"]
    return Planned(_cut_logs(logs, options, span), unknown=unknown)


def _cut_logs(logs: list[Log], options: NuscenesOptions, span: int) -> list[Clip]:
    return cut_windows(
        [log.drive for log in logs],
        dict.fromkeys(SPLITS, options.stride),
        span,
        fps=FPS,
        subsets=options.subsets,
        gap_s=GAP_S,
        clusters=options.clusters,
    )


def _check_pictures(raw: RawFiles, logs: list[Log]) -> None:
    available = set(raw.names)
    listed = [f"nuscenes/{picture}" for log in logs for picture in log.pictures]
    missing = [name for name in listed if name not in available]
    if missing:
        raise StpError(
            f"{len(missing)} of {len(listed)} listed pictures are missing, first {missing[0]}",
            expected="the front camera of all ten archives v1.0-trainvalNN_blobs",
            remedy="see `stp fetch --check nuscenes`",
        )


def decode_pictures(
    raw: RawFiles,
    pictures: list[tuple[str, Member]],
    options: NuscenesOptions,
    crop: tuple[int, int],
) -> np.ndarray:
    """Decode frames of a log, uint8 (T, 3, *crop).

    Args:
        raw: the raw files.
        pictures: split and file of each frame.
        options: options of the reader.
        crop: height and width of the result, pixels.

    Raises:
        StpError: a picture is damaged, or sizes differ.
    """
    is_squeezed = options.released_crop and pictures[0][0] in LISTED
    resize = crop if is_squeezed else options.resize
    convert = partial(resize_and_crop, resize=resize, crop=crop)
    return read_pictures(raw, [member for _, member in pictures], convert)
