"""Leave-one-out values over clusters of clips, for paired tests and their intervals.

A leave-one-out value is a value of a metric over all test clips except those of one cluster. A
value over G clusters has G of them, which are computed from sums over clusters
(`stp.collect.cluster_sums`).
Values of several seeds are averaged, so tests account for the choice of clips, not for the choice
of trained models. Models with forecasts of different clips are compared on their common clips.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from stp.collect.cluster_sums import Clusters, Place, Sums, read_sums, samples_of
from stp.plan.column import Part
from stp.plan.manifest import Cell
from stp.score.blocks import explain_too_few
from stp.score.jackknife import FEWEST_CLUSTERS, leave_one_out_means

THREADS = min(4, len(os.sched_getaffinity(0)))
CLOSE = 1e-6
"""Maximum relative difference due to rounding between a value and the value from its sums."""


class RowValue(NamedTuple):
    """A value of a table row: a mean over seeds.

    Attributes:
        cells: a cell for each seed.
        convention: name of the convention.
        part: variable, threshold and lead times of the value.
        value: mean over seeds.
        level: level of the value, such as a pressure level in hPa; None without levels.
        exactly: True: the value is one of the scores with exactly this variable, level and
            threshold, such as a value that was read from the table of scores. False: parts may be
            left out, such as the variable of a value in the column RMSE of a table. If the cell has
            scores of only one variable, the value is then one of these (`Place`).
    """

    cells: tuple[Cell, ...]
    convention: str
    part: Part
    value: float
    level: float | None = None
    exactly: bool = False

    @property
    def place(self) -> Place:
        """Key of the value: convention, variable, threshold, lead times and level.

        The same key finds the value of each seed among the scores of the seed's cell.
        """
        return Place(self.convention, self.part, self.level, self.exactly)


class LeftOut(NamedTuple):
    """A value, and its leave-one-out values: those with each cluster left out in turn.

    Attributes:
        clusters: the G clusters of clips.
        value: value over all clusters.
        values: for each cluster, the value over all other clusters, float64 (G,), finite.
    """

    clusters: Clusters
    value: float
    values: np.ndarray


def leave_one_out_values(
    asked: Sequence[RowValue], samples: frozenset[str] | None = None
) -> list[LeftOut | str]:
    """Compute each value again with each cluster of clips left out in turn.

    Args:
        asked: values of table rows.
        samples: names of the samples to use; None for all.

    Returns:
        for each value its leave-one-out values, or the reason why there are none.

    Raises:
        StpError: a file of a score artefact is damaged, such as ``cluster_sums.parquet``.
    """
    # In the given order, since rounding depends on it.
    places: dict[str, tuple[Cell, dict[Place, None]]] = {}
    for value in asked:
        for cell in value.cells:
            of_cell = places.setdefault(str(cell.scores), (cell, {}))[1]
            of_cell[value.place] = None
    # By cell, since sums may take far more memory than values. NumPy releases the GIL.
    with ThreadPoolExecutor(THREADS) as threads:
        results = threads.map(lambda item: _of_cell(item[0], item[1], samples), places.values())
        by_cell = dict(zip(places, results, strict=True))
    return [_average_seeds(value, by_cell, some=samples is not None) for value in asked]


Common = Mapping[str, LeftOut | str]
"""A model's value and leave-one-out values on the samples that it shares with other models, or the
reason why there are none. Keys are hashes of the samples of the other models (`Clusters.samples`).
"""


def in_common(rivals: Sequence[Sequence[tuple[RowValue, LeftOut | str]]]) -> list[list[Common]]:
    """Compute values of models again on the samples that they share with other models.

    For example, model A was tested on clips 1 to 100, and model B on clips 51 to 150. Both then get
    values on clips 51 to 100.

    Args:
        rivals: groups of values that are compared with each other. Each value comes with its
            leave-one-out values on its own samples, or the reason why there are none
            (`leave_one_out_values`).

    Returns:
        ``result[i][j][samples]``, for value j of group i: the value of the same model on the
        samples that it shares with another model, with its leave-one-out values; or the reason why
        there are none. ``samples`` is the hash of the other model's samples (`Clusters.samples`).
        In the example, A's entry has the hash of B's clips as its key. There is no entry for a
        model that has the same samples, or shares none.

    Raises:
        StpError: a file of a score artefact is damaged.
    """
    results: list[list[dict[str, LeftOut | str]]] = [[{} for _ in group] for group in rivals]
    cells: dict[str, Cell] = {}
    pairs: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
    for g, group in enumerate(rivals):
        cell_of = {
            value.clusters.samples: asked.cells[0]
            for asked, value in group
            if not isinstance(value, str) and value.clusters.samples
        }
        for i, (_, value) in enumerate(group):
            samples = "" if isinstance(value, str) else value.clusters.samples
            for other in set(cell_of) - {samples} if samples else ():
                both = min(samples, other), max(samples, other)
                pairs.setdefault(both, []).append((g, i, other))
                cells |= {name: cell_of[name] for name in both}
    names = {name: frozenset(samples_of(cell)) for name, cell in cells.items()}
    for both, values in pairs.items():
        if common := names[both[0]] & names[both[1]]:
            again = leave_one_out_values([rivals[g][i][0] for g, i, _ in values], common)
            for (g, i, other), value_on_common in zip(values, again, strict=True):
                results[g][i][other] = value_on_common
    return [list(group) for group in results]


def _of_cell(
    cell: Cell, places: Iterable[Place], samples: frozenset[str] | None
) -> dict[Place, LeftOut | str]:
    """Leave-one-out values of a cell; the clusters get a hash of the sample names."""
    names = sorted(samples_of(cell) if samples is None else samples)
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest() if names else ""
    return {
        place: value
        if isinstance(value, str)
        else value._replace(clusters=value.clusters._replace(samples=digest))
        for place, value in without_each(read_sums(cell, places, samples)).items()
    }


def _average_seeds(
    asked: RowValue, by_cell: dict[str, dict[Place, LeftOut | str]], *, some: bool
) -> LeftOut | str:
    """Average over seeds; without a selection of samples, check that this is the row's value."""
    seeds = []
    for cell in asked.cells:
        seed = by_cell[str(cell.scores)][asked.place]
        if isinstance(seed, str):
            return seed
        seeds.append(seed)
    if any(seed.clusters != seeds[0].clusters for seed in seeds):
        return "its seeds were scored on different clusters of clips"
    mean = float(np.mean([seed.value for seed in seeds]))
    if not some and abs(mean - asked.value) > CLOSE * max(1e-12, abs(asked.value)):
        return f"its sums over clusters give {mean:.6g}"
    return LeftOut(seeds[0].clusters, mean, np.mean([seed.values for seed in seeds], axis=0))


