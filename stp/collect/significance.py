"""Is one row worse than another, or could it be the choice of test clips? A paired test.

Both rows were scored on the same clusters of clips (videos, trajectories, months). Their values are
made again with one cluster left out at a time, as scores are, from sums over clusters
(``cluster_sums.parquet``); the differences of these values have a standard error
(`stp.score.jackknife`), and the ratio of the two is compared with Student's t distribution. All
pairs of the models that are ranked together are corrected for each other (Holm 1979). Of several
seeds, means over seeds are compared: the clips vary, the trained models do not.
"""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
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
from stp.score.conventions import find
from stp.score.jackknife import (
    FEWEST_CLUSTERS,
    degrees_of_freedom,
    deviations,
    left_out_means,
    standard_error,
)

THREADS = min(4, len(os.sched_getaffinity(0)))
CLOSE = 1e-6
"""Relative difference between a value and what its own sums give, from rounding."""
POWER = 0.8
"""Share of tests that find a difference which is called detectable."""

NO_SUMS = "no sums over clusters of clips"
"""Why a value cannot be tested: a distance between sets, or the store is not at hand."""


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


class LeftOut(NamedTuple):
    """A value, and what it is without each of the clusters.

    Attributes:
        clusters: names of the G clusters, and their numbers of samples; only values of equal ones
            may be compared.
        value: of all of them.
        values: without each of them, float64 (G,), finite.
    """

    clusters: tuple[Any, ...]
    value: float
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


def left_out(asked: Sequence[Asked]) -> list[LeftOut | str]:
    """Make values again without each of their clusters.

    Returns:
        for each value, those without each cluster, or why there are none.

    Raises:
        StpError: a file of sums is damaged.
    """
    # In the order asked: sums in another order are rounded in another way.
    places: dict[str, tuple[Cell, dict[_Place, None]]] = {}
    for value in asked:
        for cell in value.cells:
            wanted = places.setdefault(str(cell.scores), (cell, {}))[1]
            wanted[value.convention, value.part] = None
    # By cell: of some conventions, sums take far more memory than values. NumPy lets threads run.
    with ThreadPoolExecutor(THREADS) as threads:
        answers = threads.map(lambda one: _without_each(_read(*one)), places.values())
        found = dict(zip(places, answers, strict=True))
    return [_answer(value, found) for value in asked]


class Tests(NamedTuple):
    """Paired tests of all pairs of M values, in the order of `itertools.combinations`; each (P,).

    Attributes:
        low, high: 95 % interval of the second minus the first value.
        p: two-sided; of how bad the values are, where anything is better.
        error: the standard error of what p is of.
    """

    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    error: np.ndarray


def tested(ones: Sequence[LeftOut], direction: Direction) -> Tests:
    """Compare each pair of values.

    Args:
        ones: the values, of the same clusters.
        direction: which of them are better.
    """
    # Imported late: a store without sums over clusters has no tests.
    from scipy.special import stdtr, stdtrit

    freedom = degrees_of_freedom(np.array(ones[0].clusters[1]))
    whole = np.array([one.value for one in ones])
    each = np.stack([one.values for one in ones], axis=1)  # (G, M)
    difference, error = _differences(whole, each)
    reach = stdtrit(freedom, 0.975) * error
    low, high = difference - reach, difference + reach
    if direction.known:
        difference, error = _differences(direction.losses(whole), direction.losses(each))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(freedom, -np.abs(difference / error))
    return Tests(low, high, np.where(difference == 0, 1.0, p), error)


def effect(clusters: tuple[Any, ...], tests: int) -> float:
    """How many standard errors a difference must have to be found by four of five tests.

    Args:
        clusters: as in `LeftOut`.
        tests: how many are corrected for each other. The level is that for the smallest of their
            p values, `LEVEL` / tests (Holm's first step), so that what is called detectable is
            found whatever the others are.
    """
    from scipy.special import nctdtrinc, stdtrit

    freedom = degrees_of_freedom(np.array(clusters[1]))
    return float(nctdtrinc(freedom, 1 - POWER, stdtrit(freedom, 1 - LEVEL / 2 / tests)))


def _differences(whole: np.ndarray, each: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Differences of all pairs, and their standard errors; 0 where rounding alone differs."""
    one, other = np.triu_indices(len(whole), 1)
    difference = deviations(whole[other], whole[one])
    return difference, standard_error(deviations(each[:, other], each[:, one]), difference)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p values of several comparisons (Holm 1979): the chance of any false finding among
    them stays below the level at which a corrected value counts."""
    order = np.argsort(p_values, kind="stable")
    stepped = np.asarray(p_values)[order] * np.arange(len(order), 0, -1)
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return [float(p) for p in corrected]


def _answer(asked: Asked, found: dict[str, dict[_Place, LeftOut | str]]) -> LeftOut | str:
    """Join the seeds of a value."""
    seeds = []
    for cell in asked.cells:
        one = found[str(cell.scores)][asked.convention, asked.part]
        if isinstance(one, str):
            return one
        seeds.append(one)
    if any(seed.clusters != seeds[0].clusters for seed in seeds):
        return "its seeds were scored on different clusters of clips"
    made = float(np.mean([seed.value for seed in seeds]))
    if abs(made - asked.value) > CLOSE * max(1e-12, abs(asked.value)):
        return f"its sums over clusters give {made:.6g}"
    return LeftOut(seeds[0].clusters, made, np.mean([seed.values for seed in seeds], axis=0))


def _without_each(found: dict[_Place, _Sums | str]) -> dict[_Place, LeftOut | str]:
    """Values of a cell, and what they are without each of the clusters."""
    made: dict[_Place, LeftOut | str] = {}
    # Parts of a convention may be made of the same sums.
    known: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for place, one in found.items():
        if isinstance(one, str):
            made[place] = one
            continue
        clusters = len(one.counts)
        if clusters < FEWEST_CLUSTERS:
            made[place] = f"only {clusters} clusters ({FEWEST_CLUSTERS} needed)"
            continue
        if id(one.sums) not in known:
            whole = one.finished(one.sums.sum(axis=0) / one.counts.sum())
            known[id(one.sums)] = whole, one.finished(left_out_means(one.sums, one.counts))
        whole, each = (values[..., one.series] for values in known[id(one.sums)])
        lost = int((~np.isfinite(each)).sum())
        made[place] = (
            f"no value without any one of {lost} of {clusters} clusters"
            if lost
            else LeftOut(one.clusters, float(whole), each)
        )
    return made


def _read(cell: Cell, wanted: Iterable[_Place]) -> dict[_Place, _Sums | str]:
    """Read the sums of a cell, from the artefact that has them."""
    found: dict[_Place, _Sums | str] = {}
    asked: dict[str, list[Part | Series]] = {}
    for convention, part in wanted:
        asked.setdefault(convention, []).append(part)
    for kind in ("scores", "perceptual"):  # the second has a job, and an artefact, of its own
        folder = cell.folder(kind)
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
