"""How often metrics agree with people: rows of a table of answers about pairs of videos.

`stp preferences` writes them; the results store and trust cards read them.
"""

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import get_args

from stp.core.errors import StpError

TABLE = "agreement_with_people"
"""Of a scale: ``results/<scale>/tables/agreement_with_people.csv``; and of the results store."""

DECIDED, ALL_ANSWERS, MAJORITY = "decided", "all", "majority"
"""Ways to count, see `Agreement.counting`."""

RATERS = "Among raters"
"""Stands where a metric does: how often the first two raters agree with each other."""


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How often a metric and people agree on which of two videos is better, in one scenario.

    Attributes:
        source: of the bytes that models were tested on; empty without models.
        scale: of the results store that models were chosen from; empty for a CSV file.
        protocol: of their training and test.
        comparable: whether the printed value is of the same models; never yet.
        study: checksum of the questionnaire.
        scenario: as the paper calls it: ``eq. FVD``, ``spr. FVD``, ``base200 +10``.
        kind: equal, spread or gap.
        metric: heading, or ``RATERS``.
        convention: that was computed; empty for ``RATERS``.
        counting: which answers count. ``decided``: those that name a video; ``all``: also those
            that found no difference, as disagreement; ``majority``: what two raters say of a pair
            and is no tie.
        value: percent; None with a reason.
        ci95_low: of its 95 % interval, over pairs of models and raters.
        ci95_high: likewise.
        reason: why there is no value, or else no interval; None if there are both.
        pairs: of models.
        comparisons: of videos.
        answers: that count.
        raters: who gave them.
        ties: comparisons that the metric says nothing of: equal, or without a value.
        simulated: whether raters were programs.
        published: percent, as printed; None where nothing is.
    """

    source: str
    scale: str
    protocol: str
    comparable: bool
    study: str
    scenario: str
    kind: str
    metric: str
    convention: str
    counting: str
    value: float | None
    ci95_low: float | None
    ci95_high: float | None
    reason: str | None
    pairs: int
    comparisons: int
    answers: int
    raters: int
    ties: int
    simulated: bool
    published: float | None


HEADER = tuple(field.name for field in fields(Agreement))
"""Columns of the CSV file."""


def line(row: Agreement) -> list[str]:
    """A row as fields of the CSV file."""
    return ["" if value is None else str(value) for value in vars(row).values()]


def read_agreements(path: Path) -> list[Agreement]:
    """Read the table; empty if there is none.

    Raises:
        StpError: it is damaged.
    """
    if not path.is_file():
        return []
    remedy = "make it again: stp preferences"
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


def with_people(rows: Iterable[Agreement], convention: str) -> tuple[float | None, str]:
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


def _row(row: dict[str, str]) -> Agreement:
    found: dict[str, object] = {}
    for field in fields(Agreement):
        kinds = get_args(field.type) or (field.type,)
        text = row[field.name]
        empty = type(None) in kinds and not text
        found[field.name] = None if empty else _READ[kinds[0]](text)
    return Agreement(**found)  # type: ignore[arg-type]
