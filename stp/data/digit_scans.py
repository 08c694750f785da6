"""The handwritten digits that come with scikit-learn: 1797 scans of 8 x 8 pixels.

UCI "Optical Recognition of Handwritten Digits", as `sklearn.datasets.load_digits` returns them. The
file is read directly, since importing scikit-learn takes longer.
"""

import gzip
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from stp.core.errors import StpError

SIDE = 8
MOST = 16
"""Maximum grey level of a pixel."""


def digit_scans() -> tuple[np.ndarray, np.ndarray]:
    """Read all scans of handwritten digits.

    Returns:
        scans (1797, 8, 8) in 0..1, background 0, and their digits, int64 (1797,).

    Raises:
        StpError: scikit-learn is not installed.
    """
    package = find_spec("sklearn")
    if package is None or package.origin is None:
        raise StpError("scikit-learn, which has the digits, is not installed", remedy="make setup")
    path = Path(package.origin).parent / "datasets" / "data" / "digits.csv.gz"
    with gzip.open(path) as file:
        table = np.loadtxt(file, delimiter=",")
    return table[:, :-1].reshape(-1, SIDE, SIDE) / MOST, table[:, -1].astype(np.int64)
