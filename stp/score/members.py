"""Scores of several forecasts of a sample (members) with metrics for single forecasts.

Metrics of ensembles (CRPS, spread) use all members. For other metrics a recipe names a
``statistic``:

- ``mean_of_members``: the mean of the members' statistics, which is the expected score of one
  random member;
- ``ensemble_mean``: the score of the mean of the members' frames;
- ``best_of_members``: the score of the member with the best mean over lead times, chosen for each
  sample, as papers on stochastic video report ("best of N"). It improves with the number of
  members, so only equal numbers are comparable.

Distances between sets of clips use one forecast of each sample: the mean of the members' frames for
``ensemble_mean``, else the first member, which is a random draw. For example, PSNR may be that of
the best of 100 members while FVD is that of the first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stp.core.errors import StpError
from stp.data.ensembles import ensemble_mean
from stp.metrics.metric import Metric, every_component, first_component
from stp.options.score import STATISTICS
from stp.score.target_cache import TargetCache


@dataclass(frozen=True)
class Members:
    """Rule by which several forecasts (members) of a sample are scored.

    Attributes:
        count: number of members.
        statistic: how several forecasts are scored: "mean_of_members", "ensemble_mean" or
            "best_of_members" (the best member of each sample); None for one forecast.
        higher_is_better: whether higher values of a convention are better, by convention (None if
            neither); used to find the best member only.
    """

    count: int = 1
    statistic: str | None = None
    higher_is_better: Mapping[str, bool | None] = field(default_factory=dict)

    def check(self, where: object) -> None:
        """Check that ``statistic`` is set if, and only if, there are several members.

        Args:
            where: source of the forecasts, such as their folder, for the error.

        Raises:
            StpError: a statistic is missing, or is set for a single member.
        """
        if (self.count > 1) != (self.statistic is not None):
            raise StpError(
                f"{where}: {self.count} forecasts of each sample, statistic {self.statistic}",
                expected=f"one of {', '.join(STATISTICS)} if there are several, none for one",
                remedy="set `statistic` of the score recipe",
            )

    def adapt_metric(self, name: str, metric: Metric) -> Metric:
        """Adapt a metric to this rule of scoring several forecasts of a sample.

        Args:
            name: name of the convention, to look up whether higher values are better.
            metric: the metric.

        Returns:
            the metric; if it has no values under this rule, its ``reason`` says why.

        Raises:
            StpError: the direction of the convention is not declared.
        """
        if metric.batches is not None and self.statistic not in (None, "ensemble_mean"):
            why = "its means over starts are of one forecast, or of the mean of its members"
            return metric._replace(reason=why)
        if self.statistic != "best_of_members" or metric.ensemble:
            return metric
        if name not in self.higher_is_better:
            raise StpError(
                f"score recipe: higher_is_better does not name {name}",
                expected="true, false or null for each convention, to find the best member",
                remedy="add it",
            )
        if self.higher_is_better[name] is None:
            return metric._replace(reason="neither higher nor lower is better: no best member")
        has_value = metric.finish in (first_component, every_component)
        if not has_value and metric.best_by is None:
            return metric._replace(reason="single samples have no value: there is no best member")
        return metric

    def independent_leads(self, metric: Metric) -> bool:
        """Whether the statistics of a lead time are independent of other lead times.

        They depend on all lead times if the best member is chosen by its mean over lead times.
        """
        of_best = self.statistic == "best_of_members" and not metric.ensemble
        return metric.independent_leads and not of_best

    def statistics(
        self,
        name: str,
        metric: Metric,
        predicted: np.ndarray,
        observed: np.ndarray,
        numbers: np.ndarray,
        leads: np.ndarray,
        transformed: dict[tuple[Any, Any], np.ndarray] | None = None,
        targets: TargetCache | None = None,
        context: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the statistics of n samples for one metric.

        Statistics are the K numbers of a sample and lead time from whose means over samples the
        metric is computed (`Metric`), such as the squared error for an RMSE. How those of several
        members become one is the attribute ``statistic`` of this object: their mean, those of the
        mean of the members' frames, or those of the best member.

        Args:
            name: name of the convention, to look up whether higher values are better.
            metric: the metric, adapted to these data.
            predicted: predicted frames of M members, (n, M, T, C, H, W).
            observed: observed frames, (n, T, C, H, W).
            numbers: indices of the samples, int64 (n,).
            leads: indices of the lead times, from 0, int64 (T,).
            transformed: cache of what `Metric.transform` made of these samples, shared by
                conventions; this call adds to it. By default, nothing is shared.
            targets: cache of what `Metric.transform` made of observed frames, shared by samples;
                None without a cache.
            context: context frames, (n, context, C, H, W), if the metric uses them.

        Returns:
            K statistics of each sample at the last T' <= T lead times, float64 (n, K, T'). T' is
            less than T if the metric has no statistics at its first lead times, as a moving
            average.
        """
        known = {} if transformed is None else transformed

        def transform(which: Any, frames: np.ndarray) -> np.ndarray:
            if metric.transform is None:
                return frames
            key = metric.transform, which
            if key not in known:
                if which == "observed" and targets is not None:
                    known[key] = targets.of(metric.transform, observed, numbers, leads)
                else:
                    known[key] = metric.transform(frames, observed)
            return known[key]

        def of(which: Any, frames: np.ndarray) -> np.ndarray:
            pair = transform(which, frames), transform("observed", observed)
            further = (
                *((numbers, leads) if metric.numbered else ()),
                *((context,) if metric.with_context else ()),
            )
            return metric.statistics(*pair, *further)

        if metric.ensemble:
            return of("all", predicted)
        if self.statistic == "ensemble_mean":
            return of("mean", ensemble_mean(predicted))
        each = np.stack([of(m, predicted[:, m]) for m in range(predicted.shape[1])])
        if self.statistic == "best_of_members":
            return _best_member_statistics(
                each, metric.best_by, higher=bool(self.higher_is_better[name])
            )
        return np.asarray(each.mean(axis=0)) if len(each) > 1 else each[0]


def _best_member_statistics(each: np.ndarray, by: int | None, *, higher: bool) -> np.ndarray:
    """Statistics of the best member of each sample: (M, n, K, T) to (n, K, T).

    The best member is chosen for each component, or for all by the component ``by``. A member with
    NaN counts as the best, so that NaN is not hidden.
    """
    over_leads = each.mean(axis=-1)
    if by is not None:
        over_leads = np.repeat(over_leads[..., by, None], each.shape[2], axis=-1)
    best = over_leads.argmax(axis=0) if higher else over_leads.argmin(axis=0)
    return np.asarray(np.take_along_axis(each, best[None, ..., None], axis=0)[0])
