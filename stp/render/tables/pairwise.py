"""Compare two models wherever both were evaluated: ``stp compare A B``.

The tests are those of the tables and of table ``comparisons``: paired, and corrected for all pairs
of the models that are ranked together (`stp.collect.pairwise_tests`). The smallest difference that
the test detects with a power of 80 % shows whether there were enough clips.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from stp.collect.direction import LEVEL
from stp.collect.pairwise_tests import Pair as Tested
from stp.core.errors import StpError, suggest_name
from stp.core.exit_codes import NothingFoundError
from stp.page.digits import digits
from stp.page.grid import Grid, Item, Section
from stp.render.direction import Direction, heading
from stp.render.figures.reading import Line, Scores, read
from stp.render.tables.best_rows import contests, leagues
from stp.render.tables.rows import Row


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The values of two models, a and b, in one column of one case (a test of a dimension).

    Attributes:
        direction: direction of better values in the column.
        seeds: numbers of trained seeds of a and b; 0 for models without seeds.
        dimension: name of the dimension, such as ``short_term``.
        tested: name of the case, such as ``kitti-caltech``.
        column: name of the column of the dimension's table, such as ``SSIM``.
        a, b: values of the two models, mean over seeds.
        b_minus_a: difference of the values; if it is tested, over the clips that both models have.
        ci95_low, ci95_high: ends of the 95 % interval of the difference.
        p: p value of the difference, uncorrected.
        p_corrected: p value, corrected for all pairs of models that are ranked together.
        p_sign: p value of the sign test over clusters, uncorrected.
        skewed: whether differences of clusters are so skewed that the t test may be wrong.
        won: share of clusters in which b is better.
        better: name of the significantly better model; empty if neither is.
        detectable: smallest difference that the test detects with a power of 80 %.
        clusters: number of clusters of clips in the test.
        n: number of clips in these clusters.
        source: origin of the test data: official, sample, synthetic or own.
        reason: reason why the difference is not tested; empty if it is. Without a test, all fields
            from `ci95_low` to `n` are None or empty.
    """

    direction: Direction
    seeds: tuple[int, int]
    dimension: str
    tested: str
    column: str
    a: float
    b: float
    b_minus_a: float
    ci95_low: float | None = None
    ci95_high: float | None = None
    p: float | None = None
    p_corrected: float | None = None
    p_sign: float | None = None
    won: float | None = None
    skewed: bool | None = None
    better: str = ""
    detectable: float | None = None
    clusters: int | None = None
    n: int | None = None
    source: str
    reason: str = ""


COLUMNS = tuple(field.name for field in fields(Pair))[2:]
"""Columns of comparisons, without the direction and the seeds."""

TYPES = {
    **dict.fromkeys(("ci95_low", "ci95_high", "p", "p_corrected", "p_sign"), pa.float64()),
    **dict.fromkeys(("won", "detectable"), pa.float64()),
    **dict.fromkeys(("clusters", "n"), pa.int64()),
    "skewed": pa.bool_(),
}
"""Types of columns that may be entirely NULL."""


def compare(
    results: Path, a: str, b: str, *, on: str | None = None, column: str | None = None
) -> list[Pair]:
    """Compare two models wherever both were evaluated.

    Args:
        results: folder of results with ``collected/``.
        a, b: names of the models, as in config/models.
        on: name of a case (``kth``, ``bridge-interval-2``) or dataset; None for all cases.
        column: column of the tables, such as ``SSIM``; None for all columns.

    Returns:
        a comparison for each column of each case in which both models have a value.

    Raises:
        NothingFoundError: a name is unknown, or the models have no value in common.
        StpError: nothing was collected.
    """
    if a == b:
        raise StpError(f"{a} cannot be compared with itself", remedy="name two models")
    manifests = sorted((results / "collected").glob("*.json"))
    if not manifests:
        raise StpError(
            f"nothing has been collected in {results / 'collected'}",
            remedy="make a table, such as results/tables/short_term.csv",
        )
    every = [read(manifest, results) for manifest in manifests]
    lines = [line for scores in every for case in scores.cases.values() for line in case]
    _check_known("model", (a, b), {_model(line) for line in lines}, results)
    if on is not None:
        cases = {case for scores in every for case in scores.cases}
        datasets = {str(line.cells[0].key.tested_on) for line in lines}
        _check_known("case", (on,), cases | datasets, results)
    values: list[_Both] = []
    for scores in every:
        values += _both(scores, a, b, on)
    if column is not None:
        _check_known("column", (column,), {both.column for both in values}, results)
        values = [both for both in values if both.column == column]
    if not values:
        raise NothingFoundError(
            f"{a} and {b} have no values of the same column and case",
            expected="two models that were evaluated alike, the best of equally many forecasts",
            remedy="`stp query 'FROM coverage'` shows what there is",
        )
    pairs = []
    for scores in every:
        here = [both for both in values if both.scores is scores]
        tests = _tests(scores, here)
        pairs += [_pair(both, tests.get(both[2:]), a, b) for both in here]
    return pairs


