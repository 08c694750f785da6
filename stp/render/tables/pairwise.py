"""Two models beside each other, wherever both were evaluated: ``stp compare A B``.

Both are resampled over the same clusters of clips (`stp.collect.significance`), so that the
interval of their difference knows that they saw the same clips: the numbers are those of table
``comparisons``, but for Holm's correction, which here covers all comparisons of the answer, there
all pairs of models of one evaluation and convention. A difference that could hardly have been
found, because there are few clips, is told by the smallest one that would be found in four of five
such tests.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from stp.collect.direction import LEVEL
from stp.collect.significance import Asked, Resampled, compared, holm, resample
from stp.core.errors import StpError, nearest
from stp.core.exits import NothingFoundError
from stp.page.digits import digits
from stp.page.grid import Grid, Item, Section
from stp.plan.manifest import Part
from stp.render.direction import Direction, heading
from stp.render.figures.reading import Line, Scores, read


@dataclass(frozen=True)
class Pair:
    """One column of one case, for two models.

    Attributes:
        key: of the evaluation, with the origin of the bytes.
        part: the variable or threshold of the column; None: all together.
        a, b: values, means over seeds.
        low, high: 95 % interval of b - a over resamples of clusters.
        p, corrected: of the difference, alone and with Holm's correction over the answer.
        detectable: the smallest difference that four of five such tests would find.
        clusters: that were drawn from.
        better: the model that is significantly better, or empty.
        reason: why there is no test.
    """

    key: dict[str, Any]
    part: Part
    dimension: str
    case: str
    column: str
    convention: str
    direction: Direction
    a: float
    b: float
    source: str
    low: float | None = None
    high: float | None = None
    p: float | None = None
    corrected: float | None = None
    detectable: float | None = None
    clusters: int | None = None
    better: str = ""
    reason: str = ""


COLUMNS = (
    "dimension",
    "tested",
    "column",
    "a",
    "b",
    "b_minus_a",
    "ci95_low",
    "ci95_high",
    "p",
    "p_corrected",
    "better",
    "detectable",
    "clusters",
    "source",
    "reason",
)


TYPES = {
    "ci95_low": pa.float64(),
    "ci95_high": pa.float64(),
    "p": pa.float64(),
    "p_corrected": pa.float64(),
    "detectable": pa.float64(),
    "clusters": pa.int64(),
}
"""Of columns that may have no value at all."""


def compare(
    results: Path, a: str, b: str, *, on: str | None = None, column: str | None = None
) -> list[Pair]:
    """Compare two models wherever both were evaluated.

    Args:
        results: the folder with ``collected/``; tests that ``results.duckdb`` holds of the same
            values are not made again.
        a, b: models, as in config/models.
        on: a case (``kth``, ``bridge-interval-2``) or dataset; all unless given.
        column: of the paper's tables, such as ``SSIM``; all unless given.

    Raises:
        NothingFoundError: a name is not known, or nothing is left to compare.
        StpError: nothing was collected.
    """
    if a == b:
        raise StpError(f"{a} cannot be compared with itself", remedy="name two models")
    manifests = sorted((results / "collected").glob("*.json"))
    if not manifests:
        raise StpError(
            f"nothing has been collected in {results / 'collected'}",
            expected="the scores of a dimension",
            remedy="make a table, such as results/tables/short_term.csv",
        )
    every = [read(manifest, results) for manifest in manifests]
    lines = [line for scores in every for case in scores.cases.values() for line in case]
    _check_known("model", (a, b), {_model(line) for line in lines})
    if on is not None:
        cases = {case for scores in every for case in scores.cases}
        datasets = {str(line.cells[0]["key"]["tested_on"]) for line in lines}
        _check_known("case", (on,), cases | datasets)
    found: list[tuple[Pair, Asked, Asked]] = []
    for scores in every:
        found += _pairs(scores, a, b, on)
    if column is not None:
        _check_known("column", (column,), {pair.column for pair, *_ in found})
        found = [one for one in found if one[0].column == column]
    if not found:
        raise NothingFoundError(
            f"{a} and {b} have no values of the same column and case",
            expected="two models that were evaluated alike, the best of equally many forecasts",
            remedy="`stp query 'FROM coverage'` shows what there is",
        )
    known = _Known.read(results / "results.duckdb", a, b)
    return _corrected([known.tested(one[0]) or _tested(a, b, *one) for one in found], a, b)


def rows(pairs: Sequence[Pair]) -> list[tuple[Any, ...]]:
    """The answer as rows with `COLUMNS`."""
    return [
        (
            pair.dimension,
            pair.case,
            pair.column,
            pair.a,
            pair.b,
            pair.b - pair.a,
            pair.low,
            pair.high,
            pair.p,
            pair.corrected,
            pair.better,
            pair.detectable,
            pair.clusters,
            pair.source,
            pair.reason,
        )
        for pair in pairs
    ]


def grid(pairs: Sequence[Pair], a: str, b: str) -> Grid:
    """The answer for people: the better value in bold where the difference is significant."""
    tested = [pair for pair in pairs if pair.p is not None]
    sources = sorted({pair.source for pair in pairs})
    sections = []
    for dimension in dict.fromkeys(pair.dimension for pair in pairs):
        here = [pair for pair in pairs if pair.dimension == dimension]
        sections.append(_section(dimension, here, a, b, with_source=len(sources) > 1))
    wins = [
        f"{model} is significantly better in {sum(pair.better == model for pair in tested)} of "
        f"{len(tested)} comparisons."
        for model in (a, b)
    ]
    return Grid(
        name="compared",
        title=f"{a} and {b}",
        intro=wins,
        warnings=[]
        if sources == ["official"]
        else [f"Bytes: {', '.join(sources)}; NOT COMPARABLE with published values."]
        if sources != ["own"]
        else ["Bytes: own."],
        sections=sections,
        legend=[
            f"difference: {b} - {a}, with its 95 % interval over resamples of clusters of clips.",
            f"p: corrected for all {len(tested)} comparisons of this answer (Holm); the better "
            f"value stands out below {LEVEL:g}.",
            "detectable: the smallest difference that four of five such tests would find.",
        ],
    )


def _section(
    dimension: str, pairs: Sequence[Pair], a: str, b: str, *, with_source: bool
) -> Section:
    tested = any(pair.p is not None for pair in pairs)
    columns = ["tested", "column", a, b, "difference", *(_TESTED if tested else [])]
    columns += ["bytes"] if with_source else []
    lines: list[list[str | Item]] = []
    for pair in pairs:
        line: list[str | Item] = [
            pair.case,
            heading(pair.column, pair.direction),
            Item(digits(pair.a), rank=int(pair.better == a)),
            Item(digits(pair.b), rank=int(pair.better == b)),
            f"{pair.b - pair.a:+.4g}",
        ]
        line += _test_of(pair) if tested else []
        lines.append([*line, *([pair.source] if with_source else [])])
    texts = ("tested", "column", "better", "bytes")
    return Section(
        title=dimension,
        columns=columns,
        rows=lines,
        numeric=[i in (2, 3) or name not in texts for i, name in enumerate(columns)],
        notes=list(_untested(pairs)),
    )


_TESTED = ("95 % interval", "p", "better", "detectable", "clusters")


def _test_of(pair: Pair) -> list[str]:
    if pair.low is None or pair.high is None or pair.detectable is None or pair.corrected is None:
        return ["", "", "not tested", "", ""]
    return [
        f"[{pair.low:+.4g}, {pair.high:+.4g}]",
        f"{pair.corrected:.3g}",
        pair.better or "alike",
        f"{pair.detectable:.3g}",
        str(pair.clusters),
    ]


def _untested(pairs: Iterable[Pair]) -> Iterable[str]:
    """Why there is no test: once for each reason, with the columns of each case."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for pair in pairs:
        if pair.reason:
            reasons.setdefault(pair.reason, {}).setdefault(pair.case, []).append(pair.column)
    for why, cases in reasons.items():
        named = [f"{case} ({', '.join(columns)})" for case, columns in cases.items()]
        yield f"Not tested: {', '.join(named)}: {why}"


