"""Tables that compare facts printed in a paper with ours, and functions that read printed facts.

Printed facts are in CSV files in the folder of a suite. Tables are declared in the suite's file.
"""

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
    """A row of a table of facts, such as a number of clips: printed values beside ours.

    Attributes:
        values: our value, name or text in each column of the table.
        differences: printed value by column, only of columns in which it differs from our value
            although they should be equal; pages mark it.
        why: declared reason for a difference, by column.
        notes: notes that pages show below the table.
        beside: printed value by column, of columns in which pages show it beside ours even if it
            does not differ, or is not comparable.
        scaled: value at the current scale by column, only of columns in which it differs from
            ``values``, which follow the paper's protocol.
    """

    values: Mapping[str, object]
    differences: Mapping[str, str] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
    scaled: Mapping[str, str] = field(default_factory=dict)

    @property
    def unexplained_columns(self) -> list[str]:
        """List columns in which the printed value differs from ours, and no reason is declared."""
        return [column for column in self.differences if not self.why.get(column)]


@dataclass(frozen=True)
class Facts:
    """A table that compares facts printed in a paper with ours.

    Attributes:
        columns: names of the columns of the table, as a CSV file has them.
        rows: all rows, in order.
        intro: paragraphs that pages show before the table.
        warnings: sentences that must be read before any number, e.g. that data are synthetic.
        legend: lines below the table that explain columns or signs.
    """

    columns: tuple[str, ...]
    rows: list[Fact]
    intro: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    legend: tuple[str, ...] = ()


def protocol_of(suite: Suite) -> Config:
    """Load the configuration with which a suite repeats its paper: models, data and settings.

    It is the scale file that the suite names as its ``protocol``, such as paper.yaml.
    """
    assert suite.protocol is not None
    return configuration.load(CONFIG_FOLDER / suite.protocol)


def read_printed_rows(file: Path, columns: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file of printed values.

    Args:
        file: path of the file.
        columns: names of columns that it must have; it may have others.

    Yields:
        texts of a row, by column.

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


def translate_name(
    file: Path, row: Mapping[str, str], column: str, names: Mapping[str | None, str]
) -> str:
    """Translate a name that a paper prints into the name in the configuration.

    Args:
        file: path of the file with the row, for error messages.
        row: row of printed values.
        column: column of the row that has the published name, "model" or "dataset".
        names: name in the configuration by published name; the key None may stand for a model or
            dataset that the paper does not have.

    Returns:
        the name in the configuration.

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
