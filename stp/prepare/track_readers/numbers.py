"""Read text files of numbers in columns line by line, so that errors name the line."""

import math
from collections.abc import Collection
from pathlib import Path

import numpy as np

from stp.core.errors import RawFileError


def read(path: Path, expected: str, columns: Collection[int] = ()) -> np.ndarray:
    """Read a table of finite numbers; # begins a comment.

    Args:
        path: path of the file.
        expected: expected content, for errors.
        columns: allowed numbers of columns; by default, any number, the same in all lines.

    Returns:
        the table, float64 (rows, columns).

    Raises:
        StpError: the file cannot be read or is empty, or a line has another number of columns or a
            value that is not a finite number.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RawFileError(path, f"cannot be read ({error})", expected=expected) from None
    rows: list[list[float]] = []
    for number, line in enumerate(lines, start=1):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            row = [float(word) for word in words]
        except ValueError as error:
            problem = f"line {number} cannot be read ({error})"
            raise RawFileError(path, problem, expected=expected) from None
        allowed = columns or ({len(rows[0])} if rows else {len(row)})
        if len(row) not in allowed:
            raise RawFileError(
                path,
                f"line {number} has {len(row)} columns",
                expected=f"{' or '.join(map(str, sorted(allowed)))} columns: {expected}",
            )
        if not all(map(math.isfinite, row)):
            raise RawFileError(
                path,
                f"line {number} has a number that is not finite: {line.strip()}",
                expected=expected,
            )
        rows.append(row)
    if not rows:
        raise RawFileError(path, "no numbers", expected=expected)
    return np.array(rows)


def to_whole_numbers(values: np.ndarray, path: Path, name: str) -> np.ndarray:
    """Convert whole numbers, such as the numbers of people, to int64.

    Raises:
        StpError: a number is not whole, or too large.
    """
    bad = np.flatnonzero((values % 1 != 0) | (np.abs(values) >= 2**53))
    if len(bad):
        raise RawFileError(
            path,
            f"detection {bad[0] + 1} has the {name} {values[bad[0]]:g}",
            expected=f"whole numbers of at most 15 digits in the column {name}",
            remedy="check the declared columns",
        )
    return values.astype(np.int64)