def _model(line: Line) -> str:
    return str(line.cells[0]["key"]["model"])


def _check_known(what: str, asked: Iterable[str], known: set[str]) -> None:
    for name in asked:
        if name not in known:
            raise NothingFoundError(
                f"no {what} {name!r} was evaluated",
                expected=f"one of {', '.join(sorted(known))}",
                remedy=nearest(name, known),
            )


def _pairs(scores: Scores, a: str, b: str, on: str | None) -> Iterable[tuple[Pair, Asked, Asked]]:
    """Columns that both models have a value of, with what has to be resampled."""
    for case, lines in scores.cases.items():
        if on is not None and on not in (case, lines[0].cells[0]["key"]["tested_on"]):
            continue
        for first in (line for line in lines if _model(line) == a):
            # The best of more forecasts is better by itself.
            equal = (ln for ln in lines if ln.cells[0]["best_of"] == first.cells[0]["best_of"])
            for second in (line for line in equal if _model(line) == b):
                for column, one in first.row.entries.items():
                    other = second.row.entries.get(column)
                    if other is None or one.value is None or other.value is None:
                        continue
                    pair = Pair(
                        key={**first.row.key, "source": first.row.source},
                        part=one.part,
                        dimension=scores.plan["dimension"],
                        case=case,
                        column=column,
                        convention=one.convention,
                        direction=scores.direction(case, column),
                        a=one.value,
                        b=other.value,
                        source=first.row.source,
                    )
                    yield (
                        pair,
                        Asked(tuple(first.cells), one.convention, one.part, one.value),
                        Asked(tuple(second.cells), other.convention, other.part, other.value),
                    )


