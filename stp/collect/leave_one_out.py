"""Values without each of their clusters of clips; intervals and paired tests are made of these.

A value is made again with one cluster left out at a time, as scores are, from sums over clusters
(`stp.collect.cluster_sums`). Of several seeds, means over seeds are made: the clips vary, the
trained models do not. Forecasts of different clips are compared on those that both have, so their
values are made again of these.
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
from stp.score.blocks import few
from stp.score.jackknife import FEWEST_CLUSTERS, left_out_means

THREADS = min(4, len(os.sched_getaffinity(0)))
CLOSE = 1e-6
"""Relative difference between a value and what its own sums give, from rounding."""


class Asked(NamedTuple):
    """A value of a row.

    Attributes:
        cells: one for each seed.
        convention: its definition.
        part: what it is restricted to.
        value: the mean over seeds.
        level: of the series.
        exactly: whether it is the series of just this variable, level and threshold; if not, the
            only series stands for a part that names none.
    """

    cells: tuple[Cell, ...]
    convention: str
    part: Part
    value: float
    level: float | None = None
    exactly: bool = False

    @property
    def place(self) -> Place:
        return Place(self.convention, self.part, self.level, self.exactly)


class LeftOut(NamedTuple):
    """A value, and what it is without each of the clusters.

    Attributes:
        clusters: the G clusters.
        value: of all of them.
        values: without each of them, float64 (G,), finite.
    """

    clusters: Clusters
    value: float
    values: np.ndarray


def left_out(asked: Sequence[Asked], samples: frozenset[str] | None = None) -> list[LeftOut | str]:
    """Make values again without each of their clusters.

    Args:
        asked: the values.
        samples: names of those that they are made of; all unless given.

    Returns:
        for each value, those without each cluster, or why there are none.

    Raises:
        StpError: a file of sums is damaged.
    """
    # In the order asked: sums in another order are rounded in another way.
    places: dict[str, tuple[Cell, dict[Place, None]]] = {}
    for value in asked:
        for cell in value.cells:
            wanted = places.setdefault(str(cell.scores), (cell, {}))[1]
            wanted[value.place] = None
    # By cell: of some conventions, sums take far more memory than values. NumPy lets threads run.
    with ThreadPoolExecutor(THREADS) as threads:
        answers = threads.map(lambda one: _of_cell(one[0], one[1], samples), places.values())
        found = dict(zip(places, answers, strict=True))
    return [_answer(value, found, some=samples is not None) for value in asked]


Common = Mapping[str, LeftOut | str]
"""Values of the samples that a forecast has in common with others, or why there are none; by
`Clusters.samples` of the others."""


def in_common(rivals: Sequence[Sequence[tuple[Asked, LeftOut | str]]]) -> list[list[Common]]:
    """Make values again of the samples that forecasts of different ones have in common.

    Args:
        rivals: values that are compared with each other, with what `left_out` says of each.

    Returns:
        for each of them; empty where all have the same samples.

    Raises:
        StpError: a file of a score artefact is damaged.
    """
    made: list[list[dict[str, LeftOut | str]]] = [[{} for _ in group] for group in rivals]
    cells: dict[str, Cell] = {}
    wanted: dict[tuple[str, str], list[tuple[int, int, str]]] = {}
    for g, group in enumerate(rivals):
        whose = {
            one.clusters.samples: asked.cells[0]
            for asked, one in group
            if not isinstance(one, str) and one.clusters.samples
        }
        for i, (_, one) in enumerate(group):
            mine = "" if isinstance(one, str) else one.clusters.samples
            for theirs in set(whose) - {mine} if mine else ():
                both = min(mine, theirs), max(mine, theirs)
                wanted.setdefault(both, []).append((g, i, theirs))
                cells |= {name: whose[name] for name in both}
    names = {name: frozenset(samples_of(cell)) for name, cell in cells.items()}
    for (one, other), where in wanted.items():
        if common := names[one] & names[other]:
            again = left_out([rivals[g][i][0] for g, i, _ in where], common)
            for (g, i, theirs), value in zip(where, again, strict=True):
                made[g][i][theirs] = value
    return [list(group) for group in made]


def _of_cell(
    cell: Cell, wanted: Iterable[Place], samples: frozenset[str] | None
) -> dict[Place, LeftOut | str]:
    """Values of a cell without each of their clusters, which know their samples."""
    names = sorted(samples_of(cell) if samples is None else samples)
    which = hashlib.sha256("\n".join(names).encode()).hexdigest() if names else ""
    return {
        place: one
        if isinstance(one, str)
        else one._replace(clusters=one.clusters._replace(samples=which))
        for place, one in without_each(read_sums(cell, wanted, samples)).items()
    }


def _answer(
    asked: Asked, found: dict[str, dict[Place, LeftOut | str]], *, some: bool
) -> LeftOut | str:
    """Join the seeds of a value; of ``some`` of its samples, it is another one."""
    seeds = []
    for cell in asked.cells:
        one = found[str(cell.scores)][asked.place]
        if isinstance(one, str):
            return one
        seeds.append(one)
    if any(seed.clusters != seeds[0].clusters for seed in seeds):
        return "its seeds were scored on different clusters of clips"
    made = float(np.mean([seed.value for seed in seeds]))
    if not some and abs(made - asked.value) > CLOSE * max(1e-12, abs(asked.value)):
        return f"its sums over clusters give {made:.6g}"
    return LeftOut(seeds[0].clusters, made, np.mean([seed.values for seed in seeds], axis=0))


def without_each(found: dict[Place, Sums | str]) -> dict[Place, LeftOut | str]:
    """Values of a cell, and what they are without each of the clusters."""
    made: dict[Place, LeftOut | str] = {}
    # Parts of a convention may be made of the same sums.
    known: dict[tuple[int, str], tuple[np.ndarray, np.ndarray]] = {}
    for place, one in found.items():
        if isinstance(one, str):
            made[place] = one
            continue
        clusters = len(one.counts)
        if clusters < FEWEST_CLUSTERS:
            made[place] = few(clusters, FEWEST_CLUSTERS, one.longer)
            continue
        same = id(one.sums), str(one.leads)
        if same not in known:
            whole = one.finished(one.sums.sum(axis=0) / one.counts.sum())
            known[same] = whole, one.finished(left_out_means(one.sums, one.counts))
        whole, each = (values[..., one.series] for values in known[same])
        lost = int((~np.isfinite(each)).sum())
        made[place] = (
            f"no value without any one of {lost} of {clusters} clusters"
            if lost
            else LeftOut(one.clusters, float(whole), each)
        )
    return made
