"""Generate synthetic crowds in the file formats of ETH, HOTEL, UCY, ATC and THOR.

People come in waves: some people enter within a second or two, walk from one goal to another, avoid
each other and obstacles, and leave before the next wave. So in some windows, the same people are
present throughout, as scenarios of Atlas require. People walk by a social force model (Helbing and
Molnár 1995) in steps of 0.05 s, with individual speeds, and are detected with a little noise.
Formats: `ewap` (obsmat.txt), `trajnetpp` (ndjson), `atc` (CSV, millimetres, separate times for each
person), `qualisys` (tsv at 100 Hz with two markers on each helmet, some of them hidden). Maps: a
picture with its homography, or a semantic grid with classes.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from stp.core.job import Report
from stp.core.options import build, number, require
from stp.datasets.atlas.situation import write_ndjson
from stp.tracks.tracks import Tracks

FORMATS = ("ewap", "trajnetpp", "atc", "qualisys")
STEP = 0.05
"""Time step of walking, seconds."""
RELAX, REPULSION, REACH, BODY = 0.5, 2.5, 0.35, 0.5
"""Parameters of the social force model: relaxation time, seconds; strength of the repulsion between
people, m/s²; its range, metres; distance of two people who touch, metres."""
LONGEST = 40.0
"""Seconds after which people who are still present are removed."""


@dataclass(frozen=True, kw_only=True)
class CrowdOptions:
    """Options of the generator of synthetic crowds.

    Attributes:
        format: file format of the recordings: ``ewap``, ``trajnetpp``, ``atc`` or ``qualisys``.
        files: paths of the recordings to write, below the output folder.
        area: x and y of two opposite corners of the place, metres.
        goals: x and y of each goal, metres; people walk from one goal to another.
        goals_file: path of the list of goals to write, below the output folder; none by default.
        walls: x and y of two opposite corners of each wall, metres.
        pillars: x, y and radius of each pillar, metres.
        map: paths of the map's two files, below the output folder; no map by default. A map is
            either ``picture`` (an image with obstacles in white) and ``homography`` (a text file
            with the 3 x 3 matrix that maps (row, column, 1) to metres); or ``grid`` (an ndjson file
            with the class of each cell) and ``classes`` (an ndjson file with the names of the
            classes).
        cell: side of a pixel or cell of the map, metres.
        waves: number of waves in each recording. People of a wave enter within a second or two; the
            next wave enters when all have left.
        people: minimum and maximum number of people in one wave.
        speed: mean and standard deviation of people's speeds, metres per second.
        noise: standard deviation of the noise of detected positions, metres; for ``qualisys``, the
            noise is a tenth of it.
        dt: seconds between two annotated positions; ``qualisys`` always has 0.01.
        step: number of frames between two annotations; ``ewap`` and ``trajnetpp`` only.
        seed: seed of all random numbers.
    """

    format: str
    files: tuple[str, ...] = ()
    area: tuple[float, ...] = (0, 0, 20, 14)
    goals: tuple[Any, ...] = ()
    goals_file: str | None = None
    walls: tuple[Any, ...] = ()
    pillars: tuple[Any, ...] = ()
    map: dict[str, str] = field(default_factory=dict)
    cell: PositiveFloat = 0.1
    waves: PositiveInt = 14
    people: tuple[int, ...] = (2, 4)
    speed: tuple[float, ...] = (1.3, 0.15)
    noise: float = 0.02
    dt: PositiveFloat = 0.4
    step: PositiveInt = 10
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        require(self.format in FORMATS, "format", self.format, " or ".join(FORMATS))
        require(len(self.files) > 0, "files", self.files, "paths, at least one")
        for name, length in (("area", 4), ("people", 2), ("speed", 2)):
            value = getattr(self, name)
            ok = len(value) == length and all(map(number, value))
            require(ok, name, value, f"{length} numbers")
        for name, length in (("goals", 2), ("walls", 4), ("pillars", 3)):
            value = getattr(self, name)
            ok = all(isinstance(item, list) and len(item) == length for item in value)
            require(ok, name, value, f"{length} numbers for each")
        require(len(self.goals) > 1, "goals", self.goals, "two at least")
        require(1 <= self.people[0] <= self.people[1], "people", self.people, "least and most")
        kinds: tuple[set[str], ...] = ({"picture", "homography"}, {"grid", "classes"}, set())
        require(set(self.map) in kinds, "map", self.map, "{picture, homography}, {grid, classes}")


@dataclass(frozen=True)
class Track:
    """The path of a person.

    Attributes:
        person: number of the person.
        time: times of the simulation's steps, (steps,), seconds.
        position: positions at these times, (steps, 2), metres.
    """

    person: int
    time: np.ndarray
    position: np.ndarray

    def at(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Interpolate the person's positions at some times.

        Args:
            times: times, seconds, ascending; those at which the person is absent are left out.

        Returns:
            the remaining times, (times,), and the positions at them, (times, 2), metres.
        """
        times = times[(times >= self.time[0]) & (times <= self.time[-1])]
        made = [np.interp(times, self.time, self.position[:, axis]) for axis in (0, 1)]
        return times, np.stack(made, axis=1)


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Simulate crowds, and write their recordings, the map of obstacles and the list of goals.

    Args:
        out: folder below which the files are written.
        options: values of `CrowdOptions` by name.
        report: function that receives the progress.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(CrowdOptions, options, "generator options")
    write = {"ewap": _ewap, "trajnetpp": _trajnetpp, "atc": _atc, "qualisys": _qualisys}
    for number_of, name in enumerate(chosen.files):
        random = np.random.default_rng([chosen.seed, number_of])
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write[chosen.format](path, _simulate_walks(chosen, random), chosen, random)
        report("recordings", number_of + 1, len(chosen.files))
    for other in (*chosen.map.values(), chosen.goals_file):
        if other is not None:
            (out / other).parent.mkdir(parents=True, exist_ok=True)
    if "picture" in chosen.map:
        _picture(out, chosen)
    if "grid" in chosen.map:
        _grid(out, chosen)
    if chosen.goals_file is not None:
        np.savetxt(out / chosen.goals_file, np.array(chosen.goals, float), fmt="%.3f")


