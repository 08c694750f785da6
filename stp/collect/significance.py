"""Is one row worse than another, or could it be the choice of test clips? A paired bootstrap.

Both rows were scored on the same clusters of clips (videos, trajectories, months). Clusters are
drawn with replacement, the same ones for both rows; each time both values are made anew, as scores
are, from sums over clusters (``cluster_sums.parquet``). The two-sided p value counts the resamples
in which the order of the two turns round (Davison and Hinkley 1997, section 4.4; with one added to
both counts, so that it is never 0): it is below 5 % where the 95 % percentile interval of the
difference leaves out 0. Of several seeds, the mean over seeds is compared in each resample: the
clips vary, the trained models do not.
"""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stp.collect.direction import LEVEL, Direction
from stp.core.errors import StpError
from stp.core.receipts import again
from stp.metrics.metric import Metric, Series, every_component, first_component, needs_data
from stp.plan.manifest import Cell, Part
from stp.score.aggregate import values
from stp.score.bootstrap import FEWEST_CLUSTERS, resampled_means
from stp.score.conventions import find

BATCH = 1111
RESAMPLES = 9 * BATCH
"""So many that all pairs of 20 models can be told apart: the smallest p value, 2 in 10,000, stays
below the level when it is multiplied by their 190 (Holm). Each batch has a seed, its number."""
THREADS = min(4, len(os.sched_getaffinity(0)))
CLOSE = 1e-6
"""Relative difference between a value and what its own sums give, from rounding."""
EQUAL = 1e-12
"""Relative difference between values of a resample that are the same but for rounding."""
POWER = NormalDist().inv_cdf(0.8) + NormalDist().inv_cdf(1 - LEVEL / 2)
"""Standard errors that a difference must have to be found at this level in four of five tests (the
normal approximation of a two-sided test's power)."""

NO_SUMS = "no sums over clusters of clips to resample"
"""Why a value has no resamples: a distance between sets, or the store is not at hand."""


class Asked(NamedTuple):
    """A value of a row.

    Attributes:
        cells: one for each seed.
        convention: its definition.
        part: what it is restricted to: a variable, a threshold, None: all together; or exactly
            the series that is meant.
        value: over all lead times, the mean over seeds.
    """

    cells: tuple[Cell, ...]
    convention: str
    part: Part | Series
    value: float


class Resampled(NamedTuple):
    """A value in each resample.

    Attributes:
        clusters: which clusters were drawn from; only values of equal ones may be compared.
        values: float64 (RESAMPLES,); not finite where a resample has no value.
    """

    clusters: tuple[Any, ...]
    values: np.ndarray


_Place = tuple[str, Part | Series]
"""A convention, and what a value of it is restricted to."""


class _Held(NamedTuple):
    """What a file says of a convention.

    Attributes:
        clusters: their names and numbers of samples.
        counts: these numbers, (clusters,).
        sums: float64 (clusters, K, T).
    """

    clusters: tuple[Any, ...]
    counts: np.ndarray
    sums: np.ndarray


class _Sums(NamedTuple):
    """Sums over clusters, as far as a value needs them.

    Attributes:
        clusters, counts, sums: as in `_Held`.
        metric: how means (..., K, T) become values.
        series: which of its series the value is.
    """

    clusters: tuple[Any, ...]
    counts: np.ndarray
    sums: np.ndarray
    metric: Metric
    series: int

    def finished(self, means: np.ndarray) -> np.ndarray:
        """Means (..., K, T) to the values over all lead times of all series, (..., S)."""
        made = values(self.metric, means)
        return np.asarray((made[..., None, :] if made.ndim < means.ndim else made)[..., 0])


class _Drawn(NamedTuple):
    """A value of one cell.

    Attributes:
        clusters: which were drawn from.
        value: of all clips, from the sums.
        values: float64 (RESAMPLES,).
    """

    clusters: tuple[Any, ...]
    value: float
    values: np.ndarray


def resample(asked: Sequence[Asked]) -> list[Resampled | str]:
    """Resample values of one dataset, all with the same clusters drawn.

    Returns:
        for each value, those in the resamples, or why there are none.

    Raises:
        StpError: a file of sums is damaged.
    """
    # In the order asked: sums in another order are rounded in another way.
    places: dict[str, tuple[Cell, dict[_Place, None]]] = {}
    for value in asked:
        for cell in value.cells:
            wanted = places.setdefault(str(cell["scores"]), (cell, {}))[1]
            wanted[value.convention, value.part] = None
    # By cell: of some conventions, sums take far more memory than values. NumPy lets threads run.
    with ThreadPoolExecutor(THREADS) as threads:
        answers = threads.map(lambda one: _drawn(_read(*one)), places.values())
        found = dict(zip(places, answers, strict=True))
    return [_answer(value, found) for value in asked]


