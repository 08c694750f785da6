"""Read sums of scores over clusters of clips, such as all clips of one video.

The file ``cluster_sums.parquet`` of a score artefact has these sums. Means over clips can be
computed from them for any subset of clusters, and values of metrics from these means
(`stp.collect.leave_one_out`). Sums over a subset of clips are computed from the scores of each clip
(``sample_scores.parquet``). Clusters that are blocks of time are merged into blocks longer than the
last lead time of a value.
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
from stp.score.blocks import Blocks, sum_by_group
from stp.score.tables import CLUSTERS

NO_SUMS = "no sums over clusters of clips"
"""Reason for a missing test: the value is a distance between sets, or the store is missing."""
NO_TEST_OF_SD = "a standard deviation has neither interval nor test"
NOT_KEPT = "the scores of single clips are not kept"
"""Reason for a missing value when only some of the clips are used."""


class Clusters(NamedTuple):
    """The clusters of clips (such as those of one video) over which a value was computed.

    Only values with equal clusters are comparable.

    Attributes:
        names: names of the G clusters.
        counts: number of samples of each cluster, (G,).
        lacks: note on what the forecasts lack for this value; empty if they are complete.
        samples: hash of the sample names; empty if the names are unknown.
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    lacks: str
    samples: str = ""


class Place(NamedTuple):
    """Key of a value among all scores of a cell (one model on one dataset in one setting).

    The scores of a convention form one or several series: one for each variable, level and
    threshold, with a score at each lead time. A key selects one of these series.

    A key selects the series with the same variable, level and threshold, where None equals None.
    There is one exception, for keys that come from a column of a table: the column RMSE names no
    variable, but on a dataset with a single variable, its key has to select the only series. See
    ``exactly``.

    Attributes:
        convention: exact definition of a metric, such as ``ssim.range2``.
        part: variable, threshold and lead times of the value.
        level: level of the value, such as a pressure level in hPa; None without levels.
        exactly: True: only the series with the same variable, level and threshold is selected, as
            suits keys that were read from stored scores. False: if the convention has a single
            series, a key without a threshold selects it, whatever its variable and level are.
    """

    convention: str
    part: Part
    level: float | None = None
    exactly: bool = False


class _StoredSums(NamedTuple):
    """Sums of one convention over clusters, as stored.

    Attributes:
        names: names of the clusters.
        counts: number of samples of each cluster, (clusters,).
        sums: sums over samples, float64 (clusters, K, T').
        defined: whether the forecasts define each sum, bool (K, T').
        blocks: the clusters as blocks of time; None for clusters of another kind.
        leads: number of lead times T; the last sums belong to lead time T.
        lacks: note on variables that are missing from the sums; else empty.
    """

    names: tuple[str, ...]
    counts: np.ndarray
    sums: np.ndarray
    defined: np.ndarray
    blocks: Blocks | None
    leads: int
    lacks: str

    def merge_blocks(self, lead: int) -> "_StoredSums":
        """Merge blocks of time until each is longer than ``lead``; drop empty clusters."""
        if self.blocks is None:
            return self
        groups = self.blocks.groups_for_lead(lead)
        counts, sums = sum_by_group(self.counts, groups), sum_by_group(self.sums, groups)
        in_time = np.argsort(self.blocks.start, kind="stable")
        members = [in_time[groups[in_time] == number] for number in range(len(counts))]
        names = [
            " to ".join(dict.fromkeys((self.names[clusters[0]], self.names[clusters[-1]])))
            for clusters in members
        ]
        filled = np.flatnonzero(counts)
        return self._replace(
            names=tuple(names[n] for n in filled), counts=counts[filled], sums=sums[filled]
        )


