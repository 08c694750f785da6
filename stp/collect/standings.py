"""How sure ranks are, and which models can be told apart: tables ``ranks`` and ``comparisons``.

All models of an evaluation are resampled with the same clusters of clips drawn, in every convention
that has a value over all lead times (`stp.collect.significance`). Each resample is ranked anew, and
each pair of models has a paired test. Nothing but score artefacts enters, so what was computed for
an evaluation is kept beside the collected rows until one of its artefacts is another.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from itertools import combinations, groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.collect import layout
from stp.collect.direction import LEVEL, Direction
from stp.collect.layout import ALIKE, EVALUATION
from stp.collect.scores import read_parquet
from stp.core.disk import beside
from stp.options.score import CELL_KEYS
from stp.plan.manifest import Cell, Manifest, cell_key, parts_of

RANKS_FILE, COMPARISONS_FILE = "ranks.parquet", "comparisons.parquet"

PLACE = ("convention", "variable", "level", "threshold")

NO_DIRECTION = "neither value is better than the other"
ALONE = "there is no other model to rank it with"

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
    """Models that were evaluated alike.

    Attributes:
        about: what their rows share.
        cells: of all models and seeds, in the order of the manifest.
        key: of what is computed: code, artefacts and directions.
    """

    plan: Manifest
    about: dict[str, Any]
    cells: list[Cell]
    key: str


class _Run(NamedTuple):
    """All seeds of a model.

    Attributes:
        value: mean over seeds; None has a reason.
        resampled: in each resample, (R,), or why there are none.
        clusters: that were drawn from, with their numbers of samples.
    """

    model: str
    variant: str
    value: float | None
    reason: str | None
    resampled: np.ndarray | str
    clusters: tuple[Any, ...] = ()


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
        report: is told about the work, a line at a time.

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
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in plan["cells"]:
        alike = (
            *(cell["key"][name] for name in EVALUATION),
            *(cell[name] for name in ALIKE if name != "scale"),
        )
        groups.setdefault(alike, []).append(cell)
    directions = {
        name: [about.get("higher_is_better"), about.get("best_at")]
        for name, about in plan.get("conventions", {}).items()
    }
    for cells in groups.values():
        first = cells[0]
        about = {name: first["key"][name] for name in EVALUATION}
        about |= {name: first[name] for name in ALIKE if name != "scale"}
        about["scale"] = plan["scale"]
        made_of = [
            [cell["key"], *(Path(cell[kind]).name for kind in _ARTEFACTS if cell.get(kind))]
            for cell in cells
        ]
        gaps = [
            [convention, part, plan["unavailable"][convention]]
            for table in sorted(plan["tables"])
            for convention, part in parts_of(plan, table, first).values()
            if convention in plan["unavailable"]
        ]
        known = json.dumps([plan["code"], about, made_of, directions, gaps], sort_keys=True)
        key = hashlib.sha256(known.encode()).hexdigest()
        yield _Evaluation(plan, about, cells, key)


_ARTEFACTS = ("scores", "perceptual")

Rows = dict[tuple[Any, ...], list[dict[str, Any]]]


def _overall_rows(scores: pa.Table) -> Rows:
    """The mean over all lead times, by cell."""
    wanted = [*CELL_KEYS, "metric", *PLACE, "lead", "statistic", "value", "reason"]
    by_cell: Rows = {}
    for row in scores.select(wanted).to_pylist():
        if row["lead"] is None and row["statistic"] == "mean":
            by_cell.setdefault(tuple(row[name] for name in CELL_KEYS), []).append(row)
    return by_cell


def _computed(evaluation: _Evaluation, rows: Rows) -> Both:
    """All rows of an evaluation: of ``ranks``, and of ``comparisons``."""
    ranked: list[dict[str, Any]] = []
    compared: list[dict[str, Any]] = []
    for (metric, *place), runs in _resampled(evaluation, rows).items():
        about = {**evaluation.about, "metric": metric, **dict(zip(PLACE, place, strict=True))}
        direction = Direction.of(evaluation.plan, place[0])
        ranked += [{**about, **row} for row in _ranks(runs, direction)]
        compared += [{**about, **row} for row in _comparisons(runs, direction)]
    return pa.Table.from_pylist(ranked, RANKS), pa.Table.from_pylist(compared, COMPARISONS)


def _resampled(evaluation: _Evaluation, rows: Rows) -> dict[tuple[Any, ...], list[_Run]]:
    """(metric, convention, variable, level, threshold) -> models, by name."""
    # Metrics are imported here: a store of which all is known needs none.
    from stp.collect.significance import Asked, resample
    from stp.metrics.metric import Series

    found: dict[tuple[Any, ...], dict[tuple[str, str], list[tuple[Cell, Any]]]] = {}
    for cell in evaluation.cells:
        for row in rows.get(cell_key(cell), []):
            place = (row["metric"], *(row[name] for name in PLACE))
            model = (cell["key"]["model"], cell["key"]["variant"])
            found.setdefault(place, {}).setdefault(model, []).append((cell, row))
    asked = {}
    for place, models in found.items():
        for model, seeds in models.items():
            values = [row["value"] for _, row in seeds]
            if None not in values:
                cells = tuple(cell for cell, _ in seeds)
                part = Series(*place[2:])
                asked[place, model] = Asked(cells, place[1], part, float(np.mean(values)))
    resampled = dict(zip(asked, resample(list(asked.values())), strict=True))
    answers: dict[tuple[Any, ...], list[_Run]] = {}
    for place, models in found.items():
        answers[place] = []
        for model in sorted(models):
            if (place, model) not in asked:
                reasons = [row["reason"] for _, row in models[model] if row["value"] is None]
                answers[place].append(_Run(*model, None, reasons[0], "no value"))
                continue
            value, one = asked[place, model].value, resampled[place, model]
            told = (one, ()) if isinstance(one, str) else (one.values, one.clusters)
            answers[place].append(_Run(*model, value, None, *told))
    return answers


def _ranks(runs: list[_Run], direction: Direction) -> Iterable[dict[str, Any]]:
    """Rank the models, and again in each resample; equal ones share the smallest rank."""
    valued = [run for run in runs if run.value is not None]
    losses = [direction.loss(run.value) for run in valued if run.value is not None]
    places = {(run.model, run.variant): place for place, run in enumerate(valued)}
    spread, why_not = _spread(valued, direction)
    for run in runs:
        row: dict[str, Any] = {"model": run.model, "variant": run.variant, "reason": run.reason}
        if run.value is not None and not direction.known:
            row |= {"reason": NO_DIRECTION}
        elif run.value is not None:
            place = places[run.model, run.variant]
            rank = 1 + sum(loss < losses[place] for loss in losses)
            row |= {"rank": rank, "models": len(valued), "reason": why_not}
            if spread is not None:
                ends = np.percentile(spread[place], (2.5, 97.5), method="inverted_cdf")
                row |= dict(zip(("rank_low", "rank_high"), map(int, ends), strict=True))
                row |= {"best_share": float((spread[place] == 1).mean())}
                row |= {"clusters": len(run.clusters[0])}
        yield row


def _spread(valued: list[_Run], direction: Direction) -> tuple[np.ndarray | None, str | None]:
    """Ranks in each resample (models, R), or why there are none."""
    from stp.collect.significance import differences

    if len(valued) < 2:
        return None, ALONE
    why_not = _why_not(valued)
    if why_not:
        return None, why_not
    if any(run.clusters != valued[0].clusters for run in valued):
        return None, "the models were scored on different clusters of clips"
    losses = direction.losses(np.stack([np.asarray(run.resampled) for run in valued]))
    bad = ~np.isfinite(losses).all(axis=1)
    if bad.any():
        return None, f"{valued[int(bad.argmax())].model}: some resamples have no value"
    ranks = [1 + (differences(losses, one) > 0).sum(axis=0) for one in losses]
    return np.stack(ranks), None


def _comparisons(runs: list[_Run], direction: Direction) -> list[dict[str, Any]]:
    """Compare each pair of models, and correct for all of them."""
    from stp.collect.significance import compared, holm

    rows = []
    for one, other in combinations(runs, 2):
        row: dict[str, Any] = {"model": one.model, "variant": one.variant}
        row |= {"other": other.model, "other_variant": other.variant}
        if one.value is not None and other.value is not None:
            row["difference"] = other.value - one.value
        why_not = _why_not([one, other])
        if why_not:
            row["reason"] = why_not
        elif one.clusters != other.clusters:
            row["reason"] = "they were scored on different clusters of clips"
        else:
            test = compared(np.asarray(one.resampled), np.asarray(other.resampled), direction)
            row |= {"reason": test} if isinstance(test, str) else test._asdict()
            row["clusters"] = None if isinstance(test, str) else len(one.clusters[0])
        rows.append(row)
    tested = [row for row in rows if row.get("p") is not None]
    for row, p in zip(tested, holm([row["p"] for row in tested]), strict=True):
        row["p_corrected"] = p
        if p < LEVEL and direction.known:
            row["better"] = _better(runs, row, direction)
    return rows


def _better(runs: list[_Run], row: dict[str, Any], direction: Direction) -> str:
    values = {(run.model, run.variant): run.value for run in runs}
    one, other = values[row["model"], row["variant"]], values[row["other"], row["other_variant"]]
    assert one is not None and other is not None
    return str(row["other"] if direction.loss(other) < direction.loss(one) else row["model"])


def _why_not(runs: list[_Run]) -> str | None:
    """Why runs cannot be compared: what all of them lack, or what the first one does."""
    reasons = [
        run.reason or (run.resampled if isinstance(run.resampled, str) else "") for run in runs
    ]
    lacking = [(run.model, why) for run, why in zip(runs, reasons, strict=True) if why]
    if not lacking:
        return None
    model, why = lacking[0]
    return why if set(reasons) == {why} else f"{model}: {why}"


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
