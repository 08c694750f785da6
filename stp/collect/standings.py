"""Ranks, and which models can be told apart: tables ``ranks`` and ``comparisons``.

`contest` is the one place where values are ranked and tested against each other; tables, the
report, views and the command line show what it says. All pairs of models have a paired test
(`stp.collect.significance`). Nothing but score artefacts enters, so what was computed for an
evaluation is kept beside the collected rows until one of its artefacts is another.
"""

import hashlib
import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, groupby
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.collect import layout
from stp.collect.direction import LEVEL, Direction
from stp.collect.layout import ALIKE, EVALUATION, SET_DISTANCES
from stp.collect.rows import ComparisonRow, EvaluationRow, RankRow
from stp.collect.score_rows import ScoreRow, score_rows
from stp.collect.scores import read_parquet
from stp.core.disk import beside
from stp.plan.cell_key import CellKey
from stp.plan.manifest import Cell, Manifest, parts_of, stored_of
from stp.plan.setting import Part

if TYPE_CHECKING:
    from stp.collect.significance import Asked, Clusters, Common, LeftOut

RANKS_FILE, COMPARISONS_FILE = "ranks.parquet", "comparisons.parquet"

NO_DIRECTION = "neither value is better than the other"
ALONE = "there is no other model to rank it with"
OTHER_CLUSTERS = "they were scored on different clusters of clips, or lead times"
OTHER_CLIPS = "they were scored on different clips; of those that both have"

_TYPES = {"VARCHAR": pa.string(), "DOUBLE": pa.float64(), "BIGINT": pa.int64()}
_TYPES["BOOLEAN"] = pa.bool_()

Report = Callable[[str], None]
Both = tuple[pa.Table, pa.Table]
"""Rows of ``ranks``, and of ``comparisons``."""


def schema(table: layout.Table) -> pa.Schema:
    """The Arrow schema of a table of plain columns."""
    return pa.schema([(name, _TYPES[kind]) for name, kind, _ in table.columns])


RANKS, COMPARISONS = schema(layout.RANKS), schema(layout.COMPARISONS)
_KEY = pa.field("key", pa.string())


class _Evaluation(NamedTuple):
    """Cells of models that are compared with each other.

    Attributes:
        about: what their rows share.
        cells: of all models and seeds, in the order of the manifest.
        key: of what is computed: code, artefacts and directions.
    """

    plan: Manifest
    about: EvaluationRow
    cells: list[Cell]
    key: str


class Entrant(NamedTuple):
    """A value that is ranked among others.

    Attributes:
        name: of its model.
        value: mean over seeds; None has a reason.
        reason: why there is no value.
        left_out: the value without each of its clusters, or why it cannot be tested.
        common: the same of the clips that others have, too, where these have other ones.
    """

    name: str
    value: float | None
    reason: str | None
    left_out: "LeftOut | str"
    common: "Common" = MappingProxyType({})


class Place(NamedTuple):
    """Rank and confidence set of an entrant.

    Attributes:
        rank: 1 is best, equal ones share the smallest; None without a value or a direction.
        rank_low, rank_high: 95 % confidence set of the rank, of all entrants at once: as many as
            are significantly better stand before it, as many as are significantly worse behind it
            (Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91, 476-518).
        models: number of entrants that have a rank.
        clusters: that the tests rest on, the fewest of them.
        reason: why there is no rank, or else no confidence set.
    """

    rank: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    models: int | None = None
    clusters: int | None = None
    reason: str | None = None


class Pair(NamedTuple):
    """The comparison of a second entrant with a first one, both by number.

    Attributes:
        difference: second minus first value, of the clips that both have; None if one of them is
            missing.
        low, high: its 95 % interval.
        p: two-sided.
        corrected: p, corrected for all pairs of the contest (Holm).
        better: which one is significantly better; None if neither is.
        detectable: the smallest difference that four of five such tests find at the level that
            ``better`` asks for.
        clusters: that the test rests on.
        n: clips in these.
        reason: why there is no test.
    """

    one: int
    other: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    corrected: float | None = None
    better: int | None = None
    detectable: float | None = None
    clusters: int | None = None
    n: int | None = None
    reason: str | None = None


