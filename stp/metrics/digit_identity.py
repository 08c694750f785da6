"""Share of predicted frames of Moving-MNIST with the same digits as the observed frames.

No labels are needed: the digits recognised in the observed frame are the truth. A digit is a
connected area of pixels. It is rotated upright and scaled to a fixed size, and histograms of its
edge directions are compared to those of the 1797 scans in scikit-learn (which the generator draws).
The label of a digit is what most of the five scans with the most similar histograms show; it is
called sure if all five agree.
docs/scv.md reports how many digits are recognised, and how many correctly.
"""

from functools import cache, partial
from typing import NamedTuple

import numpy as np
from scipy import ndimage

from stp.data.digit_scans import digit_scans
from stp.metrics.comparison import Comparison
from stp.metrics.metric import Metric
from stp.metrics.scale import in_unit_range

INK = 0.3
"""Brightness of a pixel, 0..1, from which it belongs to a digit."""
FAINT = 0.1
"""Brightness below which a pixel is background."""
LONGEST_SIDE = (0.15, 0.4)
"""Height or width of a digit, whichever is larger, as a share of the side of the frame: 0.31 in the
official data. Smaller areas are noise, larger ones several digits."""
SIDE = 20
"""Height and width to which a digit is scaled for comparison, pixels, including a margin."""
CELLS, DIRECTIONS = 4, 8
"""Numbers of cells along each side and of bins of directions, for histograms of edge directions."""
NEAREST = 5
"""Number of nearest scans that decide the label of a digit."""


class Digit(NamedTuple):
    """The digit recognised in one area (connected pixels) of a frame.

    Attributes:
        label: the digit, 0 to 9; -1 if the area is too large for a digit.
        sure: whether all of the five most similar scans of digits in scikit-learn show this digit;
            False if the area is too large for a digit.
    """

    label: int
    sure: bool


def areas(frames: np.ndarray) -> list[list[np.ndarray]]:
    """Find the connected areas of bright pixels in each frame.

    Areas whose longer side is below 0.15 of the frame's side are noise, and left out.

    Args:
        frames: brightness of the pixels, 0..1, (T, H, W).

    Returns:
        for each frame, its areas (h, w), each cropped to its bounding box; pixels of other areas in
        the box are 0.
    """
    # Parts of a broken stroke, up to two pixels apart, are one digit; frames are apart.
    around = np.zeros((3, 3, 3), bool)
    around[1] = True
    labels, _ = ndimage.label(ndimage.binary_dilation(frames > INK, around), around)
    patches: list[list[np.ndarray]] = [[] for _ in frames]
    for number, (at, *box) in enumerate(ndimage.find_objects(labels), start=1):
        region = at.start, *box
        alone = np.where(labels[region] == number, frames[region], 0)
        if _longest_side(alone) >= LONGEST_SIDE[0] * max(frames.shape[1:]):
            patches[at.start].append(np.where(alone > FAINT, alone, 0))
    return patches


def _longest_side(area: np.ndarray) -> int:
    """The larger of height and width of the ink in an area (H, W), in pixels."""
    rows, columns = np.nonzero(area > INK)
    return int(max(rows[-1] - rows[0], columns.max() - columns.min())) + 1


def deskew(area: np.ndarray) -> np.ndarray:
    """Deskew a digit by its image moments, and scale it to a fixed size.

    Args:
        area: brightness of the pixels of one digit, 0..1, (h, w).

    Returns:
        the digit, (20, 20).
    """
    scale = _longest_side(area) / (SIDE - 2)
    weight = area / area.sum()
    y, x = np.indices(area.shape)
    row, column = (weight * y).sum(), (weight * x).sum()
    height = (weight * (y - row) ** 2).sum()
    slant = (weight * (y - row) * (x - column)).sum() / height if height else 0.0
    to_source = scale * np.array([[1, 0], [np.clip(slant, -0.7, 0.7), 1]])
    offset = np.array([row, column]) - to_source @ np.full(2, (SIDE - 1) / 2)
    smooth = ndimage.gaussian_filter(np.pad(area, 2), 0.3 * scale)
    return np.asarray(
        ndimage.affine_transform(smooth, to_source, offset + 2, output_shape=(SIDE, SIDE), order=1)
    )


def edges(digits: np.ndarray) -> np.ndarray:
    """Compute histograms of the edge directions of N digits.

    The picture of a digit is divided into 4 x 4 cells; each cell has a histogram of 8 directions.

    Args:
        digits: digits, scaled to a fixed size by `deskew`, (N, 20, 20).

    Returns:
        for each digit, all histograms as one vector of length 1, (N, 128).
    """
    down, right = np.gradient(digits, axis=(1, 2))
    strength = np.hypot(down, right)
    turn = np.arctan2(down, right) / (2 * np.pi) * DIRECTIONS % DIRECTIONS
    cell = SIDE // CELLS
    features = []
    for direction in range(DIRECTIONS):
        gap = np.abs(turn - direction)
        share = np.clip(1 - np.minimum(gap, DIRECTIONS - gap), 0, 1)
        spread = ndimage.gaussian_filter(strength * share, (0, cell / 2, cell / 2))
        features.append(spread[:, cell // 2 :: cell, cell // 2 :: cell])
    vectors = np.sqrt(np.stack(features, axis=1).reshape(len(digits), -1))
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))


