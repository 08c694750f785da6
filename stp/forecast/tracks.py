"""Forecasts of people's paths: a predictor, and the last observed positions of people."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stp.core.errors import StpError
from stp.core.options import build
from stp.inspect.guess_tracks import SUFFIXES, guess, members
from stp.prepare.tracks import TracksOptions, group_files, read_recording
from stp.tracks import densities
from stp.tracks.gaps import fill_gaps
from stp.tracks.obstacles import Obstacles
from stp.tracks.scenarios import Scenarios
from stp.tracks.smoothing import box
from stp.tracks.tracks import join_recordings, labels

OBSERVE, PREDICT = 8, 12
"""Numbers of observed and predicted positions of a predictor without a calibration."""


@dataclass(frozen=True)
class TrackModel:
    """A predictor of people's paths.

    Attributes:
        name: name of the predictor, a module of stp.tracks.predictors.
        module: the module of this name.
        parameters: parameters of the predictor.
        context, horizon: numbers of observed and predicted positions.
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
        """Predict the next positions of people.

        Args:
            positions: observed positions of the N people present, (N, observed, 2), metres.
            leads: number of predicted positions T; by default as in training.
            dt: seconds between two positions.
            person: numbers that identify the people, (N,); seeds for predictors that draw paths.
            obstacles: obstacles of the scene.

        Returns:
            positions, float64 (M, N, T, 2), metres. M is the number of samples of a predictor that
            returns samples, otherwise 1.

        Raises:
            StpError: positions have another shape, are too few or not finite.
        """
        observed = np.asarray(positions, np.float64)
        is_valid = (
            observed.ndim == 3
            and observed.shape[2] == 2
            and observed.shape[1] >= 2
            and len(observed)
        )
        if not is_valid or not np.isfinite(observed).all():
            raise StpError(
                f"positions of shape {observed.shape} for {self.name}",
                expected="finite metres, (people, at least 2 positions, 2)",
            )
        steps = leads or self.horizon
        scenarios = Scenarios(
            start=np.zeros(1),
            person=(np.arange(len(observed)) if person is None else np.asarray(person))[None],
            observed=observed[None],
            future=np.full((1, len(observed), steps, 2), np.nan),
            episode=np.zeros(1, np.int64),
            dt=dt,
            looked_at=1,
        )
        prediction = self.module.predict(scenarios, steps, self.parameters, obstacles)
        points = densities.to_positions(prediction, scenarios, steps, self.module)
        return np.asarray(points[:, 0] if points.ndim == 5 else points)


@dataclass(frozen=True)
class Crowd:
    """The N people who are present at the end of a recording.

    Attributes:
        person: numbers of the people, (N,).
        names: identifiers of the N people in the raw data.
        positions: last positions, (N, observed, 2), metres.
        dt: seconds between two positions.
        left_out: number of people present at the end whose tracks are too short.
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

    Gaps are filled, and each position is smoothed from observed positions only, as in the protocol
    ``strict`` of the benchmark.

    Args:
        path: file of detections, or folder of such files, which are successive recordings unless
            the options join them.
        observe: number of positions to read for each person.
        options: options of the reader, as a dataset file states them; by default they are guessed
            from the files.
        fps: frames per second, if the options are guessed.

    Raises:
        StpError: files cannot be read, or no track at the end of the recording is long enough.
    """
    files = members(path)
    if not files:
        raise StpError(f"{path}: no detections", expected=f"a file {' '.join(SUFFIXES)}")
    folder = path if path.is_dir() else path.parent
    names = [file.relative_to(folder).as_posix() for file in files]
    if options is None:
        options = guess(folder, names, fps).prepare
    reader_options = build(TracksOptions, options, "prepare options of tracks")
    recordings = [
        read_recording([folder / name for name in group], reader_options).tracks
        for group in group_files(names, reader_options.recording).values()
    ]
    tracks = join_recordings(recordings).sorted_by_frame()
    # Counted from the end: the last moment is where the future begins.
    step, dt = tracks.step * reader_options.decimate, tracks.dt * reader_options.decimate
    complete = fill_gaps(tracks)
    moments = complete.frame.max() - step * np.arange(observe - 1, -1, -1)
    person, positions, short = [], [], 0
    for number, rows in complete.people().items():
        if complete.frame[rows].max() < moments[-1]:
            continue
        row_of = {float(frame): row for frame, row in zip(complete.frame[rows], rows, strict=True)}
        if all(float(frame) in row_of for frame in moments):
            person.append(number)
            positions.append(complete.position[[row_of[float(frame)] for frame in moments]])
        else:
            short += 1
    if not person:
        raise StpError(
            f"{path}: nobody who is present at the end was seen at {observe} positions in a row, "
            f"{dt:g} s apart ({short} were seen for less)",
            expected="at least one person",
            remedy="observe fewer positions (--observe), or cut the recording where people are",
        )
    numbers = np.array(person)
    observed = box(np.stack(positions), reader_options.smooth)
    return Crowd(numbers, labels(numbers, tracks.names), observed, dt, short)
