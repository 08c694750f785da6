"""What a metric can be trusted for: what it follows, what it does not see, its bias and cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stp.collect.conventions import convention_of
from stp.collect.people_agreement import with_people
from stp.collect.schema import AgreementRow
from stp.collect.sensitivity import CONSTANT, Curve, curves, looked
from stp.core.errors import StpError, nearest
from stp.data.distortions import DISTORTIONS
from stp.metrics.perceptual import SetDistance
from stp.plan.manifest import Cell, Manifest
from stp.score.sample_size import SHARES, AtSize, resolution, within

HEADER = (
    *("convention", "dataset", "distortion", "is_temporal", "n"),
    *("correlation", "ci95_low", "ci95_high", "why"),
    *("agreement_with_people", "why_no_agreement"),
)
"""Columns of `rows`."""


@dataclass(frozen=True)
class OfDataset:
    """What is known of a metric on one dataset.

    Attributes:
        curves: one for each distortion.
        bias: distances between subsets of the real clips that share none, by their size; empty
            where the metric is a mean over clips, which has no such bias.
        smallest: the difference that half of the clips show beyond chance: the distance between
            halves of the real clips and two standard deviations; None likewise.
        seconds: that its network takes for a clip here; None where none looks.
    """

    curves: list[Curve]
    bias: list[AtSize]
    smallest: AtSize | None
    seconds: float | None

    def blind_to(self, *, temporal: bool) -> list[str]:
        """Distortions that it has the same value for, whatever the intensity."""
        return [curve.distortion for curve in self._of(temporal) if curve.why == CONSTANT]

    def follows(self, *, temporal: bool) -> list[str]:
        """Distortions that it gets worse with: the interval of its correlation is above 0, or
        below it where a higher intensity changes less."""
        found = []
        for curve in self._of(temporal):
            if curve.low is not None and curve.high is not None:
                surely = curve.high < 0 if weakens(curve) else curve.low > 0
                found += [curve.distortion] if surely else []
        return found

    def number(self, *, temporal: bool) -> int:
        """Distortions of time, or of space."""
        return len(self._of(temporal))

    def _of(self, temporal: bool) -> list[Curve]:
        return [curve for curve in self.curves if is_temporal(curve) == temporal]


def is_temporal(curve: Curve) -> bool:
    """Does the distortion leave frames as they are, and put others behind each other?"""
    return curve.distortion in DISTORTIONS and DISTORTIONS[curve.distortion].is_temporal


def weakens(curve: Curve) -> bool:
    """Does the distortion change less, the higher its intensity is?"""
    return curve.distortion in DISTORTIONS and DISTORTIONS[curve.distortion].weakens


def card(plan: Manifest, convention: str) -> dict[str, OfDataset]:
    """Gather what a study of distortions says of one metric, by dataset.

    Args:
        plan: manifest of a dimension whose models are distortions.
        convention: one of its columns.

    Raises:
        StpError: it is none of them, or a file is missing or damaged.
    """
    if convention not in plan.conventions:
        raise StpError(
            f"{convention} is not scored in {plan.dimension}, scale {plan.scale}",
            expected=", ".join(plan.conventions),
            remedy=f"{nearest(convention, plan.conventions)}; or name it under `metrics` of a "
            "dataset in the scale file, and make noise_study again",
        )
    return cards(plan, convention)[convention]


def cards(plan: Manifest, only: str | None = None) -> dict[str, dict[str, OfDataset]]:
    """Gather the cards of all metrics of a study, or of one: by convention and dataset.

    Raises:
        StpError: a file is missing or damaged.
    """
    found: dict[str, dict[str, list[Curve]]] = {}
    for curve in curves(plan, only):
        found.setdefault(curve.convention, {}).setdefault(curve.dataset, []).append(curve)
    cells = {cell.key.tested_on: cell for cell in plan.cells}
    return {
        convention: {name: _of_dataset(own, cells[name], convention) for name, own in of.items()}
        for convention, of in found.items()
    }


def rows(found: dict[str, OfDataset], people: Sequence[AgreementRow] = ()) -> list[tuple[Any, ...]]:
    """A row for each dataset and distortion, see `HEADER`.

    Args:
        people: rows of a study with people, of any metric.
    """
    return [
        (c.convention, c.dataset, c.distortion, is_temporal(c), c.n, c.correlation, c.low, c.high,
         c.why, *with_people(people, c.convention))
        for of in found.values()
        for c in of.curves
    ]  # fmt: skip


def _of_dataset(own: list[Curve], cell: Cell, convention: str) -> OfDataset:
    has_values = all(curve.values[0] is not None for curve in own)
    if cell.perceptual is None or not has_values:
        return OfDataset(own, [], None, None)
    metric = convention_of(cell, convention)
    if not isinstance(metric, SetDistance):
        return OfDataset(own, [], None, None)
    seen = looked(cell, convention)
    real = seen.pair.observed
    sizes = [len(real) // share for share in SHARES if len(real) // share >= 2]
    if not sizes or not np.isfinite(real).all():
        return OfDataset(own, [], None, None)
    bias = within(real, sizes, metric.distance)
    smallest = resolution(real, seen.pair.predicted, metric.distance).same
    seconds = None if seen.seconds is None else seen.seconds / len(real)
    return OfDataset(own, bias, smallest, seconds)
