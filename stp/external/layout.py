"""Detect wrong layouts of imported predictions: frames that are reversed, rolled or transposed.

Predictions that are one frame early, or have their lead times in reverse order, are detected too.

If predictions have coordinates, these decide. Otherwise, the frames of a sample of windows are
compared with observed frames: a layout is wrong if its correction makes frames fit far better.
Forecasts that are merely bad fit in no layout. Forecasts that are one frame late cannot be
distinguished from bad ones.
"""

from collections.abc import Callable, Mapping
from itertools import product
from typing import NamedTuple

import numpy as np

from stp.external.formats import Coordinate
from stp.external.submitted import Source

SAMPLE = 50
"""Maximum number of compared windows."""
ASYMMETRIC = 0.05
"""Minimum mean squared difference between the layouts of an observed frame, relative to the
variance of its pixels; windows below are not used."""
CLEAR = 0.1
"""Maximum mean squared error of predicted frames in the better layout, relative to the difference
between the layouts of the observed frame; windows above are undecided."""
FEWEST = 3
"""Minimum number of decided windows; at least half of the used windows must be decided, too."""
SHARE = 0.95
"""Share of the decided windows in which the other layout must be the better one."""
SAME, MOVED = 1e-4, 1e-2
"""Maximum mean squared difference of equal frames, and minimum of different frames, relative to the
difference between two consecutive observed frames."""
MOST_LISTED = 20
"""Maximum length of an axis whose order is written out."""
AXES = {"lead": -4, "channel": -3, "y": -2, "x": -1}
ALIASES = {"lat": ("lat", "latitude"), "lon": ("lon", "longitude")}
FULL_CIRCLE = 360.0


class Mistake(NamedTuple):
    """A likely mistake in the layout of submitted frames, such as exchanged axes.

    Attributes:
        what: description of the mistake.
        expected: description of the right layout.
        remedy: advice on how to undo the mistake.
    """

    what: str
    expected: str
    remedy: str


class Layout(NamedTuple):
    """A wrong order of rows, columns or channels that submitted frames may have.

    Attributes:
        what: description of the layout, e.g. "rows in reverse order (upside down)".
        remedy: Python expression that undoes the layout, e.g. "predictions[..., ::-1, :]".
        steps: number of single mistakes, such as a reversed axis, that make up the layout.
        undo: function that undoes the layout of one frame: (C, H, W) to (C, H, W).
    """

    what: str
    remedy: str
    steps: int
    undo: Callable[[np.ndarray], np.ndarray]


def layouts(channels: int, height: int, width: int) -> list[Layout]:
    """List the wrong layouts that frames of a given shape may have.

    A layout is the order of rows, columns and channels. If predictions fit the observed frames far
    better once a wrong layout is undone, the submitter has probably made this mistake.

    Args:
        channels: number of channels. Three may be in reverse order (BGR for RGB).
        height: number of rows, which may be in reverse order.
        width: number of columns, which may be in reverse order, or rolled by half the width. Rows
            and columns may be exchanged if height and width are equal.

    Returns:
        single mistakes first, then combinations of them.
    """
    listed = []
    for exchanged, rows, columns, rolled in product((False, True), repeat=4):
        steps = exchanged + rows + columns + rolled
        if not steps or (exchanged and height != width):
            continue

        def undo(
            frames: np.ndarray,
            exchanged: bool = exchanged,
            step: tuple[int, int] = (-1 if rows else 1, -1 if columns else 1),
            shift: int = width // 2 if rolled else 0,
        ) -> np.ndarray:
            frames = np.swapaxes(frames, -1, -2) if exchanged else frames
            return np.roll(frames[..., :: step[0], :: step[1]], shift, axis=-1)

        names, remedy = [], "predictions"
        if exchanged:
            names.append("rows and columns exchanged")
            remedy = f"np.swapaxes({remedy}, -1, -2)"
        if rows:
            names.append("rows in reverse order (upside down)")
            remedy += "[..., ::-1, :]"
        if columns:
            names.append("columns in reverse order (mirrored)")
            remedy += "[..., ::-1]"
        if rolled:
            names.append("columns rolled by half the width (longitudes -180..180 for 0..360)")
            remedy = f"np.roll({remedy}, {width // 2}, axis=-1)"
        listed.append(Layout(" and ".join(names), remedy, steps, undo))
    if channels == 3:
        what = "channels in reverse order (BGR for RGB)"
        listed.append(Layout(what, "predictions[..., ::-1, :, :]", 1, lambda frames: frames[::-1]))
    return sorted(listed, key=lambda layout: layout.steps)


