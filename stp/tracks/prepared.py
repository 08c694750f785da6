"""Read and write prepared tracks, the input of calibration and prediction."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.core.errors import StpError
from stp.core.parquet import read_table, report_read_errors
from stp.options.protocols import PROTOCOLS, RELEASED
from stp.tracks import tables
from stp.tracks.obstacles import Obstacles
from stp.tracks.scenarios import Scenarios, extract
from stp.tracks.surface import Surface
from stp.tracks.tracks import Tracks, split_in_time, with_released_clock

TRACKS, OBSTACLES = "tracks.parquet", "obstacles.parquet"
GOALS, SURFACE = "goals.parquet", "surface.parquet"
T = TypeVar("T")
PARTS = ("calibration", "test")


@dataclass(frozen=True)
class PreparedTracks:
    """A prepared dataset of tracks, with the map of its scene.

    Attributes:
        tracks: all detections.
        obstacles: obstacles of the scene; None without a map.
        about: metadata of the preparation, such as the name of the dataset and its options.
        goals: places that people of the scene walk to, (G, 2), metres; None if unknown. They are
            drawn on maps; predictors ignore them.
        surface: class of the ground, such as road, in each cell of the scene; None if unknown.
    """

    tracks: Tracks
    obstacles: Obstacles | None
    about: dict[str, Any]
    goals: np.ndarray | None = None
    surface: Surface | None = None

    @property
    def step(self) -> int:
        """Number of frames between two positions of a scenario."""
        return int(self.tracks.step * self.about.get("decimate", 1))

    def scenarios(
        self,
        part: str,
        protocol: str,
        observe: int,
        predict: int,
        *,
        noise: float = 0.0,
        seed: int = 0,
        fewest: int | None = None,
    ) -> Scenarios:
        """Cut scenarios (moments with observed and future positions) from a part of the dataset.

        Args:
            part: ``calibration`` for the first detections, ``test`` for the others.
            protocol: name of the rules by which scenarios are cut: ``atlas-paper``, ``strict`` or
                ``strict-relaxed`` (`stp.tracks.scenarios`).
            observe, predict: numbers of observed and of future positions.
            noise: standard deviation of noise added to observed positions, metres; see
                `stp.tracks.scenarios.extract`.
            seed: seed of the noise.
            fewest: minimum number of people in a scenario; None for the dataset's default.

        Raises:
            StpError: the part or protocol is unknown, or there is no scenario.
        """
        scenarios = extract(
            self.part(part, protocol),
            observe=observe,
            predict=predict,
            noise=noise,
            seed=seed,
            **self.rules(protocol, fewest),
        )
        if not len(scenarios):
            raise StpError(
                f"{self.about['dataset']}: none of {scenarios.looked_at} moments is a scenario of "
                f"{observe} observed and {predict} future positions",
                expected="moments from which all observed people are present throughout",
                remedy="observe or predict fewer positions, or demand fewer people",
            )
        return scenarios

    def part(self, part: str, protocol: str) -> Tracks:
        """Select the detections of one part of the dataset.

        Under ``atlas-paper``, rows are counted as in the released code of Atlas, so that people
        may be in both parts. Under other protocols, the split is a moment in time, and people of
        the test are removed from the calibration part.

        Args:
            part: ``calibration`` or ``test``.
            protocol: name of the rules by which scenarios are cut, such as ``strict``.

        Raises:
            StpError: the part or protocol is unknown, or the part is empty.
        """
        if part not in PARTS or protocol not in PROTOCOLS:
            raise StpError(
                f"no scenarios of {part!r} by {protocol!r}",
                expected=f"{' or '.join(PARTS)}, by {' or '.join(PROTOCOLS)}",
                remedy="name a protocol as the subset",
            )
        chosen = self._parts(protocol)[part]
        if not len(chosen):
            raise StpError(
                f"{self.about['dataset']}: no detections are for {part}",
                expected=f"a part of the detections, for calibration {self.about['calibration']:g}"
                f"; under protocols other than {RELEASED}, of people who are not in the test",
                remedy="calibrate on another dataset, or set `calibration` in its configuration",
            )
        return chosen

    def _parts(self, protocol: str) -> dict[str, Tracks]:
        """Detections of the parts ``calibration`` and ``test``, by name; either may be empty."""
        share = self.about["calibration"]
        recordings = self.about.get("recordings", [len(self.tracks)])
        if PROTOCOLS[protocol].is_released:
            moved = with_released_clock(self.tracks, recordings)
            return dict(zip(PARTS, (moved.part(0, share), moved.part(share, 1)), strict=True))
        return dict(zip(PARTS, split_in_time(self.tracks, share, recordings)[:2], strict=True))

    def nonempty_parts(self, protocol: str) -> list[str]:
        """Names of the parts (calibration, test) that have detections under a protocol."""
        return [part for part, tracks in self._parts(protocol).items() if len(tracks)]

    def count_shared_people(self) -> tuple[int, int]:
        """Count the people who appear in both the calibration part and the test part.

        Returns:
            two numbers of people: those in both parts under the protocol ``atlas-paper``, which
            does not separate them; and those whom all other protocols exclude from the calibration
            part because they are in the test part.
        """
        before, after = self._parts(RELEASED).values()
        recordings = self.about.get("recordings", [len(self.tracks)])
        lacking = split_in_time(self.tracks, self.about["calibration"], recordings)[2]
        return len(np.intersect1d(before.person, after.person)), lacking

    def rules(self, protocol: str, fewest: int | None = None) -> dict[str, Any]:
        """Options by which scenarios of this dataset are cut under a protocol.

        Args:
            protocol: name of the protocol, such as ``strict``.
            fewest: minimum number of people in a scenario; None for the dataset's default.

        Returns:
            keyword arguments of `stp.tracks.scenarios.extract`: ``protocol``, ``smooth``,
            ``fewest``, ``name`` and ``decimate``.
        """
        return {
            "protocol": protocol,
            "smooth": self.about["smooth"],
            "fewest": self.about["fewest"] if fewest is None else fewest,
            "name": self.about["dataset"],
            "decimate": self.about.get("decimate", 1),
        }


def write(
    folder: Path,
    tracks: Tracks,
    obstacles: Obstacles | None,
    about: dict[str, Any],
    goals: np.ndarray | None = None,
    surface: Surface | None = None,
) -> None:
    """Write a prepared dataset to a folder; the arguments are attributes of `PreparedTracks`."""
    tables.write_tracks(folder / TRACKS, tracks, about)
    if obstacles is not None:
        x, y = obstacles.position.T
        table = pa.table({"x": x, "y": y, "radius": obstacles.radius})
        _write(folder / OBSTACLES, table, {"kind": obstacles.kind})
    if goals is not None:
        _write(folder / GOALS, pa.table({"x": goals[:, 0], "y": goals[:, 1]}), {})
    if surface is not None:
        x, y = surface.position.T
        names = json.dumps(surface.names, sort_keys=True)
        table = pa.table({"x": x, "y": y, "class": surface.kind})
        _write(folder / SURFACE, table, {"size": str(surface.size), "names": names})


def _write(path: Path, table: pa.Table, about: dict[str, str]) -> None:
    pq.write_table(
        table.replace_schema_metadata(about), path, compression="zstd", write_page_checksum=True
    )


def read(folder: Path) -> PreparedTracks:
    """Read a prepared dataset of tracks (paths of people) from a folder.

    Raises:
        StpError: a file is missing or damaged.
    """
    tracks, about = tables.read_tracks(folder / TRACKS)
    return PreparedTracks(
        tracks,
        _read(folder / OBSTACLES, _obstacles, "obstacles: x, y and radius"),
        about,
        _read(folder / GOALS, _positions, "goals: x and y"),
        _read(folder / SURFACE, _surface, "a semantic grid: x, y and class"),
    )


def _read(path: Path, convert: Callable[[pa.Table], T], expected: str) -> T | None:
    if not path.is_file():
        return None
    with report_read_errors(path, expected):
        return convert(read_table(path, expected=expected))


def _positions(table: pa.Table) -> np.ndarray:
    return np.column_stack([table["x"].to_numpy(), table["y"].to_numpy()])


def _obstacles(table: pa.Table) -> Obstacles:
    kind = (table.schema.metadata or {})[b"kind"].decode()
    return Obstacles(kind, _positions(table), table["radius"].to_numpy())


def _surface(table: pa.Table) -> Surface:
    about = table.schema.metadata or {}
    names = {int(kind): name for kind, name in json.loads(about[b"names"]).items()}
    return Surface(_positions(table), table["class"].to_numpy(), float(about[b"size"]), names)
