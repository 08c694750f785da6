"""People who walk as tests need it."""

import numpy as np

from stp.tracks.scenarios import Scenarios
from stp.tracks.tracks import Tracks


def crowd(
    scenes: int, people: int, seed: int = 0, observe: int = 6, predict: int = 10
) -> Scenarios:
    """People who walk straight through a square of 8 m, with a little noise; two at least."""
    random = np.random.default_rng(seed)
    count = random.integers(2, people + 1, scenes)
    there = np.arange(people) < count[:, None]
    begin = random.uniform(0, 8, (scenes, people, 1, 2))
    speed = random.normal(0, 1, (scenes, people, 1, 2))
    steps = np.arange(observe + predict)[:, None]
    path = begin + 0.4 * speed * steps + random.normal(0, 0.02, (scenes, people, len(steps), 2))
    path = np.where(there[..., None, None], path, np.nan)
    person = np.where(there, np.arange(people), -1)
    return Scenarios(
        np.arange(scenes), person, path[:, :, :observe], path[:, :, observe:],
        np.arange(scenes), 0.4, scenes,
    )  # fmt: skip


def tracks(*paths: tuple[int, int, np.ndarray], step: int = 6) -> Tracks:
    """Detections: for each path its person, first frame and positions (n, 2); by frame."""
    rows = sorted(
        (begin + step * i, person, x, y)
        for person, begin, positions in paths
        for i, (x, y) in enumerate(positions)
        if np.isfinite(x)
    )
    frame, person, x, y = np.array(rows).T
    return Tracks(frame, person.astype(np.int64), np.column_stack([x, y]), step, 0.4)


def line(
    steps: int, speed: tuple[float, float] = (0.5, 0.0), wobble: int | None = None
) -> np.ndarray:
    """A straight walk, metres; with a seed, one that wobbles."""
    path = np.arange(steps)[:, None] * np.array(speed)
    if wobble is not None:
        path = path + np.random.default_rng(wobble).normal(0, 0.1, path.shape)
    return path