# Walking


def _simulate_walks(options: CrowdOptions, random: np.random.Generator) -> list[Track]:
    """Simulate all people of a recording."""
    begin, first, walks = 0.0, 1, []
    for number_of in range(options.waves):
        count = int(random.integers(options.people[0], options.people[1] + 1))
        wave = _wave(options, count, begin, random)
        walks += [
            Track(first + n, begin + STEP * np.arange(entered, left), places[entered:left])
            for n, (entered, left, places) in enumerate(wave)
            if left - entered > 1
        ]
        begin = max(walk.time[-1] for walk in walks) + float(random.uniform(1.0, 3.0))
        # a helmet is worn again by somebody of the wave after the next one
        again = 1 + (number_of + 1) % 2 * options.people[1]
        first = again if options.format == "qualisys" else first + count
    return walks


def _wave(
    options: CrowdOptions, count: int, begin: float, random: np.random.Generator
) -> list[tuple[int, int, np.ndarray]]:
    """First step, last step and positions of each person of a wave."""
    goals = np.array(options.goals, float)
    starts = random.permutation(len(goals))[np.arange(count) % len(goals)]
    away = np.linalg.norm(goals[:, None] - goals, axis=-1)
    ends = []
    for start in starts:  # one of the goals that are far away
        far = np.flatnonzero(away[start] >= 0.7 * away[start].max())
        ends.append(int(random.choice(far)))
    aim = goals[ends] + random.normal(0, 0.5, (count, 2))
    position = goals[starts] + random.normal(0, 0.5, (count, 2))
    # who starts at the same goal walks side by side
    position[:, 1] += 0.8 * (np.arange(count) // len(goals))
    speeds = random.normal(options.speed[0], options.speed[1], count).clip(0.5, 2.0)
    direction = _unit(aim - position)
    velocity = speeds[:, None] * direction
    entered = (random.uniform(0, 1.5, count) / STEP).astype(int)
    steps = int(LONGEST / STEP)
    places = np.empty((steps, count, 2))
    leave = np.full(count, steps)
    for step in range(steps):
        inside = (step >= entered) & (step < leave)
        places[step] = position
        force = (speeds[:, None] * _unit(aim - position) - velocity) / RELAX
        force += _from_people(position, inside) + _from_obstacles(options, position)
        velocity = np.where(inside[:, None], velocity + STEP * force, velocity)
        speed = np.linalg.norm(velocity, axis=1, keepdims=True)
        velocity *= np.minimum(1, 1.3 * speeds[:, None] / np.maximum(speed, 1e-9))
        position = np.where(inside[:, None], position + STEP * velocity, position)
        arrived = inside & (np.linalg.norm(aim - position, axis=1) < 0.6)
        leave[arrived] = step + 1
        if (step >= leave).all():
            break
    return [(int(entered[n]), int(leave[n]), places[:, n]) for n in range(count)]


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9))


