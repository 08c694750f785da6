"""Ranks with confidence sets, and paired tests of all pairs of values.

Tables, the report, views and the command line all get ranks and tests from `contest`. Paired tests
(`stp.collect.significance`) are corrected for the number of pairs.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from stp.collect.direction import LEVEL, NO_DIRECTION, Direction
from stp.collect.significance import compare_all_pairs, effect, holm

if TYPE_CHECKING:
    from stp.collect.cluster_sums import Clusters
    from stp.collect.leave_one_out import Common, LeftOut

ALONE = "there is no other model to compare it with"
OTHER_CLUSTERS = "they were scored on different clusters of clips, or lead times"
OTHER_CLIPS = "they were scored on different clips; of those that both have"


class Entrant(NamedTuple):
    """A value that is ranked among other values, such as the score of a model.

    Attributes:
        name: name of the model.
        value: mean over seeds; None if there is a ``reason``.
        reason: reason why there is no value.
        left_out: values with each cluster of clips left out in turn, or the reason why the value
            cannot be tested.
        common: values on the clips shared with models that were tested on other clips; such models
            are compared on these. A key is the hash of the other model's clips. Its value is a
            `LeftOut`: this model's value on the shared clips, and the same value with each cluster
            of them left out in turn; or the reason why there is none. Empty if all models were
            tested on the same clips (`stp.collect.leave_one_out.in_common`).
    """

    name: str
    value: float | None
    reason: str | None
    left_out: "LeftOut | str"
    common: "Common" = MappingProxyType({})


class Rank(NamedTuple):
    """Rank of an entrant (such as a model), and the confidence set of ranks that it may have.

    Attributes:
        rank: rank, 1 for the best value; equal values share the smallest rank; None without a
            value, or if neither high nor low values of the metric are better.
        rank_low: best rank in the 95 % confidence set: 1 + the number of entrants that are
            significantly better than this one. None without a confidence set.
        rank_high: worst rank in the confidence set: ``models`` - the number of entrants that are
            significantly worse than this one. None without a confidence set. The sets of all
            entrants hold together with 95 % confidence (Mogstad, Romano, Shaikh and Wilhelm 2024,
            Review of Economic Studies 91, 476-518). A set is extended if it lacks ``rank``.
        models: number of entrants with a rank; None without a rank.
        clusters: number of clusters of the tests, the smallest if they differ; None without a
            confidence set.
        reason: reason why there is no rank or no confidence set; None if there are both.
    """

    rank: int | None = None
    rank_low: int | None = None
    rank_high: int | None = None
    models: int | None = None
    clusters: int | None = None
    reason: str | None = None


class Pair(NamedTuple):
    """The comparison of two entrants, such as two models, by a paired test.

    Attributes:
        one: index of the first entrant.
        other: index of the second entrant.
        difference: second minus first value, on the clips that both have; without a test, each
            value is on all of its clips. None if a value is missing.
        low, high: 95 % interval of the difference; None if all clusters have the same difference,
            or without a test. All further numbers are None without a test, too.
        p: two-sided p value of the t test.
        corrected: p value of the t test, corrected for all pairs of the contest (Holm).
        p_sign: two-sided p value of the sign test over clusters, not corrected for several pairs.
        won: share of clusters in which the second entrant is better, with ties counted half; None
            if neither high nor low values of the metric are better.
        skewed: whether the distribution of differences over clusters is so skewed that the t test
            is unreliable.
        better: index of the entrant that is significantly better by both tests; None if neither is.
        detectable: smallest difference that the t test detects with a power of 80 % at the
            significance level of Holm's first step.
        clusters: number of clusters of the test.
        n: number of clips in these clusters.
        reason: reason why there is no test.
    """

    one: int
    other: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    corrected: float | None = None
    p_sign: float | None = None
    won: float | None = None
    skewed: bool | None = None
    better: int | None = None
    detectable: float | None = None
    clusters: int | None = None
    n: int | None = None
    reason: str | None = None


def ranks_of(values: Sequence[float], direction: Direction) -> list[int]:
    """Rank values: 1 is best; equal values share the smallest rank."""
    losses = [direction.loss(value) for value in values]
    ordered = sorted(losses)
    return [1 + bisect_left(ordered, loss) for loss in losses]


def contest(entrants: Sequence[Entrant], direction: Direction) -> tuple[list[Rank], list[Pair]]:
    """Rank entrants (such as models) by their values, and compare each pair of them.

    Args:
        entrants: comparable values, one for each model.
        direction: whether higher, lower, or values near a given one are better.

    Returns:
        rank of each entrant, in the same order; and all pairs, in the order of
        `itertools.combinations`.
    """
    pairs = _pairs(entrants, direction)
    valued = [number for number, one in enumerate(entrants) if one.value is not None]
    if not direction.is_known:
        return [Rank(reason=one.reason or NO_DIRECTION) for one in entrants], pairs
    values = [_value(entrants[number]) for number in valued]
    of_each: dict[int, list[Pair]] = {number: [] for number in valued}
    for pair in pairs:
        if pair.one in of_each and pair.other in of_each:
            of_each[pair.one].append(pair)
            of_each[pair.other].append(pair)
    ranks = [Rank(reason=one.reason) for one in entrants]
    for number, rank in zip(valued, ranks_of(values, direction), strict=True):
        own = of_each[number]
        untested = [pair.reason for pair in own if pair.p is None]
        result = Rank(rank, models=len(valued), reason=ALONE if not own else None)
        if untested:
            result = result._replace(reason=untested[0])
        elif own:
            lost = sum(pair.better not in (None, number) for pair in own)
            won = sum(pair.better == number for pair in own)
            # Ranks use all clips of each entrant, tests those that both have: include the rank.
            result = result._replace(
                rank_low=min(rank, 1 + lost),
                rank_high=max(rank, len(valued) - won),
                clusters=min(pair.clusters or 0 for pair in own),
            )
        ranks[number] = result
    return ranks, pairs


class _Test(NamedTuple):
    """The paired test of two entrants; see `Pair`.

    Attributes:
        values: values of the first and the second entrant.
        error: standard error of the difference in the t test.
    """

    values: tuple[float, float]
    low: float | None
    high: float | None
    p: float
    error: float
    p_sign: float
    won: float | None
    skewed: bool
    clusters: "Clusters"

    @classmethod
    def all_of(
        cls, ones: Sequence["LeftOut"], values: Sequence[float], direction: Direction
    ) -> Iterator["_Test"]:
        """Test all pairs, in the order of `itertools.combinations`.

        Args:
            ones: leave-one-out values of the entrants, over the same clusters.
            values: values of the entrants.
            direction: direction of better values.
        """
        columns = (column.tolist() for column in compare_all_pairs(ones, direction))
        for both, (low, high, p, error, p_sign, won, skewed) in zip(
            combinations(values, 2), zip(*columns, strict=True), strict=True
        ):
            yield cls(
                both,
                None if isnan(low) else low,
                None if isnan(high) else high,
                p,
                error,
                p_sign,
                None if isnan(won) else won,
                skewed,
                ones[0].clusters,
            )

    def better(self, direction: Direction, corrected: float) -> int | None:
        """Index of the better value, 0 or 1; None unless both tests are significant."""
        if self.won is None or corrected >= LEVEL or self.p_sign >= LEVEL:
            return None
        losses = [direction.loss(value) for value in self.values]
        second = losses[1] < losses[0]
        return int(second) if second == (self.won > 0.5) else None


def _pairs(entrants: Sequence[Entrant], direction: Direction) -> list[Pair]:
    groups: dict[Clusters, list[int]] = {}
    for number, entrant in enumerate(entrants):
        if entrant.value is not None and not isinstance(entrant.left_out, str):
            groups.setdefault(entrant.left_out.clusters, []).append(number)
    tests: dict[tuple[int, int], _Test] = {}
    for numbers in groups.values():
        ones = [left for n in numbers if not isinstance(left := entrants[n].left_out, str)]
        values = [_value(entrants[number]) for number in numbers]
        tests |= zip(combinations(numbers, 2), _Test.all_of(ones, values, direction), strict=True)
    untested = {}
    for both in combinations(range(len(entrants)), 2):
        if both not in tests:
            test_or_reason = _on_common(entrants[both[0]], entrants[both[1]], direction)
            if isinstance(test_or_reason, str):
                untested[both] = test_or_reason
            else:
                tests[both] = test_or_reason
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
        better = test.better(direction, corrected[both])
        pairs.append(
            Pair(
                *both,
                other - one,
                low=test.low,
                high=test.high,
                p=test.p,
                corrected=corrected[both],
                p_sign=test.p_sign,
                won=test.won,
                skewed=test.skewed,
                better=None if better is None else both[better],
                detectable=effects[test.clusters] * test.error,
                clusters=len(test.clusters.names),
                n=sum(test.clusters.counts),
            )
        )
    return pairs


def _on_common(first: Entrant, second: Entrant, direction: Direction) -> _Test | str:
    """Test two entrants on their common clips, or return the reason why this is impossible."""
    left, right = first.left_out, second.left_out
    if isinstance(left, str) or isinstance(right, str):
        why = _why_not(first, second)
        assert why is not None
        return why
    one = first.common.get(right.clusters.samples, OTHER_CLUSTERS)
    other = second.common.get(left.clusters.samples, OTHER_CLUSTERS)
    if isinstance(one, str) or isinstance(other, str):
        why = one if isinstance(one, str) else str(other)
        return why if why == OTHER_CLUSTERS else f"{OTHER_CLIPS}: {why}"
    if one.clusters != other.clusters:
        return OTHER_CLUSTERS
    return next(_Test.all_of([one, other], [one.value, other.value], direction))


def _value(entrant: Entrant) -> float:
    assert entrant.value is not None
    return entrant.value


def _why_not(*entrants: Entrant) -> str | None:
    """Reason why entrants cannot be compared: the shared one, else the first; None if they can."""
    reasons = [
        one.reason or (one.left_out if isinstance(one.left_out, str) else "") for one in entrants
    ]
    lacking = [(one.name, why) for one, why in zip(entrants, reasons, strict=True) if why]
    if not lacking:
        return None
    name, why = lacking[0]
    return why if set(reasons) == {why} else f"{name}: {why}"
