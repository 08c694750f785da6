"""Rank correlations between metrics and the intensity of distortions of real videos.

For each distortion, Spearman's correlation between intensities and values of a metric is computed,
with the sign chosen so that 1 means that the metric gets worse with every step. A metric with the
same value at all intensities has no correlation: it does not notice the distortion.

Correlations over five or six points are uncertain. Intervals are percentiles over resamples of
clusters of clips, the same resamples at all intensities. Resampled sets contain clips twice, which
increases distances between sets equally at all intensities.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from stp.collect.cluster_sums import Place, read_sums
from stp.collect.conventions import convention_of
from stp.collect.direction import NO_DIRECTION, Direction
from stp.collect.overall import overall
from stp.core.parquet import read_table
from stp.core.receipts import require_receipt
from stp.metrics.set_distance import SetDistance, SetFeatures, read_features
from stp.plan.column import Part
from stp.plan.manifest import Cell, Manifest, columns_of
from stp.plan.setting import setting_of
from stp.score.jackknife import FEWEST_CLUSTERS

RESAMPLES = 200
SEED = 0
CONSTANT = "the same at all intensities: it does not notice this distortion"


@dataclass(frozen=True)
class Curve:
    """Values of a metric at the intensities of a distortion, and how they correlate with these.

    Attributes:
        dataset: name of the test dataset.
        distortion: name of the distortion, which is also the name of the model that applies it.
        convention: exact definition of the metric, such as ``ssim.range2``.
        intensities: indices of the intensities, from 1, ascending.
        values: value at each intensity; None for a missing value.
        n: number of clips.
        correlation: rank correlation of intensity and value, from -1 to 1. It is 1 if the metric
            gets worse with every step. None if it could not be computed (see ``why``).
        low, high: ends of the 95 % interval of the correlation; None if they could not be computed,
            or if no resamples were drawn.
        why: reason why the correlation or its interval could not be computed; empty otherwise.
    """

    dataset: str
    distortion: str
    convention: str
    intensities: tuple[int, ...]
    values: tuple[float | None, ...]
    n: int
    correlation: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


def rank_correlation(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Compute Spearman's correlation between each row of ``values`` and ``others``.

    Args:
        values: R rows of I values, (R, I).
        others: values to correlate with, (I,) for all rows or (R, I).

    Returns:
        correlations, float64 (R,); NaN if a row is constant or contains NaN, or ``others`` does.
    """
    x, y = _centred_ranks(values), _centred_ranks(np.atleast_2d(others))
    with np.errstate(invalid="ignore"):
        spread = np.sqrt(np.square(x).sum(axis=1) * np.square(y).sum(axis=1))
        return np.asarray(np.where(spread > 0, (x * y).sum(axis=1) / spread, np.nan))


