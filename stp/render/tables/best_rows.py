"""The best of the rows that may be compared with each other, and those not significantly worse."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from stp.collect.pairwise_tests import Entrant, Pair, Rank, contest, ranks_of
from stp.collect.schema import ALIKE, EVALUATION
from stp.page.digits import digits
from stp.plan.manifest import Manifest
from stp.render.direction import Direction
from stp.render.tables.rows import Row


@dataclass(frozen=True)
class Standing:
    """How a value stands among its rivals: those of the same column whose rows may be compared.

    Attributes:
        rivals: how many there are, itself included.
        rank: 1 for the best, equal values share the smaller; None without rivals.
        place: as printed: 1 for all that equal the best and are not significantly worse, 2 for the
            next, else 0; 0 for all where all print the same.
        best: the model of the best value, which others are compared with; empty if there is none.
        p: of the difference to the best value, as in table ``comparisons``; None has a ``reason``,
            the best itself has none.
        corrected: ``p``, corrected for all pairs of rivals.
        is_worse: whether it is significantly worse than the best; None where there is no test.
        reason: why there is no p.
    """

    rivals: int = 1
    rank: int | None = None
    place: int = 0
    best: str = ""
    p: float | None = None
    corrected: float | None = None
    is_worse: bool | None = None
    reason: str = ""


League = list[tuple[int, str]]
"""Values that are rivals: numbers of rows, and columns."""

Standings = list[dict[str, Standing]]
"""For each row, the standing of each column that has a value."""


def standings(manifest: Manifest, rows: Sequence[Row], *, tested: bool = True) -> Standings:
    """Rank the values of a table, and compare each with the best of its rivals.

    Args:
        rows: of the table.
        tested: whether they are compared, with sums from the store.

    Raises:
        StpError: a file of the store is damaged.
    """
    found: Standings = [{} for _ in rows]
    if not manifest.are_rivals:
        return found
    rivals = []
    for league in leagues(manifest, rows):
        i, column = league[0]
        entry = rows[i].entries[column]
        if len(league) > 1 and Direction.of(manifest, entry.convention, entry.part).known:
            rivals.append(league)
            for (i, column), standing in _ranked(manifest, rows, league):
                found[i][column] = standing
    for league, (ranked, pairs) in contests(manifest, rows, rivals) if tested else ():
        best = [one.rank for one in ranked].index(1)
        for pair in pairs:
            if best in (pair.one, pair.other):
                i, column = league[pair.other if pair.one == best else pair.one]
                found[i][column] = _tested(found[i][column], pair, best)
    return found


def leagues(manifest: Manifest, rows: Sequence[Row]) -> list[League]:
    """The values of rows, those together that are rivals."""
    found: dict[tuple[object, ...], League] = {}
    for i, row in enumerate(rows):
        for column, entry in row.entries.items():
            if entry.value is not None:
                found.setdefault(league_of(manifest, row, column), []).append((i, column))
    return list(found.values())


def contests(
    manifest: Manifest, rows: Sequence[Row], wanted: Sequence[League]
) -> Iterable[tuple[League, tuple[list[Rank], list[Pair]]]]:
    """Compare all values of some leagues; see `stp.collect.pairwise_tests`.

    Raises:
        StpError: a file of the store is damaged.
    """
    # Metrics are imported here, since not every table needs them.
    from stp.collect.leave_one_out import Asked, in_common, left_out

    asked = {}
    for i, column in (place for league in wanted for place in league):
        entry = rows[i].entries[column]
        assert entry.value is not None
        asked[i, column] = Asked(rows[i].cells, entry.convention, entry.part, entry.value)
    without = dict(zip(asked, left_out(list(asked.values())), strict=True))
    rivals = [[(asked[place], without[place]) for place in league] for league in wanted]
    for league, common in zip(wanted, in_common(rivals), strict=True):
        entrants = [
            Entrant(rows[i].model, rows[i].entries[column].value, None, without[i, column], shared)
            for (i, column), shared in zip(league, common, strict=True)
        ]
        first, column = league[0]
        entry = rows[first].entries[column]
        direction = Direction.of(manifest, entry.convention, entry.part)
        yield league, contest(entrants, direction)


def league_of(manifest: Manifest, row: Row, column: str) -> tuple[object, ...]:
    """What values must have in common to be rivals, as in table ``ranks``.

    Where tables name the training data beside the model, all that are tested alike are rivals.
    """
    entry = row.entries[column]
    first = row.cells[0] if row.cells else None
    free = _TRAINING if first is not None and manifest.kind_of(first).names_training else ()
    whose = [name for name in EVALUATION if name not in free]
    about = {"source": row.source, "scale": row.scale, "leaky": row.leaky}
    about["best_of"] = 1 if first is None else first.best_of
    return (
        *(getattr(row.key, name) for name in whose),
        *(about[name] for name in ALIKE),
        *(row.dataset, column, entry.convention, entry.part),
        entry.n if manifest.conventions[entry.convention].compares_sets else None,
    )


_TRAINING = ("trained_on", "train_subset")


def _ranked(
    manifest: Manifest, rows: Sequence[Row], places: League
) -> Iterable[tuple[tuple[int, str], Standing]]:
    entries = [rows[i].entries[column] for i, column in places]
    direction = Direction.of(manifest, entries[0].convention, entries[0].part)
    values = [(entry.value, entry.digits) for entry in entries if entry.value is not None]
    ranks = ranks_of([value for value, _ in values], direction)
    printed = ranks_of([float(digits(*value)) for value in values], direction)
    best = rows[places[ranks.index(1)][0]].model
    distinct = sorted(set(printed))
    for place, rank, shown in zip(places, ranks, printed, strict=True):
        place_shown = distinct.index(shown) + 1
        # The worse of two needs no distinction.
        is_shown = place_shown == 1 or (place_shown == 2 and len(places) > 2)
        is_shown = is_shown and len(distinct) > 1
        yield place, Standing(len(places), rank, place_shown if is_shown else 0, best)


def _tested(standing: Standing, pair: Pair, best: int) -> Standing:
    if pair.p is None:
        return replace(standing, reason=pair.reason or "")
    is_worse = pair.better == best
    # Rounding hides differences that many clusters show.
    place = 0 if is_worse and standing.place == 1 else standing.place
    return replace(standing, p=pair.p, corrected=pair.corrected, is_worse=is_worse, place=place)
