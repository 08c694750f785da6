"""Does predicted quality fall with what is done to real clips? The trust card of `stp quality`."""

from collections.abc import Mapping, Sequence

import numpy as np

from stp.collect.rows import CellRow
from stp.collect.sensitivity import RESAMPLES, Curve, draws, with_correlation
from stp.collect.videos import predictions
from stp.external.quality import Rating
from stp.plan.setting import setting_of

INTENSITY = "intensity"
"""Key of the settings of distortions."""
NAME = "predicted_quality"
"""Stands where a convention does."""
FEW = "half of the clips or more are far from all rated videos at some intensity"


def curves(
    cells: Sequence[CellRow],
    ratings: Mapping[int, Sequence[Rating]],
    resamples: int = RESAMPLES,
) -> list[Curve]:
    """Follow quality over the intensities of each distortion.

    A curve is of the clips that have a value at all intensities, the same ones at each.

    Args:
        cells: of a store; those without an intensity are left out.
        ratings: of the clips of each cell, by its number; none where predictions are not kept.
        resamples: of the clusters of clips, for intervals.

    Raises:
        StpError: predictions are damaged.
    """
    groups: dict[tuple[str, ...], list[CellRow]] = {}
    for cell in cells:
        if INTENSITY in setting_of(cell.setting) and ratings[cell.number]:
            what = (cell.scale, cell.tested_on, cell.subset, cell.model, cell.variant)
            groups.setdefault(what, []).append(cell)
    return [_curve(sorted(own, key=_intensity), ratings, resamples) for own in groups.values()]


def _intensity(cell: CellRow) -> int:
    return setting_of(cell.setting)[INTENSITY]


def _curve(cells: list[CellRow], ratings: Mapping[int, Sequence[Rating]], resamples: int) -> Curve:
    known = [
        {one.clip: one.quality for one in ratings[cell.number] if one.quality is not None}
        for cell in cells
    ]
    clips = [one.clip for one in ratings[cells[0].number] if all(one.clip in of for of in known)]
    is_enough = 2 * len(clips) > len(ratings[cells[0].number])
    values = np.array([[of[clip] for clip in clips] for of in known], float)
    curve = Curve(
        cells[0].tested_on,
        cells[0].model,
        NAME,
        tuple(map(_intensity, cells)),
        tuple(values.mean(axis=1).tolist()) if is_enough else (None,) * len(cells),
        len(clips),
        why="" if is_enough else FEW,
    )
    if not is_enough:
        return curve
    of = _clusters(cells[0])
    _, codes = np.unique([of[clip] for clip in clips], return_inverse=True)
    drawn = draws(int(codes.max()) + 1, resamples)
    counts = drawn @ np.bincount(codes)
    again = [drawn @ np.bincount(codes, weights=row) / counts for row in values]
    return with_correlation(curve, -1, drawn, lambda: again)


def _clusters(cell: CellRow) -> dict[str, str]:
    """The cluster of each clip."""
    index = predictions(cell).index
    return dict(zip(index["clip"].astype(str), index["cluster"].astype(str), strict=True))