class Sums(NamedTuple):
    """Sums of scores over clusters of clips, from which one value of a metric can be computed.

    A component is a number that a metric computes for each sample, such as a squared error or a
    count. A metric has K components, which are summed over samples at each of T' lead times. A
    series is the sequence of values of one variable, level and threshold over lead times. A metric
    computes S series from its components, such as one for each variable.

    Attributes:
        clusters: clusters of the value.
        counts: number of samples of each cluster, (clusters,).
        sums: sums over samples, float64 (clusters, K, T').
        metric: metric that computes values from means of the components, (..., K, T').
        series: index of the series that contains the value, 0 to S - 1, on the last axis of
            what `values_from_means` returns.
        leads: indices of the value's lead times along the last axis of ``sums``.
        longer_than: lead time, in steps, that each block exceeds, if clusters are blocks of time:
            the last lead time of the value. Blocks were merged until they were longer than this,
            because forecasts with overlapping times depend on each other. None for other clusters,
            such as videos.
    """

    clusters: Clusters
    counts: np.ndarray
    sums: np.ndarray
    metric: Metric
    series: int
    leads: Leads
    longer_than: int | None

    def values_from_means(self, means: np.ndarray) -> np.ndarray:
        """Compute the values of a metric from means of its components over samples.

        Such means follow from the sums over any subset of clusters, divided by the number of
        samples in these clusters.

        Args:
            means: means over samples of the K components at T' lead times, (..., K, T').

        Returns:
            values of all S series, (..., S), over the lead times in the attribute ``leads``. The
            value that these sums were read for has the index ``series`` on the last axis.
        """
        every = values(self.metric, means, self.leads)
        return np.asarray((every[..., None, :] if every.ndim < means.ndim else every)[..., 0])


def read_sums(
    cell: Cell, places: Iterable[Place], samples: frozenset[str] | None = None
) -> dict[Place, Sums | str]:
    """Read sums of scores over clusters of clips, from which values can be computed.

    Args:
        cell: a scored cell, to which the values belong.
        places: keys of the values: convention (definition of a metric), variable, lead times, ...
        samples: names of the samples to sum over; None for all.

    Returns:
        for each key the sums, or the reason why there are none.

    Raises:
        StpError: a file of the score artefact is damaged.
    """
    results: dict[Place, Sums | str] = {}
    places_of: dict[str, list[Place]] = {}
    for place in places:
        places_of.setdefault(place.convention, []).append(place)
    for kind in ("scores", "perceptual"):
        folder = cell.folder(kind)
        if not places_of or folder is None or not (folder / "scores.parquet").is_file():
            continue
        has_sums = (folder / "cluster_sums.parquet").is_file()  # agreement of opinions has none
        sums = CLUSTERS.empty_table()
        if has_sums:
            sums = _table(folder, "cluster_sums.parquet", conventions=sorted(places_of))
        rows = _table(folder, "scores.parquet", conventions=sorted(places_of))
        series = _overall(rows)
        for convention in sums["convention"].unique().to_pylist():
            sums_of_convention = sums.filter(pc.equal(sums["convention"], convention))
            metric = _metric(folder, convention, sums_of_convention["components"][0].as_py())
            stored = _sums_from_rows(
                sums_of_convention,
                pc.max(rows.filter(pc.equal(rows["convention"], convention))["lead"]).as_py(),
            )
            overall = series.get(convention, [])
            some: _StoredSums | None = stored
            if samples is not None:
                some = _of_samples(stored, folder, convention, overall, samples)
            merged: dict[int, _StoredSums] = {}
            for place in places_of[convention]:
                results[place] = (
                    NOT_KEPT if some is None else _of_place(metric, some, merged, overall, place)
                )
        for convention in set(places_of) - set(sums["convention"].unique().to_pylist()):
            overall = series.get(convention, [])
            for place in places_of[convention]:
                number = series_of(overall, place)
                if number is not None and (reason := overall[number].reason):
                    results[place] = reason
    return {place: results.get(place, NO_SUMS) for place in places}


def samples_of(cell: Cell) -> list[str]:
    """Read the names of the test samples of a cell (one model on one dataset in one setting).

    Args:
        cell: a scored cell.

    Returns:
        names in the order of the file; empty if scores of single samples are not stored.

    Raises:
        StpError: the file with the scores of samples is damaged or has another schema.
    """
    folder = cell.folder("scores")
    if folder is None or not (folder / SAMPLE_SCORES).is_file():
        return []
    sample_file(folder)
    table = _table(folder, SAMPLE_SCORES, columns=["clip", "variable"])
    variables = table["variable"].to_pylist()  # all samples of one, then of the next
    clips = table["clip"].to_pylist()
    return [clip for clip, name in zip(clips, variables, strict=True) if name == variables[0]]


