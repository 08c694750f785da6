"""Guess columns, units and rate of files of detections, and test guesses with the reader's code.

For files with frame numbers only, the rate is given by `--fps`; otherwise, it is 25, or the common
rate at which people walk at a usual speed. Times, and scenes of TrajNet++, state the rate.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from stp.core.disk import files_below, require_regular
from stp.core.errors import StpError
from stp.core.options import build
from stp.inspect.track_clock import (
    RATES,
    SMALL_LENGTHS,
    STEP,
    clock,
    frames_per_second,
    intervals,
    speed,
    time_unit,
)
from stp.inspect.track_columns import Guessed, guess_columns
from stp.prepare.track_readers import text, trajnetpp
from stp.prepare.track_readers.detections import (
    LONGEST,
    TIME_UNITS,
    Columns,
    Recording,
    Rows,
    rows,
)
from stp.prepare.track_survey import survey
from stp.prepare.tracks import UNITS, TracksOptions, group_files, read_recording
from stp.score.jackknife import FEWEST_CLUSTERS
from stp.tracks.gaps import LONGEST_GAP, count_missing
from stp.tracks.prepared import PreparedTracks
from stp.tracks.tracks import (
    FASTEST,
    WALKING,
    Tracks,
    check_detections,
    count_people,
    join_recordings,
    jumps,
)

TEXT = (".csv", ".txt", ".tsv", ".tab", ".dat")
SUFFIXES = (*TEXT, ".parquet", ".ndjson")
NOT_DETECTIONS = re.compile(r"goals|destinations|h(-\w+)?|obstacles|groups|info|readme|licen[cs]e")
"""Names, without suffix, of text files without detections."""
FPS = 25.0
"""Frames per second of most cameras."""
USUAL = 1.3
"""Range of usual walking speeds, metres per second."""
MOST_FASTER = 20
"""Maximum ratio of the speeds of people in two recordings with the same units."""
LENGTHS = ((8, 12), (6, 10), (4, 8), (4, 4), (3, 2), (2, 1))
"""Candidates for numbers of observed and predicted positions, from usual ones to those for the
shortest tracks."""
RULES = {"dataset": "", "calibration": 0.2, "smooth": 5}
"""Settings of prepared tracks that a draft does not guess, such as the share for calibration."""
PROTOCOLS = ("strict", "strict-relaxed")
"""Candidates for the protocol of a draft; the second one is used if the first gives no scenario."""
NONE = {"scenarios": 0}


@dataclass(frozen=True)
class TrackGuess:
    """The guessed settings of a dataset of tracks.

    A scenario, one sample, is a moment at which all people present were seen long enough;
    scenarios that overlap in time are one episode.

    Attributes:
        prepare: options of the reader.
        notes: remarks by option.
        context, horizon: numbers of observed and predicted positions.
        protocol: name of the rules that cut scenarios.
        scenarios: numbers of scenarios and episodes under this protocol, for each part of the
            data, ``calibration`` and ``test``.
        shorter: context, horizon and number of test episodes of shorter scenarios, if these are
            enough for a confidence interval and the drafted scenarios are not.
        detections, people: numbers of detections and of people.
        remarks: sentences on rows that were left out or interpolated.
    """

    prepare: dict[str, Any]
    notes: dict[str, str]
    context: int
    horizon: int
    protocol: str
    scenarios: Mapping[str, Mapping[str, int]]
    shorter: tuple[int, int, int] | None
    detections: int
    people: int
    remarks: list[str]


def members(path: Path) -> list[Path]:
    """The files of detections at a path; empty if there are none."""
    if not path.is_dir():
        return [require_regular(path)] if path.name.lower().endswith(SUFFIXES) else []
    return [
        require_regular(inside)
        for inside in sorted(files_below(path))
        if inside.name.lower().endswith(SUFFIXES)
        and not inside.is_dir()
        and not any(part.startswith(".") for part in inside.relative_to(path).parts)
        and not NOT_DETECTIONS.fullmatch(inside.stem.lower())
        and (inside.suffix.lower() != ".txt" or _is_table(require_regular(inside)))
    ]


def _is_table(path: Path) -> bool:
    try:
        form = text.layout(path)
    except StpError:
        return False
    return form.width >= text.FEWEST_COLUMNS and form.numeric >= 0.5


def guess(root: Path, names: Sequence[str], fps: float | None = None) -> TrackGuess:
    """Guess the options of the reader, and test them on the files.

    Args:
        root: folder that names are relative to.
        names: names of the files of detections, all with the same suffix.
        fps: frames per second, from the user; None to guess it.

    Raises:
        StpError: a file cannot be read or lacks a column, or a rate is given for files with times.
    """
    suffixes = {Path(name).suffix.lower() for name in names}
    if len(suffixes) > 1:
        kinds = " and ".join(sorted(suffixes))
        raise StpError(f"{root}: detections in files of {kinds}", expected="files of one kind")
    of_kind = _trajnetpp if suffixes == {".ndjson"} else _in_columns
    prepare, notes = of_kind(root, names, fps)
    options = build(TracksOptions, prepare, "prepare options of tracks")
    recordings: list[Recording] = []
    for title, files in group_files(names, options.recording).items():
        recordings.append(read_recording([root / name for name in files], options))
        check_detections(recordings[-1].tracks, title)
    tracks = join_recordings([recording.tracks for recording in recordings])
    teleports = [jumps(part.tracks.decimated(options.decimate)).person for part in recordings]
    if any(map(len, teleports)):
        prepare["teleports"] = "exclude"
        notes["teleports"] = (
            f"CHECK: {count_people(teleports)} people move faster than {FASTEST:g} m/s"
        )
    return _choose_lengths(tracks, recordings, prepare, notes)


_Draft = tuple[dict[str, Any], dict[str, str]]
"""Options of the reader, and remarks beside them."""


def _trajnetpp(root: Path, names: Sequence[str], fps: float | None) -> _Draft:
    parts = []
    for name in names:
        tracks = trajnetpp.read(root / name, step=1, dt=1)
        if not len(tracks):
            check_detections(tracks, name)
        parts.append(Rows(tracks.frame, tracks.person, tracks.position, {}, 0))
    rates = {trajnetpp.positions_per_second(root / name) for name in names}
    rate = rates.pop() if len(rates) == 1 else None
    step = _step(parts) or 1
    if fps is not None or rate is None:
        options, notes = _of_frames(step, *_rate(parts, fps, 1.0))
    else:
        note = f"frames a second: the scenes of the file say {rate:g} positions a second"
        options, notes = _of_frames(step, float(f"{rate * step:.6g}"), note)
    return {"format": "trajnetpp", **options}, notes


def _in_columns(root: Path, names: Sequence[str], fps: float | None) -> _Draft:
    guessed = guess_columns(root / names[0], alone=len(names) == 1)
    columns, notes = guessed.columns, {}
    if "time" in columns and fps is not None:
        raise StpError(
            f"{names[0]} has times, in the column {columns['time']}, and --fps is given",
            remedy="leave out --fps",
        )
    recording, note = _recording(root, names, guessed)
    if note:
        notes["recording"] = note
    groups = [[root / name for name in group] for group in group_files(names, recording).values()]

    def read(but: str = "") -> list[Rows]:
        used = Columns(**{key: name for key, name in columns.items() if key != but})
        return [rows(group, used, 1.0) for group in groups]

    rate, rate_note = fps, ""
    if {"frame", "time"} <= set(columns):
        rate = _rate_of_times(read("time"), read("frame"), guessed)
        rate_note = f"frames a second, as the column {columns['time']} says"
        guessed.left_out.append(columns.pop("time" if rate else "frame"))
    parts = read()
    _note_columns(guessed, parts, notes)
    if "time" in columns:
        unit = time_unit(parts, guessed.length, guessed.duration)
        options, of_clock = _of_times(parts, TIME_UNITS[unit])
        if unit != "s":
            options["time_unit"] = unit
            if guessed.duration is None:
                notes["time_unit"] = "CHECK: guessed from how often people would be seen"
        if guessed.duration not in (None, unit):
            options["time_unit"] = unit
            factor = TIME_UNITS[guessed.duration] / TIME_UNITS[unit]
            notes["time_unit"] = (
                f"CHECK: {columns['time']} seems to be in {unit}; in {guessed.duration}, a factor "
                f"of {factor:g}, people would be too slow or too fast"
            )
        per_second = 1 / TIME_UNITS[unit]
        length = guessed.length or _unit(speed(parts) * per_second)
    else:
        length = guessed.length or (
            _unit(speed(parts) * rate) if rate else _unit_of_frames(speed(parts))
        )
        rate, guessed_note = _rate(parts, rate, UNITS[length])
        rate_note, step, per_second = rate_note or guessed_note, _step(parts), rate
        if step:
            options, of_clock = _of_frames(step, rate, rate_note)
            pace = speed(parts) * UNITS[length]
            if not WALKING[0] <= pace * rate <= WALKING[1] and time_unit(parts, length) == "ms":
                of_clock["step"] = (
                    f"CHECK: people would walk at {pace * rate:.2g} m/s, and at {pace * 1000:.2g} "
                    f"if {columns['frame']} were milliseconds: then rename it to time_ms"
                )
        else:
            columns["time"] = columns.pop("frame")
            options, of_clock = _of_times(parts, 1 / rate)
            options["time_unit"] = float(f"{1 / rate:.9g}")
            notes["time_unit"] = (
                f"{rate_note + ', ' if rate_note else ''}{rate:g} a second; people are annotated "
                "at uneven frames, which are taken for times"
            )
    if guessed.length is None:
        pace = speed(parts) * per_second * UNITS[length]
        notes["units"] = f"CHECK: guessed; people would walk at {pace:.2g} m/s"
    if strange := _strange_speeds(parts):
        notes["units"] = "; ".join([*filter(None, [notes.get("units")]), f"CHECK: {strange}"])
    shared = {"recording": recording} if recording != "file" else {}
    return {"columns": columns, "units": length, **shared, **options}, {**notes, **of_clock}


def _strange_speeds(parts: Sequence[Rows]) -> str:
    """Remark on recordings with much faster people, probably in other units; empty if there are
    none.
    """
    speeds = sorted(filter(None, (speed([part]) for part in parts)))
    if not speeds or speeds[-1] < MOST_FASTER * speeds[0]:
        return ""
    return (
        f"people of one recording are {speeds[-1] / speeds[0]:.0f} times as fast as those of "
        "another; are units and rates the same?"
    )


def _recording(root: Path, names: Sequence[str], guessed: Guessed) -> tuple[str, str]:
    """Determine which files form a recording (each file, a folder, or all files), and a remark.

    If several files use the same numbers for people, these are different people.
    """
    columns = guessed.columns
    if len(names) == 1:
        return "file", ""
    used = Columns(**{k: v for k, v in columns.items() if k != "time" or "frame" not in columns})
    files = [rows([root / name], used) for name in names]
    if not _are_people(files):
        if "person" not in columns:
            guess_columns(root / names[0])  # raises the error of a missing column
        return "file", ""
    people = {part.name(int(part.person[0])) for part in files}
    if "person" in columns and len(people) < len(names):
        guessed.left_out.append(columns.pop("person"))
    folders = {PurePosixPath(name).parent for name in names}
    recording = "all" if len(folders) in (1, len(names)) else "folder"
    return recording, (
        f"CHECK: {len(names)} files of one person each, most of whom are present together, are "
        "taken for one crowd" + (" in each folder" if recording == "folder" else "")
    )


def _are_people(files: Sequence[Rows]) -> bool:
    """Whether each file is one person, most of whom are present together with others."""
    if any(len(np.unique(part.person)) != 1 for part in files):
        return False
    spans = np.array([(part.when.min(), part.when.max()) for part in files])
    meet = (spans[:, None, 0] <= spans[:, 1]) & (spans[:, 0] <= spans[:, None, 1])
    return bool((meet.sum(axis=1) > 1).mean() > 0.5)


def _rate_of_times(frames: Sequence[Rows], times: Sequence[Rows], guessed: Guessed) -> float | None:
    """Frames per second of recordings with frame numbers and times; None if times are uneven."""
    unit = time_unit(times, guessed.length, guessed.duration)
    rates = {
        frames_per_second(of_frames.when, of_times.when * TIME_UNITS[unit])
        for of_frames, of_times in zip(frames, times, strict=True)
    }
    return rates.pop() if len(rates) == 1 else None


def _note_columns(guessed: Guessed, parts: Sequence[Rows], notes: dict[str, str]) -> None:
    remarks = []
    if guessed.by_values:
        remarks.append("CHECK: the file has no names, so these numbers of columns are guesses")
    lost = sum(part.lost for part in parts)
    if lost:
        remarks.append(
            f"CHECK: {lost} rows are left out, in which {guessed.columns['lost']} is set"
        )
    if guessed.left_out:
        remarks.append(f"left out: {', '.join(map(str, guessed.left_out))}")
    if remarks:
        notes["columns"] = "; ".join(remarks)


def _of_times(parts: Sequence[Rows], unit: float) -> _Draft:
    """Options for files with times: the step of the common clock, if possible that of the data."""
    ticks = clock([replace(part, when=part.when * unit) for part in parts])
    dt = ticks.every if ticks.is_common or ticks.every > STEP / 2 else STEP
    note = f"seconds of the common clock; people are seen every {ticks.every:g} s"
    if not ticks.is_common:
        note = f"CHECK: {note}, {ticks.others} times at moments of their own"
    options, notes = _guess_decimation(dt)
    return {"dt": dt, **options}, {"dt": note, **notes}


def _of_frames(step: int, rate: float, note: str) -> _Draft:
    options, notes = _guess_decimation(step / rate)
    of_step = {"step": step} if step > 1 else {}
    notes |= {"fps": note} if note else {}
    notes["step"] = "frames from one annotation to the next"
    return {"fps": rate, **of_step, **options}, notes


def _guess_decimation(dt: float) -> _Draft:
    rate = max(1, round(STEP / dt))
    if rate == 1:
        return {}, {}
    return {"decimate": rate}, {"decimate": f"so that {rate * dt:.4g} s lie between two positions"}


def _rate(parts: Sequence[Rows], fps: float | None, metres: float) -> tuple[float, str]:
    """Frames per second, and a remark; by default, the rate that leads to walking speeds."""
    if fps is not None:
        return fps, ""
    pace = speed(parts) * metres
    rate = FPS
    if pace and not WALKING[0] <= pace * FPS <= WALKING[1]:
        rate = float(min(RATES, key=lambda rate: abs(np.log(pace * rate / USUAL))))
    return rate, (
        f"CHECK: frames a second; the file does not say, and people would walk at "
        f"{pace * rate:.1f} m/s"
    )


def _step(parts: Iterable[Rows]) -> int:
    """Number of frames from one annotation to the next; 0 if intervals are uneven.

    Intervals are even if all are multiples of the most frequent interval.
    """
    passed, counts = np.unique(intervals(parts), return_counts=True)
    if not len(passed):
        return 1
    usual = passed[np.argmax(counts)]
    return int(usual) if not (passed % usual).any() else 0


def _unit_of_frames(pace: float) -> str:
    """Guess the unit of length from the distance that people walk per frame, at an unknown rate.

    The unit in which people walk at a usual speed at the most common rate is chosen; otherwise
    metres, if one of the common rates gives a usual speed.
    """
    usual = (unit for unit, metres in SMALL_LENGTHS.items() if 0.5 <= pace * FPS * metres <= 2.5)
    in_metres = pace * min(RATES) <= WALKING[1] and pace * max(RATES) >= WALKING[0]
    return next(usual, "m" if in_metres else _unit(pace * FPS))


def _unit(speed: float) -> str:
    """The unit of length in which a speed is a walking speed."""
    for unit, metres in SMALL_LENGTHS.items():
        if WALKING[0] <= speed * metres <= WALKING[1]:
            return unit
    return "m"


def _choose_lengths(
    tracks: Tracks, recordings: list[Recording], prepare: dict[str, Any], notes: dict[str, str]
) -> TrackGuess:
    """Choose the first lengths with scenarios in both parts, or otherwise in the test part."""
    surveys: dict[tuple[int, int, int, str], Any] = {}
    people = count_people([recording.tracks.person for recording in recordings])

    def counted(context: int, horizon: int, fewest: int, protocol: str) -> Any:
        key = (context, horizon, fewest, protocol)
        if key not in surveys:
            about = {**RULES, "fewest": fewest, "decimate": prepare.get("decimate", 1)}
            sizes = [len(recording.tracks) for recording in recordings]
            prepared = PreparedTracks(tracks, None, {**about, "recordings": sizes})
            (surveys[key],) = survey(
                prepared, observe=context, predict=horizon, protocols=[protocol]
            ).values()
        return surveys[key]

    choices = product(PROTOCOLS, (("calibration", "test"), ("test",)), (2, 1), LENGTHS)
    for protocol, parts, fewest, (context, horizon) in choices:
        counts = counted(context, horizon, fewest, protocol)
        if not all(counts.get(part, NONE)["scenarios"] for part in parts):
            continue
        if fewest == 1:
            prepare["fewest"] = 1
            notes["fewest"] = "people that a scenario has at least"
        episodes = [
            (*lengths, counted(*lengths, fewest, protocol)["test"]["episodes"])
            for lengths in LENGTHS[LENGTHS.index((context, horizon)) + 1 :]
            if counts["test"]["episodes"] < FEWEST_CLUSTERS
        ]
        enough = (option for option in episodes if option[2] >= FEWEST_CLUSTERS)
        return TrackGuess(
            prepare, notes, context, horizon, protocol, counts, next(enough, None),
            len(tracks), people, list(_remarks(tracks, recordings, prepare)),
        )  # fmt: skip
    raise StpError(
        f"{len(tracks)} detections of {people} people give no scenario, under "
        f"{' or '.join(PROTOCOLS)}",
        expected="a person with three positions in a row at least",
        remedy="check the columns and the frames per second (--fps), or write the YAML by hand "
        "(docs/own_data.md)"
        + "".join(f"; {key}: {note}" for key, note in notes.items() if "CHECK" in note),
    )


def _remarks(
    tracks: Tracks, recordings: Sequence[Recording], prepare: Mapping[str, Any]
) -> Iterator[str]:
    count, lost = (
        sum(recording.rows for recording in recordings),
        sum(recording.lost for recording in recordings),
    )
    if lost:
        yield f"{lost} of {count} rows are marked as lost and left out"
    made_up = sum(recording.interpolated for recording in recordings)
    if made_up:
        yield (
            f"CHECK: {made_up} of {len(tracks)} positions are interpolated between two rows, at "
            f"moments {tracks.dt:g} s apart"
        )
    left_out = [who for recording in recordings for who in recording.left_out]
    if left_out:
        more = f", and {len(left_out) - 3} more" if len(left_out) > 3 else ""
        yield (
            f"CHECK: {len(left_out)} people are left out, who are seen less often than every "
            f"{LONGEST * tracks.dt:g} s: {'; '.join(left_out[:3])}{more}"
        )
    filled = count_missing(tracks.decimated(prepare.get("decimate", 1)))
    if filled:
        yield f"scenarios fill gaps of up to {LONGEST_GAP:g} s: {filled} positions are missing"
