"""From a number on paper back to where it comes from: ``stp trace NUMBER``."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stp.collect.cell import Json, lineage
from stp.collect.cell import rows as ask
from stp.collect.layout import ALIKE, SETTING_KEYS
from stp.core.errors import StpError
from stp.core.exits import NothingFoundError
from stp.options.score import CELL_KEYS

MOST = 20
"""Values that are shown to people, at most."""

KINDS = {
    "value": "of one cell, over all lead times",
    "mean over seeds": "of several cells that differ in their seed",
    "difference": "ours minus the published value",
    "published": "printed in the paper",
    "lead": "of one cell, at one lead time",
}
"""What a number can be, in the order in which they are shown."""

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
        concat_ws(',', {_STATED}) AS setting, metric, variable, threshold, leads, value,
        [] AS scores,
        concat_ws('; ', 'table ' || "table" || ', ' || printed_model || ' on '
            || printed_tested_on || rtrim(' ' || run) || ': ' || raw, nullif(note, '')) AS remark
    FROM published
)
SELECT * FROM values
WHERE value BETWEEN ? AND ? AND (kind <> 'published' OR abs(value - ?) < 1e-9)
    AND (?::VARCHAR IS NULL OR model = ?)
    AND (?::VARCHAR IS NULL OR tested_on = ?)
ORDER BY
    list_position({list(KINDS)}, kind), {", ".join(CELL_KEYS)}, convention, metric, variable, level,
    threshold, leads, lead"""


def places(number: str) -> int:
    """Decimal places of a number as printed.

    Raises:
        StpError: it is no number.
    """
    try:
        is_number = math.isfinite(float(number))
    except ValueError:
        is_number = False
    if not is_number:
        raise StpError(
            f"{number!r} is no number", expected="a value as a table prints it, such as 0.9248"
        )
    digits, _, power = number.lower().partition("e")
    return len(digits.partition(".")[2]) - int(power or 0)


def asked(number: str, model: str | None, on: str | None) -> tuple[str, list[Any]]:
    """The question for all values that are printed like a number: a statement and its values.

    Args:
        number: as printed; ``0.92`` stands for all from 0.915 to 0.925, but of published values
            for 0.92 and 0.920 alone, which are known as they are printed.
        model: only of this one.
        on: only of this dataset of the test.

    Raises:
        StpError: it is no number.
    """
    half = 0.5 * 10.0 ** -places(number)
    low, high = float(number) - half, float(number) + half
    return SQL, [low, high, float(number), model, model, on, on]


def matches(database: Path, number: str, model: str | None, on: str | None) -> list[Json]:
    """All values of the store that are printed like this number, in the order of `KINDS`.

    Args: see `asked`.

    Raises:
        NothingFoundError: nothing in the store is printed so.
        StpError: it is no number.
    """
    found = ask(database, *asked(number, model, on))
    if not found:
        raise nothing(database, number)
    return found


def with_lineage(database: Path, found: Sequence[Json]) -> list[Json]:
    """Each value with its artefacts under ``lineage``: from data to scores, seed by seed."""
    known: dict[str, list[Json]] = {}
    for scores in {scores for match in found for scores in match["scores"] or []}:
        cells = ask(
            database,
            "FROM cells WHERE scores_fingerprint = ? OR perceptual_fingerprint = ?",
            [scores, scores],
        )
        known[scores] = lineage(database, cells)
    return [
        {**match, "lineage": [step for scores in match["scores"] or [] for step in known[scores]]}
        for match in found
    ]


def nothing(database: Path, number: str) -> NothingFoundError:
    """Nobody computed or printed such a number."""
    return NothingFoundError(
        f"no value in {database} is printed as {number}",
        expected="a value of a cell, of a lead time, a mean over seeds, a published value or the "
        "difference to one; with the digits that are printed",
        remedy="give fewer digits, or look in `stp query 'FROM leaderboard'`",
    )
