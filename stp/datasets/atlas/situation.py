"""Generate situations of Atlas: chasing, crossing, opposing, meeting groups, people around a disc.

A situation is repeated several times with different random parameters, in one TrajNet++ ndjson file
at 10 Hz, like the released scenarios (Atlas, section V-A and Figures 2 and 3). Each repetition has
new people, and begins a minute after the previous one. The parameters are those of
`stp.tracks.generators`. If there are obstacles, which are circular, a list of them is written too.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from stp.core.job import Report
from stp.core.options import build, check_keys, number, require
from stp.tracks import generators
from stp.tracks.obstacles import Obstacles
from stp.tracks.tracks import Tracks, join_recordings

SITUATIONS: dict[str, Callable[..., Any]] = {
    "chasing": generators.chasing,
    "crossing": generators.crossing,
    "opposing": generators.opposing,
    "groups": generators.groups_meeting,
    "around": generators.around_an_obstacle,
}


@dataclass(frozen=True, kw_only=True)
class SituationOptions:
    """Options of the generator of situations of Atlas, such as two people who cross.

    Attributes:
        situation: the simulated encounter of people: chasing, crossing, opposing, groups or around.
        path: path of the file of tracks, TrajNet++ ndjson.
        discs: path of the list of circular obstacles; required for the situation ``around``, null
            for all others, which have no obstacles.
        times: number of repetitions of the situation.
        parameters: parameters of the situation: a number, or the bounds [lowest, highest] of a
            random number for each repetition.
        noise: standard deviation of the noise of detections, metres.
        seed: seed of all random numbers.
    """

    situation: str
    path: str
    discs: str | None = None
    times: PositiveInt = 16
    parameters: dict[str, Any] = field(default_factory=dict)
    noise: NonNegativeFloat = 0.01
    seed: NonNegativeInt = 0

    def __post_init__(self) -> None:
        require(self.situation in SITUATIONS, "situation", self.situation, ", ".join(SITUATIONS))
        parameters = inspect.signature(SITUATIONS[self.situation]).parameters
        check_keys(f"parameters of {self.situation}", self.parameters, parameters)
        for name, value in self.parameters.items():
            bounds = value if isinstance(value, list) and len(value) == 2 else [value, value]
            ok = all(map(number, bounds)) and bounds[0] <= bounds[1] and bounds[0] > 0
            require(ok, f"parameters.{name}", value, "a number above 0, or [least, most]")
        around = self.situation == "around"
        require((self.discs is not None) == around, "discs", self.discs, "a path, for around only")
        fixed = not around or not isinstance(self.parameters.get("radius", 0), list)
        require(fixed, "parameters.radius", self.parameters.get("radius"), "one for all times")


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Simulate repetitions of a situation, and write the paths of all people to one file.

    A situation is a simple encounter of few people, such as two who cross: a key of `SITUATIONS`.
    In the situation ``around``, people walk around a circular obstacle, and a list of the obstacles
    is written too.

    Args:
        out: folder below which the files are written.
        options: values of `SituationOptions` by name.
        report: function that receives the progress.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(SituationOptions, options, "generator options")
    make = SITUATIONS[chosen.situation]
    parameters = inspect.signature(make).parameters
    parts: list[Tracks] = []
    people = 0
    obstacles: Obstacles | None = None
    for time in range(chosen.times):
        random = np.random.default_rng([chosen.seed, time])
        drawn = {
            name: _draw_parameter(value, random, parameters[name].default)
            for name, value in sorted(chosen.parameters.items())
        }
        scene = make(**drawn)
        tracks, obstacles = scene if isinstance(scene, tuple) else (scene, None)
        noise = random.normal(0, chosen.noise, tracks.position.shape)
        person = tracks.person + people
        parts.append(replace(tracks, person=person, position=tracks.position + noise))
        people = int(person.max())
        report("situations", time + 1, chosen.times)
    write_ndjson(out / chosen.path, join_recordings(parts))
    if obstacles is not None and chosen.discs is not None:
        table = np.column_stack([obstacles.position, obstacles.radius])
        path = out / chosen.discs
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savetxt(path, table, fmt="%g")


def _draw_parameter(value: Any, random: np.random.Generator, default: Any) -> Any:
    """Draw a parameter of one repetition; an integer if its default is an integer."""
    least, most = value if isinstance(value, list) else (value, value)
    if isinstance(default, int):
        return int(random.integers(int(least), int(most) + 1))
    return float(random.uniform(least, most))


def write_ndjson(path: Path, tracks: Tracks) -> None:
    """Write detections as TrajNet++ does, positions in centimetres."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"track": {"f": int(f), "p": int(p), "x": round(x, 2), "y": round(y, 2)}})
        for f, p, (x, y) in zip(tracks.frame, tracks.person, tracks.position.tolist(), strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
