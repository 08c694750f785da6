"""EWAP ``obsmat.txt`` (ETH, HOTEL, and UCY as OpenTraj has it): eight columns of numbers.

They are frame, person, x, z, y and velocities of the same order; z is always 0.
"""

from pathlib import Path

import numpy as np

from stp.errors import StpError
from stp.motion.tracks import Tracks

COLUMNS = 8


def read(path: Path, *, step: int, dt: float) -> Tracks:
    """Read the detections of a file, in its order.

    Args:
        path: of the file.
        step: frames between two annotations.
        dt: seconds between two annotations.

    Raises:
        StpError: the file is missing or has other columns.
    """
    try:
        table = np.loadtxt(path, ndmin=2)
    except (OSError, ValueError) as error:
        raise StpError(
            f"{path}: cannot be read ({error})",
            expected="an obsmat.txt: numbers in eight columns",
            remedy="fetch the file again",
        ) from None
    if table.shape[1] != COLUMNS:
        raise StpError(
            f"{path}: {table.shape[1]} columns",
            expected="eight: frame, person, x, z, y, and three velocities",
            remedy="files of four columns are other versions of ETH with another clock; declare "
            "them as what they are",
        )
    return Tracks(table[:, 0], table[:, 1].astype(np.int64), table[:, [2, 4]].copy(), step, dt)