@cache
def scans() -> tuple[np.ndarray, np.ndarray]:
    """Load scikit-learn's scans of digits: edge histograms (1797, 128) and labels (1797,)."""
    pictures, labels = digit_scans()
    # As sharp as MNIST: an 8 x 8 scan is a blur of the stroke.
    large = [ndimage.zoom(scan, 2.5) for scan in pictures]
    return edges(
        np.stack([deskew(np.clip((picture - 0.35) / 0.45, 0, 1)) for picture in large])
    ), labels


def recognise(digits: list[np.ndarray]) -> list[Digit]:
    """Recognise the digit in each of several areas, by the most similar scans of digits.

    The label of an area is the digit that most of the five most similar scans in scikit-learn show.
    Scans are similar if their histograms of edge directions (`edges`) are.

    Args:
        digits: brightness of the pixels of each area, 0..1, (h, w).

    Returns:
        the digit of each area.
    """
    if not digits:
        return []
    features, labels = scans()
    alike = edges(np.stack([deskew(digit) for digit in digits])) @ features.T
    nearest = labels[np.argpartition(-alike, NEAREST, axis=1)[:, :NEAREST]]
    votes = (nearest[..., None] == np.arange(10)).sum(axis=1)
    sure = votes.max(axis=1) == NEAREST
    return [Digit(int(n), bool(s)) for n, s in zip(votes.argmax(axis=1), sure, strict=True)]


def digits_of(frames: np.ndarray) -> list[list[Digit]]:
    """Recognise the digits in each frame.

    Args:
        frames: brightness of the pixels, 0..1, (T, H, W).

    Returns:
        for each frame, its digits in the order of their labels. An area that is too large for a
        digit comes last, as ``Digit(label=-1, sure=False)``.
    """
    patches = areas(frames)
    most = LONGEST_SIDE[1] * max(frames.shape[1:]) + 2  # a box has a margin of one
    small = [[area for area in some if max(area.shape) <= most] for some in patches]
    labels = iter(recognise([area for some in small for area in some]))
    return [
        sorted(next(labels) for _ in some) + [Digit(-1, False)] * (len(every) - len(some))
        for some, every in zip(small, patches, strict=True)
    ]


def _statistics(predicted: np.ndarray, observed: np.ndarray, number: int = 2) -> np.ndarray:
    judged, same = np.zeros((2, *predicted.shape[:2]))
    bad = ~np.isfinite(predicted + observed).all(axis=(2, 3, 4))
    for n in range(len(predicted) if predicted.shape[2] == 1 else 0):
        observed_digits = digits_of(np.where(bad[n, :, None, None], 0, observed[n, :, 0]))
        counted = [
            t
            for t, digits in enumerate(observed_digits)
            if len(digits) == number and all(digit.sure for digit in digits)
        ]
        if not counted:
            continue
        judged[n, counted] = 1
        ours = digits_of(np.where(bad[n, counted, None, None], 0, predicted[n, counted, 0]))
        same[n, counted] = [
            [digit.label for digit in predicted_digits]
            == [digit.label for digit in observed_digits[t]]
            for t, predicted_digits in zip(counted, ours, strict=True)
        ]
    return np.where(bad[:, None], np.nan, np.stack([judged, same], axis=1))


def _share(means: np.ndarray) -> np.ndarray:
    judged, same = means[..., 0, :], means[..., 1, :]
    share = np.divide(same, judged, out=np.full(judged.shape, np.nan), where=judged != 0)
    return np.asarray(share)


def _of_clips(metric: Metric, compared: Comparison) -> Metric:
    """Bind the metric to the number of digits per clip, an attribute of the prepared data."""
    number = compared.data.attrs.get("virtual", {}).get("train", {}).get("n_digits")
    if number is None:
        return metric._replace(reason="the data do not say how many digits a clip has")
    counted = metric._replace(statistics=partial(_statistics, number=number))
    return in_unit_range(counted, compared)


def digit_identity() -> Metric:
    """Share of predicted frames that show the same digits as the observed frame.

    A predicted frame is compared with the observed frame at the same lead time. In both, digits are
    recognised by comparison with the scans in scikit-learn (`recognise`). A pair of frames counts
    only if the digits of the observed frame are known: it has as many separate areas as the clip
    has digits, and for each of them the five most similar scans show the same digit.
    """
    return Metric(
        _statistics,
        finish=_share,
        components=("judged", "same"),
        leads="pool",
        best_by=1,  # all members are judged in the same frames
        no_value="in no observed frame are all digits apart and recognised surely",
        on_data=_of_clips,
    )
