"""Rows of tables that compare values printed in a paper with ours; readers of printed values."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stp.core.errors import FileError
from stp.plan import config as configuration
from stp.plan.checked_config import CONFIG_FOLDER
from stp.plan.config import Config
from stp.plan.suite import Suite


@dataclass(frozen=True)
class Fact:
    """A row of a table that compares facts printed in a paper, such as numbers of clips, with ours.

    Attributes:
        values: value by column of the CSV file.
        differences: printed value by column, for columns in which it differs from ``values``.
        why: declared reason for a difference, by column.
        notes: notes that pages show below the table.
        beside: printed value by column, also where it is not comparable with ``values``.
        scaled: for columns in which the current scale (configuration file of a run) has another
            value than ``values``, this value.
    """

    values: Mapping[str, object]
    differences: Mapping[str, str] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
    scaled: Mapping[str, str] = field(default_factory=dict)

    @property
    def unexplained(self) -> list[str]:
        """Columns with a difference for which no reason is declared."""
        return [column for column in self.differences if not self.why.get(column)]


@dataclass(frozen=True)
class Facts:
    """A table that compares facts printed in a paper with ours.

    Attributes:
        columns: names of the columns of the CSV file.
        rows: all rows, in order.
        intro: paragraphs that pages show before the table.
        warnings: sentences that must be read before any number.
        legend: lines below the table that explain columns or signs.
    """

    columns: tuple[str, ...]
    rows: list[Fact]
    intro: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    legend: tuple[str, ...] = ()


def protocol_of(suite: Suite) -> Config:
    """Load the configuration with which a suite repeats its paper: models, data and settings."""
    assert suite.protocol is not None
    return configuration.load(CONFIG_FOLDER / suite.protocol)


def printed_rows(file: Path, columns: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """Yield the rows of a file of printed values.

    Raises:
        StpError: the file is missing or lacks a column.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(file, str(error.strerror), expected="printed values") from None
    reader = csv.DictReader(text.splitlines())
    if missing := set(columns) - set(reader.fieldnames or ()):
        problem = f"no column {', '.join(sorted(missing))}"
        raise FileError(file, problem, remedy="restore the file")
    yield from reader


def named(file: Path, row: Mapping[str, str], column: str, names: Mapping[str | None, str]) -> str:
    """Translate a name that a paper prints into the name in the configuration.

    Args:
        file: path of the file that contains the row, for error messages.
        row: row of printed values.
        column: column that contains the published name.
        names: name in the configuration by published name; unpublished names may have the key None.

    Raises:
        StpError: the published name is unknown.
    """
    if row[column] not in names:
        raise FileError(
            file,
            f"unknown {column} {row[column]!r}",
            expected=f"one of {', '.join(filter(None, names))}",
            remedy="correct the file, or `published_name` in the configuration",
        )
    return names[row[column]]
