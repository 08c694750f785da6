"""Sums over clusters of clips, read from files of score artefacts (``cluster_sums.parquet``).

Means over clips, and so values, can be made again of these sums: of all clusters, or of any of them
(`stp.collect.leave_one_out`). Sums over some of the clips are added up from the scores of each
(``sample_scores.parquet``). Where clusters are blocks of time, they are merged into blocks that are
longer than the last lead time of a value.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stp.collect.conventions import convention_in
from stp.collect.sample_files import SAMPLE_SCORES, sample_file, schema_of
from stp.collect.score_rows import ScoreRow, score_rows
from stp.core.parquet import read_table
from stp.metrics.metric import Metric, every_component, first_component, needs_data
from stp.metrics.perceptual import LearnedMetric
from stp.plan.artefacts import PERCEPTUAL
from stp.plan.column import Part, lead_range
from stp.plan.manifest import Cell
from stp.score.aggregate import Leads, values
from stp.score.blocks import Blocks, summed
from stp.score.tables import CLUSTERS

NO_SUMS = "no sums over clusters of clips"
"""Why a value cannot be tested: a distance between sets, or the store is not at hand."""
NO_TEST_OF_SD = "a standard deviation has neither interval nor test"
NOT_KEPT = "the scores of single clips are not kept"
"""Why a value of some of the clips cannot be made."""


class Clusters(NamedTuple):
    """The clusters behind a value; only values of equal ones may be compared.

    Attributes:
        names: of the G clusters.
        counts: their numbers of samples.
        lacks: what the forecasts lack of the value; empty if nothing.
        samples: tells which samples these are; empty where their names are not at hand.
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    lacks: str
    samples: str = ""


class Place(NamedTuple):
    """A convention, and the part that its value is restricted to; see `Asked`."""

    convention: str
    part: Part
    level: float | None = None
    exactly: bool = False


class _Held(NamedTuple):
    """What a file says of a convention.

    Attributes:
        names: of the clusters.
        counts: their numbers of samples, (clusters,).
        sums: float64 (clusters, K, T').
        there: which of them the forecasts have, bool (K, T').
        blocks: where the clusters lie in time, if they are blocks of it.
        leads: number of lead times T; the last sums belong to lead time T.
        lacks: what is not in the sums.
    """

    names: tuple[str, ...]
    counts: np.ndarray
    sums: np.ndarray
    there: np.ndarray
    blocks: Blocks | None
    leads: int
    lacks: str

    def merged(self, lead: int) -> "_Held":
        """With clusters that are longer than a lead time, without those that have no samples."""
        if self.blocks is None:
            return self
        groups = self.blocks.merged(lead)
        counts, sums = summed(self.counts, groups), summed(self.sums, groups)
        in_time = np.argsort(self.blocks.start, kind="stable")
        members = [in_time[groups[in_time] == number] for number in range(len(counts))]
        names = [
            " to ".join(dict.fromkeys((self.names[its[0]], self.names[its[-1]]))) for its in members
        ]
        held = np.flatnonzero(counts)
        return self._replace(
            names=tuple(names[number] for number in held), counts=counts[held], sums=sums[held]
        )


class Sums(NamedTuple):
    """Sums over clusters, as far as a value needs them.

    Attributes:
        clusters: behind the value.
        counts: numbers of samples, (clusters,).
        sums: float64 (clusters, K, T').
        metric: how means (..., K, T) become values.
        series: which of its series the value is.
        leads: which lead times the value is of.
        longer: the lead time that clusters are longer than; None where they are no blocks of time.
    """

    clusters: Clusters
    counts: np.ndarray
    sums: np.ndarray
    metric: Metric
    series: int
    leads: Leads
    longer: int | None

    def finished(self, means: np.ndarray) -> np.ndarray:
        """Means (..., K, T) to the values over its lead times of all series, (..., S)."""
        made = values(self.metric, means, self.leads)
        return np.asarray((made[..., None, :] if made.ndim < means.ndim else made)[..., 0])


