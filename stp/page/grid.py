"""A table for people, before it has a format: sections of rows, with what stands out.

Markdown, LaTeX and HTML are made from the same grid, so that they say the same. Texts are plain;
each format escapes what it must. In lines of prose (intro, warnings, notes, legend) `backticks`
set a name or a command in the type of a machine.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Item:
    """One place of a table.

    Attributes:
        text: plain, without the signs of any format.
        rank: 1 for the best of its column, 2 for the second best, 0 otherwise.
        mark: a short sign behind the text, such as ``*``; the legend explains it.
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
        rows: a text or an `Item` for each column; the first one names the row.
        numeric: for each column, whether it is aligned at the right.
        intro: paragraphs before these rows: what holds for all of them.
        notes: lines below these rows.
    """

    title: str
    columns: list[str]
    rows: list[list[str | Item]]
    numeric: list[bool]
    intro: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def with_aside(self) -> list[bool]:
        """For each numeric column, whether some of its places have a second text, which formats
        set beside the numbers so that these stand below each other."""

        def has_aside(column: int) -> bool:
            items = (row[column] for row in self.rows)
            return any(isinstance(item, Item) and bool(item.aside) for item in items)

        return [right and has_aside(i) for i, right in enumerate(self.numeric)]


@dataclass(frozen=True)
class Grid:
    """A table.

    Attributes:
        name: of its files; the label in LaTeX.
        title: heading.
        intro: paragraphs before it: what the values are.
        warnings: what must be read before any number.
        sections: its parts.
        legend: a line for each column or sign that needs explaining.
        made_from: a sentence for who finds the file later: which results it was made from.
    """

    name: str
    title: str
    intro: list[str]
    sections: list[Section]
    warnings: list[str] = field(default_factory=list)
    legend: list[str] = field(default_factory=list)
    made_from: str = ""