class LayoutCheck:
    """Search for a wrong layout of predicted frames, by comparing them with observed frames.

    A wrong layout has rows, columns or three channels in reverse order, columns rolled by half the
    width, or rows and columns exchanged (`layouts`). Lead times in reverse order, and predictions
    that are one frame early, are found too.

    Samples are passed to `add` while they are read; at most 50, spread evenly, are compared. After
    the last sample, `mistake` returns the likely mistake.

    The error of a predicted frame is its mean squared difference from the last context frame (small
    for persistence) or from the true frame (small for a good forecast), whichever is smaller. Each
    channel is compared separately.

    Args:
        samples: total number of samples.
        shape: channels, height and width of frames.
        names: names of the channels.
    """

    def __init__(self, samples: int, shape: tuple[int, int, int], names: list[str]) -> None:
        self._rows = set(np.linspace(0, samples - 1, min(samples, SAMPLE)).astype(int).tolist())
        self._layouts, self._names = layouts(*shape), names
        counts = np.zeros((3, len(self._layouts), shape[0]), np.int64)
        self._differing, self._telling, self._fitting = counts
        self._errors = np.zeros((len(self._layouts), shape[0]))
        self._moving = self._early = 0
        self._changing, self._near_truth, self._reversed = np.zeros((3, shape[0]), np.int64)

    def add(
        self,
        start: int,
        forecasts: np.ndarray,
        truth: np.ndarray,
        latest: np.ndarray | None,
        last: np.ndarray | None = None,
    ) -> None:
        """Compare the forecasts of n samples with observed frames, and count signs of mistakes.

        The method `mistake` then decides by the counts whether the forecasts have a wrong layout.

        Args:
            start: index of the first sample.
            forecasts: forecasts of M members (forecasts of one sample) at T lead times with C
                channels, (n, M, T, C, H, W).
            truth: true frame of the first lead time, (n, C, H, W); NaN for missing values.
            latest: last frame before the forecast, (n, C, H, W); None without context frames.
            last: true frame of the last lead time, (n, C, H, W); None to skip the check for
                reversed lead times.
        """
        for i in range(len(forecasts)):
            if start + i not in self._rows:
                continue
            first = forecasts[i, :, 0].mean(axis=0, dtype=np.float64)
            observed = [
                frames[i].astype(np.float64) for frames in (truth, latest) if frames is not None
            ]
            self._compare(first, observed)
            if latest is not None and forecasts.shape[2] > 1:
                second = forecasts[i, :, 1].mean(axis=0, dtype=np.float64)
                self._compare_times(first, second, *observed)
            if last is not None and forecasts.shape[2] > 1:
                final = forecasts[i, :, -1].mean(axis=0, dtype=np.float64)
                self._compare_order(first, final, observed[0], last[i].astype(np.float64))

    def _compare(self, first: np.ndarray, observed: list[np.ndarray]) -> None:
        frame = observed[-1]
        spread = _error(frame, _mean(frame)[:, None, None])
        error = np.min([_error(first, other) for other in observed], axis=0)
        for number, layout in enumerate(self._layouts):
            undone = layout.undo(first)
            undone_error = np.min([_error(undone, other) for other in observed], axis=0)
            difference = _error(layout.undo(frame), frame)
            differs = difference > ASYMMETRIC * spread
            tells = differs & (np.minimum(error, undone_error) < CLEAR * difference)
            self._differing[number] += differs
            self._telling[number] += tells
            self._fitting[number] += tells & (undone_error < error)
            self._errors[number, tells] += undone_error[tells] / spread[tells]

    def _compare_times(
        self, first: np.ndarray, second: np.ndarray, truth: np.ndarray, latest: np.ndarray
    ) -> None:
        moved = _error(truth, latest)
        moves = moved > 0
        same = _error(first, latest) <= SAME * moved
        goes_on = _error(second, first) > MOVED * moved
        self._moving += bool(moves.any())
        self._early += bool(same[moves].all() and goes_on[moves].any())

    def _compare_order(
        self, first: np.ndarray, final: np.ndarray, truth: np.ndarray, last: np.ndarray
    ) -> None:
        """Count the windows whose last forecast is nearer to the next frame than the first is, and
        the first nearer to the last frame. Forecasts of too slow changes have only one of both.
        """
        changed = _error(last, truth)
        error, final_error = _error(first, truth), _error(final, truth)
        tells = (changed > 0) & (np.minimum(error, final_error) < CLEAR * changed)
        self._changing += changed > 0
        self._near_truth += tells
        is_nearer = (final_error < error) & (_error(first, last) < _error(final, last))
        self._reversed += tells & is_nearer

    def mistake(self) -> Mistake | None:
        """Find the likely mistake in the layout of the predictions compared so far.

        It is an order of rows, columns or channels, or else of lead times, in which the predictions
        fit observed frames far better. `add` has compared them.

        Returns:
            the mistake; None if the layout seems right, or if it cannot be told, because too few
            predictions are close to an observed frame in either layout.
        """
        enough = self._telling >= np.maximum(FEWEST, self._differing / 2)
        wrong = enough & (self._fitting >= SHARE * self._telling)
        choices = [
            (self._errors[number, wrong[number]].mean() * layout.steps, number)
            for number, layout in enumerate(self._layouts)
            if wrong[number].any()
        ]
        if choices:
            number = min(choices)[1]
            layout, channels = self._layouts[number], wrong[number]
            count, compared = (
                table[number, channels].max() for table in (self._fitting, self._telling)
            )
            names = [name for name, is_wrong in zip(self._names, channels, strict=True) if is_wrong]
            of = "" if len(names) == len(channels) else f" of {', '.join(names)}"
            return Mistake(
                f"predicted frames{of} have {layout.what}, in {count} of {compared} windows that "
                "were compared",
                "the layout of the context frames",
                f"write {layout.remedy}",
            )
        enough = self._near_truth >= np.maximum(FEWEST, self._changing / 2)
        if enough.any() and (self._reversed >= SHARE * self._near_truth)[enough].all():
            return Mistake(
                "lead times are in reverse order: the last is the nearest to the next frame, in "
                f"{self._reversed.max()} of {self._near_truth.max()} windows that were compared",
                "the frame after the context as the first lead time",
                "write predictions[..., ::-1, :, :, :]",
            )
        if self._moving >= FEWEST and self._early >= SHARE * self._moving:
            return Mistake(
                "predictions are one frame early: the first is the last context frame, in "
                f"{self._early} of {self._moving} samples that were compared",
                "the frame after the context as the first lead time",
                "leave the context frame out, and predict one lead time more",
            )
        return None


