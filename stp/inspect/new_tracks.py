"""`stp new-dataset` for detections of people: columns, units and rate are guessed from the file.

A file with frame numbers does not say how many of them there are a second: that is what `--fps`
says, or else 25, or the usual rate at which people would walk at a usual speed. Everything is tried
at once, with the reader's own code.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from stp.core.disk import require_regular
from stp.core.errors import StpError, nearest
from stp.prepare import track_maps as maps
from stp.prepare.track_readers import detections, trajnetpp
from stp.prepare.track_survey import survey
from stp.prepare.tracks import UNITS
from stp.score.jackknife import FEWEST_CLUSTERS
from stp.tracks.prepared import Place
from stp.tracks.tracks import FASTEST, Tracks, check_detections, joined, jumps

SUFFIXES = (".csv", ".parquet", ".ndjson")
FRAME = ("frame", "frame_id", "frameid", "frame_number", "frame_index", "f")
TIME = ("time", "time_s", "timestamp", "seconds", "t")
PERSON = (
    "id", "person", "person_id", "personid", "track", "track_id", "trackid", "pedestrian", "ped",
    "ped_id", "agent", "agent_id", "p", "who",
)  # fmt: skip
PLACE = r"{axis}(_?(?P<unit>m|cm|mm|km|ft|in))?|pos_?{axis}|{axis}_?(world|position|pos|coord)"
FPS = 25.0
"""Of most cameras."""
RATES = (1, 2, 2.5, 3, 4, 5, 6, 7.5, 8, 10, 12, 12.5, 15, 20, 24, 25, 30, 50, 60, 100, 120)
"""Frames per second of other recordings."""
WALKING = (0.2, 3.0)
"""Metres per second that people walk at, on the median."""
USUAL = 1.3
"""Metres per second of most people who walk."""
STEP = 0.4
"""Seconds between two positions of most evaluations."""
LENGTHS = ((8, 12), (6, 10), (4, 8), (4, 4), (3, 2), (2, 1))
"""Observed and predicted positions, from what is usual to what the shortest tracks allow."""
RULES = {"dataset": "", "calibration": 0.2, "smooth": 5}
"""What a draft leaves as it is."""
PROTOCOLS = ("strict", "strict-relaxed")
"""How scenarios of a draft are cut: the second where the first leaves none."""
NONE = {"scenarios": 0}
METRICS = ["displacement.by_scenario", "final_displacement.by_scenario"]


@dataclass(frozen=True)
class Looked:
    """What a draft says.

    Attributes:
        prepare: options of the reader.
        notes: remarks beside them.
        context, horizon: positions.
        protocol: how scenarios are cut.
        scenarios: of calibration and test, with their episodes, under this protocol.
        shorter: context, horizon and test episodes of shorter scenarios, if these are enough for
            a confidence interval and those of the draft are not.
        detections, people: how many.
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


def members(path: Path) -> list[Path]:
    """The files of detections that are meant by a path; none if it is something else."""
    inside = [path] if path.is_file() else sorted(path.glob("*"))
    files = [require_regular(one) for one in inside if one.name.lower().endswith(SUFFIXES)]
    return [one for one in files if one.is_file()]


