"""Is one row worse than another, or could it be the choice of test clips? A paired bootstrap.

Both rows were scored on the same clusters of clips (videos, trajectories, months). Clusters are
drawn with replacement, the same ones for both rows; each time both values are made anew, as scores
are, from sums over clusters (``cluster_sums.parquet``). The two-sided p value counts the resamples
in which the order of the two turns round (Davison and Hinkley 1997, section 4.4; with one added to
both counts, so that it is never 0): it is below 5 % where the 95 % percentile interval of the
difference leaves out 0. Of several seeds, the mean over seeds is compared in each resample: the
clips vary, the trained models do not.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stp.collect.manifest import Cell, Part
from stp.errors import StpError
from stp.metrics.metric import Metric, every_component, first_component, needs_data
from stp.receipts import again
from stp.score.aggregate import values
from stp.score.bootstrap import FEWEST_CLUSTERS, resampled_means
from stp.score.conventions import find

RESAMPLES = 1999
SEED = 0
CLOSE = 1e-6
"""Relative difference between a value and what its own sums give, from rounding."""

NO_SUMS = "no sums over clusters of clips to resample"
"""Why a value has no resamples: a distance between sets, or the store is not at hand."""


class Asked(NamedTuple):
    """A value of a row.

    Attributes:
        cells: one for each seed.
        convention: its definition.
        part: the variable or threshold it is restricted to; None: all together.
        value: over all lead times, the mean over seeds.
    """

    cells: tuple[Cell, ...]
    convention: str
    part: Part
    value: float


class Resampled(NamedTuple):
    """A value in each resample.

    Attributes:
        clusters: which clusters were drawn from; only values of equal ones may be compared.
        values: float64 (RESAMPLES,); not finite where a resample has no value.
    """

    clusters: tuple[Any, ...]
    values: np.ndarray


class _Sums(NamedTuple):
    """Sums over clusters, as far as a value needs them.

    Attributes:
        clusters: their names and numbers of samples.
        counts: these numbers, (clusters,).
        sums: float64 (clusters, K, T).
        finish: means (..., K, T) to the value over all lead times (...).
    """

    clusters: tuple[Any, ...]
    counts: np.ndarray
    sums: np.ndarray
    finish: Callable[[np.ndarray], np.ndarray]


def resample(asked: Sequence[Asked]) -> list[Resampled | str]:
    """Resample values of one dataset, all with the same clusters drawn.

    Returns:
        for each value, those in the resamples, or why there are none.

    Raises:
        StpError: a file of sums is damaged.
    """
    places: dict[str, tuple[Cell, set[tuple[str, Part]]]] = {}
    for value in asked:
        for cell in value.cells:
            wanted = places.setdefault(str(cell["scores"]), (cell, set()))[1]
            wanted.add((value.convention, value.part))
    found = {place: _read(cell, wanted) for place, (cell, wanted) in places.items()}
    drawn = _draw([sums for by in found.values() for sums in by.values()])
    return [_answer(value, found, drawn) for value in asked]


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
    corrected = np.empty(len(p_values))
    largest = 0.0
    for place, number in enumerate(order):
        largest = max(largest, (len(p_values) - place) * p_values[number])
        corrected[number] = min(1.0, largest)
    return [float(p) for p in corrected]


def _answer(
    asked: Asked, found: dict[str, dict[tuple[str, Part], _Sums | str]], drawn: dict[int, Resampled]
) -> Resampled | str:
    """Join the seeds of a value."""
    parts = [found[str(cell["scores"])][asked.convention, asked.part] for cell in asked.cells]
    seeds = []
    again_made = []
    for part in parts:
        if isinstance(part, str):
            return part
        if len(part.counts) < FEWEST_CLUSTERS:
            return f"only {len(part.counts)} clusters ({FEWEST_CLUSTERS} needed)"
        seeds.append(drawn[id(part)])
        with np.errstate(all="ignore"):
            again_made.append(float(part.finish(part.sums.sum(axis=0) / part.counts.sum())))
    if len({seed.clusters for seed in seeds}) > 1:
        return "its seeds were scored on different clusters of clips"
    if abs(np.mean(again_made) - asked.value) > CLOSE * max(1e-12, abs(asked.value)):
        return f"its sums over clusters give {np.mean(again_made):.6g}"
    return Resampled(seeds[0].clusters, np.mean([seed.values for seed in seeds], axis=0))


def _draw(sums: Sequence[_Sums | str]) -> dict[int, Resampled]:
    """Resample all that has the same clusters at once; keys are identities of the sums."""
    groups: dict[tuple[Any, ...], list[_Sums]] = {}
    for one in sums:
        if isinstance(one, _Sums) and len(one.counts) >= FEWEST_CLUSTERS:
            groups.setdefault(one.clusters, []).append(one)
    drawn = {}
    for clusters, members in groups.items():
        counts = members[0].counts
        flat = [one.sums.reshape(len(counts), -1) for one in members]
        means = resampled_means(
            np.concatenate(flat, axis=1), counts, resamples=RESAMPLES, seed=SEED
        )
        ends = np.cumsum([part.shape[1] for part in flat])[:-1]
        for one, part in zip(members, np.split(means, ends, axis=1), strict=True):
            with np.errstate(all="ignore"):
                found = one.finish(part.reshape(-1, *one.sums.shape[1:]))
            drawn[id(one)] = Resampled(clusters, found)
    return drawn


def _read(cell: Cell, wanted: set[tuple[str, Part]]) -> dict[tuple[str, Part], _Sums | str]:
    """Read the sums of a cell, from the artefact that has them."""
    found: dict[tuple[str, Part], _Sums | str] = {}
    for kind in ("scores", "perceptual"):  # the second has a job, and an artefact, of its own
        folder = Path(cell[kind]) if cell.get(kind) else None
        if folder is None or not (folder / "cluster_sums.parquet").is_file():
            continue
        names = sorted({convention for convention, _ in wanted})
        sums = _table(folder, "cluster_sums.parquet", names)
        series = _table(folder, "scores.parquet", names)
        for convention in sums["convention"].unique().to_pylist():
            metric = _metric(convention, kind)
            of_it = sums.filter(pc.equal(sums["convention"], convention))
            rows = series.filter(pc.equal(series["convention"], convention)).to_pylist()
            for name, part in wanted:
                if name == convention:
                    found[name, part] = _of_part(metric, of_it, rows, part)
    return {place: found.get(place, NO_SUMS) for place in wanted}


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
            folder / name, filters=[("convention", "in", conventions)], partitioning=None
        )
    except (pa.ArrowException, OSError, KeyError) as error:
        raise StpError(
            f"{folder / name}: cannot be read ({error})",
            expected="a Parquet file of a score artefact",
            remedy=again(folder),
        ) from None


def _of_part(
    metric: Metric, table: pa.Table, rows: list[dict[str, Any]], part: Part
) -> _Sums | str:
    """Keep what the value needs: of most metrics, one number for each cluster."""
    names, counts = table["cluster"].to_pylist(), table["n"].to_numpy()
    flat = table["sums"].combine_chunks().flatten().to_numpy()
    sums = flat.reshape(len(names), int(table["components"][0].as_py()), -1)
    overall = [row for row in rows if row["lead"] is None and row["statistic"] == "mean"]
    # A row for each series, in the order of the series; the file keeps it.
    series = [i for i, row in enumerate(overall) if _is_part(row, part)]
    if len(overall) == 1 and not isinstance(part, float):
        series = [0]
    if len(series) != 1:
        return NO_SUMS
    if metric.leads == "pool":
        sums = sums.mean(axis=-1, keepdims=True)
    elif metric.finish is first_component or metric.finish is every_component:
        chosen = series[0] if metric.finish is every_component else 0
        sums = sums[:, chosen : chosen + 1].mean(axis=-1, keepdims=True)
        metric, series = metric._replace(finish=first_component), [0]

    def finish(means: np.ndarray) -> np.ndarray:
        made = values(metric, means)
        return np.asarray((made if made.ndim < means.ndim else made[..., series[0], :])[..., 0])

    counted = tuple(counts.tolist())
    return _Sums((tuple(names), counted), counts, np.ascontiguousarray(sums), finish)


def _is_part(row: dict[str, Any], part: Part) -> bool:
    """Is this the row of a series that stands for the part? As `stp.render.rows.overall` has it."""
    if isinstance(part, float):
        return bool(row["threshold"] == part and row["variable"] is None and row["level"] is None)
    return bool(row["variable"] == part and row["threshold"] is None and row["level"] is None)