def _mean(frames: np.ndarray) -> np.ndarray:
    """Mean of each channel over the pixels with values, (C,); 0 if no pixel has a value."""
    has_value = np.isfinite(frames)
    sums = np.where(has_value, frames, 0).sum(axis=(-1, -2))
    return np.asarray(sums / np.maximum(has_value.sum(axis=(-1, -2)), 1))


def _error(frames: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Mean squared difference of each channel, (C,), as `_mean`."""
    return _mean(np.square(frames - observed))


def coordinate_names(coordinates: Mapping[str, Coordinate]) -> set[str]:
    """All names that predictions may use for coordinates, such as ``lat`` and ``latitude``.

    Args:
        coordinates: coordinates of the windows, by name.
    """
    return {alias for name in coordinates for alias in ALIASES.get(name, (name,))}


def compare_coordinates(source: Source, coordinates: Mapping[str, Coordinate]) -> Mistake | None:
    """Compare dimension names and coordinates of predictions with those of the windows.

    Args:
        source: predictions.
        coordinates: coordinates of the windows, by name.

    Returns:
        the first difference; None if there is none, or if predictions have neither names of
        dimensions nor coordinates.
    """
    axis_of = AXES | dict.fromkeys(ALIASES["lat"], -2) | dict.fromkeys(ALIASES["lon"], -1)
    for axis, dim in enumerate(source.dims, -len(source.dims)):
        if axis_of.get(dim, axis) != axis:
            return Mistake(
                f"the dimensions are {', '.join(source.dims)}",
                "sample, lead, channel, y, x; or with members after the samples",
                "transpose the predictions into this order",
            )
    for name, coordinate in coordinates.items():
        (dim, *_) = coordinate.dims
        aliases = ALIASES.get(name, (name,))
        stored = next(
            (source.coordinates[key] for key in aliases if key in source.coordinates), None
        )
        expected = coordinate.values
        if dim not in AXES or stored is None or stored.shape != expected.shape:
            continue
        if name == "lead" and stored.dtype.kind not in "iu":  # time spans
            continue
        order = _order(stored, expected, name == "lon")
        if order is None or (order != np.arange(len(order))).any():
            return Mistake(
                f"{name} is {_format_values(stored)}",
                f"{_format_values(expected)}, as in the windows",
                _reordering(order, AXES[dim]) or f"predict, or state, {name} of the windows",
            )
    return None


def _order(stored: np.ndarray, expected: np.ndarray, is_circular: bool) -> np.ndarray | None:
    """Indices that sort stored coordinates into the expected order; None if coordinates differ."""
    in_place = np.arange(len(expected))
    if expected.dtype.kind not in "biuf":
        stored, expected = stored.astype(str), expected.astype(str)
        if len(set(expected.tolist())) < len(expected) or (stored == expected).all():
            return in_place
        is_same = expected[:, None] == stored
    else:
        spacing = np.diff(np.sort(expected.astype(float)))
        if not len(spacing) or not (spacing > 0).all():  # one value, repetitions or NaN
            return in_place
        if stored.dtype.kind not in "biuf":
            return None
        apart = np.abs(expected[:, None].astype(float) - stored)
        if is_circular:
            apart = np.minimum(apart % FULL_CIRCLE, -apart % FULL_CIRCLE)
        is_same = apart < 0.01 * spacing.min()
    return is_same.argmax(axis=1) if (is_same.sum(axis=1) == 1).all() else None


def _reordering(order: np.ndarray | None, axis: int) -> str:
    """The instruction how to sort an axis; empty without an order."""
    if order is None:
        return ""
    count = len(order)
    if (order == np.arange(count)[::-1]).all():
        return f"write predictions[..., ::-1{', :' * (-axis - 1)}]"
    if (order == np.roll(np.arange(count), count - order[0])).all():
        return f"write np.roll(predictions, {count - order[0]}, axis={axis})"
    listed = order.tolist() if count <= MOST_LISTED else "order"
    return f"write np.take(predictions, {listed}, axis={axis})"


def _format_values(values: np.ndarray) -> str:
    texts = [str(value) for value in values.tolist()]
    return ", ".join(texts if len(texts) <= 4 else [*texts[:2], "...", *texts[-2:]])