def _centred_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks within each row, minus their mean; NaN for a row with NaN."""
    ranks = rankdata(values, axis=1, nan_policy="propagate")
    return np.asarray(ranks - ranks.mean(axis=1, keepdims=True))


def curves(plan: Manifest, only: str | None = None, resamples: int = RESAMPLES) -> list[Curve]:
    """Compute how metrics change with the intensity of distortions, in a study of distortions.

    Args:
        plan: manifest of the study, whose cells are all scored. Each "model" in it is a distortion,
            which is applied to true clips at several intensities.
        only: name of a convention, such as ``ssim.range2``; None for the conventions of all columns
            of the study's table.
        resamples: number of resamples of the clusters of clips, which give the intervals of rank
            correlations; 0 for no intervals.

    Returns:
        a curve for each dataset, distortion and convention: the value at each intensity, and the
        rank correlation of value and intensity with its interval.

    Raises:
        StpError: a file is missing or damaged.
    """
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault((cell.key.tested_on, cell.key.model), []).append(cell)
    results = []
    for cells in groups.values():
        cells.sort(key=_intensity)
        clips = clips_of(cells[0])
        drawn = draws(len(clips.names), resamples)
        for column in columns_of(plan, plan.dimension, cells[0]).values():
            if only in (None, column.convention):
                results.append(_curve(plan, cells, column.convention, clips, drawn))
    return results


def draws(clusters: int, resamples: int) -> np.ndarray:
    """Draw resamples of clusters of clips with replacement, as for a bootstrap.

    Args:
        clusters: number G of clusters, which is also the number of draws of a resample.
        resamples: number R of resamples.

    Returns:
        how often each resample contains each cluster, int64 (R, G).
    """
    random = np.random.default_rng(SEED)
    return random.multinomial(clusters, np.full(clusters, 1 / clusters), resamples)


class Clips(NamedTuple):
    """The clips of a test, and the clusters (sets of dependent clips) to which they belong.

    Attributes:
        names: names of the G clusters.
        codes: for each clip, the index of its cluster in ``names``, int64 (number of clips,), in
            the order of the test samples.
    """

    names: list[str]
    codes: np.ndarray


def _intensity(cell: Cell) -> int:
    return setting_of(cell.key.setting).get("intensity", 0)


def clips_of(cell: Cell) -> Clips:
    """Read the clusters (sets of dependent clips) of a test, and the cluster of each clip.

    Args:
        cell: a scored cell.

    Returns:
        names of the clusters, and the index of each clip's cluster among them. Clips are in the
        order of the test samples, which is also that of stored features.

    Raises:
        StpError: the cell is not scored, or a file is damaged.
    """
    scores = Path(cell.scores)
    require_receipt(scores)
    table = read_table(scores / "sample_scores.parquet", ["sample", "cluster"])
    cluster_of_sample = dict(
        zip(table["sample"].to_pylist(), table["cluster"].to_pylist(), strict=True)
    )
    clusters = [cluster_of_sample[sample] for sample in sorted(cluster_of_sample)]
    names = list(dict.fromkeys(clusters))
    return Clips(names, np.array([names.index(cluster) for cluster in clusters]))


def _curve(
    plan: Manifest, cells: list[Cell], convention: str, clips: Clips, drawn: np.ndarray
) -> Curve:
    scored = [overall(cell, convention) for cell in cells]
    curve = Curve(
        cells[0].key.tested_on,
        cells[0].key.model,
        convention,
        tuple(map(_intensity, cells)),
        tuple(value for value, _ in scored),
        len(clips.codes),
    )
    absent = plan.unavailable.get(convention) or next((r for v, r in scored if v is None), "")
    direction = Direction.of(plan, convention)
    if absent or not direction.is_known:
        return replace(curve, why=absent or NO_DIRECTION)
    return with_correlation(
        curve,
        direction,
        drawn,
        lambda: [resample_metric(cell, convention, clips, drawn) for cell in cells],
    )


def with_correlation(
    curve: Curve,
    direction: Direction,
    drawn: np.ndarray,
    again: Callable[[], Sequence[np.ndarray | str]],
) -> Curve:
    """Add to a curve the rank correlation between intensity and metric, with its interval.

    Values are converted to losses first, so that 1 means that the metric gets worse with every
    step.

    Args:
        curve: a curve with a value at each intensity.
        direction: which values of the metric are better: higher, lower, or those near a best value.
        drawn: how often each of R resamples contains each of G clusters of clips, (R, G), from
            `draws`. The interval is left out if R is 0.
        again: function that returns, for each intensity, the values of all resamples, (R,), or the
            reason why there are none. It is called only if an interval is possible.

    Returns:
        the curve with correlation and interval; or with the reason in ``why`` if one of them could
        not be computed.
    """
    if len(curve.values) < 3:
        return replace(curve, why=f"{len(curve.values)} intensities; ranks need three")
    intensities = np.array(curve.intensities)
    (correlation,) = rank_correlation(
        direction.losses(np.array([curve.values], float)), intensities
    )
    if np.isnan(correlation):
        return replace(curve, why=CONSTANT)
    curve = replace(curve, correlation=float(correlation))
    if not len(drawn):
        return curve
    clusters = drawn.shape[1]
    if clusters < FEWEST_CLUSTERS:
        why = f"{clusters} clusters of clips; an interval needs {FEWEST_CLUSTERS}"
        return replace(curve, why=why)
    found = again()
    reasons = [values for values in found if isinstance(values, str)]
    if reasons:
        return replace(curve, why=reasons[0])
    each = rank_correlation(direction.losses(np.stack(found, axis=1)), intensities)
    low, high = np.quantile(each[np.isfinite(each)], (0.025, 0.975))
    return replace(curve, low=float(low), high=float(high))


def resample_metric(
    cell: Cell, convention: str, clips: Clips, drawn: np.ndarray
) -> np.ndarray | str:
    """Compute the values of a metric for R resamples of the clusters of a cell's clips.

    Args:
        cell: a scored cell: one distortion at one intensity.
        convention: exact definition of the metric, such as ``ssim.range2``.
        clips: clips of the cell, in G clusters.
        drawn: how often each resample contains each cluster, (R, G), from `draws`.

    Returns:
        values, float64 (R,), or the reason why there are none.
    """
    metric = convention_of(cell, convention)
    if isinstance(metric, SetDistance):
        pair = read_distance_features(cell, convention).pair
        if pair.reason:
            return pair.reason
        members = [np.flatnonzero(clips.codes == code) for code in range(len(clips.names))]
        values = []
        for times in drawn:
            rows = np.concatenate([np.repeat(m, t) for m, t in zip(members, times, strict=True)])
            values.append(metric.distance(pair.observed[rows], pair.predicted[rows]))
        return np.array(values)
    place = Place(convention, Part())
    sums = read_sums(cell, [place])[place]
    if isinstance(sums, str):
        return sums
    names = sums.clusters.names
    order = [names.index(name) for name in clips.names]
    means = np.tensordot(drawn, sums.sums[order], 1)
    means /= (drawn @ sums.counts[order])[:, None, None]
    return np.asarray(sums.values_from_means(means)[:, sums.series])


class ComparedFeatures(NamedTuple):
    """Network features of a cell's clips, which a distance between sets (such as FVD) compares.

    Attributes:
        pair: D features of each of N observed clips, and of the N clips that the cell's model
            predicted or distorted, float64 (N, D) each; or the reason why there are none.
        seconds: run time of the network for the predicted or distorted clips, in seconds; None if
            unknown.
    """

    pair: SetFeatures
    seconds: float | None


def read_distance_features(cell: Cell, convention: str) -> ComparedFeatures:
    """Read the network features that a distance between sets of clips compares.

    Args:
        cell: a scored cell that has scores of metrics that use networks (``perceptual``).
        convention: name of the distance, such as ``fvd.pooled``.

    Returns:
        the features of the cell's observed clips and of its predicted or distorted ones, float64
        (number of clips, number of features) each, and the run time of the network. The features
        may be missing for a reason, such as missing weights.

    Raises:
        StpError: a file is missing or damaged.
    """
    assert cell.perceptual is not None
    folder = Path(cell.perceptual)
    receipt = require_receipt(folder)
    store = folder.parents[len(Path(receipt.path).parts) - 1]
    inputs = {name: store / at for name, at in receipt.inputs.items()}
    name = receipt.recipe.get("features", {}).get(convention)
    pair = read_features(inputs, name)
    seconds = (
        None if name is None else require_receipt(inputs[f"{name}.predicted"]).provenance.seconds
    )
    return ComparedFeatures(pair, seconds)
