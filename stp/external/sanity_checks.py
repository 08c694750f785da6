"""Check the units and the order of forecasts, using a few statistics of each sample.

Both checks look for likely mistakes: other units in which forecasts fit the data far better than in
the required units, or samples that forecasts fit far better than their own sample. Forecasts that
are merely bad pass.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

SIDE = 8
MOST_CHANNELS = 4
CLOSE, DISTANT = 0.4, 4.0
"""Distances of distributions (`_distance`): below the first, units fit; above the second, they do
not."""
FAR = 8.0
"""Maximum difference between the mean of a forecast and of the frame before it, in standard
deviations of the data."""
BEYOND = 10.0
"""Maximum excess of a single value over the range of the data, in multiples of this range."""
MISPLACED = 0.05
"""Share of samples with misplaced forecasts above which the order counts as wrong."""
PAIRS = 4_000_000
"""Number of pairs of samples that are compared at a time."""


class UnitMistake(NamedTuple):
    """A likely mistake of units: values scale * x + offset in place of x.

    Attributes:
        what: description of the mistake, e.g. "values 0..255 for 0..1".
        remedy: advice on how to undo the mistake, e.g. "divide by 255".
        scale, offset: factor and offset of each channel, (C,).
    """

    what: str
    remedy: str
    scale: np.ndarray
    offset: np.ndarray


class Problem(NamedTuple):
    """A failed check of submitted predictions.

    Attributes:
        sample: index of the first sample that has the problem.
        what: description of the problem.
        remedy: advice on how to solve the problem.
        others: number of further samples that have the problem.
    """

    sample: int
    what: str
    remedy: str
    others: int = 0


def unit_mistakes(description: dict[str, Any]) -> list[UnitMistake]:
    """List the mistakes of units that predictions for exported windows may have.

    - Values of 0..255 or -1..1 in place of 0..1, and the negative (1 - x for x): only if the data
      have the units "1" and values in 0..1.
    - Values normalised by the constants of training: only if ``windows.json`` has such constants.
    - Values normalised to mean 0 and standard deviation 1, degrees Celsius for kelvin, and kelvin
      for degrees Celsius: for all data.

    Args:
        description: content of ``windows.json``, which describes the exported windows: units, and
            the lowest and highest value, mean and standard deviation of each channel.
    """
    values = {key: np.array(value) for key, value in description["values"].items()}
    channels = len(values["mean"])

    def mistake(text: str, remedy: str, scale: Any, offset: Any) -> UnitMistake:
        by_channel = (np.asarray(value, float).reshape(-1) for value in (scale, offset))
        return UnitMistake(text, remedy, *(np.broadcast_to(v, (channels,)) for v in by_channel))

    mistakes = []
    if description["units"] == "1" and values["low"].min() >= 0 and values["high"].max() <= 1:
        mistakes += [
            mistake("values 0..255 for 0..1", "divide by 255", 255, 0),
            mistake("values -1..1 for 0..1", "add 1, divide by 2", 2, -1),
            mistake("the negative, 1 - x for x", "subtract from 1", -1, 1),
        ]
    constants = description.get("normalisation") or {}
    if "scale" in constants and "offset" in constants:
        scale, offset = (np.asarray(constants[key], float) for key in ("scale", "offset"))
        if (scale != 1).any() or (offset != 0).any():
            text = "values normalised by the constants of training"
            remedy = "undo it: value * scale + offset (normalisation in windows.json)"
            mistakes.append(mistake(text, remedy, 1 / scale, -offset / scale))
    text = "values normalised to mean 0 and standard deviation 1"
    scale = 1 / np.where(values["std"] > 0, values["std"], 1)
    return [
        *mistakes,
        mistake(text, "undo the normalisation", scale, -values["mean"] * scale),
        mistake("degrees Celsius for Kelvin", "add 273.15", 1, -273.15),
        mistake("Kelvin for degrees Celsius", "subtract 273.15", 1, 273.15),
    ]


class SampleStatistics:
    """Statistics of each sample (row) and channel, gathered by `add` while forecasts are read.

    The statistics are then checked by `find_unit_mistake`, `find_blank` and `find_misplaced`. Means
    are over the first lead time and all members (forecasts of one sample); extremes are over all
    lead times.

    Args:
        samples: number of samples.
        description: content of ``windows.json``, which describes the exported windows.
    """

    def __init__(self, samples: int, description: dict[str, Any]) -> None:
        channels, height, width = description["shape"]
        self.mistakes = unit_mistakes(description)
        self.mean, self.square, self.low, self.high = np.zeros((4, samples, channels))
        self.before, self.before_square = np.zeros((2, samples, channels))
        self.lowest, self.highest = np.full(channels, np.inf), np.full(channels, -np.inf)
        self.errors = np.zeros((1 + len(self.mistakes), samples, channels))
        step = max(1, channels // MOST_CHANNELS)
        self._chosen = np.arange(channels)[::step][:MOST_CHANNELS]
        size = len(self._chosen) * min(SIDE, height) * min(SIDE, width)
        self.forecasts, self.latest, self.observed = np.zeros((3, samples, size), np.float32)

    def add(self, start: int, forecasts: np.ndarray, latest: np.ndarray, truth: np.ndarray) -> None:
        """Record the statistics of n samples of a submission.

        Args:
            start: index of the first sample.
            forecasts: forecasts of M members (forecasts of one sample) at T lead times with C
                channels, (n, M, T, C, H, W).
            latest: last context frame, (n, C, H, W).
            truth: true frame of the first lead time, (n, C, H, W).
        """
        rows = slice(start, start + len(forecasts))
        first = forecasts[:, :, 0].mean(axis=1, dtype=np.float64)
        before = latest.astype(np.float64)
        self.mean[rows], self.square[rows] = _moments(first)
        self.before[rows], self.before_square[rows] = _moments(before)
        self.lowest = np.minimum(self.lowest, before.min(axis=(0, 2, 3)))
        self.highest = np.maximum(self.highest, before.max(axis=(0, 2, 3)))
        self.low[rows] = forecasts.min(axis=(1, 2, 4, 5))
        self.high[rows] = forecasts.max(axis=(1, 2, 4, 5))
        self.errors[0, rows] = np.abs(first - before).mean(axis=(-1, -2))
        for number, mistake in enumerate(self.mistakes, 1):
            undone = (first - mistake.offset[:, None, None]) / mistake.scale[:, None, None]
            self.errors[number, rows] = np.abs(undone - before).mean(axis=(-1, -2))
        for table, frames in (
            (self.forecasts, first),
            (self.latest, latest),
            (self.observed, truth),
        ):
            table[rows] = _pooled(frames[:, self._chosen]).reshape(len(frames), -1)


def _moments(frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the values, and mean of their squares, (n, C) each."""
    return frames.mean(axis=(-1, -2)), np.square(frames).mean(axis=(-1, -2))


