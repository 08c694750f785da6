"""Values that stand for missing ones, and nobody said so: alone, and far from all others."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from stp.core.errors import StpError
from stp.core.options import number, require

MARKS = np.array(
    [
        *(sign * (10.0**k - 1) / part for sign in (-1, 1) for k in range(3, 8) for part in (1, 10)),
        *(-99.0, -99.9, -99.99, -999.99, 999.99, -9999.99, 9999.99),
        *(-7777.0, -8888.0, -32767.0, -32768.0, 32767.0, -(2.0**31), 2.0**31 - 1),
        *(1e20, -1e20, 1e30, -1e30, 9.969209968386869e36),
    ]
)
"""What people write for missing values."""
_FAR, _SMALLEST = 10, 100
"""Any other whole number of this size that is so many times as large as all others, and so many of
their ranges away, is taken for such a mark among numbers that are not whole."""
STATED = ("valid_range", "valid_min", "valid_max")
"""Attributes of a variable that says which values it has."""


def marks_of(missing: object) -> np.ndarray:
    """The values of an option `missing`: a number, or a list of numbers; float64, none for None.

    Raises:
        StpError: it is something else.
    """
    given = [] if missing is None else missing if isinstance(missing, list) else [missing]
    require(all(number(one) for one in given), "missing", missing, "a number, or a list of numbers")
    return np.array(given, float)


def states_range(attrs: Mapping[Any, Any]) -> bool:
    """Whether a variable states its range, so that no value needs to be guessed about."""
    return any(key in attrs for key in STATED)


def far_value(
    blocks: Callable[[], Iterable[np.ndarray]], low: float, high: float, fill: float | None = None
) -> tuple[float, float, float] | None:
    """Find a value of floating-point or signed numbers that stands alone, far from all others.

    Args:
        blocks: all values, a part at a time; read only if the smallest or the largest may be one.
        low: the smallest of the values.
        high: the largest.
        fill: what stands for missing values by choice.

    Returns:
        the value, and the smallest and largest of the others; None if there is none.
    """
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
    values: np.ndarray, what: str, remedy: str, fill: float | None = None
) -> None:
    """Refuse values of which one stands alone, far from all others.

    Args:
        values: of one variable, of any shape; NaN says nothing.
        what: they are of, for the error: file and variable.
        remedy: what to do about it; ``{value}`` is the value.
        fill: what stands for missing values by choice.

    Raises:
        StpError: there is one.
    """
    finite = values[np.isfinite(values)]
    if finite.size:
        found = far_value(lambda: [finite], float(finite.min()), float(finite.max()), fill)
        if found is not None:
            raise far_error(what, found, remedy)


def far_error(what: str, found: tuple[float, float, float], remedy: str) -> StpError:
    """What is said of a value that `far_value` found."""
    value, least, most = found
    return StpError(
        f"{what} has the value {value:g}, far from all others, {least:g} to {most:g}",
        expected="values of the variable; a value that stands for missing ones is declared",
        remedy=remedy.format(value=f"{value:g}"),
    )