def guess(root: Path, names: Sequence[str], fps: float | None = None) -> Looked:
    """Guess the options of the reader, and try them.

    Args:
        root: the folder that names are relative to.
        names: of the files.
        fps: frames per second, if somebody knows.

    Raises:
        StpError: a file cannot be read, or lacks a column; or it has times, and a rate is given.
    """
    assumed = fps or FPS
    prepare: dict[str, Any] = {}
    notes: dict[str, str] = {}
    suffixes = {Path(name).suffix.lower() for name in names}
    if len(suffixes) > 1:
        raise StpError(
            f"{root}: detections in files of {' and '.join(sorted(suffixes))}",
            expected="files of one kind",
            remedy="name one of them",
        )
    if suffixes == {".ndjson"}:
        prepare["format"] = "trajnetpp"
        parts = [trajnetpp.read(root / name, step=1, dt=1 / assumed) for name in names]
    else:
        columns, unit = guess_columns(root / names[0])
        prepare["columns"] = columns
        prepare["units"] = unit or "m"
        made = detections.Columns(**columns)
        if "time" in columns:
            if fps is not None:
                raise StpError(
                    f"{names[0]} has times, in the column {columns['time']}, and --fps is given",
                    expected="a rate for files with frame numbers only",
                    remedy="leave out --fps",
                )
            prepare["dt"] = STEP
            notes["dt"] = "seconds of the common clock"
        read = [
            detections.read(
                root / name, made, metres=1.0, step=1, dt=prepare.get("dt", 1 / assumed)
            )
            for name in names
        ]
        parts = read
        if unit is None:
            prepare["units"] = _unit(read)
            notes["units"] = "CHECK: guessed from how fast people would walk"
    step = _step(parts)
    metres = UNITS[prepare.get("units", "m")]
    if "dt" not in prepare:
        if fps is None:
            speed = _speed(parts) * metres
            assumed = _rate(speed)
            notes["fps"] = (
                f"CHECK: frames a second; the file does not say, and people would walk at "
                f"{speed * assumed / FPS:.1f} m/s"
            )
        prepare["fps"] = assumed
        if step > 1:
            prepare["step"] = step
            notes["step"] = "frames from one annotation to the next"
        rate = max(1, round(STEP * assumed / step))
        if rate > 1:
            prepare["decimate"] = rate
            notes["decimate"] = f"so that {rate * step / assumed:g} s lie between two positions"
    dt = prepare.get("dt", step / assumed)
    made_of = []
    for name, part in zip(names, parts, strict=True):
        scaled = Tracks(part.frame, part.person, part.position * metres, step, dt)
        check_detections(scaled, name)
        made_of.append(scaled)
    tracks = joined(made_of)
    found = jumps(tracks.decimated(prepare.get("decimate", 1)))
    if len(found):
        prepare["teleports"] = "exclude"
        notes["teleports"] = (
            f"CHECK: {len(np.unique(found.person))} people move faster than {FASTEST:g} m/s"
        )
    return _tried(tracks, [len(part) for part in made_of], prepare, notes)


def _tried(
    tracks: Tracks, recordings: list[int], prepare: dict[str, Any], notes: dict[str, str]
) -> Looked:
    """Choose the lengths: the first that leave scenarios in both parts, or in the test."""
    told: dict[tuple[int, int, int], Any] = {}

    def counted(context: int, horizon: int, fewest: int, protocol: str) -> Any:
        key = (context, horizon, fewest)
        if key not in told:
            about = {**RULES, "fewest": fewest, "decimate": prepare.get("decimate", 1)}
            place = Place(tracks, None, {**about, "recordings": recordings})
            told[key] = survey(place, observe=context, predict=horizon)
        return told[key][protocol]

    choices = product(PROTOCOLS, (("calibration", "test"), ("test",)), (2, 1), LENGTHS)
    for protocol, wanted, fewest, (context, horizon) in choices:
        found = counted(context, horizon, fewest, protocol)
        if not all(found.get(part, NONE)["scenarios"] for part in wanted):
            continue
        if fewest == 1:
            prepare["fewest"] = 1
            notes["fewest"] = "people that a scenario has at least"
        episodes = [
            (seen, predicted, counted(seen, predicted, fewest, protocol)["test"]["episodes"])
            for seen, predicted in LENGTHS[LENGTHS.index((context, horizon)) + 1 :]
            if found["test"]["episodes"] < FEWEST_CLUSTERS
        ]
        enough = (one for one in episodes if one[2] >= FEWEST_CLUSTERS)
        return Looked(
            prepare, notes, context, horizon, protocol, found, next(enough, None),
            len(tracks), len(tracks.people()),
        )  # fmt: skip
    raise StpError(
        f"{len(tracks)} detections of {len(tracks.people())} people give no scenario, under "
        f"{' or '.join(PROTOCOLS)}",
        expected="somebody who is seen at three positions in a row at least",
        remedy="check the columns and the frames per second (--fps), or write the YAML by hand "
        "(docs/own_data.md)",
    )


