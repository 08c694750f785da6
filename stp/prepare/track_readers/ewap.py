"""Read EWAP ``obsmat.txt`` (ETH, HOTEL, and UCY from OpenTraj): eight columns of numbers.

The columns are frame, person, x, z, y and velocities along x, z, y; z is always 0.
"""

from pathlib import Path

from stp.core.errors import StpError
from stp.prepare.track_readers import numbers
from stp.tracks.tracks import Tracks

COLUMNS = 8


def read(path: Path, *, step: int, dt: float) -> Tracks:
    """Read the detections of a file, in the order of its rows.

    Args:
        path: path of the file.
        step: number of frames between two annotations.
        dt: seconds between two annotations.

    Raises:
        StpError: the file is missing or has other columns, or a line contains a value that is not a
            number.
    """
    table = numbers.read(path, "an obsmat.txt: numbers in eight columns")
    if table.shape[1] != COLUMNS:
        raise StpError(
            f"{path}: {table.shape[1]} columns",
            expected="eight: frame, person, x, z, y, and three velocities",
            remedy="files with four columns are other versions of ETH with another clock: declare "
            "their format, step and dt",
        )
    person = numbers.to_whole_numbers(table[:, 1], path, "person")
    return Tracks(table[:, 0], person, table[:, [2, 4]].copy(), step, dt)