def _pooled(frames: np.ndarray) -> np.ndarray:
    """Means over a grid of at most SIDE x SIDE boxes."""
    for axis in (-1, -2):
        length = frames.shape[axis]
        edges = np.linspace(0, length, min(SIDE, length) + 1).astype(np.int64)
        shape = [1] * frames.ndim
        shape[axis] = -1
        frames = np.add.reduceat(frames, edges[:-1], axis=axis) / np.diff(edges).reshape(shape)
    return frames


def find_unit_mistake(tables: SampleStatistics, names: list[str]) -> Problem | None:
    """Find a likely mistake of units, or impossible values.

    Args:
        tables: statistics of all samples.
        names: names of the channels, for the message.

    Returns:
        the problem; None if there is none.
    """
    mean, std = _pooled_moments(tables.mean, tables.square)
    centre, spread = _pooled_moments(tables.before, tables.before_square)
    for channel, name in enumerate(names):
        if spread[channel] <= 1e-6 * max(abs(centre[channel]), 1e-6):
            continue  # a constant
        actual = _distance(mean, std, centre, spread, channel)
        candidates = []
        for number, mistake in enumerate(tables.mistakes, 1):
            shifted = mistake.scale * centre + mistake.offset, np.abs(mistake.scale) * spread
            other = _distance(mean, std, *shifted, channel)
            errors = tables.errors[:, :, channel].mean(axis=1)
            closer = actual > 1 and other < actual / 2 and (other < CLOSE or actual > DISTANT)
            if closer and errors[number] < errors[0] / 1.5:
                candidates.append((other, number))
        if candidates:
            number = min(candidates)[1]
            worse = tables.errors[number, :, channel] < tables.errors[0, :, channel]
            mistake = tables.mistakes[number - 1]
            about = f"{name}: mean {mean[channel]:.4g}, standard deviation {std[channel]:.4g}; "
            about += f"the data have {centre[channel]:.4g} and {spread[channel]:.4g}"
            count = int(worse.sum())
            return Problem(
                int(worse.argmax()), f"{mistake.what} ({about})", mistake.remedy, count - 1
            )
    return _find_impossible(tables, names, spread)


def find_blank(tables: SampleStatistics) -> Problem | None:
    """Find samples of one value in all pixels and lead times, as in an array that is not filled.

    Args:
        tables: statistics of all samples.

    Returns:
        the problem; None if there is no such sample, or if all samples are such, since a baseline
        may predict one value.
    """
    has_shapes = tables.before_square - tables.before**2 > 1e-6 * tables.before_square
    is_blank = ((tables.low == tables.high) & has_shapes).any(axis=1)
    if not is_blank.any() or is_blank.all():
        return None
    sample, count = int(is_blank.argmax()), int(is_blank.sum())
    what = f"one value, {tables.low[sample, 0]:.4g}, in all pixels and lead times"
    return Problem(sample, what, "predict these samples, too", count - 1)


