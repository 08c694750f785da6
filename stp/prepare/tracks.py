"""Read tracks of people, obstacles and goals, in several formats."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from stp.core.errors import StpError
from stp.core.job import Extras, Job
from stp.core.options import build, require
from stp.data.raw_files import RawFiles
from stp.prepare import track_maps as maps
from stp.prepare import track_variants as variants
from stp.prepare.track_readers import detections, ewap, qualisys, trajnetpp
from stp.prepare.track_readers.detections import Recording
from stp.prepare.track_survey import survey
from stp.tracks import prepared
from stp.tracks.gaps import count_missing
from stp.tracks.obstacles import Obstacles
from stp.tracks.tracks import (
    FASTEST,
    Tracks,
    check_detections,
    check_moving,
    check_speed,
    concatenate_parts,
    count_people,
    join_recordings,
    jumps,
    without_people,
)

MAPS = (("picture", "homography"), ("grid",), ("grid", "classes"), ("discs",))
UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "km": 1000.0, "ft": 0.3048, "in": 0.0254}
"""Length of each unit, metres."""


@dataclass(frozen=True, kw_only=True)
class TracksOptions:
    """Options of the reader of the user's tracks of people; docs/own_data.md has an example.

    Attributes:
        files: names of the raw files with tracks, in order; by default, all raw files except maps
            and goals.
        format: format of these files: trajnetpp, ewap, columns (a table whose columns are declared)
            or qualisys.
        fps: frames per second, from which ``dt`` is computed; an alternative to ``dt``.
        dt: seconds between two annotations.
        step: number of frames between two annotations.
        decimate: number n; scenarios use every n-th annotation. All annotations are stored, since a
            dataset is split before decimation, as in the released code of Atlas.
        columns: for the format ``columns``, names or numbers of columns by role: {frame or time,
            person, x, y, lost}. Without ``person``, each file is one person; rows with ``lost`` set
            are left out.
        time_unit: unit of numeric times: s, ms, us, ns, or the number of seconds in another unit.
        recording: what a recording is: each ``file``, all files of a ``folder``, or ``all`` files.
            Files of a recording have the same times and the same numbers for people.
        units: unit of x and y, for ``columns``.
        metres: metres in one unit of x and y, an alternative to ``units``.
        variant: expected counts of all files together, {rows, people, step}: numbers of detections,
            of people, and of frames between two annotations. Other versions of the files are then
            refused. null to accept any version.
        map: names of the raw files of a map of obstacles: {picture, homography}, a picture with
            white obstacles and the matrix from pixels to metres; {grid} or {grid, classes}, a
            semantic grid and the names of its classes; {discs}, a table of x, y and radius in
            metres; null for none.
        goals: name of the raw file with a goal in each line: x and y, metres; null for none.
        calibration: share of the detections, from the first, to which predictors may be fitted; the
            remaining detections are for the test.
        smooth: width of the box filter, in annotations; 0 for no smoothing.
        fewest: minimum number of people in a scenario.
        fastest: maximum plausible speed, metres per second; a faster movement is a teleport.
        teleports: handling of teleports: ``refuse`` the data, or ``exclude`` and count the people
            who have one.
    """

    files: Annotated[list[str], Field(min_length=1)] | None = None
    format: Literal["trajnetpp", "ewap", "columns", "qualisys"] = "columns"
    fps: PositiveFloat | None = None
    dt: PositiveFloat | None = None
    step: PositiveInt = 1
    decimate: PositiveInt = 1
    columns: dict[str, Any] | None = None
    time_unit: Literal["s", "ms", "us", "ns"] | PositiveFloat = "s"
    recording: Literal["file", "folder", "all"] = "file"
    units: str | None = None
    metres: PositiveFloat | None = None
    variant: dict[str, int] | None = None
    map: dict[str, str] | None = None
    goals: str | None = None
    calibration: Annotated[float, Field(ge=0, lt=1)] = 0.2
    smooth: NonNegativeInt = 5
    fewest: PositiveInt = 2
    fastest: PositiveFloat = FASTEST
    teleports: Literal["refuse", "exclude"] = "refuse"

    def __post_init__(self) -> None:
        both = f"{self.fps!r} and {self.dt!r}"
        require((self.fps is None) != (self.dt is None), "fps and dt", both, "one of them")
        known_units = self.units is None or (self.units in UNITS and self.metres is None)
        require(
            known_units, "units", self.units,
            f"one of {', '.join(UNITS)}; or metres: how many there are in one of another unit",
        )  # fmt: skip
        odd = self.smooth == 0 or self.smooth % 2 == 1
        require(odd, "smooth", self.smooth, "0, or an odd number of annotations")
        forms = "null, " + " or ".join("{" + ", ".join(keys) + "}" for keys in MAPS)
        known_map = self.map is None or set(self.map) in [set(keys) for keys in MAPS]
        require(known_map, "map", self.map, forms)
        wants_columns = self.format == "columns"
        require(
            wants_columns == (self.columns is not None), "columns", self.columns,
            "{frame or time, person, x, y}, for the format columns only",
        )  # fmt: skip

    @property
    def seconds(self) -> float:
        """Seconds between two annotations."""
        return self.dt if self.dt is not None else self.step / (self.fps or 1)

    @property
    def scale(self) -> float:
        """Metres in one unit of x and y."""
        return UNITS[self.units] if self.units else self.metres or 1.0

    def recordings(self, names: list[str]) -> list[str]:
        """Select the raw files with tracks: those of the option `files`, or all but maps and goals.

        Args:
            names: names of all raw files.
        """
        others = {*(self.map or {}).values(), self.goals}
        return self.files or [name for name in names if name not in others]


def run(job: Job) -> Extras:
    """Write ``tracks.parquet``, and obstacles, goals and a semantic grid if the dataset has them.

    Returns:
        facts for the receipt (record of the preparation), such as numbers of people.

    Raises:
        StpError: an option or a raw file is wrong.
    """
    recipe = job.recipe
    options = build(TracksOptions, recipe["options"], "prepare options")
    raw = RawFiles(job.inputs["raw"], job.runtime["raw_roots"])
    names = options.recordings(raw.names)
    parts, read, excluded = [], [], []
    recordings = group_files(names, options.recording)
    for number_of, (title, members) in enumerate(recordings.items(), start=1):
        recording = read_recording([raw.find(name) for name in members], options)
        sha256 = raw.checksums()[members[0]] if len(members) == 1 else ""
        part, people = _usable_tracks(recording.tracks, options, title, sha256)
        parts.append(part)
        read.append(recording)
        excluded += people
        job.report("recordings read", number_of, len(recordings))
    tracks = join_recordings(parts)
    check_moving(tracks.decimated(options.decimate), ", ".join(names))
    sparse = [
        f"{title}: {who}"
        for title, recording in zip(recordings, read, strict=True)
        for who in recording.left_out
    ]
    if options.variant is not None:
        expected = build(variants.Variant, options.variant, "prepare options: variant")
        sha256 = raw.checksums()[names[0]] if len(names) == 1 else ""
        variants.check(tracks, expected, ", ".join(names), sha256)
    surface, obstacles = _map(raw, options.map)
    goals, absurd = _goals(raw, options.goals, tracks)
    about = {
        **{key: recipe[key] for key in ("dataset", "source", "release", "context", "horizon")},
        **{key: getattr(options, key) for key in ("calibration", "smooth", "fewest", "decimate")},
        "recordings": [len(part) for part in parts],
        "units": "m",
        "raw": raw.checksums(),
    }
    covered = 0
    if obstacles is not None:
        map_names = ", ".join((options.map or {}).values())
        covered = maps.check_covered(obstacles, tracks.position, map_names)
    data = prepared.PreparedTracks(tracks, obstacles, about, goals, surface)
    scenarios = survey(data, observe=recipe["context"], predict=recipe["horizon"])
    in_both, of_test = data.count_shared_people()
    prepared.write(job.out, tracks, obstacles, about, goals, surface)
    return {
        "rows": sum(recording.rows for recording in read),
        "lost_rows": sum(recording.lost for recording in read),
        "detections": len(tracks),
        "interpolated": sum(recording.interpolated for recording in read),
        "filled": count_missing(tracks.decimated(options.decimate)),
        "people": count_people([part.person for part in parts]),
        "people_in_both": in_both,
        "people_of_test_alone": of_test,
        "seconds": round(float(tracks.frame.max() - tracks.frame.min()) / tracks.step * tracks.dt),
        "excluded_people": excluded,
        "sparse_people": len(sparse),
        "some_sparse_people": sparse[:MOST_NAMED],
        "obstacles": len(obstacles.position) if obstacles else 0,
        "on_obstacles": covered,
        "goals": 0 if goals is None else len(goals),
        "absurd_goals": absurd,
        "cells": 0 if surface is None else len(surface.position),
        "scenarios": scenarios,
    }


def _usable_tracks(
    tracks: Tracks, options: TracksOptions, name: str, sha256: str
) -> tuple[Tracks, list[str]]:
    """The detections to use, and the people left out with the reason."""
    try:
        check_detections(tracks, name)
        # dropped positions may jump, like a marker that is hidden for 0.01 s
        kept = tracks.decimated(options.decimate)
        if options.teleports == "refuse":
            check_speed(kept, name, options.fastest)
            return tracks, []
    except StpError as error:
        copies = variants.version_title(variants.variant_of(tracks), sha256)
        if not copies:
            raise
        raise StpError(
            f"{error.what}; this file is {copies}", expected=error.expected, remedy=error.remedy
        ) from None
    steps = jumps(kept, options.fastest)
    people = np.unique(steps.person)
    slow = without_people(tracks, people)
    if not len(slow):
        raise StpError(
            f"{name}: all {len(people)} people move faster than {options.fastest:g} m/s",
            remedy="check units, fps and step",
        )
    return slow, [f"{name}: {steps.of(person)}" for person in people]


MOST_NAMED = 100
"""Maximum number of people named in a receipt; all are counted."""


def group_files(names: Sequence[str], recording: str) -> dict[str, list[str]]:
    """Group the raw files of tracks into recordings.

    Args:
        names: names of the raw files with tracks, in order.
        recording: what a recording is: each ``file``, all files of a ``folder``, or ``all`` files.

    Returns:
        names of the files of each recording, by the recording's name in messages.
    """
    if recording == "file":
        return {name: [name] for name in names}
    groups: dict[str, list[str]] = {}
    for name in names:
        folder = PurePosixPath(name).parent.as_posix() if recording == "folder" else "all files"
        groups.setdefault(folder, []).append(name)
    return {
        members[0] if len(members) == 1 else f"{title} ({len(members)} files)": members
        for title, members in groups.items()
    }


def read_recording(paths: Sequence[Path], options: TracksOptions) -> Recording:
    """Read the tracks of people in the files of one recording.

    Args:
        paths: paths of the files.
        options: options of the reader, such as the format.

    Raises:
        StpError: a file cannot be read, or contradicts the options.
    """
    step, dt = options.step, options.seconds
    readers: dict[str, Callable[[Path], Tracks]] = {
        "trajnetpp": lambda path: trajnetpp.read(path, step=step, dt=dt),
        "ewap": lambda path: ewap.read(path, step=step, dt=dt),
        "qualisys": lambda path: qualisys.read(path, dt=dt),
    }
    if options.format in readers:
        tracks = concatenate_parts([readers[options.format](path) for path in paths])
        return Recording(tracks, len(tracks))
    columns = build(detections.Columns, options.columns or {}, "prepare options: columns")
    unit = options.time_unit
    return detections.read(
        paths, columns, metres=options.scale, step=step, dt=dt,
        time_unit=detections.TIME_UNITS[unit] if isinstance(unit, str) else unit,
    )  # fmt: skip


def _map(
    raw: RawFiles, option: dict[str, str] | None
) -> tuple[maps.Surface | None, Obstacles | None]:
    if option is None:
        return None, None
    if "picture" in option:
        return None, maps.read_picture(raw.find(option["picture"]), raw.find(option["homography"]))
    if "discs" in option:
        return None, maps.read_discs(raw.find(option["discs"]))
    classes = raw.find(option["classes"]) if "classes" in option else None
    path = raw.find(option["grid"])
    surface = maps.read_surface(path, classes)
    return surface, maps.of_surface(surface, path)


def _goals(
    raw: RawFiles, option: str | None, tracks: Tracks
) -> tuple[np.ndarray | None, list[list[float]]]:
    """Goals near the tracks, (n, 2), and all other goals."""
    if option is None:
        return None, []
    goals = maps.read_goals(raw.find(option))
    absurd = maps.absurd_goals(goals, tracks.position)
    return goals[~absurd], goals[absurd].tolist()
