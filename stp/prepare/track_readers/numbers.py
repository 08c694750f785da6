"""Text files of numbers in columns, read line by line, so that a damaged line is named."""

import math
from collections.abc import Collection
from pathlib import Path

import numpy as np

from stp.core.errors import StpError


def read(path: Path, expected: str, columns: Collection[int] = ()) -> np.ndarray:
    """Read a table of finite numbers; what follows # is a comment.

    Args:
        path: of the file.
        expected: what it should be, for people.
        columns: how many there may be; any number, the same in each line, unless given.

    Returns:
        float64 (rows, columns).

    Raises:
        StpError: the file cannot be read or is empty, or a line has other columns, or what is no
            finite number.
    """
    again = "fetch the file again"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise StpError(
            f"{path}: cannot be read ({error})", expected=expected, remedy=again
        ) from None
    rows: list[list[float]] = []
    for number, line in enumerate(lines, start=1):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            row = [float(word) for word in words]
        except ValueError as error:
            raise StpError(
                f"{path}: line {number} cannot be read ({error})", expected=expected, remedy=again
            ) from None
        wanted = columns or ({len(rows[0])} if rows else {len(row)})
        if len(row) not in wanted:
            raise StpError(
                f"{path}: line {number} has {len(row)} columns",
                expected=f"{' or '.join(map(str, sorted(wanted)))} columns: {expected}",
                remedy=again,
            )
        if not all(map(math.isfinite, row)):
            raise StpError(
                f"{path}: line {number} has a number that is not finite: {line.strip()}",
                expected=expected,
                remedy="leave such lines out, or fetch the file again",
            )
        rows.append(row)
    if not rows:
        raise StpError(f"{path}: no numbers", expected=expected, remedy=again)
    return np.array(rows)


def whole(values: np.ndarray, path: Path, what: str) -> np.ndarray:
    """Numbers of people and the like, as int64.

    Raises:
        StpError: one is not whole, or too large.
    """
    bad = np.flatnonzero((values % 1 != 0) | (np.abs(values) >= 2**53))
    if len(bad):
        raise StpError(
            f"{path}: detection {bad[0] + 1} has the {what} {values[bad[0]]:g}",
            expected="whole numbers",
            remedy="see whether the columns are those that are declared",
        )
    return values.astype(np.int64)
