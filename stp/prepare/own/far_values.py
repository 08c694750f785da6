"""Find undeclared codes for missing values: a single value far from all others, such as -9999."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from stp.core.errors import StpError
from stp.core.options import number, require

MARKS = np.array(
    [
        *(sign * (10.0**k - 1) / part for sign in (-1, 1) for k in range(3, 8) for part in (1, 10)),
        *(-99.0, -99.9, -99.99, -999.99, 999.99, -9999.99, 9999.99),
        *(-7777.0, -8888.0, -32767.0, -32768.0, 32767.0, -(2.0**31), 2.0**31 - 1, 65535.0),
        *(1e20, -1e20, 1e30, -1e30, 9.969209968386869e36),
    ]
)
"""Common codes for missing values."""
_FAR, _SMALLEST = 10, 100
"""Among numbers that are not all integers, another integer of at least `_SMALLEST` counts as a code
if it is `_FAR` times as large as all other values, and `_FAR` of their ranges away."""
STATED = ("valid_range", "valid_min", "valid_max")
"""Attributes that state the range of a variable."""


def marks_of(missing: object) -> np.ndarray:
    """List the codes for missing values in an option ``missing``, as an array.

    Args:
        missing: a number, a list of numbers, or None for no codes.

    Returns:
        the codes, float64 (codes,).

    Raises:
        StpError: `missing` is not a number or a list of numbers.
    """
    codes = [] if missing is None else missing if isinstance(missing, list) else [missing]
    require(all(map(number, codes)), "missing", missing, "a number, or a list of numbers")
    return np.array(codes, float)


def states_range(attrs: Mapping[Any, Any]) -> bool:
    """Whether a variable states its valid range, so that missing values need not be guessed.

    Args:
        attrs: attributes of the variable in its file.
    """
    return any(key in attrs for key in STATED)


def far_value(
    blocks: Callable[[], Iterable[np.ndarray]], low: float, high: float, fill: float | None = None
) -> tuple[float, float, float] | None:
    """Find a code for missing values that nobody declared: a single value far from all others.

    Only the smallest and the largest of all values can be the code, and only if they are common
    codes (`MARKS`) or whole numbers of at least 100 in size. These candidates are compared with the
    ordinary values: all values except candidates, common codes and ``fill``. The range of the
    ordinary values is the largest minus the smallest of them.

    - A common code is far if its distance to the nearest ordinary value exceeds this range.
      Example: -9999 among temperatures from 250 to 310. It is also far if it is negative and no
      ordinary value is.
    - Another whole number is far if its distance to the nearest ordinary value exceeds ten times
      this range, if it is more than ten times as large in size as each of them, and if not all of
      them are whole. Example: 5000 among values from 0.3 to 1.7.

    Args:
        blocks: function that yields all values in parts; called only if `low` or `high` may be a
            code.
        low: smallest of all values.
        high: largest of all values.
        fill: value by which the user replaced missing values; None if there is none.

    Returns:
        the far value, and the smallest and the largest ordinary value; None without a far value.
    """
    # Values of 8 bits have no room for a code, so callers do not ask about them.
    ends = [end for end in (low, high) if end != fill and _may_be_mark(end)]
    if not ends:
        return None
    least, most, are_whole = np.inf, -np.inf, True
    for block in blocks():
        with np.errstate(over="ignore"):
            left_out = np.array([*MARKS, *ends, *([] if fill is None else [fill])])
            left_out = left_out.astype(block.dtype if block.dtype.kind == "f" else float)
        others = block[np.isfinite(block) & ~np.isin(block, left_out)]
        if others.size:
            least, most = min(least, float(others.min())), max(most, float(others.max()))
            are_whole = are_whole and bool((others == np.rint(others)).all())
    for end in ends:
        away = max(least - end, end - most)
        size = max(abs(least), abs(most))
        if _is_mark(end):
            is_far = away > most - least or end < 0 <= least
        else:  # counts may have any tail
            is_far = away > _FAR * (most - least) and abs(end) > _FAR * size and not are_whole
        if least <= most and is_far:
            return end, least, most
    return None


def _is_mark(value: float) -> bool:
    return bool(np.isclose(value, MARKS, rtol=1e-6, atol=0).any())


def _may_be_mark(value: float) -> bool:
    is_whole = np.isfinite(value) and value == np.rint(value) and abs(value) >= _SMALLEST
    return is_whole or _is_mark(value)


def require_no_far_value(
    values: np.ndarray, name: str, remedy: str, fill: float | None = None
) -> None:
    """Refuse values of which one is far from all others, such as -9999 among temperatures.

    It may be an undeclared code for missing values; `far_value` says when a value is far.

    Args:
        values: values of one variable, of any shape; NaN is ignored.
        name: file and variable, for the error.
        remedy: remedy in the error, in which ``{value}`` is replaced by the value.
        fill: value by which the user replaced missing values; None if there is none.

    Raises:
        StpError: there is a single value far from all others.
    """
    finite = values[np.isfinite(values)]
    if finite.size:
        far = far_value(lambda: [finite], float(finite.min()), float(finite.max()), fill)
        if far is not None:
            raise far_error(name, far, remedy)


def fill_by_channel(fill: float | list[float] | None, channels: int) -> Sequence[float | None]:
    """Repeat the option ``fill`` for each channel.

    Args:
        fill: a value for all channels, a list of one for each channel, or None.
        channels: number of channels.

    Returns:
        for each channel, the value that replaces missing values; None if missing values are errors.
    """
    return fill if isinstance(fill, list) else [fill] * channels


def require_near_fill(name: str, blocks: Iterable[np.ndarray], fill: float) -> None:
    """Refuse a fill (replacement of missing values) that is too far from the other values.

    It is too far if its distance to the nearest other value exceeds the range of these, their
    largest minus their smallest.

    Args:
        name: dataset and variable, for the error.
        blocks: all values in parts, including those that were replaced by the fill.
        fill: value that replaced missing values.

    Raises:
        StpError: the fill is too far from the other values.
    """
    least, most = np.inf, -np.inf
    for block in blocks:
        others = block[block != block.dtype.type(fill)]
        if others.size:
            least, most = min(least, float(others.min())), max(most, float(others.max()))
    if least < most and max(least - fill, fill - most) > most - least:
        raise StpError(
            f"{name}: fill is {fill:g}, far from all other values, {least:g} to {most:g}",
            expected="a value among them, since models and scores include filled points",
            remedy=f"set a fill such as {(least + most) / 2:g}; or a list of one for each channel",
        )


def far_error(name: str, far: tuple[float, float, float], remedy: str) -> StpError:
    """Make the error about an undeclared code for missing values.

    Args:
        name: file and variable.
        far: result of `far_value`: the value that may be a code, and the smallest and largest of
            all other values of the variable.
        remedy: remedy, in which ``{value}`` is replaced by the code.
    """
    value, least, most = far
    return StpError(
        f"{name} has the value {value:g}, far from all others, {least:g} to {most:g}",
        expected="real values, or a declared code for missing ones",
        remedy=remedy.format(value=f"{value:g}"),
    )
