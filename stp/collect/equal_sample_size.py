"""Distances between sets of clips at equal numbers n of clips, so that cells can be compared.

Conventions (exact definitions of metrics, such as ``fvd.pooled``) with ``compares_sets`` depend on
the number of clips: a Frechet distance decreases as sets grow, so distances of 815 and of 3,970
clips are not comparable. Tables compare a model with itself on several test sets: other frame
intervals, scenes or datasets. Each comparison uses the smallest number of clips of its cells: cells
with more clips are represented by repeated draws of this number, without replacement, from their
stored features (stage `features`).
"""

import statistics
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from stp.collect.conventions import convention_in
from stp.collect.schema import MatchedRow
from stp.collect.score_rows import ScoreRow, score_rows
from stp.core.disk import atomic_path
from stp.core.errors import ArtefactError
from stp.core.parquet import read_table
from stp.core.receipts import check_file, receipt_checksum, require_receipt
from stp.data.feature_table import FEATURES
from stp.metrics.set_distance import SetDistance, at_n, read_features
from stp.plan.cell_key import CellKey
from stp.plan.manifest import Cell, Manifest

REPEATS = 10
"""Number of draws of a value; the seed of a draw is its index, from 0."""

_CACHE = pa.schema(
    [
        ("scores_fingerprint", pa.string()),
        ("convention", pa.string()),
        ("n", pa.int64()),
        ("code", pa.string()),
        ("making", pa.string()),
        ("value", pa.float64()),
        ("sd", pa.float64()),
    ]
)

Report = Callable[[str], None]
DrawnDistances = dict[tuple[str | None, str, int | None, str, str], tuple[float, float]]
"""(fingerprint of scores, convention, n, fingerprint of code, making of scores) -> value and sd."""


class _Scored(NamedTuple):
    """A cell, and its distance computed from all clips."""

    cell: Cell
    row: ScoreRow
    code: str


def conventions_of_sets(plans: Iterable[Manifest]) -> list[str]:
    """List the conventions, such as ``fvd.pooled``, that depend on the number of clips, sorted."""
    return sorted(
        {name for plan in plans for name, about in plan.conventions.items() if about.compares_sets}
    )


def matched_distances(
    plans: list[Manifest], scores: pa.Table, cache: Path | None = None, report: Report | None = None
) -> list[MatchedRow]:
    """Compute distances between sets of clips again, at equal numbers of clips.

    A comparison consists of tests of one trained model on several test sets, such as robustness to
    other frame intervals. The sets may have different numbers of clips, on which a distance such as
    FVD depends. So all distances of a comparison are computed from as many clips as its smallest
    set has. From a larger set, that many clips are drawn at random `REPEATS` (10) times, and the
    distances of these draws are averaged.

    Args:
        plans: manifests of all collected dimensions, with the cells of each dimension.
        scores: collected rows of the conventions `conventions_of_sets`, over all lead times.
        cache: Parquet file of cached values, which this function updates; None to cache nothing.
        report: function that receives the progress, line by line; None for no progress.

    Returns:
        a row for each comparison, cell and convention, in a fixed order. Its ``repeats`` is the
        number of draws. For a set that is used whole, this is 0, and the value equals the score. A
        missing value has a ``reason``.

    Raises:
        StpError: a file of features is damaged.
    """
    groups = _groups(_scored_cells(plans, scores), compared_dimensions(plans))
    cached = _read_cache(cache)
    used: DrawnDistances = {}
    rows = []
    drawn = 0
    for (comparison, _), members in groups.items():
        counts = [m.row.n for m in members if m.row.value is not None and m.row.n is not None]
        n = min(counts, default=None)
        for member in members:
            row, folder = member.row, member.cell.folder("perceptual")
            making_of_scores = receipt_checksum(folder) if folder else ""
            key = (row.scores_fingerprint, row.convention, n, member.code, making_of_scores)
            distance, reason = _value(member, n, cached.get(key))
            if n is not None and distance is not None and distance[1] is not None:
                used[key] = (distance[0], distance[1])
                if key not in cached:
                    cached[key] = used[key]
                    drawn += 1
                    if report and drawn % 20 == 1:
                        report(f"distances at equal n: {comparison}, new cell {drawn}")
            rows.append(_row(comparison, member, n, distance, reason))
    if cache is not None and (used or cache.exists()):
        _write_cache(cache, used)
    return rows