def _from_people(position: np.ndarray, inside: np.ndarray) -> np.ndarray:
    apart = position[:, None] - position
    distance = np.linalg.norm(apart, axis=-1)
    strength = REPULSION * np.exp((BODY - distance) / REACH) * (inside[:, None] & inside)
    np.fill_diagonal(strength, 0)
    # a little to the right, so that two who meet head on do not stand
    aside = np.stack([apart[..., 1], -apart[..., 0]], axis=-1)
    return np.asarray((strength[..., None] * _unit(apart + 0.3 * aside)).sum(axis=1))


def _from_obstacles(options: CrowdOptions, position: np.ndarray) -> np.ndarray:
    force = np.zeros_like(position)
    for x0, y0, x1, y1 in options.walls:
        apart = position - np.clip(position, (x0, y0), (x1, y1))
        force += _push(apart, np.linalg.norm(apart, axis=1))
    for x, y, radius in options.pillars:
        apart = position - (x, y)
        aside = np.stack([apart[:, 1], -apart[:, 0]], axis=1)
        force += _push(apart + 0.5 * aside, np.linalg.norm(apart, axis=1) - radius)
    return force


def _push(direction: np.ndarray, distance: np.ndarray) -> np.ndarray:
    strength = 2 * REPULSION * np.exp((0.4 - distance) / REACH)
    return np.asarray(np.minimum(strength, 20)[:, None] * _unit(direction))


# Files


