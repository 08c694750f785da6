"""Two models beside each other, wherever both were evaluated: ``stp compare A B``.

The tests are those of the tables and of table ``comparisons``: paired, and corrected for all pairs
of the models that are ranked together (`stp.collect.pairwise_tests`). A difference that could
hardly have been found, because there are few clips, is told by the smallest one that would be found
in four of five such tests.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from stp.collect.direction import LEVEL
from stp.collect.pairwise_tests import Pair as Tested
from stp.core.errors import StpError, nearest
from stp.core.exit_codes import NothingFoundError
from stp.page.digits import digits
from stp.page.grid import Grid, Item, Section
from stp.render.direction import Direction, heading
from stp.render.figures.reading import Line, Scores, read
from stp.render.tables.best_rows import contests, leagues
from stp.render.tables.rows import Row


@dataclass(frozen=True)
class Pair:
    """One column of one case, for two models.

    Attributes:
        a, b: values, means over seeds.
        difference: b - a, where it is tested that of the clips that both have.
        low, high: its 95 % interval.
        p, corrected: of the difference, alone and corrected for all pairs of the models that are
            ranked together.
        p_sign, won, skewed: as in table ``comparisons``; ``won`` by b.
        detectable: the smallest difference that four of five such tests would find.
        clusters: that the test rests on.
        n: clips in these.
        better: the model that is significantly better, or empty.
        reason: why there is no test.
    """

    dimension: str
    case: str
    column: str
    convention: str
    direction: Direction
    a: float
    b: float
    source: str
    difference: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    corrected: float | None = None
    p_sign: float | None = None
    won: float | None = None
    skewed: bool | None = None
    detectable: float | None = None
    clusters: int | None = None
    n: int | None = None
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
    "p_sign",
    "won",
    "skewed",
    "better",
    "detectable",
    "clusters",
    "n",
    "source",
    "reason",
)


TYPES = {
    "ci95_low": pa.float64(),
    "ci95_high": pa.float64(),
    "p": pa.float64(),
    "p_corrected": pa.float64(),
    "p_sign": pa.float64(),
    "won": pa.float64(),
    "skewed": pa.bool_(),
    "detectable": pa.float64(),
    "clusters": pa.int64(),
    "n": pa.int64(),
}
"""Of columns that may have no value at all."""


def compare(
    results: Path, a: str, b: str, *, on: str | None = None, column: str | None = None
) -> list[Pair]:
    """Compare two models wherever both were evaluated.

    Args:
        results: the folder with ``collected/``.
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
        datasets = {str(line.cells[0].key.tested_on) for line in lines}
        _check_known("case", (on,), cases | datasets)
    found: list[_Both] = []
    for scores in every:
        found += _both(scores, a, b, on)
    if column is not None:
        _check_known("column", (column,), {both.column for both in found})
        found = [both for both in found if both.column == column]
    if not found:
        raise NothingFoundError(
            f"{a} and {b} have no values of the same column and case",
            expected="two models that were evaluated alike, the best of equally many forecasts",
            remedy="`stp query 'FROM coverage'` shows what there is",
        )
    pairs = []
    for scores in every:
        here = [both for both in found if both.scores is scores]
        tests = _tests(scores, here)
        pairs += [_pair(both, tests.get(both[2:]), a, b) for both in here]
    return pairs