def _scored_cells(plans: list[Manifest], scores: pa.Table) -> list[_Scored]:
    by_cell: dict[CellKey, list[ScoreRow]] = {}
    for row in score_rows(scores):
        by_cell.setdefault(row.key, []).append(row)
    return [
        _Scored(cell, row, plan.code)
        for plan in plans
        for cell in plan.cells
        for row in by_cell.get(cell.key, [])
    ]


def compared_dimensions(plans: Iterable[Manifest]) -> dict[str, str]:
    """Find the dimensions whose tests are compared with other tests of the same models.

    For instance, tests on other datasets (``generalization``) are compared with the test on the
    training dataset (``short_term``). The configuration of a suite states this as ``changes_from``.
    Dimensions without this key, such as those with clips of other lengths, are left out.

    Returns:
        by name of the dimension, the name of the dimension that it is compared with, such as
        ``{"generalization": "short_term"}``. Both names are the same if the tests of a dimension
        are compared with each other.
    """
    return {
        name: dimension.changes_from
        for plan in plans
        for name, dimension in plan.suite.dimensions.items()
        if dimension.changes_from is not None
    }


def _groups(
    scored: list[_Scored], compared: Mapping[str, str]
) -> dict[tuple[str, object], list[_Scored]]:
    """Group the cells of one training run that are compared, by comparison and convention.

    A comparison needs two cells, at least one of them from its own dimension.
    """
    groups: dict[tuple[str, object], list[_Scored]] = {}
    for comparison, base in compared.items():
        for member in scored:
            key = member.cell.key
            at_home = key.dimension == base and key.trained_on == key.tested_on
            if key.dimension == comparison or at_home:
                training = (key.suite, key.model, key.variant, key.trained_on, key.train_subset)
                group = (*training, key.seed, member.row.convention)
                groups.setdefault((comparison, group), []).append(member)
    return {
        group: members
        for group, members in groups.items()
        if len(members) > 1 and any(m.cell.key.dimension == group[0] for m in members)
    }


def _value(
    member: _Scored, n: int | None, known: tuple[float, float] | None
) -> tuple[tuple[float, float | None] | None, str | None]:
    """Value and standard deviation (None if all clips are used); or None, and the reason."""
    value, clips = member.row.value, member.row.n
    if value is None or n is None:
        return None, member.row.reason or "no value to compare"
    if clips == n:
        return (value, None), None
    if known is not None:
        return known, None
    folder = member.cell.folder("perceptual")
    receipt = require_receipt(folder) if folder else None
    name = receipt.recipe.get("features", {}).get(member.row.convention) if receipt else None
    if folder is None or receipt is None or name is None:
        return None, f"its {clips} clips left no features to draw {n} from"
    store = Path(str(folder).removesuffix(receipt.path))
    inputs = {
        key: store / path for key, path in receipt.inputs.items() if key.startswith(f"{name}.")
    }
    for features in inputs.values():
        check_file(features, require_receipt(features), FEATURES)
    pair = read_features(inputs, name)
    metric = convention_in(folder, member.row.convention)
    if not isinstance(metric, SetDistance):
        return None, "it is a mean over single clips, which needs no draws"
    values = [at_n(pair, metric.distance, n, seed) for seed in range(REPEATS)]
    return (statistics.fmean(values), statistics.stdev(values)), None


def _row(
    comparison: str,
    member: _Scored,
    n: int | None,
    found: tuple[float, float | None] | None,
    reason: str | None,
) -> MatchedRow:
    drawn = found is not None and found[1] is not None
    return MatchedRow(
        comparison=comparison,
        **vars(member.row.key),
        metric=member.row.metric,
        convention=member.row.convention,
        n=n,
        clips=member.row.n,
        value=found[0] if found else None,
        sd=found[1] if found else None,
        repeats=REPEATS if drawn else 0,
        reason=reason,
        scores_fingerprint=member.row.scores_fingerprint,
    )


def _read_cache(path: Path | None) -> DrawnDistances:
    if path is None or not path.is_file():
        return {}
    try:
        rows = read_table(path, _CACHE).to_pylist()
    except ArtefactError:
        return {}
    return {
        (row["scores_fingerprint"], row["convention"], row["n"], row["code"], row["making"]): (
            row["value"],
            row["sd"],
        )
        for row in rows
    }


def _write_cache(path: Path, known: DrawnDistances) -> None:
    rows = [
        dict(zip(_CACHE.names, [*key, *distance], strict=True)) for key, distance in known.items()
    ]
    with atomic_path(path) as temporary:
        pq.write_table(pa.Table.from_pylist(rows, _CACHE), temporary, write_page_checksum=True)