def standings(
    plans: list[Manifest],
    scores: Callable[[], pa.Table],
    cache: Path | None = None,
    report: Report | None = None,
) -> Both:
    """Compute the tables ``ranks`` and ``comparisons`` of all that was collected.

    Args:
        plans: manifests of all dimensions that were collected.
        scores: reads their collected rows; not called where all was computed before.
        cache: folder of what was computed before (`RANKS_FILE`, `COMPARISONS_FILE`); brought up to
            date.
        report: called with the progress, a line at a time.

    Returns:
        schemas `RANKS` and `COMPARISONS`, in the order of the manifests; the same inputs give the
        same rows, whatever was kept.

    Raises:
        StpError: a file of sums is damaged.
    """
    evaluations = [evaluation for plan in plans for evaluation in _evaluations(plan)]
    known = _kept(cache)
    new = [evaluation for evaluation in evaluations if evaluation.key not in known]
    rows = _overall_rows(scores()) if new else {}
    made = {}
    for number, evaluation in enumerate(new):
        if report and number % 10 == 0:
            report(f"ranks and comparisons: evaluation {number + 1} of {len(new)} that are new")
        made[evaluation.key] = _computed(evaluation, rows)
    found = [made.get(one.key) or known[one.key] for one in evaluations]
    ranks = pa.concat_tables([one for one, _ in found])
    comparisons = pa.concat_tables([one for _, one in found])
    if cache is not None and (new or known.keys() - {one.key for one in evaluations}):
        keys = [one.key for one in evaluations]
        _keep(cache / RANKS_FILE, ranks, keys, [len(one) for one, _ in found])
        _keep(cache / COMPARISONS_FILE, comparisons, keys, [len(one) for _, one in found])
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
        name: [about.higher_is_better, about.best_at] for name, about in plan.conventions.items()
    }
    for cells in groups.values():
        first = cells[0]
        about = EvaluationRow(
            **{name: getattr(first.key, name) for name in EVALUATION},
            **{name: getattr(first, name) for name in ALIKE if name != "scale"},
            scale=plan.scale,
        )
        made_of = [
            [vars(cell.key), *(folder.name for folder in cell.folders(_ARTEFACTS))]
            for cell in cells
        ]
        gaps = [
            [convention, part, plan.unavailable[convention]]
            for convention, part in stored_of(plan, first)
            if convention in plan.unavailable
        ]
        shown = {
            (convention, *part[:-1])
            for table in plan.tables
            for convention, part in parts_of(plan, table, first).values()
            if part.leads and part.statistic == "mean"
        }
        known = json.dumps(
            [plan.code, vars(about), made_of, directions, gaps, sorted(shown, key=repr)],
            sort_keys=True,
        )
        key = hashlib.sha256(known.encode()).hexdigest()
        yield _Evaluation(plan, about, cells, key)


_ARTEFACTS = ("scores", "perceptual")

Rows = dict[CellKey, list[ScoreRow]]


class Group(NamedTuple):
    """What values have in common that may be compared.

    Attributes:
        clips: behind distances of sets, which depend on their number; None of other metrics.
    """

    metric: str
    convention: str
    variable: str | None
    level: float | None
    threshold: float | None
    leads: str | None
    clips: int | None = None


def _overall_rows(scores: pa.Table) -> Rows:
    """The means over all lead times, and over those that columns show, by cell."""
    by_cell: Rows = {}
    for row in score_rows(scores):
        if row.lead is None and row.statistic in ("mean", "median"):
            by_cell.setdefault(row.key, []).append(row)
    return by_cell


def _computed(evaluation: _Evaluation, rows: Rows) -> Both:
    """All rows of an evaluation: of ``ranks``, and of ``comparisons``."""
    ranked: list[RankRow] = []
    compared: list[ComparisonRow] = []
    for group, entrants in _entrants(evaluation, rows).items():
        about = vars(evaluation.about) | group._asdict()
        del about["clips"]  # who is in a group may change it
        models = list(entrants)
        places, pairs = contest(
            list(entrants.values()), Direction.of(evaluation.plan, group.convention)
        )
        for (model, variant), place in zip(models, places, strict=True):
            ranked.append(RankRow(**about, model=model, variant=variant, **place._asdict()))
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
"""By model and variant."""


def _entrants(evaluation: _Evaluation, rows: Rows) -> dict[Group, Contestants]:
    """All that may be compared with each other, models by name."""
    # Metrics are imported here: a store of which all is known needs none.
    from stp.collect.significance import Asked

    found: dict[Group, dict[tuple[str, str], list[tuple[Cell, ScoreRow]]]] = {}
    sizes: dict[tuple[Group, tuple[str, str]], int] = {}
    for cell in evaluation.cells:
        model = (cell.key.model, cell.key.variant)
        for row in rows.get(cell.key, []):
            place = Group(
                row.metric, row.convention, row.variable, row.level, row.threshold, row.leads
            )
            found.setdefault(place, {}).setdefault(model, []).append((cell, row))
            if row.metric in SET_DISTANCES and row.value is not None and row.n is not None:
                sizes[place, model] = min(row.n, sizes.get((place, model), row.n))
    asked = {}
    for place, models in found.items():
        for model, seeds in models.items():
            values = [row.value for _, row in seeds if row.value is not None]
            if len(values) == len(seeds):
                cells = tuple(cell for cell, _ in seeds)
                part = Part(place.variable, place.threshold, place.leads)
                value = float(np.mean(values))
                asked[place, model] = Asked(
                    cells, place.convention, part, value, place.level, exactly=True
                )
    without, common = _answers(asked)
    answers: dict[Group, Contestants] = {}
    for place, models in found.items():
        for model in sorted(models):
            group = answers.setdefault(place._replace(clips=sizes.get((place, model))), {})
            if (place, model) in asked:
                one = asked[place, model]
                group[model] = Entrant(
                    model[0], one.value, None, without[place, model], common[place, model]
                )
            else:
                reasons = [row.reason for _, row in models[model] if row.value is None]
                group[model] = Entrant(model[0], None, reasons[0], "no value")
    return answers