def _sums_from_rows(rows: pa.Table, leads: int | None) -> _StoredSums:
    flat = rows["sums"].combine_chunks().flatten()
    shape = len(rows), int(rows["components"][0].as_py()), -1
    sums = flat.to_numpy(zero_copy_only=False).reshape(shape)
    names = tuple(rows["cluster"].to_pylist())
    blocks = None
    if rows["start"].null_count == 0:
        starts, lengths = rows["start"].to_numpy(), rows["length"].to_numpy()
        blocks = Blocks(names, starts, lengths, int(rows["step"][0].as_py()))
    return _StoredSums(
        names,
        rows["n"].to_numpy(),
        sums,
        flat.is_valid().to_numpy(zero_copy_only=False).reshape(shape)[0],
        blocks,
        leads or sums.shape[-1],
        rows["lacks"][0].as_py() or "",
    )


def _of_samples(
    stored: _StoredSums,
    folder: Path,
    convention: str,
    overall: Sequence[ScoreRow],
    samples: frozenset[str],
) -> _StoredSums | None:
    """Compute sums over given samples from the scores of each sample; None if not stored.

    Args:
        stored: sums over all samples.
        folder: folder of the score artefact.
        convention: name of the convention.
        overall: score rows over all lead times, one for each series.
        samples: names of the samples to sum over.
    """
    _, schema = schema_of(folder, SAMPLE_SCORES, "the scores of each test sample")
    parts = [n for n in schema.names if n == convention or n.startswith(convention + ".")]
    if not parts:
        return None
    table = _table(folder, SAMPLE_SCORES, columns=["clip", "cluster", "variable", *parts])
    table = table.filter(pc.is_in(table["clip"], pa.array(sorted(samples), pa.string())))
    names, variables = table["cluster"].to_pylist(), np.array(table["variable"].to_pylist(), object)
    number_of = {name: number for number, name in enumerate(stored.names)}
    codes = np.array([number_of[name] for name in names], np.int64)
    sums = np.full(stored.sums.shape, np.nan)
    for number, variable in enumerate(dict.fromkeys(row.variable for row in overall)):
        # A convention of all variables together has values in the first rows.
        rows = np.flatnonzero(variables == (variables[0] if variable is None else variable))
        for k, name in enumerate(parts, number * len(parts)):
            each = table[name].take(rows).combine_chunks()
            if len(each) and not each.null_count:  # else the forecasts lack the variable
                values = each.flatten().to_numpy(zero_copy_only=False).reshape(len(rows), -1)
                sums[:, k] = 0
                np.add.at(sums[:, k], codes[rows], values)
    counts = np.bincount(codes[variables == variables[0]], minlength=len(stored.names))
    filled = slice(None) if stored.blocks is not None else np.flatnonzero(counts)
    names = tuple(np.array(stored.names, object)[filled].tolist())
    return stored._replace(names=names, counts=counts[filled], sums=sums[filled])


def _overall(rows: pa.Table) -> dict[str, list[ScoreRow]]:
    """Score rows over all lead times, by convention: one for each series, in file order."""
    chosen = pc.and_(pc.is_null(rows["lead"]), pc.equal(rows["statistic"], "mean"))
    by_convention: dict[str, list[ScoreRow]] = {}
    for row in score_rows(rows.filter(chosen)):
        by_convention.setdefault(row.convention, []).append(row)
    return by_convention


def _metric(folder: Path, convention: str, components: int) -> Metric:
    """Build the metric that computes values of a convention from means.

    Args:
        folder: folder of the score artefact.
        convention: name of the convention.
        components: number of statistics of the convention. Conventions that use networks are not
            built if they have one statistic, whose mean is the value, because that would load
            torch.
    """
    is_perceptual = folder.parent.name == PERCEPTUAL and components == 1
    built = None if is_perceptual else convention_in(folder, convention)
    if isinstance(built, LearnedMetric):
        return built.of_means
    return built if isinstance(built, Metric) else Metric(needs_data)


