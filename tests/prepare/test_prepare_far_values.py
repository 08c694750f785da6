"""Values that stand alone: codes of missing values, and other whole numbers far away."""

import numpy as np
import pytest

from stp.core.errors import StpError
from stp.prepare.own.far_values import MARKS, far_value, marks_of, require_no_far_value

CODES = [
    *(-99, -999, -9999, -99999, -999999, -9999999, 999, 9999, 99999, 999999, 9999999),
    *(-99.9, -999.9, -9999.9, -99999.9, -999999.9, 99.9, 999.9, 9999.9, 99999.9, 999999.9),
    *(-99.99, -999.99, -9999.99, 999.99, 9999.99, -7777, -8888, -32767, -32768, 32767, 65535),
    *(-2147483648, 2147483647, -1e20, 1e20, -1e30, 1e30, 9.969209968386869e36),
]
REAL = np.array([0.25, 1.5, 2.0])


def far(*values: float, fill: float | None = None) -> tuple[float, float, float] | None:
    block = np.array([*REAL, *values])
    return far_value(lambda: [block, block], float(np.nanmin(block)), float(np.nanmax(block)), fill)


def test_marks_are_these_codes() -> None:
    assert sorted(set(MARKS)) == sorted(CODES)


@pytest.mark.parametrize("mark", sorted(set(MARKS)))
def test_a_mark_is_found(mark: float) -> None:
    assert far(mark) == (mark, 0.25, 2.0)
    assert far(mark, fill=mark) is None
    with pytest.raises(StpError, match="t2m"):
        require_no_far_value(np.array([*REAL, np.nan, mark]), "t2m", "declare {value}")


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ((), None),
        ((100.0,), (100.0, 0.25, 2.0)),  # whole, far, and all others are not whole
        ((-100.0,), (-100.0, 0.25, 2.0)),
        ((100.5,), None),
        ((99.0,), None),  # no code, and too small for one
        ((100.0, 10.5), None),  # not ten times as large as the others
        ((-99.0, -60.0), None),  # a code within reach of the others
        ((np.nan, -999.0), (-999.0, 0.25, 2.0)),
    ],
)
def test_other_whole_numbers_have_to_be_far(values: tuple[float, ...], found: object) -> None:
    assert far(*values) == found


def test_counts_may_have_any_tail() -> None:
    counts = np.array([0.0, 1.0, 2.0, 5000.0])
    assert far_value(lambda: [counts], 0.0, 5000.0) is None


def test_declared_codes_are_numbers() -> None:
    assert marks_of(None).tolist() == []
    assert marks_of(-9999).tolist() == [-9999] and marks_of([1, 2.5]).tolist() == [1, 2.5]
    with pytest.raises(StpError, match="missing"):
        marks_of("-9999")