def read_sums(
    cell: Cell, wanted: Iterable[Place], samples: frozenset[str] | None = None
) -> dict[Place, Sums | str]:
    """Read the sums of a cell, from the artefact that has them; or say why there are none.

    Args:
        cell: was scored.
        wanted: the values that are needed.
        samples: names of those that are added up; all unless given.

    Raises:
        StpError: a file is damaged.
    """
    found: dict[Place, Sums | str] = {}
    asked: dict[str, list[Place]] = {}
    for place in wanted:
        asked.setdefault(place.convention, []).append(place)
    for kind in ("scores", "perceptual"):  # the second has a job, and an artefact, of its own
        folder = cell.folder(kind)
        if not asked or folder is None or not (folder / "scores.parquet").is_file():
            continue
        has_sums = (folder / "cluster_sums.parquet").is_file()  # agreement of ratings has none
        sums = CLUSTERS.empty_table()
        if has_sums:
            sums = _table(folder, "cluster_sums.parquet", conventions=sorted(asked))
        rows = _table(folder, "scores.parquet", conventions=sorted(asked))
        series = _overall(rows)
        for convention in sums["convention"].unique().to_pylist():
            own = sums.filter(pc.equal(sums["convention"], convention))
            metric = _metric(folder, convention, own["components"][0].as_py())
            held = _held(
                own,
                pc.max(rows.filter(pc.equal(rows["convention"], convention))["lead"]).as_py(),
            )
            overall = series.get(convention, [])
            some: _Held | None = held
            if samples is not None:
                some = _of_samples(held, folder, convention, overall, samples)
            merged: dict[int, _Held] = {}
            for place in asked[convention]:
                found[place] = (
                    NOT_KEPT if some is None else _of_place(metric, some, merged, overall, place)
                )
        for convention in set(asked) - set(sums["convention"].unique().to_pylist()):
            overall = series.get(convention, [])
            for place in asked[convention]:
                number = series_of(overall, place)
                if number is not None and (reason := overall[number].reason):
                    found[place] = reason
    return {place: found.get(place, NO_SUMS) for place in wanted}


def samples_of(cell: Cell) -> list[str]:
    """Names of the samples of a cell; empty where their scores are not at hand.

    Raises:
        StpError: the file of their scores is damaged, or of another schema.
    """
    folder = cell.folder("scores")
    if folder is None or not (folder / SAMPLE_SCORES).is_file():
        return []
    sample_file(folder)
    table = _table(folder, SAMPLE_SCORES, columns=["clip", "variable"])
    variables = table["variable"].to_pylist()  # all samples of one, then of the next
    clips = table["clip"].to_pylist()
    return [clip for clip, name in zip(clips, variables, strict=True) if name == variables[0]]


def _held(rows: pa.Table, leads: int | None) -> _Held:
    """What the rows of a convention say.

    Args:
        rows: of ``cluster_sums.parquet``.
        leads: number of lead times; that of the sums unless known.
    """
    flat = rows["sums"].combine_chunks().flatten()
    shape = len(rows), int(rows["components"][0].as_py()), -1
    sums = flat.to_numpy(zero_copy_only=False).reshape(shape)
    names = tuple(rows["cluster"].to_pylist())
    blocks = None
    if rows["start"].null_count == 0:
        starts, lengths = rows["start"].to_numpy(), rows["length"].to_numpy()
        blocks = Blocks(names, starts, lengths, int(rows["step"][0].as_py()))
    return _Held(
        names,
        rows["n"].to_numpy(),
        sums,
        flat.is_valid().to_numpy(zero_copy_only=False).reshape(shape)[0],
        blocks,
        leads or sums.shape[-1],
        rows["lacks"][0].as_py() or "",
    )


def _of_samples(
    held: _Held,
    folder: Path,
    convention: str,
    overall: Sequence[ScoreRow],
    samples: frozenset[str],
) -> _Held | None:
    """Sums over some of the samples, from the scores of each; None where these are not kept.

    Args:
        held: the sums over all.
        folder: of the score artefact.
        convention: theirs.
        overall: a row for each series.
        samples: their names.
    """
    _, schema = schema_of(folder, SAMPLE_SCORES, "the scores of each test sample")
    parts = [n for n in schema.names if n == convention or n.startswith(convention + ".")]
    if not parts:
        return None
    table = _table(folder, SAMPLE_SCORES, columns=["clip", "cluster", "variable", *parts])
    table = table.filter(pc.is_in(table["clip"], pa.array(sorted(samples), pa.string())))
    names, of = table["cluster"].to_pylist(), np.array(table["variable"].to_pylist(), object)
    place = {name: number for number, name in enumerate(held.names)}
    codes = np.array([place[name] for name in names], np.int64)
    sums = np.full(held.sums.shape, np.nan)
    for number, variable in enumerate(dict.fromkeys(row.variable for row in overall)):
        # A convention of all variables together fills the first rows.
        here = np.flatnonzero(of == (of[0] if variable is None else variable))
        for k, name in enumerate(parts, number * len(parts)):
            each = table[name].take(here).combine_chunks()
            if len(each) and not each.null_count:  # else the forecasts lack the variable
                values = each.flatten().to_numpy(zero_copy_only=False).reshape(len(here), -1)
                sums[:, k] = 0
                np.add.at(sums[:, k], codes[here], values)
    counts = np.bincount(codes[of == of[0]], minlength=len(held.names))
    there = slice(None) if held.blocks is not None else np.flatnonzero(counts)
    names = tuple(np.array(held.names, object)[there].tolist())
    return held._replace(names=names, counts=counts[there], sums=sums[there])


