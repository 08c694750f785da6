"""From a number on paper back to where it comes from: ``stp trace NUMBER``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stp.collect.query import answer
from stp.errors import StpError
from stp.score.options import CELL_KEYS

KEY = ", ".join(key if key != "seed" else "coalesce(seed, -1)" for key in CELL_KEYS)
MOST = 20
"""Values that are shown, at most."""


def ask(database: Path, sql: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    """The rows of an answer, by the names of its columns."""
    columns, rows = answer(database, sql, values)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def places(number: str) -> int:
    """Decimal places of a number as printed.

    Raises:
        StpError: it is no number.
    """
    try:
        float(number)
    except ValueError:
        raise StpError(
            f"{number!r} is no number", expected="a value as a table prints it, such as 0.9248"
        ) from None
    digits, _, power = number.lower().partition("e")
    return len(digits.partition(".")[2]) - int(power or 0)


def matches(database: Path, number: str, model: str | None, on: str | None) -> list[dict[str, Any]]:
    """All values of the store that are printed like this number, overall values first.

    Args:
        number: as printed; ``0.92`` stands for all from 0.915 to 0.925.
        model: only of this one.
        on: only of this dataset of the test.

    Raises:
        StpError: it is no number, or nothing in the store is printed so.
    """
    half = 0.5 * 10.0 ** -places(number)
    low, high = float(number) - half, float(number) + half
    chosen = [f"value BETWEEN {low!r} AND {high!r}"]
    values: list[Any] = []
    for column, wanted in (("model", model), ("tested_on", on)):
        if wanted is not None:
            chosen.append(f"{column} = ?")
            values.append(wanted)
    where = " AND ".join(chosen)
    common = "dimension, model, tested_on, subset, setting, seed, convention, variable, threshold"
    about = "value, source, protocol, scores_fingerprint AS scores"
    found = ask(
        database,
        f"SELECT {common}, NULL AS lead, {about} FROM overall WHERE {where} UNION ALL "
        f"SELECT {common}, lead, {about} FROM by_lead WHERE {where} "
        f"ORDER BY lead NULLS FIRST, {common} LIMIT {MOST + 1}",
        values * 2,
    )
    if not found:
        raise StpError(
            f"no value in {database} is printed as {number}",
            expected="a value of one cell: means over several seeds, differences and published "
            "values are in tables alone",
            remedy="give fewer digits, or look in `stp query 'FROM leaderboard'`",
        )
    return found


def lineage(database: Path, scores: str) -> list[dict[str, Any]]:
    """The artefacts behind one score artefact, from data to scores, by its fingerprint."""
    return ask(
        database,
        f"SELECT DISTINCT step, stage, path, fingerprint, code_fingerprint, commit, host, device, "
        f"seconds, raw_lock FROM lineage WHERE ({KEY}) IN (SELECT ({KEY}) FROM cells "
        "WHERE scores_fingerprint = ? OR perceptual_fingerprint = ?) ORDER BY step",
        [scores, scores],
    )


def raw_files(database: Path, lock: str) -> tuple[int, int, str]:
    """How many raw files a lock names, their bytes, and one of them with its checksum."""
    (row,) = ask(
        database,
        "SELECT count(*) AS files, coalesce(sum(bytes), 0) AS bytes, "
        "min(file || ', sha256 ' || sha256) AS first FROM raw_files WHERE lock = ?",
        [lock],
    )
    return int(row["files"]), int(row["bytes"]), str(row["first"])
