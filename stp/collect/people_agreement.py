"""How often metrics agree with people: rows of a table of answers about pairs of videos.

`stp study preferences` writes them; the results store and trust cards read them.
"""

import csv
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import get_args

from stp.collect.schema import AgreementRow
from stp.core.errors import StpError

TABLE = "agreement_with_people"
"""Of a scale: ``results/<scale>/tables/agreement_with_people.csv``; and of the results store."""

DECIDED, ALL_ANSWERS, MAJORITY = "decided", "all", "majority"
"""Ways to count, see table agreement_with_people."""

RATERS = "Among raters"
"""Stands where a metric does: how often the first two raters agree with each other."""


HEADER = tuple(field.name for field in fields(AgreementRow))
"""Columns of the CSV file."""


def line(row: AgreementRow) -> list[str]:
    """A row as fields of the CSV file."""
    return ["" if value is None else str(value) for value in vars(row).values()]


def read_agreements(path: Path) -> list[AgreementRow]:
    """Read the table; empty if there is none.

    Raises:
        StpError: it is damaged.
    """
    if not path.is_file():
        return []
    remedy = "make it again: stp study preferences"
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file, strict=True)
            if tuple(reader.fieldnames or ()) != HEADER:
                raise ValueError("it has other columns")
            return [_row(row) for row in reader]
    except (OSError, ValueError, TypeError, KeyError, csv.Error) as error:
        raise StpError(
            f"{path}: {error}", expected=f"columns {', '.join(HEADER)}", remedy=remedy
        ) from None


UNKNOWN = "no study with people has compared it"


def with_people(rows: Iterable[AgreementRow], convention: str) -> tuple[float | None, str]:
    """The one number for a metric: agreement where models are spread in its own values.

    Args:
        rows: of a study, of any metric.
        convention: of the metric.

    Returns:
        percent of the answers that name a video, and why there is none, which is empty if there is.
    """
    for row in rows:
        is_own = row.kind == "spread" and row.scenario.endswith(f" {row.metric}")
        if row.convention == convention and row.counting == DECIDED and is_own:
            if row.simulated:
                return None, "raters are simulated"
            return row.value, "" if row.value is not None else row.reason or UNKNOWN
    return None, UNKNOWN


_READ: dict[type, Callable[[str], object]] = {
    str: str,
    int: int,
    float: float,
    bool: {"True": True, "False": False}.__getitem__,
}


def _row(row: dict[str, str]) -> AgreementRow:
    found: dict[str, object] = {}
    for field in fields(AgreementRow):
        kind = get_args(field.type)[0]  # of an annotation with a comment
        kinds = get_args(kind) or (kind,)
        text = row[field.name]
        empty = type(None) in kinds and not text
        found[field.name] = None if empty else _READ[kinds[0]](text)
    return AgreementRow(**found)  # type: ignore[arg-type]
