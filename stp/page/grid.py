"""A table for people, independent of its format: sections of rows with highlighted items.

Markdown, LaTeX and HTML are made from the same grid. Texts are plain, and each format escapes them.
In lines of prose (intro, warnings, notes, legend), `backticks` mark names and commands.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Item:
    """One cell of a table.

    Attributes:
        text: plain text without the signs of any format.
        rank: 1 for the best of its column, 2 for the second best, 0 otherwise.
        mark: a short sign behind the text, such as ``*``, which the legend explains.
        aside: a second text in parentheses, such as a published value.
    """

    text: str
    rank: int = 0
    mark: str = ""
    aside: str = ""


@dataclass(frozen=True)
class Section:
    """Rows that share columns.

    Attributes:
        title: heading; empty for the only section.
        columns: headings of columns.
        rows: for each row, a text or an `Item` for each column; the first one names the row.
        numeric: for each column, whether it is aligned to the right.
        intro: paragraphs before the rows, about all rows.
        notes: lines below the rows.
    """

    title: str
    columns: list[str]
    rows: list[list[str | Item]]
    numeric: list[bool]
    intro: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def with_aside(self) -> list[bool]:
        """Whether each column is numeric and has items with a second text (`Item.aside`).

        The second texts are then written in a separate column, so that numbers are aligned.
        """

        def has_aside(column: int) -> bool:
            items = (row[column] for row in self.rows)
            return any(isinstance(item, Item) and bool(item.aside) for item in items)

        return [right and has_aside(i) for i, right in enumerate(self.numeric)]


def section_of_records(
    title: str,
    records: Sequence[Mapping[str, str | Item]],
    numeric: Collection[str],
    *,
    intro: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Section:
    """Make a section from rows that are mappings from the heading of a column to its item.

    Args:
        title: heading of the section.
        records: item by column, for each row; at least one row.
        numeric: headings of the columns that are aligned to the right.
        intro, notes: see `Section`.
    """
    columns = list(records[0])
    rows = [[record[column] for column in columns] for record in records]
    is_numeric = [column in numeric for column in columns]
    return Section(title, columns, rows, is_numeric, list(intro), list(notes))


@dataclass(frozen=True)
class Grid:
    """A table.

    Attributes:
        name: base name of the files, and label in LaTeX.
        title: heading.
        intro: paragraphs before the table, on the meaning of the values.
        warnings: sentences that must be read before any number.
        sections: parts of the table.
        legend: a line for each column or sign that needs an explanation.
        made_from: a sentence on the results that the table was made from.
    """

    name: str
    title: str
    intro: list[str]
    sections: list[Section]
    warnings: list[str] = field(default_factory=list)
    legend: list[str] = field(default_factory=list)
    made_from: str = ""
