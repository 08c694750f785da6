"""BridgeData: household tasks of a WidowX arm, filmed by several cameras at 640 x 480 pixels.

Ebert et al. 2022, "Bridge data: Boosting generalization of robotic skills with cross-domain
datasets"; Walke et al. 2023, "BridgeData V2: A dataset for robot learning at scale". Two layouts:

- ``raw``: ``<institution>/<scene>/<task>/<date>/raw/traj_group<g>/traj<i>/images<k>/im_<t>.jpg``, t
  from 0, as files or in the official zip archives, which stay packed. Clips are listed by
  PredBench, in JSON objects ``{folder of one view: number of frames}``; all are from the first
  release.
- ``rlds``: TFRecord files of TensorFlow Datasets. A record is an Example, one episode:
  ``steps/observation/image_<k>`` is a list of JPEG files, ``episode_metadata/file_path`` and
  ``episode_metadata/episode_id`` identify the episode. Missing cameras have black pictures. There
  are no lists for this layout: episodes are assigned to splits by their names, with the seed 0.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import PositiveInt

from stp.core.errors import RawFileError, StpError
from stp.core.job import Extras, Job, Recipe
from stp.core.json_files import read_json
from stp.core.options import build, require, whole
from stp.data.raw_files import RawFiles
from stp.prepare.frames import Piece
from stp.prepare.members import Member, read
from stp.prepare.output import SPLITS, Clip, write_index
from stp.prepare.pictures import decode_picture
from stp.prepare.pixels import read_inputs, write_pixels
from stp.prepare.planned_counts import Lists, Planned
from stp.prepare.random_order import deal_by_name
from stp.prepare.resize import bilinear
from stp.prepare.tfrecord import Features, Record, example, read_record, records, required_feature
from stp.prepare.trajectories import RANDOM_WINDOWS, clip_of
from stp.prepare.zip_index import Entry, entries, read_entry

FOLDER = "predbench_annotations/bridgedata"
LISTS = {
    "train": "bridgedata_train.json",
    "val": "bridgedata_val.json",
    "test": "bridgedata_test.json",
    "extrapolation": "bridgedata_extrapolation.json",
    "robustness": "bridgedata_rbs.json",
    "original_scene_new_task": "ori_scene_new_task.json",
    "new_scene_original_task": "new_scene_ori_task.json",
    "new_scene_new_task": "new_scene_new_task.json",
}
STRICT = "strict"
SPANS = {"extrapolation": 32, "robustness": 36}
"""Number of frames of the clips of two subsets, which are longer than context + horizon: 30 frames
are predicted from 2; or 12 frames are used, every third one (PredBench, section 5)."""
CAMERAS = range(4)
PICTURE = re.compile(
    r"(?:.*/)?((?:[^/]+/){4}raw/traj_group\d+/traj\d+/images\d+)/im_(\d+)\.(?:jpg|jpeg)"
)
RLDS = re.compile(r"(?:.*/)?bridge_dataset-\w+\.tfrecord-\d+-of-\d+")
FPS = 5  # control frequency according to the papers; the files do not state a rate
MOST_FRAMES = 1000  # of a view; views in the lists have up to 39


@dataclass(frozen=True)
class BridgeOptions:
    """Options of the reader of BridgeData.

    Attributes:
        layout: raw (pictures and PredBench's lists) or rlds (TFRecord files).
        episodes: numbers of episodes for validation and test, {val: 5, test: 5} by default; all
            others are for training. Not used for the layout raw, in which lists name the clips.
    """

    layout: Literal["raw", "rlds"] = "raw"
    episodes: dict[str, PositiveInt] = field(default_factory=lambda: {"val": 5, "test": 5})

    def __post_init__(self) -> None:
        ok = set(self.episodes) == {"val", "test"}
        require(ok, "episodes", self.episodes, "{val: n, test: n}")


class View(NamedTuple):
    """The video of a trajectory from one camera, in the layout of pictures (raw).

    Attributes:
        name: folder of the pictures, by which PredBench's lists of clips name the view, e.g.
            "berkeley/toykitchen1/<task>/<date>/raw/traj_group0/traj17/images2".
        cluster: folder of the trajectory, e.g. ".../raw/traj_group0/traj17". The views of a
            trajectory are one cluster.
        frames: number of frames that the lists state.
    """

    name: str
    cluster: str
    frames: int


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``) and the clips (``index.parquet``) of BridgeData.

    A view is the video of a trajectory from one camera. In the layout ``raw``, PredBench's lists
    name the views from which clips are cut.

    Args:
        job: recipe of the preparation, with `BridgeOptions` as ``options``; the raw files; and the
            folder to write.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option, a list or a raw file is wrong, or a view is in a list, but not among
            the raw files.
    """
    options, raw, height, width, span = read_inputs(job, BridgeOptions, channels=3)
    require(span <= min(SPANS.values()), "context + horizon", span, f"at most {SPANS}")
    read_layout = _from_raw if options.layout == "raw" else _from_rlds
    pieces, clips, extras, decode = read_layout(raw, options, span, height, width)
    unit = "views" if options.layout == "raw" else "episodes"
    written = write_pixels(job, raw, pieces, decode, unit, **RANDOM_WINDOWS, fps=FPS)
    return {**write_index(job.out, clips), **written.extras, **extras}


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, from PredBench's lists of views, without pictures.

    A view is the video of a trajectory from one camera. There is a list for each split and subset,
    with the folder and the number of frames of each of its views. The numbers of clips are compared
    with the published ones before the pictures are downloaded.

    Args:
        recipe: recipe of the preparation, with ``options``, ``context`` and ``horizon``.
        raw: finds the files of the lists among the raw files.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option or a list is wrong, or a list is missing.
    """
    options = build(BridgeOptions, recipe["options"], "prepare options")
    if options.layout == "rlds":
        reason = "the number of episodes is known when they are read"
        return Planned(unknown=dict.fromkeys(SPLITS, reason))
    span = recipe["context"] + recipe["horizon"]
    return Planned(make_clips(read_lists(raw), span))


# --- the raw layout


def read_lists(raw: RawFiles | Lists) -> dict[str, dict[str, int]]:
    """Read PredBench's lists of views; a view is the video of a trajectory from one camera.

    Returns:
        for each split or subset, the number of frames of each of its views, by the view's folder.

    Raises:
        StpError: a list is missing or damaged, or two state different numbers for a view.
    """
    lists: dict[str, dict[str, int]] = {}
    frames_of: dict[str, int] = {}
    for split, file in LISTS.items():
        path = raw.find(f"{FOLDER}/{file}")
        expected = '{"<institution>/.../raw/traj_group0/traj0/images0": frames, ...}'
        content = read_json(path, dict, expected, error=RawFileError)
        try:
            for view, frames in content.items():
                if not PICTURE.fullmatch(f"{view}/im_0.jpg") or not whole(frames, 1, MOST_FRAMES):
                    raise ValueError(f"{view!r}: {frames!r}")
                if frames_of.setdefault(view, frames) != frames:
                    raise ValueError(f"{view}: {frames} frames, {frames_of[view]} in another list")
        except ValueError as error:
            raise RawFileError(path, f"cannot be read ({error})", expected=expected) from error
        lists[split] = content
    return lists


def views(lists: dict[str, dict[str, int]], span: int) -> list[View]:
    """List all views that are long enough for a clip; only such views are stored.

    A view is the video of a trajectory from one camera. The store has the frames of one view after
    the other, in the order of this list.

    Args:
        lists: number of frames by view, for each split or subset, from `read_lists`.
        span: number of frames in a clip; some subsets have longer ones.

    Returns:
        the views in the order of the lists; a view in several lists occurs once.
    """
    views: dict[str, View] = {}
    for split, listed in lists.items():
        for name, frames in listed.items():
            if frames >= SPANS.get(split, span):
                views.setdefault(name, View(name, name.rsplit("/", 1)[0], frames))
    return list(views.values())


def make_clips(lists: dict[str, dict[str, int]], span: int) -> list[Clip]:
    """Make one clip of each listed view that is long enough.

    The store has the frames of one view after the other, in the order of `views`. So the lists also
    tell where a clip begins.

    Args:
        lists: number of frames by view, for each split or subset, from `read_lists`.
        span: number of frames in a window: context + horizon.

    Returns:
        the clips of all splits and subsets. The additional subset ``strict`` repeats the test clips
        of trajectories that have no view in the training or validation list.
    """
    firsts, first = {}, 0
    for view in views(lists, span):
        firsts[view.name] = (first, view)
        first += view.frames
    clips = []
    trained = {name.rsplit("/", 1)[0] for split in ("train", "val") for name in lists[split]}
    for split, listed in lists.items():
        length = SPANS.get(split, span)
        for name, frames in listed.items():
            if name in firsts and frames >= length:
                start, view = firsts[name]
                clip = clip_of(split, name, start, frames, length, view.cluster)
                clips.append(clip)
                if split == "test" and view.cluster not in trained:
                    clips.append(clip._replace(split=STRICT))
    return clips


class Source(NamedTuple):
    """Location of a picture: a raw file of its own, or an entry of a zip archive.

    Attributes:
        file: name of the raw file: the picture or the archive.
        entry: location in the archive; None if the picture is a raw file.
    """

    file: str
    entry: Entry | None


def _from_raw(
    raw: RawFiles, options: BridgeOptions, span: int, height: int, width: int
) -> tuple[list[Piece], list[Clip], dict[str, Any], Any]:
    lists = read_lists(raw)
    listed = views(lists, span)
    sources = _sources(raw, {view.name for view in listed})
    missing = [view.name for view in listed if view.name not in sources]
    if missing:
        raise StpError(
            f"{len(missing)} of {len(listed)} listed views are missing, first {missing[0]}",
            expected="the folder <institution>/<scene>/.../images<k>, in a zip archive or not",
            remedy="fetch all archives",
        )
    pieces, more = [], 0
    for view in listed:
        pictures = sources[view.name]
        lost = [t for t in range(view.frames) if t not in pictures]
        if lost:
            raise RawFileError(
                view.name,
                f"{len(lost)} of {view.frames} listed frames are missing, first im_{lost[0]}.jpg",
                expected=f"im_0.jpg to im_{view.frames - 1}.jpg",
            )
        more += len(pictures) > view.frames
        task = (view.name, [pictures[t] for t in range(view.frames)], height, width)
        size = sum(s.entry.packed if s.entry else raw.size(s.file) for s in task[1])
        pieces.append(Piece(view.name, view.frames, task, size))
    return (
        pieces,
        make_clips(lists, span),
        {"views with more frames than listed": more},
        decode_pictures,
    )


def _sources(raw: RawFiles, names: set[str]) -> dict[str, dict[int, Source]]:
    """Find the locations of the pictures of some views."""
    sources: dict[str, dict[int, Source]] = {}
    for name in raw.names:
        contents = entries(raw.find(name)) if name.endswith(".zip") else [(name, None)]
        for inside, entry in contents:
            match = PICTURE.fullmatch(inside)
            if match and match[1] in names:
                sources.setdefault(match[1], {}).setdefault(int(match[2]), Source(name, entry))
    return sources


def decode_pictures(raw: RawFiles, task: tuple[str, list[Source], int, int]) -> np.ndarray:
    """Read and resize the frames of a view, uint8 (T, 3, H, W).

    Args:
        raw: the raw files.
        task: name of the view, its pictures, and height and width of the result, pixels.

    Raises:
        StpError: a picture is damaged.
    """
    view, sources, height, width = task
    frames = np.empty((len(sources), 3, height, width), np.uint8)
    for t, source in enumerate(sources):
        path = raw.find(source.file)
        if source.entry is None:
            name, content = str(path), read(raw, Member(source.file))
        else:
            name = f"{path}: {view}/im_{t}.jpg"
            content = read_entry(path, source.entry, f"{view}/im_{t}.jpg")
        picture = decode_picture(content, name, "RGB")
        frames[t] = bilinear(picture.transpose(2, 0, 1), height, width)
    return frames


# --- the RLDS layout


class Episode(NamedTuple):
    """An episode, which is one record of a TFRecord file.

    Attributes:
        name: path of the source and number of the episode, e.g.
            "berkeley/toysink2_bww/put_carrot_on_plate/.../3".
        file: the TFRecord file.
        record: location of the record in the file.
        frames: number of time steps, with one picture of each camera.
        cameras: indices of the cameras with pictures that are not black, 0..3.
    """

    name: str
    file: str
    record: Record
    frames: int
    cameras: tuple[int, ...]


def _from_rlds(
    raw: RawFiles, options: BridgeOptions, span: int, height: int, width: int
) -> tuple[list[Piece], list[Clip], dict[str, Any], Any]:
    episodes = list(episodes_of(raw))
    files: dict[str, str] = {}
    for episode in episodes:
        if episode.name in files:
            raise StpError(
                f"episode {episode.name} is in two files: {files[episode.name]}, {episode.file}",
                expected="every episode once, or clips of one would be in several splits",
                remedy="declare only one of the files in the release",
            )
        files[episode.name] = episode.file
    long_enough = [episode for episode in episodes if episode.frames >= span]
    held = sum(options.episodes.values())
    if len(long_enough) <= held:
        raise StpError(
            f"{len(long_enough)} episodes of {span} steps or more",
            expected=f"more than the {held} for validation and test",
            remedy="fetch more TFRecord files, or lower the option episodes",
        )
    counts = [(split, options.episodes[split]) for split in ("val", "test")]
    counts.append(("train", len(long_enough) - held))
    splits = deal_by_name([episode.name for episode in long_enough], counts)
    pieces, clips, first = [], [], 0
    for episode in long_enough:
        task, stored = (episode, height, width), episode.frames * len(episode.cameras)
        pieces.append(Piece(episode.name, stored, task, episode.record.bytes))
        for camera in episode.cameras:
            name = f"{episode.name}/image_{camera}"
            clips.append(
                clip_of(splits[episode.name], name, first, episode.frames, span, episode.name)
            )
            first += episode.frames
    extras = {
        f"episodes shorter than {span} steps": len(episodes) - len(long_enough),
        "views without pictures": sum(len(CAMERAS) - len(episode.cameras) for episode in episodes),
    }
    return pieces, clips, extras, decode_episode


def episodes_of(raw: RawFiles) -> Iterator[Episode]:
    """Yield all episodes, in the order of the files; every record is read once.

    Raises:
        StpError: there is no TFRecord file, or a file is damaged.
    """
    files = [name for name in raw.names if RLDS.fullmatch(name)]
    if not files:
        raise StpError(
            "no TFRecord file among the raw files of BridgeData",
            expected="bridge_dataset-<split>.tfrecord-<i>-of-<n>",
            remedy="fetch them, or set the option layout to raw",
        )
    for file in files:
        path = raw.find(file)
        for i, record in enumerate(records(path)):
            name = f"{path}: record {i}"
            features = example(read_record(path, record, name), name)
            sources = required_feature(features, "episode_metadata/file_path", name).bytes()
            number = required_feature(features, "episode_metadata/episode_id", name).ints()
            frames = len(_pictures(features, CAMERAS[0], name))
            if len(sources) != 1 or len(number) != 1 or not 1 <= frames <= MOST_FRAMES:
                raise RawFileError(
                    name,
                    f"{frames} steps, {len(number)} episode numbers, {len(sources)} paths",
                    expected=f"1 to {MOST_FRAMES} steps, one number and one path",
                )
            # Camera flags in the records are not always right: a missing camera is all black.
            cameras = tuple(
                camera
                for camera in CAMERAS
                if decode_picture(
                    bytes(_pictures(features, camera, name)[0]), f"{name}: image_{camera}", "RGB"
                ).any()
            )
            title = bytes(sources[0]).decode("utf-8", errors="replace").split("/bridge_data_v")[-1]
            yield Episode(f"{title}/{int(number[0])}", file, record, frames, cameras)


def decode_episode(raw: RawFiles, task: tuple[Episode, int, int]) -> np.ndarray:
    """Read and resize the frames of all views of an episode, concatenated, uint8 (T, 3, H, W).

    Args:
        raw: the raw files.
        task: the episode, and height and width of the result, pixels.

    Raises:
        StpError: the record or a picture is damaged, or the cameras have unequal numbers of frames.
    """
    episode, height, width = task
    path = raw.find(episode.file)
    name = f"{path}: {episode.name}"
    features = example(read_record(path, episode.record, name), name)
    frames = np.empty((len(episode.cameras), episode.frames, 3, height, width), np.uint8)
    for number, camera in enumerate(episode.cameras):
        pictures = _pictures(features, camera, name)
        if len(pictures) != episode.frames:
            raise RawFileError(
                name,
                f"{len(pictures)} pictures of camera {camera}",
                expected=f"{episode.frames}, as of the others",
            )
        for t, content in enumerate(pictures):
            picture = decode_picture(bytes(content), f"{name}: image_{camera}[{t}]", "RGB")
            frames[number, t] = bilinear(picture.transpose(2, 0, 1), height, width)
    return frames.reshape(-1, 3, height, width)


def _pictures(features: Features, camera: int, name: str) -> list[bytes]:
    pictures = required_feature(features, f"steps/observation/image_{camera}", name).bytes()
    if not pictures:
        raise RawFileError(name, f"no picture of camera {camera}", expected="one a step")
    return pictures
