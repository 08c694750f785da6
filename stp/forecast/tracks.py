"""Forecasts of people: a predictor, and the last positions of tracks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stp.core.errors import StpError
from stp.core.options import build
from stp.inspect.guess_tracks import SUFFIXES, guess, members
from stp.prepare.tracks import TracksOptions, grouped, read_recording
from stp.tracks import densities
from stp.tracks.gaps import filled
from stp.tracks.obstacles import Obstacles
from stp.tracks.scenarios import Scenarios
from stp.tracks.smoothing import box
from stp.tracks.tracks import joined, labels

OBSERVE, PREDICT = 8, 12
"""Positions that a predictor without a calibration is shown, and predicts."""


@dataclass(frozen=True)
class TrackModel:
    """A predictor of people.

    Attributes:
        name: a module of stp.tracks.predictors.
        module: that module.
        parameters: its own.
        context, horizon: positions that it is shown, and predicts.
    """

    name: str
    module: Any
    parameters: Any
    context: int = OBSERVE
    horizon: int = PREDICT

    def forecast(
        self,
        positions: np.ndarray,
        leads: int | None = None,
        *,
        dt: float,
        person: np.ndarray | None = None,
        obstacles: Obstacles | None = None,
    ) -> np.ndarray:
        """Predict where people go.

        Args:
            positions: (N, observed, 2), metres: all people who are there.
            leads: positions T; those of its training unless given.
            dt: seconds between two positions.
            person: numbers of the people, (N,).
            obstacles: of the place.

        Returns:
            float64 (M, N, T, 2), metres: one path for each person, or M samples of a predictor
            that draws them.

        Raises:
            StpError: positions of another form, too few, or not finite.
        """
        seen = np.asarray(positions, np.float64)
        ok = seen.ndim == 3 and seen.shape[2] == 2 and seen.shape[1] >= 2 and len(seen)
        if not ok or not np.isfinite(seen).all():
            raise StpError(
                f"positions of shape {seen.shape} for {self.name}",
                expected="finite metres, (people, at least 2 positions, 2)",
            )
        steps = leads or self.horizon
        scenarios = Scenarios(
            start=np.zeros(1),
            person=(np.arange(len(seen)) if person is None else np.asarray(person))[None],
            observed=seen[None],
            future=np.full((1, len(seen), steps, 2), np.nan),
            episode=np.zeros(1, np.int64),
            dt=dt,
            looked_at=1,
        )
        found = self.module.predict(scenarios, steps, self.parameters, obstacles)
        points = densities.stated(found, scenarios, steps, self.module)
        return np.asarray(points[:, 0] if points.ndim == 5 else points)


@dataclass(frozen=True)
class Crowd:
    """The people who are there at the end of a recording.

    Attributes:
        person: numbers, (N,).
        names: identifiers of the people in the raw data, N.
        positions: (N, observed, 2), metres.
        dt: seconds between two positions.
        left_out: people who are there at the end, and were not seen long enough.
    """

    person: np.ndarray
    names: list[str]
    positions: np.ndarray
    dt: float
    left_out: int


def read(
    path: Path, observe: int, options: dict[str, Any] | None = None, fps: float | None = None
) -> Crowd:
    """Read the last positions of people from detections.

    Gaps are filled and positions smoothed from what was observed alone, as under ``strict``.

    Args:
        path: a file of detections, or a folder of them, which follow one another unless the
            options say that they are of one recording.
        observe: positions.
        options: of the reader; guessed as `stp new-dataset` does unless given.
        fps: frames per second, if somebody knows; for the guess.

    Raises:
        StpError: files cannot be read, or nobody is seen long enough at their end.
    """
    found = members(path)
    if not found:
        raise StpError(f"{path}: no detections", expected=f"a file {' '.join(SUFFIXES)}")
    folder = path if path.is_dir() else path.parent
    names = [one.relative_to(folder).as_posix() for one in found]
    if options is None:
        options = guess(folder, names, fps).prepare
    made = build(TracksOptions, options, "prepare options of tracks")
    recordings = [
        read_recording([folder / name for name in files], made).tracks
        for files in grouped(names, made.recording).values()
    ]
    tracks = joined(recordings).ordered()
    # Counted from the end: the last moment is where the future begins.
    step, dt = tracks.step * made.decimate, tracks.dt * made.decimate
    whole = filled(tracks)
    wanted = whole.frame.max() - step * np.arange(observe - 1, -1, -1)
    person, positions, short = [], [], 0
    for number, rows in whole.people().items():
        if whole.frame[rows].max() < wanted[-1]:
            continue
        at = {float(frame): row for frame, row in zip(whole.frame[rows], rows, strict=True)}
        if all(float(frame) in at for frame in wanted):
            person.append(number)
            positions.append(whole.position[[at[float(frame)] for frame in wanted]])
        else:
            short += 1
    if not person:
        raise StpError(
            f"{path}: nobody who is there at the end was seen at {observe} positions in a row, "
            f"{dt:g} s apart ({short} were there for less)",
            expected="at least one person",
            remedy="observe fewer positions (--observe), or cut the recording where people are",
        )
    numbers = np.array(person)
    observed = box(np.stack(positions), made.smooth)
    return Crowd(numbers, labels(numbers, tracks.names), observed, dt, short)
