"""Trust cards of metrics: distortions that a metric follows or misses, its bias and cost.

They are measured in studies that distort real clips in several ways, at several intensities.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stp.collect.conventions import convention_of
from stp.collect.people_agreement import with_people
from stp.collect.schema import AgreementRow
from stp.collect.sensitivity import CONSTANT, Curve, curves, read_distance_features
from stp.core.errors import StpError, suggest_name
from stp.data.distortions import DISTORTIONS
from stp.metrics.set_distance import SetDistance
from stp.plan.manifest import Cell, Manifest
from stp.score.sample_size import SHARES, AtSize, distances_within, resolution

HEADER = (
    *("convention", "dataset", "distortion", "is_temporal", "n"),
    *("correlation", "ci95_low", "ci95_high", "why"),
    *("agreement_with_people", "why_no_agreement"),
)
"""Columns of the table of trust cards; a row is a metric, a dataset and a distortion."""


@dataclass(frozen=True)
class OfDataset:
    """The trust card of a metric for one dataset.

    Attributes:
        curves: values of the metric at the intensities of a distortion, for each distortion.
        bias: distances between two disjoint random subsets of the real clips: mean and standard
            deviation over draws (`AtSize`), for several sizes of the subsets. Empty for means over
            clips, which have no bias of this kind.
        between_halves: distances from which the noise floor follows: those between random halves of
            the real clips, which differ by chance only. It has their mean and standard deviation
            over draws (`AtSize`). The noise floor is the mean plus two standard deviations; with
            half of the clips, smaller distances cannot be told from chance. None for means over
            clips.
        seconds: run time of the metric's network per clip, in seconds; None without a network.
    """

    curves: list[Curve]
    bias: list[AtSize]
    between_halves: AtSize | None
    seconds: float | None

    def blind_to(self, *, temporal: bool) -> list[str]:
        """Distortions for which the metric has the same value at all intensities.

        Args:
            temporal: whether to list temporal distortions; if not, spatial ones.
        """
        return [curve.distortion for curve in self._of(temporal) if curve.why == CONSTANT]

    def follows(self, *, temporal: bool) -> list[str]:
        """Distortions that the metric follows significantly.

        A distortion is followed if the interval of the rank correlation between intensity and loss
        of the metric is above 0. For distortions whose higher intensities distort clips less
        (`is_weakening`), it must be below 0.

        Args:
            temporal: whether to list temporal distortions; if not, spatial ones.
        """
        names = []
        for curve in self._of(temporal):
            if curve.low is not None and curve.high is not None:
                surely = curve.high < 0 if is_weakening(curve) else curve.low > 0
                names += [curve.distortion] if surely else []
        return names

    def number(self, *, temporal: bool) -> int:
        """Number of distortions on which the metric was tested, followed or not.

        Args:
            temporal: whether to count temporal distortions; if not, spatial ones.
        """
        return len(self._of(temporal))

    def _of(self, temporal: bool) -> list[Curve]:
        return [curve for curve in self.curves if is_temporal(curve) == temporal]


def is_temporal(curve: Curve) -> bool:
    """Whether the distortion changes the order of frames, not the frames themselves."""
    return curve.distortion in DISTORTIONS and DISTORTIONS[curve.distortion].is_temporal


def is_weakening(curve: Curve) -> bool:
    """Whether a higher intensity of the distortion changes clips less.

    An example is a switch to another clip, whose intensity is the number of frames before it.
    """
    return curve.distortion in DISTORTIONS and DISTORTIONS[curve.distortion].weakens


def cards_by_dataset(plan: Manifest, convention: str) -> dict[str, OfDataset]:
    """Compute the trust cards of one metric: which distortions it follows or misses, bias and cost.

    Args:
        plan: manifest of a study of distortions, in which each "model" is a distortion that is
            applied to true clips.
        convention: exact definition of the metric, such as ``ssim.range2``; a column of the study's
            table.

    Returns:
        the trust card for each dataset, by name of the dataset.

    Raises:
        StpError: the convention is not a column of the dimension, or a file is missing or damaged.
    """
    if convention not in plan.conventions:
        raise StpError(
            f"{convention} is not scored in {plan.dimension}, scale {plan.scale}",
            expected=", ".join(plan.conventions),
            remedy=f"{suggest_name(convention, plan.conventions)}; or name it under `metrics` of a "
            f"dataset in the scale file, and make {plan.dimension} again",
        )
    return cards(plan, convention)[convention]


def cards(plan: Manifest, only: str | None = None) -> dict[str, dict[str, OfDataset]]:
    """Compute the trust cards of all metrics in a study of distortions.

    Args:
        plan: manifest of a study of distortions, in which each "model" is a distortion that is
            applied to true clips.
        only: convention (exact definition of a metric, such as ``ssim.range2``) whose cards are
            computed; None for the conventions of all columns.

    Returns:
        cards by convention, then by dataset.

    Raises:
        StpError: a file is missing or damaged.
    """
    by_metric: dict[str, dict[str, list[Curve]]] = {}
    for curve in curves(plan, only):
        by_metric.setdefault(curve.convention, {}).setdefault(curve.dataset, []).append(curve)
    cells = {cell.key.tested_on: cell for cell in plan.cells}
    return {
        convention: {name: _of_dataset(own, cells[name], convention) for name, own in of.items()}
        for convention, of in by_metric.items()
    }


def rows(
    of_all: dict[str, OfDataset], people: Sequence[AgreementRow] = ()
) -> list[tuple[Any, ...]]:
    """Make the rows of the table of a metric's trust card, one for each dataset and distortion.

    A row has the correlation of the metric with the intensity of the distortion, its interval, and
    the metric's agreement with people (columns `HEADER`).

    Args:
        of_all: trust card of a metric, by dataset.
        people: rows of a human study, for any metrics.
    """
    return [
        (c.convention, c.dataset, c.distortion, is_temporal(c), c.n, c.correlation, c.low, c.high,
         c.why, *with_people(people, c.convention))
        for datasets in of_all.values()
        for c in datasets.curves
    ]  # fmt: skip


def _of_dataset(own: list[Curve], cell: Cell, convention: str) -> OfDataset:
    has_values = all(curve.values[0] is not None for curve in own)
    if cell.perceptual is None or not has_values:
        return OfDataset(own, [], None, None)
    metric = convention_of(cell, convention)
    if not isinstance(metric, SetDistance):
        return OfDataset(own, [], None, None)
    features = read_distance_features(cell, convention)
    real = features.pair.observed
    sizes = [len(real) // share for share in SHARES if len(real) // share >= 2]
    if not sizes or not np.isfinite(real).all():
        return OfDataset(own, [], None, None)
    bias = distances_within(real, sizes, metric.distance)
    between_halves = resolution(real, features.pair.predicted, metric.distance).same
    seconds = None if features.seconds is None else features.seconds / len(real)
    return OfDataset(own, bias, between_halves, seconds)