def _find_impossible(
    tables: SampleStatistics, names: list[str], spread: np.ndarray
) -> Problem | None:
    lowest, highest = tables.lowest, tables.highest
    room = BEYOND * np.maximum(highest - lowest, spread)
    far = np.abs(tables.mean - tables.before) > FAR * spread
    far |= (tables.low < lowest - room) | (tables.high > highest + room)
    far &= spread > 1e-6 * np.maximum(np.abs(highest), 1e-6)  # nothing is known of constants
    if not far.any():
        return None
    sample = int(far.any(axis=1).argmax())
    channel = int(far[sample].argmax())
    text = (
        f"{names[channel]} of {tables.low[sample, channel]:.4g} to "
        f"{tables.high[sample, channel]:.4g}, mean {tables.mean[sample, channel]:.4g} at the first "
        f"lead time, after a frame of mean {tables.before[sample, channel]:.4g}"
    )
    others = int(far.any(axis=1).sum()) - 1
    return Problem(sample, text, "write the predictions in the units of the context", others)


def _pooled_moments(mean: np.ndarray, square: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    overall = mean.mean(axis=0)
    return overall, np.sqrt(np.maximum(square.mean(axis=0) - overall**2, 0))


def _distance(
    mean: np.ndarray, std: np.ndarray, centre: np.ndarray, spread: np.ndarray, channel: int
) -> float:
    """Distance of two distributions: shift in standard deviations plus log ratio of deviations."""
    shift = abs(mean[channel] - centre[channel]) / spread[channel]
    ratio = max(std[channel], 1e-6 * spread[channel]) / spread[channel]
    return float(shift + abs(np.log(ratio)))


def find_misplaced(
    tables: SampleStatistics,
    starts: np.ndarray,
    stops: np.ndarray,
    report: Callable[[str, int, int], None] = lambda text, done, total: None,
) -> Problem | None:
    """Find misplaced forecasts, which seem to belong to other samples.

    The distance d(i, j) of forecast i from sample j is a root mean square difference: that of the
    first predicted frame from the last context frame of j, or from the first true frame of j,
    whichever is smaller. Forecast i is misplaced if, for another sample j, d(i, j) < d(i, i) / 2
    and d(i, j) < d(j, j) / 2. Samples whose windows overlap are not compared.

    Args:
        tables: statistics of all samples.
        starts, stops: indices of the first frame of each window, and of the frame after its last.
        report: callback for the progress.

    Returns:
        the problem, with the first sample whose forecast is misplaced, and the number of others;
        None if no forecast is misplaced.
    """
    # d is small for persistence by the context frame, and for a good model by the true frame.
    # By the condition on d(j, j), similar forecasts do not count as misplaced.
    scale = max(float(tables.latest.std(axis=0).max()), 1e-12)
    forecasts, latest, observed = (
        table.astype(np.float64) / scale
        for table in (tables.forecasts, tables.latest, tables.observed)
    )
    distance = np.minimum(_rms_distances(forecasts, latest), _rms_distances(forecasts, observed))
    misplaced: list[tuple[int, int]] = []
    size = max(1, PAIRS // len(distance))
    for begin in range(0, len(distance), size):
        rows = slice(begin, begin + size)
        each = np.minimum(
            _pairwise_rms_distances(forecasts[rows], latest),
            _pairwise_rms_distances(forecasts[rows], observed),
        )
        overlap = (starts[rows, None] < stops) & (starts < stops[rows, None])
        each[overlap] = np.inf
        each[each >= 0.5 * distance] = np.inf  # the other sample's own forecast fits too
        best = each.argmin(axis=1)
        nearest = each[np.arange(len(best)), best]
        hits = np.flatnonzero(nearest < 0.5 * distance[rows])
        misplaced += [(begin + int(i), int(best[i])) for i in hits]
        report("order of samples checked", min(begin + size, len(distance)), len(distance))
    if not misplaced:
        return None
    sample, other = misplaced[0]
    text = (
        f"fits sample {other} far better than its own, and better than the forecast of {other} does"
    )
    remedy = "put the predictions into the order of index.csv"
    return Problem(sample, text, remedy, len(misplaced) - 1)


def is_wrong_order(problem: Problem, samples: int) -> bool:
    """Whether misplaced forecasts are too many to be a coincidence.

    A forecast is misplaced if it fits another sample far better than its own.

    Args:
        problem: misplaced forecasts, as found by `find_misplaced`.
        samples: number of all samples.

    Returns:
        True if at least two forecasts and 5 % of all are misplaced.
    """
    return problem.others + 1 >= max(2.0, MISPLACED * samples)


def _rms_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.sqrt(np.square(a - b).mean(axis=1))


def _pairwise_rms_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Root mean square distances of all pairs, (len(a), len(b))."""
    squares = np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1) - 2 * a @ b.T
    return np.asarray(np.sqrt(np.maximum(squares, 0) / a.shape[1]))


def channel_names(description: dict[str, Any]) -> list[str]:
    """List the names of the channels, for messages.

    Args:
        description: content of ``windows.json``, which describes the exported windows.

    Returns:
        names of the variables if ``windows.json`` has them. Otherwise it is ``brightness`` for a
        single channel, and ``channel 0``, ``channel 1``, ... for several.
    """
    names: Iterable[str] | None = description.get("variables")
    count = description["shape"][0]
    if names:
        return list(names)
    return ["brightness"] if count == 1 else [f"channel {channel}" for channel in range(count)]