def rows(pairs: Sequence[Pair]) -> list[tuple[object, ...]]:
    """Convert comparisons of two models to rows with the columns `COLUMNS`, e.g. for a CSV file.

    Args:
        pairs: comparisons of the two models, one for each column of each case (a test of a
            dimension), as `compare` returns them.
    """
    return [tuple(vars(pair).values())[2:] for pair in pairs]


def grid(pairs: Sequence[Pair], a: str, b: str) -> Grid:
    """Lay out comparisons of two models, with significantly better values in bold.

    Args:
        pairs: comparisons of the two models, as `compare` returns them.
        a, b: names of the models.
    """
    tested = [pair for pair in pairs if pair.p is not None]
    sources = sorted({pair.source for pair in pairs})
    sections = []
    for dimension in dict.fromkeys(pair.dimension for pair in pairs):
        of_dimension = [pair for pair in pairs if pair.dimension == dimension]
        sections.append(_section(dimension, of_dimension, a, b, with_source=len(sources) > 1))
    wins = [
        f"{model} is significantly better in {sum(pair.better == model for pair in tested)} of "
        f"{len(tested)} comparisons."
        for model in (a, b)
    ]
    if not tested:
        reasons = "; ".join(dict.fromkeys(pair.reason for pair in pairs))
        wins = [f"No difference can be tested: {reasons}."]
    return Grid(
        name="compared",
        title=f"{a} and {b}",
        intro=[*wins, *_about_seeds(pairs, a, b)],
        warnings=[]
        if sources == ["official"]
        else [f"Data: {', '.join(sources)}; NOT COMPARABLE with published values."]
        if sources != ["own"]
        else ["Data: own."],
        sections=sections,
        legend=[
            f"{b} - {a}: the difference of the values, over the n clips that both have, with its "
            "95 % interval over clusters of clips.",
            "p (t test): of a paired t test over clusters, corrected for all pairs of the models "
            "that are ranked together (Holm). p (sign test): of the number of clusters won, not "
            f"corrected. A model is better if both are below {LEVEL:g} and agree.",
            f"won by {b}: share of clusters in which {b} is better, ties by half; * where "
            "differences of clusters are so skewed that the t test may be wrong.",
            "detectable: the smallest difference that four of five such t tests would find.",
        ],
    )


def _section(
    dimension: str, pairs: Sequence[Pair], a: str, b: str, *, with_source: bool
) -> Section:
    tested = any(pair.p is not None for pair in pairs)
    columns = ["tested", "column", a, b, f"{b} - {a}"]
    if tested:
        columns += ["95 % interval", "p (t test)", f"won by {b}", "p (sign test)", "better"]
        columns += ["detectable", "clusters", "n"]
    columns += ["data"] if with_source else []
    lines: list[list[str | Item]] = []
    for pair in pairs:
        line: list[str | Item] = [
            pair.tested,
            heading(pair.column, pair.direction),
            Item(digits(pair.a), rank=int(pair.better == a)),
            Item(digits(pair.b), rank=int(pair.better == b)),
            f"{pair.b_minus_a:+.4g}",
        ]
        line += _test_of(pair) if tested else []
        lines.append([*line, *([pair.source] if with_source else [])])
    texts = ("tested", "column", "better", "data")
    return Section(
        title=dimension,
        columns=columns,
        rows=lines,
        numeric=[i in (2, 3) or name not in texts for i, name in enumerate(columns)],
        notes=list(_untested_notes(pairs)),
    )


def _about_seeds(pairs: Sequence[Pair], a: str, b: str) -> Iterable[str]:
    """Lines on the number of seeds of each model, and on models that were trained once."""
    seeds = {model: {pair.seeds[i] for pair in pairs} for i, model in enumerate((a, b))}
    counts = [
        f"{' or '.join(str(n or 'none') for n in sorted(numbers))} ({model})"
        for model, numbers in seeds.items()
    ]
    yield f"Number of seeds: {', '.join(counts)}. The tests are over clips, not over trainings."
    once = [model for model, numbers in seeds.items() if 1 in numbers]
    if once:
        yield (
            f"Differences between trainings of {' and '.join(once)} are unknown and not tested: "
            "set `seeds: [0, 1, 2]`."
        )


