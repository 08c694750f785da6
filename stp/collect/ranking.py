"""Ranks and tests of differences between models: tables ``ranks`` and ``comparisons``.

Models that are evaluated in the same way are ranked and tested against each other
(`stp.collect.pairwise_tests`). The result depends on score artefacts only, so it is cached beside
the collected rows until an artefact of the evaluation changes.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.collect import schema
from stp.collect.direction import Direction
from stp.collect.pairwise_tests import Entrant, contest
from stp.collect.schema import ALIKE, EVALUATION, ComparisonRow, EvaluationRow, RankRow
from stp.collect.score_rows import ScoreRow, score_rows
from stp.collect.table import arrow_schema
from stp.core.disk import atomic_path
from stp.core.errors import ArtefactError
from stp.core.parquet import read_table
from stp.core.receipts import receipt_checksum
from stp.plan.cell_key import CellKey
from stp.plan.column import Part
from stp.plan.manifest import Cell, Manifest, columns_of, stored_values

if TYPE_CHECKING:
    from stp.collect.leave_one_out import Common, LeftOut, RowValue

RANKS_FILE, COMPARISONS_FILE = "ranks.parquet", "comparisons.parquet"

Report = Callable[[str], None]
RankTables = tuple[pa.Table, pa.Table]
"""Rows of the table ``ranks``, and rows of the table ``comparisons``."""

RANKS = arrow_schema(schema.RANKS.columns)
COMPARISONS = arrow_schema(schema.COMPARISONS.columns)
_KEY = pa.field("key", pa.string())


class _Evaluation(NamedTuple):
    """Cells of one evaluation, whose models are compared with each other.

    Attributes:
        plan: manifest of the dimension.
        about: columns that all rows of the evaluation share.
        cells: cells of all models and seeds, in the order of the manifest.
        key: hash of code, artefacts and directions, for the cache.
    """

    plan: Manifest
    about: EvaluationRow
    cells: list[Cell]
    key: str


def standings(
    plans: list[Manifest],
    scores: Callable[[], pa.Table],
    cache: Path | None = None,
    report: Report | None = None,
) -> RankTables:
    """Compute the tables ``ranks`` and ``comparisons`` of all collected dimensions.

    Args:
        plans: manifests of all collected dimensions.
        scores: function that reads the collected rows; not called if all results are cached.
        cache: folder of cached results (`RANKS_FILE`, `COMPARISONS_FILE`), which this function
            updates; None to cache nothing.
        report: function that receives the progress, line by line; None for no progress.

    Returns:
        tables with the schemas `RANKS` and `COMPARISONS`, in the order of the manifests. They do
        not depend on the cache.

    Raises:
        StpError: a file of a score artefact is damaged, such as ``cluster_sums.parquet``, which has
            the sums of scores over clusters of clips.
    """
    evaluations = [evaluation for plan in plans for evaluation in _evaluations(plan)]
    cached = _read_cache(cache)
    new = [evaluation for evaluation in evaluations if evaluation.key not in cached]
    rows = _overall_rows(scores()) if new else {}
    computed = {}
    for number, evaluation in enumerate(new):
        if report and number % 10 == 0:
            report(f"ranks and comparisons: evaluation {number + 1} of {len(new)} new ones")
        computed[evaluation.key] = _compute_rank_tables(evaluation, rows)
    keys = [evaluation.key for evaluation in evaluations]
    tables = [computed.get(key) or cached[key] for key in keys]
    ranks = pa.concat_tables([ranks for ranks, _ in tables])
    comparisons = pa.concat_tables([comparisons for _, comparisons in tables])
    if cache is not None and (new or cached.keys() - set(keys)):
        _write_cache(cache / RANKS_FILE, ranks, keys, [len(ranks) for ranks, _ in tables])
        counts = [len(comparisons) for _, comparisons in tables]
        _write_cache(cache / COMPARISONS_FILE, comparisons, keys, counts)
    return ranks, comparisons


def _evaluations(plan: Manifest) -> Iterable[_Evaluation]:
    groups: dict[tuple[object, ...], list[Cell]] = {}
    for cell in plan.cells:
        alike = (
            *(getattr(cell.key, name) for name in EVALUATION),
            *(getattr(cell, name) for name in ALIKE if name != "scale"),
        )
        groups.setdefault(alike, []).append(cell)
    directions = {
        name: [about.higher_is_better, about.best_at, about.compares_sets]
        for name, about in plan.conventions.items()
    }
    for cells in groups.values():
        first = cells[0]
        about = EvaluationRow(
            **{name: getattr(first.key, name) for name in EVALUATION},
            **{name: getattr(first, name) for name in ALIKE if name != "scale"},
            scale=plan.scale,
        )
        made_of = [
            [
                vars(cell.key),
                *((path.name, receipt_checksum(path)) for path in cell.folders(_ARTEFACTS)),
            ]
            for cell in cells
        ]
        gaps = [
            [convention, part, plan.unavailable[convention]]
            for convention, part in stored_values(plan, first)
            if convention in plan.unavailable
        ]
        columns = {
            (column.convention, *column.part[:-1])
            for table in plan.tables
            for column in columns_of(plan, table, first).values()
            if column.lead and column.statistic == "mean"
        }
        text = json.dumps(
            [plan.code, vars(about), made_of, directions, gaps, sorted(columns, key=repr)],
            sort_keys=True,
        )
        key = hashlib.sha256(text.encode()).hexdigest()
        yield _Evaluation(plan, about, cells, key)


_ARTEFACTS = ("scores", "perceptual")

Rows = dict[CellKey, list[ScoreRow]]


class Group(NamedTuple):
    """Key of a group of values that are ranked together: they agree in all of these properties.

    Attributes:
        metric: name of the metric, the part of the convention before the dot, such as ``ssim``.
        convention: name of the convention, such as ``ssim.range2``.
        variable: name of the physical variable; None for all channels together.
        level: pressure level in hPa; None if there is none.
        threshold: threshold of an event metric; None if there is none.
        leads: lead times of a value that a table shows in a column of its own: ``44``, or ``1-7``
            for a range. None for a value over all lead times.
        clips: number of clips of a distance between sets, which depends on that number; None for
            other metrics.
    """

    metric: str
    convention: str
    variable: str | None
    level: float | None
    threshold: float | None
    leads: str | None
    clips: int | None = None


def _overall_rows(scores: pa.Table) -> Rows:
    by_cell: Rows = {}
    for row in score_rows(scores):
        if row.lead is None and row.statistic in ("mean", "median"):
            by_cell.setdefault(row.key, []).append(row)
    return by_cell


def _compute_rank_tables(evaluation: _Evaluation, rows: Rows) -> RankTables:
    ranked: list[RankRow] = []
    compared: list[ComparisonRow] = []
    for group, entrants in _entrants(evaluation, rows).items():
        about = vars(evaluation.about) | group._asdict()
        del about["clips"]  # clips depend on the models of the group
        models = list(entrants)
        ranks, pairs = contest(
            list(entrants.values()), Direction.of(evaluation.plan, group.convention)
        )
        for (model, variant), rank in zip(models, ranks, strict=True):
            ranked.append(RankRow(**about, model=model, variant=variant, **rank._asdict()))
        for pair in pairs:
            (model, variant), (other, other_variant) = models[pair.one], models[pair.other]
            compared.append(
                ComparisonRow(
                    **about,
                    model=model,
                    variant=variant,
                    other=other,
                    other_variant=other_variant,
                    difference=pair.difference,
                    ci95_low=pair.low,
                    ci95_high=pair.high,
                    p=pair.p,
                    p_corrected=pair.corrected,
                    p_sign=pair.p_sign,
                    won=pair.won,
                    skewed=pair.skewed,
                    better=None if pair.better is None else models[pair.better][0],
                    detectable=pair.detectable,
                    clusters=pair.clusters,
                    n=pair.n,
                    reason=pair.reason,
                )
            )
    return (
        pa.Table.from_pylist(list(map(vars, ranked)), RANKS),
        pa.Table.from_pylist(list(map(vars, compared)), COMPARISONS),
    )


Contestants = dict[tuple[str, str], Entrant]
"""Models that are ranked together, by model and variant."""


def _entrants(evaluation: _Evaluation, rows: Rows) -> dict[Group, Contestants]:
    # Imported here, since a store with cached results needs no metrics.
    from stp.collect.leave_one_out import RowValue

    by_group: dict[Group, dict[tuple[str, str], list[tuple[Cell, ScoreRow]]]] = {}
    sizes: dict[tuple[Group, tuple[str, str]], int] = {}
    for cell in evaluation.cells:
        model = (cell.key.model, cell.key.variant)
        for row in rows.get(cell.key, []):
            group = Group(
                row.metric, row.convention, row.variable, row.level, row.threshold, row.leads
            )
            by_group.setdefault(group, {}).setdefault(model, []).append((cell, row))
            compares_sets = evaluation.plan.conventions[row.convention].compares_sets
            if compares_sets and row.value is not None and row.n is not None:
                sizes[group, model] = min(row.n, sizes.get((group, model), row.n))
    asked = {}
    for group, models in by_group.items():
        for model, seeds in models.items():
            values = [row.value for _, row in seeds if row.value is not None]
            if len(values) == len(seeds):
                cells = tuple(cell for cell, _ in seeds)
                part = Part(group.variable, group.threshold, group.leads)
                value = float(np.mean(values))
                asked[group, model] = RowValue(
                    cells, group.convention, part, value, group.level, exactly=True
                )
    without, common = _leave_one_out_results(asked)
    contests: dict[Group, Contestants] = {}
    for group, models in by_group.items():
        for model in sorted(models):
            entrants = contests.setdefault(group._replace(clips=sizes.get((group, model))), {})
            if (group, model) in asked:
                value = asked[group, model].value
                entrants[model] = Entrant(
                    model[0], value, None, without[group, model], common[group, model]
                )
            else:
                reasons = [row.reason for _, row in models[model] if row.value is None]
                entrants[model] = Entrant(model[0], None, reasons[0], "no value")
    return contests


_Value = tuple[Group, tuple[str, str]]


def _leave_one_out_results(
    asked: "dict[_Value, RowValue]",
) -> "tuple[dict[_Value, LeftOut | str], dict[_Value, Common]]":
    """Call `leave_one_out_values` and `in_common` for all values, compared within each group."""
    from stp.collect.leave_one_out import in_common, leave_one_out_values

    without = dict(zip(asked, leave_one_out_values(list(asked.values())), strict=True))
    groups: dict[Group, list[_Value]] = {}
    for value in asked:
        groups.setdefault(value[0], []).append(value)
    rivals = [[(asked[value], without[value]) for value in group] for group in groups.values()]
    common = {
        value: of_value
        for group, of_group in zip(groups.values(), in_common(rivals), strict=True)
        for value, of_value in zip(group, of_group, strict=True)
    }
    return without, common


def _read_cache(folder: Path | None) -> dict[str, RankTables]:
    """Cached results by key; none if files are damaged, outdated or do not belong together."""
    if folder is None:
        return {}
    try:
        ranks = read_table(folder / RANKS_FILE)
        comparisons = read_table(folder / COMPARISONS_FILE)
    except ArtefactError:
        return {}
    schemas = [RANKS.insert(0, _KEY), COMPARISONS.insert(0, _KEY)]
    belong_together = ranks.schema.metadata == comparisons.schema.metadata
    if [ranks.schema, comparisons.schema] != schemas or not belong_together:
        return {}
    compared = _by_key(comparisons)
    none = comparisons.slice(0, 0).drop_columns("key")  # making an empty table imports pandas
    none = none.replace_schema_metadata(None)
    return {key: (rows, compared.get(key, none)) for key, rows in _by_key(ranks).items()}


def _by_key(table: pa.Table) -> dict[str, pa.Table]:
    rows = table.drop_columns("key").replace_schema_metadata(None)
    start, by_key = 0, {}
    for key, same in groupby(table["key"].to_pylist()):
        by_key[key] = rows.slice(start, len(list(same)))
        start += len(by_key[key])
    return by_key


def _write_cache(path: Path, rows: pa.Table, keys: list[str], counts: list[int]) -> None:
    """Write one of the two cache files, with a hash of all keys that both files share."""
    column = pa.array(np.repeat(np.array(keys, dtype=object), counts), pa.string())
    of_all = hashlib.sha256("\n".join(keys).encode()).hexdigest()
    keyed = rows.add_column(0, _KEY, column).replace_schema_metadata({"keys": of_all})
    with atomic_path(path) as temporary:
        pq.write_table(keyed, temporary, write_page_checksum=True)
