"""A table as Markdown (GitHub's): best values in bold, second best in italics."""

import re
from collections.abc import Iterable

from stp.page.grid import Grid, Item, Section


def text(grid: Grid) -> str:
    """Write a table as one Markdown page."""
    lines = [f"# {_escape(grid.title)}", ""]
    for paragraph in grid.intro:
        lines += [_format_prose(paragraph), ""]
    for warning in grid.warnings:
        lines += [f"> **{_format_prose(warning)}**", ""]
    for section in grid.sections:
        lines += _section(section)
    if grid.legend:
        lines += ["## Legend", ""] if len(grid.sections) > 1 else []
        lines += [*(f"- {_format_prose(line)}" for line in grid.legend), ""]
    if grid.made_from:
        lines += [_format_prose(grid.made_from), ""]
    return "\n".join(lines)


def _section(section: Section) -> Iterable[str]:
    if section.title:
        yield from (f"## {_escape(section.title)}", "")
    for paragraph in section.intro:
        yield from (_format_prose(paragraph), "")
    yield _line(_escape(column) for column in section.columns)
    yield _line("---:" if right else "---" for right in section.numeric)
    for row in section.rows:
        yield _line(_item(item) for item in row)
    yield ""
    if section.notes:
        yield from (f"- {_format_prose(note)}" for note in section.notes)
        yield ""


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _item(item: str | Item) -> str:
    if isinstance(item, str):
        return _escape(item)
    sign = {1: "**", 2: "*"}.get(item.rank, "") if item.text else ""
    text = f"{sign}{_escape(item.text)}{sign}"
    if item.mark:
        # A mark of letters or digits would be read as part of the text.
        text += f" [{_escape(item.mark)}]" if item.mark[0].isalnum() else _escape(item.mark)
    return f"{text} ({_escape(item.aside)})" if item.aside else text


def _escape(plain: str) -> str:
    """Escape special characters, including bars and line breaks, which would end a cell."""
    escaped = re.sub(r"([\\`*|<\[\]~])", r"\\\1", " ".join(plain.split()))
    # Underscores inside a word, as in names of datasets, have no meaning.
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", escaped)


def _format_prose(line: str) -> str:
    parts = " ".join(line.split()).split("`")
    if len(parts) % 2 == 0:
        return _escape(line)
    parts_escaped = (
        # Backslashes are shown inside backticks, where only a bar in a cell would need one.
        f"`{part}`" if i % 2 else _escape_with_blanks(part)
        for i, part in enumerate(parts)
    )
    return "".join(parts_escaped)


def _escape_with_blanks(part: str) -> str:
    """Escape a part of a line, and keep the blanks at its ends."""
    left = " " * (len(part) - len(part.lstrip()))
    right = " " * (len(part) - len(part.rstrip())) if part.strip() else ""
    return left + _escape(part) + right
