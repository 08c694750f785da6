"""Rows of tables of printed facts, and readers of files of printed values."""

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
    """A row of a table of facts.

    Attributes:
        values: one for each column of the CSV file.
        differences: column -> what is printed there, where ours is something else.
        why: column -> why ours differs, where this is declared.
        notes: what pages say below the table.
        beside: column -> what is printed there, whether or not the two can be compared.
        scaled: column -> what the scale at hand has instead of ours.
    """

    values: Mapping[str, object]
    differences: Mapping[str, str] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
    scaled: Mapping[str, str] = field(default_factory=dict)

    @property
    def unexplained(self) -> list[str]:
        """Columns where ours differs, and nothing says why."""
        return [column for column in self.differences if not self.why.get(column)]


@dataclass(frozen=True)
class Facts:
    """All rows of a table.

    Attributes:
        columns: of the CSV file.
        rows: in their order.
        intro, warnings, legend: intro, warnings and legend of pages, see `stp.page.grid.Grid`.
    """

    columns: tuple[str, ...]
    rows: list[Fact]
    intro: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    legend: tuple[str, ...] = ()


def protocol_of(suite: Suite) -> Config:
    """The configuration of a suite's protocol."""
    assert suite.protocol is not None
    return configuration.load(CONFIG_FOLDER / suite.protocol)


def printed_rows(file: Path, columns: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """Rows of a file of printed values.

    Raises:
        StpError: it is missing, or lacks a column.
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
    """What the configuration calls what a paper calls otherwise.

    Args:
        file: file of the row.
        row: row of printed values.
        column: column that holds the name.
        names: published name -> name in the configuration; None of what has none.

    Raises:
        StpError: nothing is published under this name.
    """
    if row[column] not in names:
        raise FileError(
            file,
            f"unknown {column} {row[column]!r}",
            expected=f"one of {', '.join(filter(None, names))}",
            remedy="correct the file, or `published_name` in the configuration",
        )
    return names[row[column]]