def rows(pairs: Sequence[Pair]) -> list[tuple[Any, ...]]:
    """The answer as rows with `COLUMNS`."""
    return [
        (
            pair.dimension,
            pair.case,
            pair.column,
            pair.a,
            pair.b,
            pair.difference,
            pair.low,
            pair.high,
            pair.p,
            pair.corrected,
            pair.p_sign,
            pair.won,
            pair.skewed,
            pair.better,
            pair.detectable,
            pair.clusters,
            pair.n,
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
            f"difference: {b} - {a}, of the n clips that both have, with its 95 % interval over "
            "clusters of clips.",
            "p: of a paired t test over clusters, corrected for all pairs of the models that are "
            "ranked together (Holm); the better value stands out below "
            f"{LEVEL:g}, if a sign test over clusters says the same.",
            f"clusters won: those in which {b} is better, ties by half; * where differences of "
            "clusters are so skewed that the t test may be wrong.",
            "detectable: the smallest difference that four of five such t tests would find.",
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
            f"{pair.difference:+.4g}",
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


_TESTED = ("95 % interval", "p", "clusters won", "better", "detectable", "clusters", "n")


def _test_of(pair: Pair) -> list[str]:
    if pair.detectable is None or pair.corrected is None:
        return ["", "", "", "not tested", "", "", ""]
    ends = (pair.low, pair.high)
    return [
        "none" if None in ends else "[{:+.4g}, {:+.4g}]".format(*ends),
        f"{pair.corrected:.3g}",
        ("" if pair.won is None else f"{100 * pair.won:.0f} %") + ("*" if pair.skewed else ""),
        pair.better or "alike",
        f"{pair.detectable:.3g}",
        str(pair.clusters),
        str(pair.n),
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
    return str(line.cells[0].key.model)


def _check_known(what: str, asked: Iterable[str], known: set[str]) -> None:
    for name in asked:
        if name not in known:
            raise NothingFoundError(
                f"no {what} {name!r} was evaluated",
                expected=f"one of {', '.join(sorted(known))}",
                remedy=nearest(name, known),
            )


class _Both(NamedTuple):
    """One column of one case that both models have a value of.

    Attributes:
        scores, case, column: where.
        one, other: the two, by number among all rows of the dimension.
    """

    scores: Scores
    case: str
    column: str
    one: int
    other: int


def _rows(scores: Scores) -> list[Row]:
    return [line.row for lines in scores.cases.values() for line in lines]


def _both(scores: Scores, a: str, b: str, on: str | None) -> Iterable[_Both]:
    behind = 0
    for case, lines in scores.cases.items():
        start, behind = behind, behind + len(lines)
        if on is not None and on not in (case, lines[0].cells[0].key.tested_on):
            continue
        for (one, first), (other, second) in permutations(enumerate(lines, start), 2):
            # The best of more forecasts is better by itself.
            best_of = [line.cells[0].best_of for line in (first, second)]
            if [_model(first), _model(second)] != [a, b] or best_of[0] != best_of[1]:
                continue
            for column, entry in first.row.entries.items():
                rival = second.row.entries.get(column)
                if rival and entry.value is not None and rival.value is not None:
                    yield _Both(scores, case, column, one, other)


def _tests(scores: Scores, wanted: Sequence[_Both]) -> dict[tuple[str, int, int], Tested]:
    """The tests of two values of a column; none of those that are not ranked together."""
    rows, found = _rows(scores), {}
    pairs = {(both.column, both.one, both.other) for both in wanted}
    chosen = []
    for league in leagues(scores.plan, rows):
        numbers, column = {i for i, _ in league}, league[0][1]
        if any(column == name and {one, other} <= numbers for name, one, other in pairs):
            chosen.append(league)
    for league, (_, tested) in contests(scores.plan, rows, chosen):
        for test in tested:
            (one, column), (other, _) = league[test.one], league[test.other]
            better = None if test.better is None else league[test.better][0]
            test = test._replace(one=one, other=other, better=better)
            found[column, one, other] = test
            found[column, other, one] = _turned(test)
    return found


def _turned(test: Tested) -> Tested:
    def minus(value: float | None) -> float | None:
        return None if value is None else -value

    return test._replace(
        one=test.other,
        other=test.one,
        difference=minus(test.difference),
        low=minus(test.high),
        high=minus(test.low),
        won=None if test.won is None else 1 - test.won,
    )


def _pair(both: _Both, test: Tested | None, a: str, b: str) -> Pair:
    rows = _rows(both.scores)
    first, second = rows[both.one], rows[both.other]
    one, other = first.entries[both.column], second.entries[both.column]
    assert one.value is not None and other.value is not None
    pair = Pair(
        dimension=both.scores.plan.dimension,
        case=both.case,
        column=both.column,
        convention=one.convention,
        direction=both.scores.direction(both.case, both.column),
        a=one.value,
        b=other.value,
        source=first.source,
        difference=other.value - one.value,
    )
    if test is None or test.p is None:
        why = test.reason if test else None
        return replace(pair, reason=why or "these values are not ranked together")
    return replace(
        pair,
        difference=pair.difference if test.difference is None else test.difference,
        low=test.low,
        high=test.high,
        p=test.p,
        corrected=test.corrected,
        p_sign=test.p_sign,
        won=test.won,
        skewed=test.skewed,
        detectable=test.detectable,
        clusters=test.clusters,
        n=test.n,
        better={None: "", both.one: a, both.other: b}[test.better],
    )
