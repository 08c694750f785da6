"""Trace a printed number to the artefacts behind it: ``stp trace NUMBER``."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stp.collect.cell import Step, lineage
from stp.collect.query import query_rows
from stp.collect.schema import ALIKE, CellRow
from stp.collect.table import SETTING_KEYS
from stp.core.exit_codes import NothingFoundError
from stp.options.score import CELL_KEYS
from stp.plan.setting import JOINT

MOST = 20
"""Largest number of values that are printed."""

KINDS = {
    "value": "of one cell, over all lead times",
    "mean over seeds": "of several cells that differ in their seed",
    "difference": "ours minus the published value",
    "published": "printed in the paper",
    "lead": "of one cell, at one lead time",
}
"""Kinds of numbers, in the order in which they are printed."""

_CASE = tuple(key for key in CELL_KEYS if key != "seed")
_PART = "convention, NULL AS metric, variable, level, threshold"
_STATED = ", ".join(f"'{key}-' || \"{key}\"" for key in SETTING_KEYS)
_WHOSE = "source, scale, protocol, comparable"

SQL = f"""
WITH values AS (
    SELECT
        'value' AS kind, {", ".join(CELL_KEYS)}, {_PART}, NULL::BIGINT AS lead, leads, value,
        {_WHOSE},
        [scores_fingerprint] AS scores, NULL AS remark
    FROM overall
    UNION ALL BY NAME
    SELECT
        'lead' AS kind, {", ".join(CELL_KEYS)}, {_PART}, lead, value, {_WHOSE},
        [scores_fingerprint] AS scores
    FROM by_lead
    UNION ALL BY NAME
    SELECT
        'mean over seeds' AS kind, {", ".join(f"l.{key}" for key in _CASE)},
        {_PART.replace("NULL AS metric, ", "")}, l.leads, l.value, l.source, l.scale,
        l.comparable, c.protocol, c.scores,
        'of ' || l.seeds || ' seeds' AS remark
    FROM leaderboard l JOIN (
        SELECT
            {", ".join(_CASE)}, {", ".join(ALIKE)}, any_value(protocol) AS protocol,
            list(scores_fingerprint ORDER BY seed) AS scores
        FROM cells GROUP BY ALL
    ) c USING ({", ".join(_CASE)}, {", ".join(ALIKE)})
    WHERE l.seeds > 1
    UNION ALL BY NAME
    SELECT
        'difference' AS kind, {", ".join(f"d.{key}" for key in _CASE)},
        d.convention, d.metric, d.leads, d.difference AS value, true AS comparable, c.source,
        c.scale, c.protocol, c.scores,
        'ours ' || d.value || ' - published ' || d.published AS remark
    FROM deltas d JOIN (
        SELECT
            {", ".join(_CASE)}, any_value(source) AS source, any_value(scale) AS scale,
            any_value(protocol) AS protocol, list(scores_fingerprint ORDER BY seed) AS scores
        FROM cells GROUP BY ALL
    ) c USING ({", ".join(_CASE)})
    WHERE d.difference IS NOT NULL
    UNION ALL BY NAME
    SELECT
        'published' AS kind, dimension, coalesce(model, printed_model) AS model,
        coalesce(trained_on, printed_trained_on) AS trained_on,
        coalesce(tested_on, printed_tested_on) AS tested_on, subset,
        concat_ws('{JOINT}', {_STATED}) AS setting, metric, variable, threshold, leads, value,
        [] AS scores,
        concat_ws('; ', 'table ' || "table" || ', ' || printed_model || ' on '
            || printed_tested_on || rtrim(' ' || run) || ': ' || raw, nullif(note, '')) AS remark
    FROM published
)
SELECT * FROM values
WHERE value BETWEEN ? AND ? AND (kind <> 'published' OR abs(value - ?) < 1e-9)
    AND list_has_all([{", ".join(_CASE)}, 'seed-' || seed], ?::VARCHAR[])
