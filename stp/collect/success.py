"""Correlate metrics with success: do models with good values show the events that have to happen?

Success is rated by conventions (exact definitions of metrics) that are marked with `success` in
config/conventions: whether a video shows the event that has to happen. Within each dataset,
Spearman's correlation over models is computed between every other metric and each of these
conventions, with the sign chosen so that 1 means the same ranking. The correlation for all datasets
is the mean over datasets; values of different datasets are never ranked together.

There are two intervals, both percentiles over resamples. One accounts for the choice of test clips:
clusters of clips are drawn, the same for all models. The other accounts for the choice of models:
if there are at least ten, models are drawn, each with all of its variants, snapshots and seeds.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from stp.collect.direction import NO_DIRECTION, Direction
from stp.collect.overall import NOT_SCORED, overall
from stp.collect.sensitivity import (
    RESAMPLES,
    SEED,
    Clips,
    clips_of,
    rank_correlation,
    resample_metric,
)
from stp.plan.manifest import Cell, Manifest
from stp.plan.setting import setting_name, setting_of
from stp.score.jackknife import FEWEST_CLUSTERS

ALL = "all"
FEWEST = 3
"""Smallest number of models for a correlation."""


class Interval(NamedTuple):
    """Ends of the 95 % interval of a correlation."""

    low: float
    high: float


class Ranking(NamedTuple):
    """Rank correlation of a metric with success, over models.

    It says how far the metric ranks models as their success does. Success means that videos show
    the event that has to happen. A convention rates it. The correlation is that of one dataset, or
    the mean over datasets.

    Attributes:
        dataset: test dataset; `ALL` for the mean.
        subset: part of the test dataset; empty for the mean.
        setting: setting of the evaluation, such as ``horizon-16``. The number of updates of a
            snapshot is left out, so that snapshots are ranked together. Empty for the mean.
        convention: convention of the metric that is correlated with success.
        success: convention that rates success; for the mean, its part before the dot, since the
            conventions of datasets may differ.
        models: number of models with both values; variants, snapshots and seeds count separately.
        correlation: rank correlation, -1 to 1; None if it is missing (see ``why``).
        over_clips: interval over resampled test clips; None if it is missing (see ``why``).
        over_models: interval over resampled models; None if it is missing (see ``why``).
        why: reason for a missing correlation or interval; empty if nothing is missing.
    """

    dataset: str
    subset: str
    setting: str
    convention: str
    success: str
    models: int
    correlation: float | None
    over_clips: Interval | None
    over_models: Interval | None
    why: str


class _Drawn(NamedTuple):
    """A correlation and its values in R resamples, (R,), or the reasons why they are missing."""

    correlation: float | None
    over_clips: np.ndarray | str
    over_models: np.ndarray | str
    models: int
    why: str = ""


class _Models:
    """The models of one evaluation, and the resamples of its clips.

    Args:
        plan: manifest of the dimension.
        cells: cells of the evaluation.
        resamples: number of resamples of the clusters of clips.
    """

    def __init__(self, plan: Manifest, cells: Sequence[Cell], resamples: int) -> None:
        self.plan, self.cells, self.resamples = plan, cells, resamples
        self._values: dict[str, list[tuple[float | None, str]]] = {}
        self._clips: Clips | None = None
        self._again: dict[tuple[int, str], np.ndarray | str] = {}

    def values(self, convention: str) -> list[tuple[float | None, str]]:
        """The value of each model, or None with the reason."""
        if convention not in self._values:
            self._values[convention] = [overall(cell, convention) for cell in self.cells]
        return self._values[convention]

    def is_scored(self, convention: str) -> bool:
        """Whether a convention is scored in this evaluation, even if values are missing."""
        return any(why != NOT_SCORED for _, why in self.values(convention))

    def beside(self, success: str, convention: str) -> _Drawn:
        """Correlate a metric with a convention of success over models."""
        values_of_both = [self.values(name) for name in (convention, success)]
        scored = [
            n
            for n in range(len(self.cells))
            if all(values[n][0] is not None for values in values_of_both)
        ]
        why = self.plan.unavailable.get(convention, "")
        if not why and not Direction.of(self.plan, convention).is_known:
            return _Drawn(None, "", "", len(scored), NO_DIRECTION)
        x, y = (
            self._gains(name, np.array([values[n][0] for n in scored], float))
            for name, values in zip((convention, success), values_of_both, strict=True)
        )
        if len(scored) < FEWEST:
            reasons = [w for values in values_of_both for value, w in values if value is None and w]
            few = f"{len(scored)} models have both; ranks need {FEWEST}"
            return _Drawn(None, "", "", len(scored), why or "; ".join([few, *reasons[:1]]))
        (correlation,) = rank_correlation(x[None], y)
        if np.isnan(correlation):
            same = "success" if np.ptp(y) == 0 else "the metric"
            return _Drawn(None, "", "", len(scored), f"{same} is equal for all models")
        return _Drawn(
            float(correlation),
            self._over_clips((convention, success), scored),
            _over_models([self.cells[n].key.model for n in scored], x, y, self.resamples),
            len(scored),
        )

    def _gains(self, convention: str, values: np.ndarray) -> np.ndarray:
        return -Direction.of(self.plan, convention).losses(values)

    def _over_clips(self, conventions: tuple[str, str], scored: Sequence[int]) -> np.ndarray | str:
        if self._clips is None:
            self._clips = clips_of(self.cells[0])
        clusters = len(self._clips.names)
        if clusters < FEWEST_CLUSTERS:
            return f"{clusters} clusters of clips; an interval over clips needs {FEWEST_CLUSTERS}"
        drawn = np.random.default_rng(SEED).multinomial(
            clusters, np.full(clusters, 1 / clusters), self.resamples
        )
        again: list[np.ndarray] = []
        for name in conventions:
            of_models = []
            for n in scored:
                if (n, name) not in self._again:
                    self._again[n, name] = resample_metric(self.cells[n], name, self._clips, drawn)
                resamples = self._again[n, name]
                if isinstance(resamples, str):
                    return resamples
                of_models.append(resamples)
            again.append(self._gains(name, np.stack(of_models, axis=1)))
        return rank_correlation(*again)


def _over_models(
    names: Sequence[str], x: np.ndarray, y: np.ndarray, resamples: int
) -> np.ndarray | str:
    """Compute correlations for resampled models, (R,), or return the reason why there are none.

    Variants, snapshots and seeds of a model depend on each other, so they are drawn together.

    Args:
        names: name of the model of each of the N values.
        x, y: values of the metric and of success, (N,).
        resamples: number of resamples R.
    """
    runs_of_model = [
        [n for n, name in enumerate(names) if name == model] for model in dict.fromkeys(names)
    ]
    if len(runs_of_model) < FEWEST_CLUSTERS:
        return f"{len(runs_of_model)} models; an interval over models needs {FEWEST_CLUSTERS}"
    drawn = np.random.default_rng(SEED).integers(
        len(runs_of_model), size=(resamples, len(runs_of_model))
    )
    correlations = np.empty(resamples)
    for r, models in enumerate(drawn):
        chosen = [n for model in models for n in runs_of_model[model]]
        (correlations[r],) = rank_correlation(x[chosen][None], y[chosen])
    return correlations


def rankings(plan: Manifest, resamples: int = RESAMPLES) -> list[Ranking]:
    """Correlate metrics with success: whether videos show the event that has to happen.

    Args:
        plan: manifest of a dimension, whose cells are all scored.
        resamples: number of resamples of clusters of clips, and of models.

    Returns:
        correlations over models, one for each dataset, metric and convention that rates success;
        and then the means over datasets.

    Raises:
        StpError: a file is missing or damaged.
    """
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in plan.cells:
        setting = setting_of(cell.key.setting)
        setting.pop("update", None)
        evaluation = cell.key.tested_on, cell.key.subset, setting_name(setting)
        groups.setdefault(evaluation, []).append(cell)
    all_rankings: list[Ranking] = []
    of_metric: dict[tuple[str, str], list[_Drawn]] = {}
    successes = [name for name, about in plan.conventions.items() if about.success]
    metrics = [name for name in plan.conventions if name not in successes]
    for evaluation, cells in groups.items():
        models = _Models(plan, cells, resamples)
        for success in filter(models.is_scored, successes):
            for convention in metrics:
                if models.is_scored(convention) or convention in plan.unavailable:
                    drawn = models.beside(success, convention)
                    of_metric.setdefault((success.partition(".")[0], convention), []).append(drawn)
                    all_rankings.append(_ranking(*evaluation, convention, success, drawn))
    for (success, convention), every in of_metric.items():
        all_rankings.append(_ranking(ALL, "", "", convention, success, _mean_over_datasets(every)))
    return all_rankings


def _mean_over_datasets(every: Iterable[_Drawn]) -> _Drawn:
    drawn = [dataset for dataset in every if dataset.correlation is not None]
    if not drawn:
        return _Drawn(None, "", "", 0, "no dataset has a correlation")
    return _Drawn(
        float(np.mean([dataset.correlation for dataset in drawn])),
        _mean([dataset.over_clips for dataset in drawn]),
        _mean([dataset.over_models for dataset in drawn]),
        sum(dataset.models for dataset in drawn),
    )


def _mean(every: Sequence[np.ndarray | str]) -> np.ndarray | str:
    """Mean correlation over the datasets that have one, in each resample."""
    arrays = []
    for resamples in every:
        if isinstance(resamples, str):
            return resamples
        arrays.append(resamples)
    stacked = np.stack(arrays)
    finite = np.isfinite(stacked)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(finite, stacked, 0).sum(axis=0) / finite.sum(axis=0))


def _ranking(
    dataset: str, subset: str, setting: str, convention: str, success: str, drawn: _Drawn
) -> Ranking:
    identity = (dataset, subset, setting, convention, success, drawn.models)
    if drawn.correlation is None:
        return Ranking(*identity, None, None, None, drawn.why)
    intervals = [_ends(each) for each in (drawn.over_clips, drawn.over_models)]
    clips, models = (None if isinstance(ends, str) else ends for ends in intervals)
    why = dict.fromkeys(ends for ends in intervals if isinstance(ends, str))
    return Ranking(*identity, drawn.correlation, clips, models, "; ".join(why))


def _ends(resamples: np.ndarray | str) -> Interval | str:
    """Ends of the middle 95 % of resamples, or the reason why there are none."""
    if isinstance(resamples, str):
        return resamples
    finite = resamples[np.isfinite(resamples)]
    if not len(finite):
        return "no resample has a correlation"
    low, high = np.quantile(finite, (0.025, 0.975))
    return Interval(float(low), float(high))