def _table(
    folder: Path,
    name: str,
    *,
    columns: list[str] | None = None,
    conventions: list[str] | None = None,
) -> pa.Table:
    rows = read_table(folder / name, columns)
    if conventions:
        rows = rows.filter(pc.is_in(rows["convention"], pa.array(conventions, pa.string())))
    return rows


def series_of(overall: Sequence[ScoreRow], place: Place) -> int | None:
    """Find the series that contains a value.

    A series has the values of one convention (exact definition of a metric) for one variable,
    level and threshold, at all lead times. For example, the key of a table's column RMSE names no
    variable. On a dataset with a single variable, it means the only series (see `Place`).

    Args:
        overall: score rows of the convention over all lead times, one for each series.
        place: key of the value.

    Returns:
        index of the series in ``overall``; None if no series contains the value.
    """
    variable, threshold = place.part.variable, place.part.threshold
    key = (variable, place.level, threshold)
    matching = [
        i for i, row in enumerate(overall) if (row.variable, row.level, row.threshold) == key
    ]
    if not place.exactly and len(overall) == 1 and threshold is None:
        return 0
    return matching[0] if len(matching) == 1 else None


def _of_place(
    metric: Metric,
    unmerged: _StoredSums,
    merged: dict[int, _StoredSums],
    overall: Sequence[ScoreRow],
    place: Place,
) -> Sums | str:
    """Reduce sums to those that one value needs: for most metrics, one number per cluster.

    Args:
        metric: metric of the convention.
        unmerged: sums of the convention.
        merged: cache of sums over merged clusters, by lead time; this function adds to it.
        overall: score rows over all lead times, one for each series.
        place: key of the value.
    """
    number = series_of(overall, place)
    if number is None:
        return NO_SUMS
    if place.part.statistic != "mean":
        return NO_TEST_OF_SD
    leads = place.part.leads
    steps = lead_range(leads) if leads else range(1, unmerged.leads + 1)
    if steps[-1] > unmerged.leads:
        return f"there are only {unmerged.leads} lead times"
    if steps[-1] not in merged:
        merged[steps[-1]] = unmerged.merge_blocks(steps[-1])
    stored = merged[steps[-1]]
    # A running mean has no value at the first lead times.
    first = unmerged.leads - stored.sums.shape[-1] + 1
    # Which lead times are defined in the components of this series.
    parts = (
        stored.defined.reshape(len(overall), -1, stored.defined.shape[-1])[number]
        if (len(stored.defined) % len(overall) == 0)
        else stored.defined
    )
    available = [lead - first for lead in steps if lead >= first and parts[:, lead - first].all()]
    if not available:
        variable = overall[number].variable
        lacking = "lead times " + leads if leads and parts.any() else variable or "value"
        return f"the forecasts have no {lacking}"
    lead_index: Leads = np.array(available)
    if available == list(range(available[0], available[-1] + 1)):
        lead_index = slice(available[0], available[-1] + 1)
    lacks = stored.lacks
    if len(available) < len([lead for lead in steps if lead >= first]):
        lacks = f"{lacks}; lead times {[lead + first for lead in available]} alone"
    sums = stored.sums
    if metric.leads == "pool":
        sums, lead_index = sums[..., lead_index].mean(axis=-1, keepdims=True), slice(None)
    elif metric.finish is first_component or metric.finish is every_component:
        chosen = number if metric.finish is every_component else 0
        sums = sums[:, chosen : chosen + 1][..., lead_index].mean(axis=-1, keepdims=True)
        metric, number, lead_index = metric._replace(finish=first_component), 0, slice(None)
    clusters = Clusters(stored.names, tuple(stored.counts.tolist()), lacks)
    longer_than = None if unmerged.blocks is None else steps[-1]
    return Sums(clusters, stored.counts, sums, metric, number, lead_index, longer_than)