def guess_columns(path: Path) -> tuple[dict[str, str], str | None]:
    """Which column is what.

    Returns:
        {frame or time, person, x, y} and the unit of x and y, None if their names do not say.

    Raises:
        StpError: a column is missing.
    """
    try:
        if path.suffix == ".parquet":
            names = [str(name) for name in pd.read_parquet(path).columns]
        else:
            names = [str(name) for name in pd.read_csv(path, nrows=0).columns]
    except (OSError, ValueError) as error:
        raise StpError(
            f"{path}: cannot be read ({error})", expected="detections in a CSV or Parquet file"
        ) from None
    plain = {name.strip().lower().replace(" ", "_"): name.strip() for name in names}
    found: dict[str, str] = {}
    for key, known in (("frame", FRAME), ("time", TIME), ("person", PERSON)):
        matching = [plain[word] for word in known if word in plain]
        if matching and not (key == "time" and "frame" in found):
            found[key] = matching[0]
    unit = None
    for axis in "xy":
        pattern = re.compile(PLACE.format(axis=axis))
        for word, name in plain.items():
            matched = pattern.fullmatch(word)
            if matched and axis not in found:
                found[axis] = name
                unit = matched["unit"] or unit
    lacking = [key for key in ("person", "x", "y") if key not in found]
    if "frame" not in found and "time" not in found:
        lacking.insert(0, "frame or time")
    if lacking:
        raise StpError(
            f"{path}: no column for {', '.join(lacking)} among {', '.join(names)}",
            expected="names such as frame, id, x, y in the first line",
            remedy=nearest(lacking[0], names)
            or "write the YAML by hand, with columns: {...} (docs/own_data.md)",
        )
    return found, unit


def _step(parts: Iterable[Tracks]) -> int:
    """Frames from one annotation to the next, which all intervals are multiples of."""
    passed = []
    for part in parts:
        order = np.lexsort((part.frame, part.person))
        same = np.diff(part.person[order]) == 0
        passed.append(np.diff(part.frame[order])[same])
    intervals = np.unique(np.concatenate(passed)).astype(np.int64)
    intervals = intervals[intervals > 0]
    return int(np.gcd.reduce(intervals)) if len(intervals) else 1


def _speed(parts: Sequence[Tracks]) -> float:
    """The median speed of people, in units of their positions per second; 0 if nobody moves."""
    speeds = []
    for part in parts:
        order = np.lexsort((part.frame, part.person))
        passed = np.diff(part.frame[order])
        same = (np.diff(part.person[order]) == 0) & (passed > 0)
        way = np.linalg.norm(np.diff(part.position[order], axis=0), axis=1)
        speeds.append(way[same] / (passed[same] * part.dt))
    return float(np.median(np.concatenate(speeds))) if any(map(len, speeds)) else 0.0


def _unit(parts: Sequence[Tracks]) -> str:
    """The unit in which people walk."""
    speed = _speed(parts)
    for unit in ("m", "cm", "mm"):
        if WALKING[0] <= speed * UNITS[unit] <= WALKING[1]:
            return unit
    return "m"


def _rate(speed: float) -> float:
    """Frames per second at which people walk.

    Args:
        speed: in metres per second, at `FPS`.
    """
    if speed == 0 or WALKING[0] <= speed <= WALKING[1]:
        return FPS
    return float(min(RATES, key=lambda rate: abs(np.log(speed * rate / FPS / USUAL))))


