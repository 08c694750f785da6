"""Ranks of a table's values among comparable rows, and tests against the best value."""

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
    """Rank of a value among its rivals: values of the same column in comparable rows.

    Attributes:
        rivals: number of rivals, including the value itself; 1 if it has no others.
        rank: rank, 1 for the best; equal values share the smallest rank; None if `rivals` is 1.
        place: how the value is highlighted: 1 as best, 2 as second best, 0 not at all. Values are
            compared as printed: errors that print as 0.12, 0.12, 0.14 and 0.20 have the places 1,
            1, 2 and 0. There are three exceptions. A value that prints like the best, but is
            significantly worse, has place 0. Of two rivals, the worse has place 0. If all rivals
            print the same, all have place 0.
        best: title of the model with the best value; empty if `rivals` is 1.
        p: p value of the difference from the best value, as in table ``comparisons``; None for the
            best value itself, and if there is a ``reason``.
        corrected: `p`, corrected for the tests of all pairs of rivals; None if `p` is None.
        is_worse: whether the value is significantly worse than the best; None without a test.
        reason: reason why there is no p value.
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
"""Values that are ranked together: indices of rows, and columns."""

Standings = list[dict[str, Standing]]
"""For each row, the standing of each column that has a value."""


def standings(manifest: Manifest, rows: Sequence[Row], *, tested: bool = True) -> Standings:
    """Rank the values of a table, and test each value against the best of its rivals.

    Rivals are values of the same column in comparable rows.

    Args:
        manifest: manifest of the dimension.
        rows: rows of the table.
        tested: whether to test values, which needs sums of scores from the store.

    Returns:
        for each row, the standing (rank and test) of its values by column. A value has no standing
        if it has no rivals, if neither higher nor lower values of its column are better, or if the
        manifest declares that rows are not rivals.

    Raises:
        StpError: a file of the store is damaged.
    """
    all_standings: Standings = [{} for _ in rows]
    if not manifest.are_rivals:
        return all_standings
    rivals = []
    for league in leagues(manifest, rows):
        i, column = league[0]
        entry = rows[i].entries[column]
        if len(league) > 1 and Direction.of(manifest, entry.convention, entry.part).is_known:
            rivals.append(league)
            for (i, column), standing in _rank_entries(manifest, rows, league):
                all_standings[i][column] = standing
    for league, (ranked, pairs) in contests(manifest, rows, rivals) if tested else ():
        best = [rank_of.rank for rank_of in ranked].index(1)
        for pair in pairs:
            if best in (pair.one, pair.other):
                i, column = league[pair.other if pair.one == best else pair.one]
                all_standings[i][column] = _with_test(all_standings[i][column], pair, best)
    return all_standings


def leagues(manifest: Manifest, rows: Sequence[Row]) -> list[League]:
    """Group the values of a table into leagues, within which values are ranked and tested.

    Values of one league are of the same column (metric, variable, lead times), the same test
    (dataset, subset, setting) and the same origin of the data. Usually they are also of models
    that were trained on the same data. `league_of` lists all conditions.

    Returns:
        leagues, each a list of values given by index of the row and name of the column.
    """
    league_by_key: dict[tuple[object, ...], League] = {}
    for i, row in enumerate(rows):
        for column, entry in row.entries.items():
            if entry.value is not None:
                league_by_key.setdefault(league_of(manifest, row, column), []).append((i, column))
    return list(league_by_key.values())


def contests(
    manifest: Manifest, rows: Sequence[Row], chosen: Sequence[League]
) -> Iterable[tuple[League, tuple[list[Rank], list[Pair]]]]:
    """Test all pairs of values within each league (values that are ranked together).

    The tests are those of `stp.collect.pairwise_tests`.

    Args:
        manifest: manifest of the dimension.
        rows: rows of the table.
        chosen: leagues to test, each a list of values given by index of the row and column.

    Yields:
        each league, with a pair of lists: the ranks of its values, and the tests of all pairs of
        values.

    Raises:
        StpError: a file of the store is damaged.
    """
    # Metrics are imported here, since not every table needs them.
    from stp.collect.leave_one_out import RowValue, in_common, leave_one_out_values

    values = {}
    for i, column in (row_and_column for league in chosen for row_and_column in league):
        entry = rows[i].entries[column]
        assert entry.value is not None
        values[i, column] = RowValue(rows[i].cells, entry.convention, entry.part, entry.value)
    without = dict(zip(values, leave_one_out_values(list(values.values())), strict=True))
    rivals = [
        [(values[row_and_column], without[row_and_column]) for row_and_column in league]
        for league in chosen
    ]
    for league, common in zip(chosen, in_common(rivals), strict=True):
        entrants = [
            Entrant(rows[i].model, rows[i].entries[column].value, None, without[i, column], shared)
            for (i, column), shared in zip(league, common, strict=True)
        ]
        first, column = league[0]
        entry = rows[first].entries[column]
        direction = Direction.of(manifest, entry.convention, entry.part)
        yield league, contest(entrants, direction)


def league_of(manifest: Manifest, row: Row, column: str) -> tuple[object, ...]:
    """Key of the league of a value: equal for values that are ranked together.

    The key consists of:

    - suite, dimension, training data, test data and setting of the row;
    - origin of the data, scale, whether the split is leaky, and for scores that are the best of
      several forecasts, how many;
    - column, convention (exact definition of a metric) and part (such as lead times) of the value;
    - number of clips, for distances between sets.

    The training data are left out if the table names them beside the model.
    """
    entry = row.entries[column]
    first = row.cells[0] if row.cells else None
    free = _TRAINING if first is not None and manifest.kind_of(first).names_training else ()
    keys = [name for name in EVALUATION if name not in free]
    origin = {"source": row.source, "scale": row.scale, "leaky": row.leaky}
    origin["best_of"] = 1 if first is None else first.best_of
    return (
        *(getattr(row.key, name) for name in keys),
        *(origin[name] for name in ALIKE),
        *(row.dataset, column, entry.convention, entry.part),
        entry.n if manifest.conventions[entry.convention].compares_sets else None,
    )


_TRAINING = ("trained_on", "train_subset")


def _rank_entries(
    manifest: Manifest, rows: Sequence[Row], places: League
) -> Iterable[tuple[tuple[int, str], Standing]]:
    entries = [rows[i].entries[column] for i, column in places]
    direction = Direction.of(manifest, entries[0].convention, entries[0].part)
    values = [(entry.value, entry.digits) for entry in entries if entry.value is not None]
    ranks = ranks_of([value for value, _ in values], direction)
    printed = ranks_of([float(digits(*value)) for value in values], direction)
    best = rows[places[ranks.index(1)][0]].model
    distinct = sorted(set(printed))
    for row_and_column, rank, printed_rank in zip(places, ranks, printed, strict=True):
        place_shown = distinct.index(printed_rank) + 1
        # The worse of two needs no distinction.
        stands_out = place_shown == 1 or (place_shown == 2 and len(places) > 2)
        stands_out = stands_out and len(distinct) > 1
        yield row_and_column, Standing(len(places), rank, place_shown if stands_out else 0, best)


def _with_test(standing: Standing, pair: Pair, best: int) -> Standing:
    if pair.p is None:
        return replace(standing, reason=pair.reason or "")
    is_worse = pair.better == best
    # Rounding hides differences that many clusters show.
    place = 0 if is_worse and standing.place == 1 else standing.place
    return replace(standing, p=pair.p, corrected=pair.corrected, is_worse=is_worse, place=place)
