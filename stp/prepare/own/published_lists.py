"""Read split lists of action datasets, and draw new splits from them.

    {by: action_lists, lists: splits/*_test_split1.txt, share: 0.9}
    {by: clip_table, lists: lists/*.csv, share: 0.9, most: 5000, missing: skip}

The study of FVD (Unterthiner et al. 2018, appendix A) takes 90 % of all videos, training and test
together. So all videos of the lists are sorted in an order that depends on the seed and their
names. The fraction `share` of them, at most `most` videos, is the test set. The remaining videos
are divided equally between validation and training, with at most a tenth of `most` videos each.

action_lists: a file for each action, ``<action>_test_split1.txt``; each line has the name of a
video in the folder ``<action>``, and 0, 1 or 2 (unused, training, test). clip_table: a table with
the columns youtube_id, time_start and time_end; videos are ``<youtube_id>_<start>_<end>.mp4`` (six
digits each), or ``<youtube_id>.mp4``, in any folder.
"""

import csv
import glob
import io
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from stp.core.errors import RawFileError, StpError
from stp.core.options import check_keys, number, require, whole
from stp.data.raw_files import RawFiles
from stp.prepare.own.options import Recording
from stp.prepare.random_order import order_by_name

FORMATS = ("action_lists", "clip_table")
KEYS = {"by", "lists", "share", "most", "missing", "seed"}


class Drawn(NamedTuple):
    """New random splits of the training and test videos in published lists of an action dataset.

    Attributes:
        splits: names of the videos of each split, in the form of the option ``splits``: {by: list,
            train: [...], val: [...], test: [...]}.
        extras: numbers of listed videos, and of those that are missing, for the receipt.
    """

    splits: dict[str, Any]
    extras: dict[str, Any]


def check(splits: dict[str, Any]) -> None:
    """Check the option ``splits``, before any file is read.

    Raises:
        StpError: a key is unknown, or a value is out of range.
    """
    check_keys("splits", splits, KEYS)
    lists, share = splits.get("lists"), splits.get("share", 0)
    require(isinstance(lists, str), "splits.lists", lists, "names of the lists, * for anything")
    ok = number(share) and 0 < share < 1
    require(ok, "splits.share", share, "a fraction between 0 and 1")
    most, seed = splits.get("most"), splits.get("seed", 0)
    require(most is None or whole(most, 10), "splits.most", most, "a whole number from 10")
    require(whole(seed, 0), "splits.seed", seed, "a whole number from 0")
    missing = splits.get("missing", "error")
    require(missing in ("error", "skip"), "splits.missing", missing, "error or skip")


def draw(raw: RawFiles, recordings: Sequence[Recording], splits: dict[str, Any]) -> Drawn:
    """Read published split lists of an action dataset, and draw new random splits of their videos.

    The published assignment to training and test is not used.

    Args:
        raw: the raw files, including the lists.
        recordings: the videos that exist.
        splits: the option ``splits``, with ``by: action_lists`` or ``by: clip_table``.

    Raises:
        StpError: there are no lists, a list is damaged, a video is missing, or there are too few
            videos.
    """
    lists = [name for name in raw.names if fnmatchcase(name, splits["lists"])]
    if not lists:
        raise StpError(
            f"splits: no raw file matches {splits['lists']}",
            expected=f"the lists of {splits['by']}",
            remedy="change splits.lists, or the files of the release",
        )
    read = {"action_lists": _of_actions, "clip_table": _of_table}[splits["by"]]
    listed = dict.fromkeys(video for name in lists for video in read(raw, name))
    names = {_key(recording.name, splits["by"]): recording.name for recording in recordings}
    available: dict[str, None] = {}
    missing = []
    for video in listed:
        name = next((names[key] for key in video if key in names), None)
        if name is None:
            missing.append(video[0])
        else:
            available[name] = None
    if missing and splits.get("missing", "error") == "error":
        raise StpError(
            f"splits: {len(missing)} of {len(listed)} listed videos are missing, such as "
            f"{missing[0]}",
            expected=f"names such as {recordings[0].name}",
            remedy="add them to the raw files, or set splits.missing to skip",
        )
    return Drawn(
        _split_videos(list(available), splits),
        {"listed videos": len(listed), "listed videos that are not there": len(missing)},
    )


def _split_videos(videos: list[str], splits: dict[str, Any]) -> dict[str, Any]:
    most, order = splits.get("most"), order_by_name(videos, splits.get("seed", 0))
    count = round(splits["share"] * len(order))
    test, others = order[:count][:most], order[count:]
    half = len(others) // 2
    if not test or not half:
        raise StpError(
            f"splits: {len(order)} videos are too few",
            expected="some for the test, and at least two others",
            remedy="add videos, or lower splits.share",
        )
    rest = None if most is None else most // 10
    dealt = {"train": others[half:][:rest], "val": others[:half][:rest], "test": test}
    # Names may contain characters that are special in a pattern.
    return {"by": "list"} | {s: [glob.escape(name) for name in names] for s, names in dealt.items()}


def _key(name: str, by: str) -> str:
    """The name of a video in a list."""
    path = PurePosixPath(name)
    return f"{path.parent.name}/{path.name}" if by == "action_lists" else path.stem


def _of_actions(raw: RawFiles, name: str) -> Iterator[tuple[str, ...]]:
    """Yield the possible names of each training or test video in a list of HMDB51."""
    action = PurePosixPath(name).name.partition("_test_split")[0]
    for row, line in enumerate(_read_text(raw, name).splitlines(), 1):
        if not line.strip():
            continue
        video, _, use = line.strip().rpartition(" ")
        if use not in ("0", "1", "2") or not video.strip():
            raise _line_error(raw, name, row, line, "a name, and 0, 1 or 2")
        if use != "0":
            yield (f"{action}/{video.strip()}",)


def _of_table(raw: RawFiles, name: str) -> Iterator[tuple[str, ...]]:
    """Yield the possible names of each video in a table of Kinetics."""
    table = csv.DictReader(io.StringIO(_read_text(raw, name)))
    expected = "columns youtube_id, time_start and time_end, numbers of seconds in the last two"
    for row in table:
        try:
            video, first, last = (row[key] for key in ("youtube_id", "time_start", "time_end"))
            yield (f"{video}_{int(float(first)):06d}_{int(float(last)):06d}", video)
        except (KeyError, TypeError, ValueError) as error:
            line = ",".join(map(str, row.values()))
            raise _line_error(raw, name, table.line_num, line, expected) from error


def _read_text(raw: RawFiles, name: str) -> str:
    path = raw.find(name)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        problem = f"not a UTF-8 text file ({error})"
        raise RawFileError(path, problem, expected="a list of videos") from error


def _line_error(raw: RawFiles, name: str, number: int, line: str, expected: str) -> StpError:
    return RawFileError(f"{raw.find(name)}, line {number}", repr(line), expected=expected)
