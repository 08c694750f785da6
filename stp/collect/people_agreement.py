"""Read and write the table of agreement between metrics and people on pairs of videos.

`stp study preferences` writes it; the results store and trust cards read it.
"""

import csv
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import get_args

from stp.collect.schema import AgreementRow
from stp.core.errors import StpError

TABLE = "agreement_with_people"
"""Name of the table in ``results/<scale>/tables`` and in the results store."""

DECIDED, ALL_ANSWERS, MAJORITY = "decided", "all", "majority"
"""Ways of counting answers: only those that choose a video; also those of no difference, as
disagreement; or the answer that two raters give about a pair of videos."""

RATERS = "Among raters"
"""In place of a metric: the agreement of the first two raters with each other."""


HEADER = tuple(field.name for field in fields(AgreementRow))
"""Columns of the CSV file."""


def line(row: AgreementRow) -> list[str]:
    """Texts of a row of the table, as fields of the CSV file; None becomes an empty text."""
    return ["" if value is None else str(value) for value in vars(row).values()]


def read_agreements(path: Path) -> list[AgreementRow]:
    """Read the table of agreement between metrics and people from its CSV file.

    A row says how often a metric and raters prefer the same one of two videos, for one group of
    models and one way of counting answers. The column ``scenario`` has the name of the group, which
    the paper on FVD calls a scenario.

    Args:
        path: path of the file ``agreement_with_people.csv``.

    Returns:
        the rows in the order of the file; empty if the file is missing.

    Raises:
        StpError: the file is damaged.
    """
    if not path.is_file():
        return []
    remedy = "run `stp study preferences` again"
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
    """Look up the percentage of people's answers that agree with a metric.

    A study of pairs of videos compares the models of several groups, each with a percentage of its
    own. This function returns the percentage of one group: the one whose models were chosen so that
    their values of this metric are evenly spread.

    Args:
        rows: rows of the table of agreement, for any metrics and groups.
        convention: convention of the metric, such as ``fvd.pooled``.

    Returns:
        percentage of agreeing answers among answers that choose a video, and an empty text; or
        None, and the reason, such as simulated raters.
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
    values: dict[str, object] = {}
    for field in fields(AgreementRow):
        kind = get_args(field.type)[0]  # the type in an Annotated with a comment
        kinds = get_args(kind) or (kind,)
        text = row[field.name]
        empty = type(None) in kinds and not text
        values[field.name] = None if empty else _READ[kinds[0]](text)
    return AgreementRow(**values)  # type: ignore[arg-type]