def _overall(rows: pa.Table) -> dict[str, list[ScoreRow]]:
    """The rows over all lead times, a row for each series in their order; the file keeps it."""
    chosen = pc.and_(pc.is_null(rows["lead"]), pc.equal(rows["statistic"], "mean"))
    found: dict[str, list[ScoreRow]] = {}
    for row in score_rows(rows.filter(chosen)):
        found.setdefault(row.convention, []).append(row)
    return found


def _metric(folder: Path, convention: str, components: int) -> Metric:
    """How values of a convention are computed from means.

    Args:
        folder: of the score artefact.
        components: number of its statistics. The value of one that looks through a network is the
            mean of the only one; to find this out, libraries of networks would be loaded.
    """
    is_perceptual = folder.parent.name == PERCEPTUAL and components == 1
    found = None if is_perceptual else convention_in(folder, convention)
    if isinstance(found, LearnedMetric):
        return found.of_means
    return found if isinstance(found, Metric) else Metric(needs_data)


def _table(
    folder: Path,
    name: str,
    *,
    columns: list[str] | None = None,
    conventions: list[str] | None = None,
) -> pa.Table:
    """Read some columns or conventions of a file; all unless given."""
    rows = read_table(folder / name, columns)
    if conventions:
        rows = rows.filter(pc.is_in(rows["convention"], pa.array(conventions, pa.string())))
    return rows


def series_of(overall: Sequence[ScoreRow], place: Place) -> int | None:
    """Number of the series that holds the value of a place, as in `stp.render.tables.rows`.

    Args:
        overall: a row for each series, over all lead times.
        place: the value that is needed.
    """
    variable, threshold = place.part.variable, place.part.threshold
    wanted = (variable, place.level, threshold)
    found = [
        i for i, row in enumerate(overall) if (row.variable, row.level, row.threshold) == wanted
    ]
    if not place.exactly and len(overall) == 1 and threshold is None:
        return 0
    return found[0] if len(found) == 1 else None


def _of_place(
    metric: Metric,
    whole: _Held,
    merged: dict[int, _Held],
    overall: Sequence[ScoreRow],
    place: Place,
) -> Sums | str:
    """Keep what the value needs: of most metrics, one number for each cluster.

    Args:
        metric: the convention.
        whole: its sums.
        merged: the same over longer clusters, by lead time; filled here.
        overall: a row for each series.
        place: of the value.
    """
    number = series_of(overall, place)
    if number is None:
        return NO_SUMS
    if place.part.statistic != "mean":
        return NO_TEST_OF_SD
    leads = place.part.leads
    wanted = lead_range(leads) if leads else range(1, whole.leads + 1)
    if wanted[-1] > whole.leads:
        return f"there are only {whole.leads} lead times"
    if wanted[-1] not in merged:
        merged[wanted[-1]] = whole.merged(wanted[-1])
    held = merged[wanted[-1]]
    first = whole.leads - held.sums.shape[-1] + 1  # a running mean has no value at the first ones
    # Of which lead times there is something, in the components of this series.
    parts = (
        held.there.reshape(len(overall), -1, held.there.shape[-1])[number]
        if (len(held.there) % len(overall) == 0)
        else held.there
    )
    there = [lead - first for lead in wanted if lead >= first and parts[:, lead - first].all()]
    if not there:
        what = overall[number].variable
        lacking = "lead times " + leads if leads and parts.any() else what or "value"
        return f"the forecasts have no {lacking}"
    here: Leads = np.array(there)
    if there == list(range(there[0], there[-1] + 1)):
        here = slice(there[0], there[-1] + 1)
    lacks = held.lacks
    if len(there) < len([lead for lead in wanted if lead >= first]):
        lacks = f"{lacks}; lead times {[lead + first for lead in there]} alone"
    sums = held.sums
    if metric.leads == "pool":
        sums, here = sums[..., here].mean(axis=-1, keepdims=True), slice(None)
    elif metric.finish is first_component or metric.finish is every_component:
        chosen = number if metric.finish is every_component else 0
        sums = sums[:, chosen : chosen + 1][..., here].mean(axis=-1, keepdims=True)
        metric, number, here = metric._replace(finish=first_component), 0, slice(None)
    clusters = Clusters(held.names, tuple(held.counts.tolist()), lacks)
    longer = None if whole.blocks is None else wanted[-1]
    return Sums(clusters, held.counts, sums, metric, number, here, longer)