class _Known:
    """Tests of two models that the results store holds, in table ``comparisons``."""

    def __init__(self, a: str, rows: list[dict[str, Any]]) -> None:
        self.a = a
        self.rows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in rows:
            place = (*(row[name] for name in _PLACE), row["convention"])
            self.rows.setdefault(place, []).append(row)

    @classmethod
    def read(cls, database: Path, a: str, b: str) -> "_Known":
        """Read them; a store of another time holds none."""
        names = (*_PLACE, *_PARTS, "convention", "model", *_TEST, "difference")
        sql = f"SELECT {', '.join(names)} FROM comparisons WHERE p IS NOT NULL"
        sql += " AND variant = 'default' AND other_variant = 'default'"
        sql += " AND [model, other] IN ([$a, $b], [$b, $a])"
        try:
            if database.is_file():
                with duckdb.connect(str(database), read_only=True) as store:
                    rows = store.execute(sql, {"a": a, "b": b}).fetchall()
                return cls(a, [dict(zip(names, row, strict=True)) for row in rows])
        except duckdb.Error:
            pass
        return cls(a, [])

    def tested(self, pair: Pair) -> Pair | None:
        """The pair with its test, if one of the same difference is known."""
        rows = self.rows.get((*(pair.key[name] for name in _PLACE), pair.convention), [])
        chosen = [row for row in rows if _is_part(row, pair.part)]
        if pair.part is None and not chosen:
            chosen = rows  # the only value there is, such as that of one variable
        if len(chosen) != 1 or pair.key["variant"] != "default":
            return None
        (row,) = chosen
        turned = row["model"] != self.a
        sign = -1 if turned else 1
        if not math.isclose(sign * row["difference"], pair.b - pair.a, rel_tol=1e-9, abs_tol=1e-15):
            return None  # the rows are newer than the store
        ends = sorted((sign * row["ci95_low"], sign * row["ci95_high"]))
        told = {"p": row["p"], "detectable": row["detectable"], "clusters": row["clusters"]}
        return replace(pair, low=ends[0], high=ends[1], **told)


_PLACE = (
    "suite",
    "dimension",
    "trained_on",
    "train_subset",
    "tested_on",
    "subset",
    "setting",
    "source",
)
_PARTS = ("variable", "level", "threshold")
_TEST = ("ci95_low", "ci95_high", "p", "detectable", "clusters")


def _is_part(row: dict[str, Any], part: Part) -> bool:
    wanted = dict.fromkeys(_PARTS)
    if part is not None:
        wanted["variable" if isinstance(part, str) else "threshold"] = part
    return all(row[name] == value for name, value in wanted.items())


def _tested(a: str, b: str, pair: Pair, first: Asked, second: Asked) -> Pair:
    ones, others = resample([first, second])
    for model, resampled in ((a, ones), (b, others)):
        if isinstance(resampled, str):
            return replace(pair, reason=f"{model}: {resampled}")
    assert isinstance(ones, Resampled) and isinstance(others, Resampled)
    if ones.clusters != others.clusters:
        return replace(pair, reason="they were scored on different clusters of clips")
    test = compared(ones.values, others.values, pair.direction)
    if isinstance(test, str):
        return replace(pair, reason=test)
    return replace(
        pair,
        low=test.ci95_low,
        high=test.ci95_high,
        p=test.p,
        detectable=test.detectable,
        clusters=len(ones.clusters[0]),
    )


def _corrected(pairs: list[Pair], a: str, b: str) -> list[Pair]:
    """Correct for all comparisons of the answer, and name who is significantly better."""
    tested = [pair for pair in pairs if pair.p is not None]
    corrected = iter(holm([pair.p for pair in tested if pair.p is not None]))
    found = []
    for pair in pairs:
        if pair.p is None:
            found.append(pair)
            continue
        p = next(corrected)
        b_wins = pair.direction.loss(pair.b) < pair.direction.loss(pair.a)
        better = (b if b_wins else a) if p < LEVEL and pair.direction.known else ""
        found.append(replace(pair, corrected=p, better=better))
    return found