def _test_of(pair: Pair) -> list[str]:
    if pair.detectable is None or pair.p_corrected is None:
        return ["", "", "", "", "not tested", "", "", ""]
    ends = (pair.ci95_low, pair.ci95_high)
    return [
        "none" if None in ends else "[{:+.4g}, {:+.4g}]".format(*ends),
        f"{pair.p_corrected:.3g}",
        ("" if pair.won is None else f"{100 * pair.won:.0f} %") + ("*" if pair.skewed else ""),
        "" if pair.p_sign is None else f"{pair.p_sign:.3g}",
        pair.better or "not significant",
        f"{pair.detectable:.3g}",
        str(pair.clusters),
        str(pair.n),
    ]


def _untested_notes(pairs: Iterable[Pair]) -> Iterable[str]:
    reasons: dict[str, dict[str, list[str]]] = {}
    for pair in pairs:
        if pair.reason:
            reasons.setdefault(pair.reason, {}).setdefault(pair.tested, []).append(pair.column)
    for why, cases in reasons.items():
        named = [f"{case} ({', '.join(columns)})" for case, columns in cases.items()]
        yield f"Not tested: {', '.join(named)}: {why}"


def _model(line: Line) -> str:
    return str(line.cells[0].key.model)


def _check_known(kind: str, names: Iterable[str], available: set[str], results: Path) -> None:
    for name in names:
        if name not in available:
            raise NothingFoundError(
                f"no {kind} {name!r} was evaluated in {results}",
                remedy=f"{suggest_name(name, available)} "
                "(--results names the folder of another scale)",
            )


class _Both(NamedTuple):
    """One column of one case in which both models have a value.

    Attributes:
        scores, case, column: scores of the dimension, case, and column.
        one, other: indices of the two models' rows among all rows of the dimension.
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
        for (i, first), (j, second) in permutations(enumerate(lines, start), 2):
            # The best of more forecasts is better by itself.
            best_of = [line.cells[0].best_of for line in (first, second)]
            if [_model(first), _model(second)] != [a, b] or best_of[0] != best_of[1]:
                continue
            for column, entry in first.row.entries.items():
                rival = second.row.entries.get(column)
                if rival and entry.value is not None and rival.value is not None:
                    yield _Both(scores, case, column, i, j)


def _tests(scores: Scores, values: Sequence[_Both]) -> dict[tuple[str, int, int], Tested]:
    """Test pairs of values, by column and indices of both rows.

    Values that are not ranked together are not tested.
    """
    rows, tests_of = _rows(scores), {}
    pairs = {(both.column, both.one, both.other) for both in values}
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
            tests_of[column, one, other] = test
            tests_of[column, other, one] = _swap_models(test)
    return tests_of


def _swap_models(test: Tested) -> Tested:
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


def _seeds(row: Row) -> int:
    return sum(cell.key.seed is not None for cell in row.cells)


def _pair(both: _Both, test: Tested | None, a: str, b: str) -> Pair:
    rows = _rows(both.scores)
    first, second = rows[both.one], rows[both.other]
    entry, other_entry = first.entries[both.column], second.entries[both.column]
    assert entry.value is not None and other_entry.value is not None
    pair = Pair(
        dimension=both.scores.plan.dimension,
        tested=both.case,
        column=both.column,
        direction=both.scores.direction(both.case, both.column),
        a=entry.value,
        b=other_entry.value,
        source=first.source,
        seeds=(_seeds(first), _seeds(second)),
        b_minus_a=other_entry.value - entry.value,
    )
    if test is None or test.p is None:
        why = test.reason if test else None
        return replace(pair, reason=why or "these values are not ranked together")
    return replace(
        pair,
        b_minus_a=pair.b_minus_a if test.difference is None else test.difference,
        ci95_low=test.low,
        ci95_high=test.high,
        p=test.p,
        p_corrected=test.corrected,
        p_sign=test.p_sign,
        won=test.won,
        skewed=test.skewed,
        detectable=test.detectable,
        clusters=test.clusters,
        n=test.n,
        better={None: "", both.one: a, both.other: b}[test.better],
    )