def differences(ones: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Others minus ones, 0 where they differ by rounding only: equal models shall tie."""
    with np.errstate(invalid="ignore"):
        found = others - ones
        tiny = np.abs(found) <= EQUAL * np.maximum(np.abs(ones), np.abs(others))
    return np.asarray(np.where(tiny, 0.0, found))


class PairedTest(NamedTuple):
    """A paired test of two values.

    Attributes:
        ci95_low, ci95_high: 95 % interval of the difference, percentiles over resamples.
        p: two-sided, see `p_value`; of how bad the values are, where anything is better.
        detectable: the smallest difference that four of five such tests would find.
    """

    ci95_low: float
    ci95_high: float
    p: float
    detectable: float


def compared(ones: np.ndarray, others: np.ndarray, direction: Direction) -> PairedTest | str:
    """Test whether others differ from ones.

    Args:
        ones, others: values in the same resamples, (R,).
        direction: which values are better.

    Returns:
        the test of others minus ones, or why there is none.
    """
    found = differences(ones, others)
    if not np.isfinite(found).all():
        return "some resamples have no value"
    losses = found
    if direction.known:
        losses = differences(direction.losses(ones), direction.losses(others))
    low, high = (float(end) for end in np.percentile(found, (2.5, 97.5)))
    return PairedTest(low, high, p_value(losses), POWER * float(losses.std(ddof=1)))


def p_value(differences: np.ndarray) -> float:
    """Two-sided p value of a difference that was resampled.

    Args:
        differences: in each resample, (R,), finite.
    """
    below, above = int((differences <= 0).sum()), int((differences >= 0).sum())
    return min(1.0, 2 * (min(below, above) + 1) / (len(differences) + 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p values of several comparisons (Holm 1979): the chance of any false finding among
    them stays below the level at which a corrected value counts."""
    order = np.argsort(p_values, kind="stable")
    stepped = np.asarray(p_values)[order] * np.arange(len(order), 0, -1)
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return [float(p) for p in corrected]


def _answer(asked: Asked, found: dict[str, dict[_Place, _Drawn | str]]) -> Resampled | str:
    """Join the seeds of a value."""
    seeds = []
    for cell in asked.cells:
        drawn = found[str(cell["scores"])][asked.convention, asked.part]
        if isinstance(drawn, str):
            return drawn
        seeds.append(drawn)
    if any(seed.clusters != seeds[0].clusters for seed in seeds):
        return "its seeds were scored on different clusters of clips"
    made = np.mean([seed.value for seed in seeds])
    if abs(made - asked.value) > CLOSE * max(1e-12, abs(asked.value)):
        return f"its sums over clusters give {made:.6g}"
    return Resampled(seeds[0].clusters, np.mean([seed.values for seed in seeds], axis=0))


def _drawn(found: dict[_Place, _Sums | str]) -> dict[_Place, _Drawn | str]:
    """Resample all values of a cell; those that have the same clusters at once."""
    drawn: dict[_Place, _Drawn | str] = {}
    groups: dict[tuple[Any, ...], list[tuple[_Place, _Sums]]] = {}
    for place, one in found.items():
        if isinstance(one, str):
            drawn[place] = one
        elif len(one.counts) < FEWEST_CLUSTERS:
            drawn[place] = f"only {len(one.counts)} clusters ({FEWEST_CLUSTERS} needed)"
        else:
            groups.setdefault(one.clusters, []).append((place, one))
    for clusters, members in groups.items():
        # Parts of a convention may be made of the same sums.
        once = {id(one.sums): one for _, one in members}
        in_each = _in_each_resample(list(once.values()))
        for place, one in members:
            total = one.finished(one.sums.sum(axis=0) / one.counts.sum())
            made = in_each[list(once).index(id(one.sums))][:, one.series]
            drawn[place] = _Drawn(clusters, float(total[one.series]), made)
    return drawn


def _in_each_resample(sums: list[_Sums]) -> list[np.ndarray]:
    """Values of all series in each resample, (RESAMPLES, S), of sums over the same clusters."""
    counts = sums[0].counts
    flat = np.concatenate([one.sums.reshape(len(counts), -1) for one in sums], axis=1)
    ends = np.cumsum([one.sums[0].size for one in sums])[:-1]
    batches = []
    for batch in range(RESAMPLES // BATCH):
        means = resampled_means(flat, counts, resamples=BATCH, seed=batch)
        parts = zip(sums, np.split(means, ends, axis=1), strict=True)
        batches.append([one.finished(part.reshape(-1, *one.sums.shape[1:])) for one, part in parts])
    return [np.concatenate(made) for made in zip(*batches, strict=True)]


def _read(cell: Cell, wanted: Iterable[_Place]) -> dict[_Place, _Sums | str]:
    """Read the sums of a cell, from the artefact that has them."""
    found: dict[_Place, _Sums | str] = {}
    asked: dict[str, list[Part | Series]] = {}
    for convention, part in wanted:
        asked.setdefault(convention, []).append(part)
    for kind in ("scores", "perceptual"):  # the second has a job, and an artefact, of its own
        folder = Path(cell[kind]) if cell.get(kind) else None
        if folder is None or not (folder / "cluster_sums.parquet").is_file():
            continue
        sums = _table(folder, "cluster_sums.parquet", sorted(asked))
        series = _overall(_table(folder, "scores.parquet", sorted(asked)))
        for convention in sums["convention"].unique().to_pylist():
            metric = _metric(convention, kind)
            of_it = sums.filter(pc.equal(sums["convention"], convention))
            names, counts = of_it["cluster"].to_pylist(), of_it["n"].to_numpy()
            flat = of_it["sums"].combine_chunks().flatten().to_numpy()
            held = _Held(
                (tuple(names), tuple(counts.tolist())),
                counts,
                flat.reshape(len(names), int(of_it["components"][0].as_py()), -1),
            )
            for part in asked[convention]:
                rows = series.get(convention, [])
                found[convention, part] = _of_part(metric, held, rows, part)
    return {(name, part): found.get((name, part), NO_SUMS) for name, part in wanted}


def _overall(rows: pa.Table) -> dict[str, list[dict[str, Any]]]:
    """The rows over all lead times, a row for each series in their order; the file keeps it."""
    chosen = pc.and_(pc.is_null(rows["lead"]), pc.equal(rows["statistic"], "mean"))
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows.filter(chosen).to_pylist():
        found.setdefault(row["convention"], []).append(row)
    return found


def _metric(convention: str, kind: str) -> Metric:
    """How values of a convention are made of means.

    Those that look through a network would load it only to say so; they are means over samples of
    one statistic, and each value is compared with what its sums give.
    """
    found = None if kind == "perceptual" else find(convention)
    return found if isinstance(found, Metric) else Metric(needs_data)


def _table(folder: Path, name: str, conventions: list[str]) -> pa.Table:
    try:
        return pq.read_table(
            folder / name,
            filters=[("convention", "in", conventions)],
            partitioning=None,
            page_checksum_verification=True,
        )
    except (pa.ArrowException, OSError, KeyError) as error:
        raise StpError(
            f"{folder / name}: cannot be read ({error})",
            expected="a Parquet file of a score artefact",
            remedy=again(folder),
        ) from None


def _of_part(
    metric: Metric, held: _Held, overall: list[dict[str, Any]], part: Part | Series
) -> _Sums | str:
    """Keep what the value needs: of most metrics, one number for each cluster."""
    series = [i for i, row in enumerate(overall) if _is_part(row, part)]
    if len(overall) == 1 and (part is None or isinstance(part, str)):
        series = [0]
    if len(series) != 1:
        return NO_SUMS
    sums, number = held.sums, series[0]
    if metric.leads == "pool":
        sums = sums.mean(axis=-1, keepdims=True)
    elif metric.finish is first_component or metric.finish is every_component:
        chosen = number if metric.finish is every_component else 0
        sums = sums[:, chosen : chosen + 1].mean(axis=-1, keepdims=True)
        metric, number = metric._replace(finish=first_component), 0
    return _Sums(held.clusters, held.counts, sums, metric, number)


def _is_part(row: dict[str, Any], part: Part | Series) -> bool:
    """Is this the row of a series that stands for the part? As in `stp.render.tables.rows`."""
    if isinstance(part, Series):
        return all(row[name] == value for name, value in part._asdict().items())
    if isinstance(part, float):
        return bool(row["threshold"] == part and row["variable"] is None and row["level"] is None)
    return bool(row["variable"] == part and row["threshold"] is None and row["level"] is None)