def around(root: Path, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Goals and a map that lie beside the detections, as options and raw names."""
    prepare: dict[str, Any] = {}
    names = {path.name.lower(): path.relative_to(root).as_posix() for path in folder.glob("*")}
    goals = next((names[n] for n in ("goals.txt", "destinations.txt") if n in names), None)
    if goals:
        maps.read_goals(root / goals)  # which complains well
        prepare["goals"] = goals
    if "map.png" in names and "h.txt" in names:
        prepare["map"] = {"picture": names["map.png"], "homography": names["h.txt"]}
    elif "obstacles.txt" in names:
        prepare["map"] = {"discs": names["obstacles.txt"]}
    files = [goals] if goals else []
    return prepare, [*files, *prepare.get("map", {}).values()]


def dataset_text(name: str, root: Path, names: Sequence[str], found: Looked) -> str:
    """The draft of config/datasets/<name>.yaml, with comments."""
    counted = ", ".join(
        f"{part} {about['scenarios']} scenarios of {about['episodes']} episodes"
        for part, about in found.scenarios.items()
    )
    lines = [
        f"# Drafted by `stp new-dataset` from {root}. docs/own_data.md explains every key.",
        f"# With these settings, under `{found.protocol}`: {counted}.",
        *(f"# {line}" for line in interval_lines(found)),
        f"title: {_flow(name.replace('_', ' ').capitalize())}",
        "kind: tracks",
        f"context: {found.context} # positions that a predictor sees",
        f"horizon: {found.horizon} # positions that it predicts",
        f"metrics: {_flow(METRICS)} # columns of the table; all are in config/conventions/",
        "reader: tracks",
        "prepare:",
        *(
            f"  {key}: {_flow(value)}" + (f" # {found.notes[key]}" if key in found.notes else "")
            for key, value in found.prepare.items()
        ),
        "release: own # other files of yours are another release",
        "releases:",
        "  own:",
        "    source: own",
        "    files:",
        *(f"      - {_flow({'path': one})}" for one in names),
    ]
    return "\n".join(lines) + "\n"


def scale_text(name: str, mirror: Path | None, found: Looked) -> str:
    """A scale file that predicts it, and calibrates where there is something to calibrate on."""
    calibrates = found.scenarios.get("calibration", NONE)["scenarios"] > 0
    protocol = found.protocol
    models = ["constant_velocity", "social_force"] if calibrates else ["constant_velocity"]
    lines = [
        f"# The dataset {name}, with simple predictors: a start.",
        "#",
        f"#     snakemake --profile local --configfile config/{name}.yaml"
        " -- results/tables/atlas_transfer.csv",
        f"scale: {name.replace('_', '-')}",
        "suite: atlas",
        *([f"paths: {{mirror: {_flow(str(mirror))}}} # where the raw files are"] if mirror else []),
        "dimensions:",
        "  atlas_transfer:",
        f"    models: {_flow(models)}",
        "    cells:",
        f"      - {{trained_on: {name}, subset: {protocol}, models: [constant_velocity]}}",
    ]
    if calibrates:
        lines.append(
            f"      - {{trained_on: {name}, train_subset: {protocol}, subset: {protocol}, "
            "models: [social_force]}"
        )
        lines.append("train: {trials: 50}")
    return "\n".join(lines) + "\n"


def interval_lines(found: Looked) -> Iterator[str]:
    """That there will be no confidence interval, and what would give one; nothing if there is."""
    episodes = found.scenarios["test"]["episodes"]
    if episodes < FEWEST_CLUSTERS:
        shorter = (
            "context {} and horizon {} have {}, ".format(*found.shorter) if found.shorter else ""
        )
        yield (
            f"No confidence interval: the test has {episodes} episodes, and {FEWEST_CLUSTERS} are "
            f"needed; {shorter}more or longer recordings have more."
        )


def count_lines(found: Looked) -> Iterator[str]:
    """What was counted, for people."""
    if found.protocol != PROTOCOLS[0]:
        yield (
            f"  {PROTOCOLS[0]} leaves no scenario: drafted with {found.protocol}, where others may "
            "come and go meanwhile"
        )
    yield f"  {found.detections} detections of {found.people} people"
    for part, about in found.scenarios.items():
        yield f"  {part}: {about['scenarios']} scenarios of {about['episodes']} episodes"
    yield from (f"  {line}" for line in interval_lines(found))
    yield from (f"  {key}: {note}" for key, note in found.notes.items() if "CHECK" in note)


def _flow(value: object) -> str:
    """A value on one line of YAML."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6)
    return text.removesuffix("\n").removesuffix("\n...")