ORDER BY
    list_position({list(KINDS)}, kind), {", ".join(CELL_KEYS)}, convention, metric, variable, level,
    threshold, leads, lead"""


@dataclass(frozen=True, kw_only=True)
class Match:
    """A value that equals the traced number when rounded to its digits; a row of the query `SQL`.

    The first fields identify the value's cell (one model on one dataset in one setting), if the
    value belongs to one.

    Attributes:
        kind: kind of value, one of `KINDS`: ``value``, ``mean over seeds``, ``difference``,
            ``published`` or ``lead``.
        metric: column heading of a published value, or of a value compared to one; else None.
        lead: lead time of a value at one lead time; None for values over several.
        leads: lead times of a value over a part of them, ``44`` or ``1-7``; else None.
        value: the value with all stored digits.
        scores: fingerprints of the score artefacts from which the value was computed; empty for
            published values.
        remark: further facts about the value, such as ``of 3 seeds``; None if there are none.
    """

    kind: str
    suite: str | None
    dimension: str
    model: str | None
    variant: str | None
    trained_on: str | None
    train_subset: str | None
    tested_on: str | None
    subset: str | None
    setting: str | None
    seed: int | None
    convention: str | None
    metric: str | None
    variable: str | None
    level: float | None
    threshold: float | None
    lead: int | None
    leads: str | None
    value: float
    source: str | None
    scale: str | None
    protocol: str | None
    comparable: bool | None
    scores: list[str]
    remark: str | None


@dataclass(frozen=True, kw_only=True)
class Traced(Match):
    """A value that equals the traced number, and the artefacts from which it was computed.

    The value is a row of the results store (`Match`).

    Attributes:
        lineage: artefacts from data to scores, seed by seed; empty for published values.
    """

    lineage: list[Step]


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def decimal_places(number: str) -> int:
    """Count the decimal places of a printed number, e.g. 2 for ``0.92`` and -1 for ``3e1``."""
    digits, _, power = number.lower().partition("e")
    return len(digits.partition(".")[2]) - int(power or 0)


def build_query(number: str, cell: str | None = None) -> tuple[str, list[float | list[str]]]:
    """Make the SQL statement, with parameters, that finds the values behind a printed number.

    These are all values that equal the number when rounded to its digits.

    Args:
        number: the number as printed; ``0.92`` matches computed values from 0.915 to 0.925, and
            published values printed as 0.92 or 0.920.
        cell: words, separated by ``/``, that the value's cell (one model on one dataset in one
            setting) must have in its key, such as ``simvp/kth``; None for all cells.
    """
    half = 0.5 * 10.0 ** -decimal_places(number)
    low, high = float(number) - half, float(number) + half
    words = [word for word in (cell or "").split("/") if word]
    return SQL, [low, high, float(number), words]


def matches(database: Path, number: str, cell: str | None = None) -> list[Match]:
    """Find all values of a results store that equal a printed number when rounded to its digits.

    Args:
        database: results.duckdb.
        number: the number as printed, such as ``0.92``.
        cell: words, separated by ``/``, that the value's cell (one model on one dataset in one
            setting) must have in its key, such as ``simvp/kth``; None for all cells.

    Returns:
        the values, sorted by kind (`KINDS`): first values of one cell over all lead times, then
        means over seeds, differences from published values, published values, and values at one
        lead time.

    Raises:
        NothingFoundError: no value rounds to the number.
    """
    values = query_rows(database, Match, *build_query(number, cell))
    if not values:
        raise not_found_error(database, number)
    return values


def with_lineage(database: Path, values: Sequence[Match]) -> list[Traced]:
    """Add to each value the artefacts from which it was computed.

    Args:
        database: path of results.duckdb.
        values: values of this database, from `matches`.
    """
    lineages: dict[str, list[Step]] = {}
    for scores in {scores for match in values for scores in match.scores}:
        cells = query_rows(
            database,
            CellRow,
            "FROM cells WHERE scores_fingerprint = ? OR perceptual_fingerprint = ?",
            [scores, scores],
        )
        lineages[scores] = lineage(database, cells)
    return [
        Traced(
            **vars(match), lineage=[step for scores in match.scores for step in lineages[scores]]
        )
        for match in values
    ]


def not_found_error(database: Path, number: str) -> NothingFoundError:
    """Make the error for a number that matches no value of the store."""
    return NothingFoundError(
        f"no value in {database} is printed as {number}",
        expected="a value of a cell, of a lead time, a mean over seeds, a published value or the "
        "difference to one; with the digits that are printed",
        remedy="give fewer digits, or look in `stp query 'FROM leaderboard'`",
    )