def _simulate_detections(
    paths: list[Track], dt: float, noise: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Index of the annotation, person and position of all detections, sorted by annotation."""
    clock = dt * np.arange(int(max(path.time[-1] for path in paths) / dt) + 1)
    rows = []
    for path in paths:
        times, position = path.at(clock)
        who = np.full(len(times), path.person)
        rows.append(np.column_stack([np.rint(times / dt), who, position]))
    table = np.concatenate(rows)
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    return table[:, 0], table[:, 1], table[:, 2:] + random.normal(0, noise, (len(table), 2))


def _ewap(
    path: Path, paths: list[Track], options: CrowdOptions, random: np.random.Generator
) -> None:
    at, person, position = _simulate_detections(paths, options.dt, options.noise, random)
    zero = np.zeros(len(at))
    x, y = position.T
    table = np.column_stack([at * options.step + 1, person, x, zero, y, zero, zero, zero])
    for number_of in np.unique(person):
        own = person == number_of
        if own.sum() > 1:
            table[own, 5], table[own, 7] = np.gradient(position[own], options.dt, axis=0).T
    np.savetxt(path, table, fmt="%16.7e")


def _trajnetpp(
    path: Path, paths: list[Track], options: CrowdOptions, random: np.random.Generator
) -> None:
    at, person, position = _simulate_detections(paths, options.dt, options.noise, random)
    tracks = Tracks(at * options.step, person.astype(np.int64), position, options.step, options.dt)
    write_ndjson(path, tracks)


def _atc(
    path: Path, paths: list[Track], options: CrowdOptions, random: np.random.Generator
) -> None:
    """Seconds, person, x, y, z in millimetres, speed in mm/s, and two angles."""
    begin, rows = 1351039200.0, []  # 2012-10-24, 9 h in Japan
    for track in paths:
        clock = np.arange(track.time[0] + random.uniform(0, options.dt), track.time[-1], options.dt)
        times, position = track.at(clock)
        if len(times) < 2:
            continue
        position = position + random.normal(0, options.noise, position.shape)
        velocity = np.gradient(position, options.dt, axis=0)
        angle = np.arctan2(velocity[:, 1], velocity[:, 0])
        speed = np.linalg.norm(velocity, axis=1)
        who = np.full(len(times), 9220000 + track.person)
        x, y = 1000 * position.T
        height = np.full(len(times), 1650.0)
        rows.append(np.column_stack([begin + times, who, x, y, height, 1000 * speed, angle, angle]))
    table = np.concatenate(rows)
    table = table[np.argsort(table[:, 0], kind="stable")]
    np.savetxt(path, table, delimiter=",", fmt=["%.3f", "%d", *["%.1f"] * 4, "%.3f", "%.3f"])


def _qualisys(
    path: Path, paths: list[Track], options: CrowdOptions, random: np.random.Generator
) -> None:
    """Ten lines about the export, names, and a line for each hundredth of a second."""
    dt = 0.01
    count = int(max(track.time[-1] for track in paths) / dt) + 1
    helmets = sorted({track.person for track in paths})
    table = np.zeros((count, len(helmets), 2, 3))
    markers = np.array([[0.06, 0.0, 1.75], [-0.06, 0.0, 1.72]])
    for track in paths:
        times, position = track.at(dt * np.arange(count))
        at = np.rint(times / dt).astype(int)
        centre = np.concatenate([position, np.zeros((len(at), 1))], axis=1)
        measured = centre[:, None] + markers + random.normal(0, options.noise / 10, (len(at), 2, 3))
        hidden = random.random((len(at) // 50 + 1, 2)) < 0.05  # half a second at a time
        measured[np.repeat(hidden, 50, axis=0)[: len(at)]] = 0
        table[at, helmets.index(track.person)] = 1000 * measured
    names = [
        f"Helmet_{helmet} - {marker} {axis}" for helmet in helmets for marker in (1, 2)
        for axis in "XYZ"
    ]  # fmt: skip
    about = {
        "NO_OF_FRAMES": count, "NO_OF_CAMERAS": 10, "NO_OF_MARKERS": 2 * len(helmets),
        "FREQUENCY": 100, "NO_OF_ANALOG": 0, "ANALOG_FREQUENCY": 0, "DESCRIPTION": "--",
        "TIME_STAMP": "made up", "DATA_INCLUDED": "3D", "MARKER_NAMES": "helmets",
    }  # fmt: skip
    flat = table.reshape(count, -1)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{key}\t{value}\n" for key, value in about.items())
        file.write("\t".join(["Frame", "Time", *names]) + "\n")
        for n, row in enumerate(flat.tolist()):
            values = "\t".join("0" if value == 0 else f"{value:.1f}" for value in row)
            file.write(f"{n + 1}\t{n * dt:.2f}\t{values}\n")


def _obstacle_mask(options: CrowdOptions) -> np.ndarray:
    """Whether the centre of each cell of the area is on an obstacle, rows along x, (h, w)."""
    x0, y0, x1, y1 = options.area
    x = x0 + options.cell * np.arange(round((x1 - x0) / options.cell))
    y = y0 + options.cell * np.arange(round((y1 - y0) / options.cell))
    x, y = x[:, None], y[None, :]
    blocked = np.zeros((x.size, y.size), bool)
    for left, low, right, high in options.walls:
        blocked |= (x >= left) & (x <= right) & (y >= low) & (y <= high)
    for centre_x, centre_y, radius in options.pillars:
        blocked |= (x - centre_x) ** 2 + (y - centre_y) ** 2 <= radius**2
    return np.asarray(blocked)


def _picture(out: Path, options: CrowdOptions) -> None:
    """Obstacles in white, and the homography from (row, column, 1) to metres."""
    picture = Image.fromarray(_obstacle_mask(options).astype(np.uint8) * 255)
    picture.save(out / options.map["picture"])
    x0, y0 = options.area[:2]
    matrix = np.array([[options.cell, 0, x0], [0, options.cell, y0], [0, 0, 1]])
    np.savetxt(out / options.map["homography"], matrix, fmt="%16.7e")


def _grid(out: Path, options: CrowdOptions) -> None:
    blocked = _obstacle_mask(options)
    about = {
        **{"id": Path(options.map["grid"]).stem, "origin_x": options.area[0]},
        **{"origin_y": options.area[1], "theta": 0, "h": blocked.shape[0], "w": blocked.shape[1]},
        "resolution": options.cell,
    }
    lines = [json.dumps({"map": about})]
    lines += [
        json.dumps({"surface": {"x": x, "y": y, "surf_class": int(cell)}})
        for (x, y), cell in np.ndenumerate(blocked)
    ]
    (out / options.map["grid"]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    classes = [(0, "w", "free_space"), (1, "k", "obstacle")]
    lines = [
        json.dumps({"surf_class": {"id": number_of, "color": colour, "name": name}})
        for number_of, colour, name in classes
    ]
    (out / options.map["classes"]).write_text("\n".join(lines) + "\n", encoding="utf-8")
