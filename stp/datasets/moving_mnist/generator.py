"""Generate a substitute for MNIST: four idx files, made from the handwritten digits of
scikit-learn.

The source images (stp.data.digit_scans: 1797 scans of 8x8 pixels with 17 grey levels, from the UCI
"Optical Recognition of Handwritten Digits" data) are enlarged in the way MNIST was made: the digit
fills a box of 20x20 pixels, with soft edges, and its centre of mass is in the centre of 28x28
pixels (http://yann.lecun.com/exdb/mnist/). No source image is in both the train and the t10k files.
"""

import gzip
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, NonNegativeInt
from scipy import ndimage

from stp.core.job import Report
from stp.core.options import build
from stp.data.digit_scans import digit_scans

_SIDE = 28
_BOX = 20 / 28  # share of the side of a picture
_SOURCE_IMAGES = 1797
_IMAGES_MAGIC, _LABELS_MAGIC = 2051, 2049


@dataclass(frozen=True)
class MovingMnistOptions:
    """Options of the generator of a substitute for MNIST, the 1797 digits of scikit-learn.

    Attributes:
        test_images: number of digits in the test files (t10k); all others of the 1797 are in the
            training files.
        side: height and width of a picture in pixels; MNIST has 28. The digit fills a box with
            20/28 of this side, as in MNIST.
        seed: seed of the choice of digits for the test.
    """

    test_images: Annotated[int, Field(ge=1, lt=_SOURCE_IMAGES)] = 297
    side: Annotated[int, Field(ge=12)] = _SIDE
    seed: NonNegativeInt = 0


def generate(out: Path, options: Mapping[str, object], report: Report) -> None:
    """Write the digits: ``mnist/{train,t10k}-{images-idx3,labels-idx1}-ubyte.gz`` below ``out``.

    Args:
        out: folder below which the files are written.
        options: values of `MovingMnistOptions` by name.
        report: function that receives the progress.

    Raises:
        StpError: an option is unknown or out of range.
    """
    chosen = build(MovingMnistOptions, options, "generator options")
    scans, labels = digit_scans()
    images = np.empty((len(scans), chosen.side, chosen.side), np.uint8)
    for index, scan in enumerate(scans):
        images[index] = enlarge(scan, chosen.side)
        report("enlarge digits", index + 1, len(scans))
    order = np.random.default_rng(chosen.seed).permutation(len(scans))
    folder = out / "mnist"
    folder.mkdir(parents=True)
    for name, rows in (
        ("t10k", order[: chosen.test_images]),
        ("train", order[chosen.test_images :]),
    ):
        _write_idx(folder / f"{name}-images-idx3-ubyte.gz", _IMAGES_MAGIC, images[rows])
        _write_idx(folder / f"{name}-labels-idx1-ubyte.gz", _LABELS_MAGIC, labels[rows])


def enlarge(scan: np.ndarray, side: int = _SIDE) -> np.ndarray:
    """Enlarge a digit in the style of MNIST.

    Args:
        scan: scanned digit, (8, 8), values in [0, 1], background 0.
        side: side of the picture, in pixels.

    Returns:
        picture, uint8 (side, side); the brightest pixel is 255.
    """
    ink = np.argwhere(scan > 0)
    zoom = round(side * _BOX) / (np.ptp(ink, axis=0) + 1).max()
    centre = np.array(ndimage.center_of_mass(scan))
    # output pixel p shows the source at centre + (p - middle) / zoom; a cubic spline is smooth
    # enough at this zoom (2.5 in the size of MNIST, never below 1) to need no further filter
    offset = centre - (side - 1) / 2 / zoom
    grey = ndimage.affine_transform(
        np.pad(scan, 4), np.full(2, 1 / zoom), offset + 4, output_shape=(side, side), order=3
    )
    # an 8x8 scan is a blur of the pen stroke: steepen the edges to a width of about two pixels
    stroke = np.clip((grey - 0.35) / 0.45, 0, 1)
    return np.rint(255 * stroke / stroke.max()).astype(np.uint8)


def _write_idx(path: Path, magic: int, values: np.ndarray) -> None:
    """An idx file of unsigned bytes: magic number and sizes as big-endian uint32, then the data."""
    header = struct.pack(f">{1 + values.ndim}I", magic, *values.shape)
    # no file name and no time in the gzip header, so that equal content gives equal bytes
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(header + values.astype(np.uint8).tobytes())