_Value = tuple[Group, tuple[str, str]]


def _answers(
    asked: "dict[_Value, Asked]",
) -> "tuple[dict[_Value, LeftOut | str], dict[_Value, Common]]":
    """What `left_out` and `in_common` say of values; those of a group are compared."""
    from stp.collect.significance import in_common, left_out

    without = dict(zip(asked, left_out(list(asked.values())), strict=True))
    groups: dict[Group, list[_Value]] = {}
    for value in asked:
        groups.setdefault(value[0], []).append(value)
    rivals = [[(asked[value], without[value]) for value in its] for its in groups.values()]
    common = {
        value: one
        for its, found in zip(groups.values(), in_common(rivals), strict=True)
        for value, one in zip(its, found, strict=True)
    }
    return without, common


def ranks_of(values: Sequence[float], direction: Direction) -> list[int]:
    """Ranks of values, 1 is best; equal ones share the smallest."""
    losses = [direction.loss(value) for value in values]
    ordered = sorted(losses)
    return [1 + bisect_left(ordered, loss) for loss in losses]


def contest(entrants: Sequence[Entrant], direction: Direction) -> tuple[list[Place], list[Pair]]:
    """Rank values, and compare each pair.

    Args:
        entrants: all that may be compared with each other.
        direction: which values are better.

    Returns:
        how each of them stands, and all pairs, in the order of `itertools.combinations`.
    """
    pairs = _pairs(entrants, direction)
    valued = [number for number, one in enumerate(entrants) if one.value is not None]
    if not direction.known:
        return [Place(reason=one.reason or NO_DIRECTION) for one in entrants], pairs
    ranks = ranks_of([_value(entrants[number]) for number in valued], direction)
    of_each: dict[int, list[Pair]] = {number: [] for number in valued}
    for pair in pairs:
        if pair.one in of_each and pair.other in of_each:
            of_each[pair.one].append(pair)
            of_each[pair.other].append(pair)
    places = [Place(reason=one.reason) for one in entrants]
    for number, rank in zip(valued, ranks, strict=True):
        its = of_each[number]
        untested = [pair.reason for pair in its if pair.p is None]
        place = Place(rank, models=len(valued), reason=ALONE if not its else None)
        if untested:
            place = place._replace(reason=untested[0])
        elif its:
            lost = sum(pair.better not in (None, number) for pair in its)
            won = sum(pair.better == number for pair in its)
            # Ranks are of all clips of each, tests of those that both have: the set has the rank.
            place = place._replace(
                rank_low=min(rank, 1 + lost),
                rank_high=max(rank, len(valued) - won),
                clusters=min(pair.clusters or 0 for pair in its),
            )
        places[number] = place
    return places, pairs


class _Test(NamedTuple):
    """The paired test of two entrants; see `Pair`.

    Attributes:
        values: that are compared, of the first and the second.
        error: the standard error of what p is of.
    """

    values: tuple[float, float]
    low: float
    high: float
    p: float
    error: float
    clusters: "Clusters"