def without_each(by_place: dict[Place, Sums | str]) -> dict[Place, LeftOut | str]:
    """Compute values of a cell from sums, over all clusters and with each one left out in turn.

    Args:
        by_place: for the key of each value, the sums of scores over clusters of clips, or the
            reason why there are none.

    Returns:
        for the same keys, the value with its leave-one-out values, or the reason why there are
        none.
    """
    results: dict[Place, LeftOut | str] = {}
    # Parts of a convention may share sums.
    computed: dict[tuple[int, str], tuple[np.ndarray, np.ndarray]] = {}
    for place, sums in by_place.items():
        if isinstance(sums, str):
            results[place] = sums
            continue
        clusters = len(sums.counts)
        if clusters < FEWEST_CLUSTERS:
            results[place] = explain_too_few(clusters, FEWEST_CLUSTERS, sums.longer_than)
            continue
        same = id(sums.sums), str(sums.leads)
        if same not in computed:
            overall = sums.values_from_means(sums.sums.sum(axis=0) / sums.counts.sum())
            computed[same] = (
                overall,
                sums.values_from_means(leave_one_out_means(sums.sums, sums.counts)),
            )
        overall, each = (values[..., sums.series] for values in computed[same])
        lost = int((~np.isfinite(each)).sum())
        results[place] = (
            f"no value without any one of {lost} of {clusters} clusters"
            if lost
            else LeftOut(sums.clusters, float(overall), each)
        )
    return results
