"""Who is best among the rows that may be compared with each other, and who is about as good."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stp.page.digits import digits
from stp.plan.manifest import Manifest
from stp.render.direction import Direction
from stp.render.tables.rows import Entry, Row

SET_DISTANCES = ("fvd", "kvd")
"""Metrics that compare sets of clips: their values depend on the number of clips N."""


@dataclass(frozen=True)
class Standing:
    """How a value stands among its rivals: those of the same column whose rows may be compared.

    Attributes:
        rivals: how many there are, itself included.
        rank: 1 for the best, equal values share the smaller; None without rivals.
        place: as printed: 1 for all that equal the best, 2 for the next, else 0.
        best: the model of the best value, which others are compared with; empty if there is none.
        p: of the difference to the best value (`stp.collect.significance`); None has a ``reason``,
            the best itself has none.
        corrected: ``p``, corrected for all comparisons of the dataset and column.
        reason: why there is no p.
    """

    rivals: int = 1
    rank: int | None = None
    place: int = 0
    best: str = ""
    p: float | None = None
    corrected: float | None = None
    reason: str = ""


Standings = list[dict[str, Standing]]
"""For each row, the standing of each column that has a value."""


def standings(manifest: Manifest, rows: Sequence[Row], *, tested: bool = True) -> Standings:
    """Rank the values of a table, and compare each with the best of its rivals.

    Args:
        rows: of the table.
        tested: whether p values are computed, from the store.

    Raises:
        StpError: a file of the store is damaged.
    """
    found: Standings = [{} for _ in rows]
    for dataset in dict.fromkeys(row.dataset for row in rows):
        numbers = [i for i, row in enumerate(rows) if row.dataset == dataset]
        columns = dict.fromkeys(column for i in numbers for column in rows[i].entries)
        contests = {column: list(_leagues(manifest, rows, numbers, column)) for column in columns}
        for column, leagues in contests.items():
            for league in leagues:
                for i, standing in _ranked(manifest, rows, league, column):
                    found[i][column] = standing
        if tested:
            _test(manifest, rows, contests, found)
    return found


def league_of(row: Row, entry: Entry) -> tuple[object, ...]:
    """What values must have in common to be ranked: bytes, protocol, split, and what is scored.

    The best of several forecasts gets better with their number, a distance between sets with that
    of the clips: only those at equal numbers are rivals.
    """
    first = row.cells[0] if row.cells else {}
    best_of = first.get("best_of", 1)
    clips = entry.n if is_set_distance(entry) else None
    return row.comparable, row.source, row.leaky, best_of, clips, entry.convention


def is_set_distance(entry: Entry) -> bool:
    """Does the value depend on the number of clips?"""
    return entry.convention.partition(".")[0] in SET_DISTANCES


def _leagues(
    manifest: Manifest, rows: Sequence[Row], numbers: Iterable[int], column: str
) -> Iterable[list[int]]:
    """Numbers of the rows that are rivals, best first, where anything is better."""
    leagues: dict[tuple[object, ...], list[tuple[float, int]]] = {}
    for i in numbers:
        entry = rows[i].entries.get(column)
        if entry is not None and entry.value is not None:
            direction = Direction.of(manifest, entry.convention)
            if direction.known:
                scored = direction.loss(entry.value), i
                leagues.setdefault(league_of(rows[i], entry), []).append(scored)
    for league in leagues.values():
        if len(league) > 1:
            yield [i for _, i in sorted(league)]


def _ranked(
    manifest: Manifest, rows: Sequence[Row], league: list[int], column: str
) -> Iterable[tuple[int, Standing]]:
    entries = [rows[i].entries[column] for i in league]
    direction = Direction.of(manifest, entries[0].convention)
    exact = [direction.loss(entry.value) for entry in entries if entry.value is not None]
    printed = [
        direction.loss(float(digits(entry.value))) for entry in entries if entry.value is not None
    ]
    distinct = sorted(set(printed))
    for i, value, shown in zip(league, exact, printed, strict=True):
        place = distinct.index(shown) + 1
        # The worse of two needs no distinction.
        place = place if place == 1 or (place == 2 and len(league) > 2) else 0
        rank = 1 + sum(other < value for other in exact)
        yield i, Standing(len(league), rank, place, rows[league[0]].model)


def _test(
    manifest: Manifest,
    rows: Sequence[Row],
    contests: dict[str, list[list[int]]],
    found: Standings,
) -> None:
    """Compare all of a dataset with the best of their leagues."""
    # Metrics are imported here, since not every table needs them.
    from stp.collect.significance import Asked, Resampled, differences, holm, p_value, resample

    places = [
        (i, column) for column, leagues in contests.items() for league in leagues for i in league
    ]
    asked = []
    for i, column in places:
        entry = rows[i].entries[column]
        assert entry.value is not None
        asked.append(Asked(rows[i].cells, entry.convention, entry.part, entry.value))
    resampled = dict(zip(places, resample(asked), strict=True))

    def compared(best: int, other: int, column: str) -> float | str:
        ours, theirs = resampled[other, column], resampled[best, column]
        if isinstance(ours, str):
            return ours
        if isinstance(theirs, str):
            return f"the best, {rows[best].model}: {theirs}"
        assert isinstance(ours, Resampled) and isinstance(theirs, Resampled)
        if ours.clusters != theirs.clusters:
            return f"the best, {rows[best].model}, was scored on other clusters of clips"
        direction = Direction.of(manifest, rows[other].entries[column].convention)
        found = differences(direction.losses(theirs.values), direction.losses(ours.values))
        lost = int((~np.isfinite(found)).sum())
        if lost:
            return f"{lost} of {len(found)} resamples have no value"
        return p_value(found)

    for column, leagues in contests.items():
        tests = {i: compared(league[0], i, column) for league in leagues for i in league[1:]}
        with_p = {i: p for i, p in tests.items() if isinstance(p, float)}
        corrected = dict(zip(with_p, holm(list(with_p.values())), strict=True))
        for i, p in tests.items():
            told = {"reason": p} if isinstance(p, str) else {"p": p, "corrected": corrected[i]}
            found[i][column] = replace(found[i][column], **told)