def _pairs(entrants: Sequence[Entrant], direction: Direction) -> list[Pair]:
    """Compare each pair of entrants, and correct for all of them."""
    from stp.collect.significance import effect, holm, tested

    groups: dict[Clusters, list[int]] = {}
    for number, entrant in enumerate(entrants):
        if entrant.value is not None and not isinstance(entrant.left_out, str):
            groups.setdefault(entrant.left_out.clusters, []).append(number)
    tests: dict[tuple[int, int], _Test] = {}
    for clusters, numbers in groups.items():
        ones = [entrants[number].left_out for number in numbers]
        found = tested([one for one in ones if not isinstance(one, str)], direction)
        columns = (column.tolist() for column in found)
        for both, (low, high, p, error) in zip(
            combinations(numbers, 2), zip(*columns, strict=True), strict=True
        ):
            values = _value(entrants[both[0]]), _value(entrants[both[1]])
            tests[both] = _Test(values, low, high, p, error, clusters)
    untested = {}
    for both in combinations(range(len(entrants)), 2):
        if both not in tests:
            made = _on_common(entrants[both[0]], entrants[both[1]], direction)
            if isinstance(made, str):
                untested[both] = made
            else:
                tests[both] = made
    corrected = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    effects = {
        clusters: effect(clusters.counts, len(tests))
        for clusters in {test.clusters for test in tests.values()}
    }
    pairs = []
    for both in combinations(range(len(entrants)), 2):
        first, second = (entrants[number] for number in both)
        if both in untested:
            difference = None
            if first.value is not None and second.value is not None:
                difference = second.value - first.value
            pairs.append(Pair(*both, difference, reason=untested[both]))
            continue
        test = tests[both]
        one, other = test.values
        better = None
        if direction.known and corrected[both] < LEVEL:
            better = both[1] if direction.loss(other) < direction.loss(one) else both[0]
        pairs.append(
            Pair(
                *both,
                other - one,
                low=test.low,
                high=test.high,
                p=test.p,
                corrected=corrected[both],
                better=better,
                detectable=effects[test.clusters] * test.error,
                clusters=len(test.clusters.names),
                n=sum(test.clusters.counts),
            )
        )
    return pairs


def _on_common(first: Entrant, second: Entrant, direction: Direction) -> _Test | str:
    """Test two entrants of different clips on those that both have; or say why there is no test."""
    from stp.collect.significance import tested

    mine, theirs = first.left_out, second.left_out
    if isinstance(mine, str) or isinstance(theirs, str):
        why = _why_not(first, second)
        assert why is not None
        return why
    one = first.common.get(theirs.clusters.samples, OTHER_CLUSTERS)
    other = second.common.get(mine.clusters.samples, OTHER_CLUSTERS)
    if isinstance(one, str) or isinstance(other, str):
        why = one if isinstance(one, str) else str(other)
        return why if why == OTHER_CLUSTERS else f"{OTHER_CLIPS}: {why}"
    if one.clusters != other.clusters:
        return OTHER_CLUSTERS
    (low,), (high,), (p,), (error,) = (
        column.tolist() for column in tested([one, other], direction)
    )
    return _Test((one.value, other.value), low, high, p, error, one.clusters)


def _value(entrant: Entrant) -> float:
    assert entrant.value is not None
    return entrant.value


def _why_not(*entrants: Entrant) -> str | None:
    """Why entrants cannot be compared: their common reason, or else the first one."""
    reasons = [
        one.reason or (one.left_out if isinstance(one.left_out, str) else "") for one in entrants
    ]
    lacking = [(one.name, why) for one, why in zip(entrants, reasons, strict=True) if why]
    if not lacking:
        return None
    name, why = lacking[0]
    return why if set(reasons) == {why} else f"{name}: {why}"


def _kept(folder: Path | None) -> dict[str, Both]:
    """What was computed before, by key; files that are damaged or of another time are worth
    nothing."""
    if folder is None:
        return {}
    try:
        ranks = read_parquet(folder / RANKS_FILE)
        comparisons = read_parquet(folder / COMPARISONS_FILE)
    except (OSError, pa.ArrowException):
        return {}
    wanted = [RANKS.insert(0, _KEY), COMPARISONS.insert(0, _KEY)]
    of_one_time = ranks.schema.metadata == comparisons.schema.metadata
    if [ranks.schema, comparisons.schema] != wanted or not of_one_time:
        return {}
    compared = _by_key(comparisons)
    none = comparisons.slice(0, 0).drop_columns("key")  # making an empty table imports pandas
    none = none.replace_schema_metadata(None)
    return {key: (rows, compared.get(key, none)) for key, rows in _by_key(ranks).items()}


def _by_key(table: pa.Table) -> dict[str, pa.Table]:
    """The rows of each key, which lie together."""
    rows = table.drop_columns("key").replace_schema_metadata(None)
    start, found = 0, {}
    for key, alike in groupby(table["key"].to_pylist()):
        found[key] = rows.slice(start, len(list(alike)))
        start += len(found[key])
    return found


def _keep(path: Path, rows: pa.Table, keys: list[str], counts: list[int]) -> None:
    """Write one of the two files; what both say of their keys shows that they belong together."""
    column = pa.array(np.repeat(np.array(keys, dtype=object), counts), pa.string())
    of_all = hashlib.sha256("\n".join(keys).encode()).hexdigest()
    kept = rows.add_column(0, _KEY, column).replace_schema_metadata({"keys": of_all})
    with beside(path) as temporary:
        pq.write_table(kept, temporary, write_page_checksum=True)
