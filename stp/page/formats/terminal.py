"""A table in a terminal, or as plain text without styles.

The best value of a column is bold, the second best underlined; plain text uses the marks of
Markdown (``**0.91**``, ``*0.90*``). Numbers are aligned regardless of these marks. Texts in
parentheses are in a separate column.
"""

import textwrap

from rich.console import Group, RenderableType
from rich.text import Text

from stp.page.grid import Grid, Item, Section
from stp.page.text_table import Column, format_plain, styled_table

PROSE = 100
"""Length of a line of plain prose, characters."""
_HELD = "\u2007"
"""Replacement for a blank at which lines must not be broken."""
_SIGNS = {1: "**", 2: "*"}
_STYLES = {1: "bold green", 2: "underline"}


def text(grid: Grid) -> str:
    """Write a table as plain text, independently of any terminal."""
    parts = [_underline_title(grid.title, "=")]
    parts += [_fill_line(paragraph) for paragraph in (*grid.intro, *grid.warnings)]
    for section in grid.sections:
        parts += [_underline_title(section.title, "-")] if section.title else []
        parts += [_fill_line(paragraph) for paragraph in section.intro]
        parts += [format_plain(_columns(section, styles=False))] if section.rows else []
        parts += (
            ["".join(_fill_line(note, "  ") for note in section.notes)] if section.notes else []
        )
    parts += ["".join(_fill_line(line, "  ") for line in grid.legend)] if grid.legend else []
    parts += [_fill_line(grid.made_from)] if grid.made_from else []
    return "\n".join(parts)


def renderable(grid: Grid, width: int) -> RenderableType:
    """Make a table for a terminal of some width in characters."""
    parts: list[RenderableType] = [Text(grid.title, style="bold underline"), ""]
    for paragraph in grid.intro:
        parts += [_format_prose(paragraph, width), ""]
    for warning in grid.warnings:
        parts += [_format_prose(warning, width, "bold yellow"), ""]
    for section in grid.sections:
        parts += [Text(section.title, style="bold cyan"), ""] if section.title else []
        for paragraph in section.intro:
            parts += [_format_prose(paragraph, width), ""]
        parts += [styled_table(_columns(section, styles=True), width), ""] if section.rows else []
        parts += [_format_prose(note, width, "dim") for note in section.notes]
        parts += [""] if section.notes else []
    parts += [_format_prose(line, width, "dim") for line in (*grid.legend, grid.made_from) if line]
    return Group(*parts)


def _underline_title(title: str, sign: str) -> str:
    return f"{title}\n{sign * Text(title).cell_len}\n"


def _fill_line(line: str, later: str = "", width: int = PROSE) -> str:
    """Fold a line between words, but not within commands (between backticks) and paths, which are
    meant to be copied.
    """
    parts = line.split("`")
    if len(parts) % 2:
        parts[1::2] = [part.replace(" ", _HELD) for part in parts[1::2]]
    folded = textwrap.fill(
        "`".join(parts),
        width,
        break_long_words=False,
        break_on_hyphens=False,
        subsequent_indent=later,
    )
    return folded.replace(_HELD, " ") + "\n"


def _format_prose(line: str, width: int, style: str = "") -> Text:
    parts = _fill_line(line, width=width).rstrip("\n").split("`")
    # The terminal breaks lines that are still too long.
    text = Text(style=style, no_wrap=True, overflow="ignore")
    for i, part in enumerate(parts):
        text.append(part, style="cyan" if i % 2 and len(parts) % 2 else None)
    return text


def _columns(section: Section, *, styles: bool) -> list[Column]:
    columns = []
    asides = section.with_aside()
    for i, heading in enumerate(section.columns):
        cells = [row[i] for row in section.rows]
        items = [cell if isinstance(cell, Item) else Item(cell) for cell in cells]
        right, beside = section.numeric[i], asides[i]
        columns.append(Column(heading, right, _cells(items, right, beside, styles=styles)))
        if beside:
            columns.append(
                Column(
                    "", False, [_format_aside(item, styles=styles) for item in items], joined=True
                )
            )
    return columns


def _cells(items: list[Item], right: bool, beside: bool, *, styles: bool) -> list[Text]:
    """The cells of a column; numbers are padded where others have a sign after them."""
    signs = ["" if styles else _SIGNS.get(item.rank, "") for item in items]
    marks = [_mark(item) for item in items]
    behind = [sign + mark for sign, mark in zip(signs, marks, strict=True)]
    room = max((len(end) for end in behind), default=0) if right else 0
    texts = []
    for item, sign, mark in zip(items, signs, marks, strict=True):
        text = Text(sign)
        text.append(item.text, style=_STYLES.get(item.rank) if styles else None)
        text.append(sign + mark)
        text.append(" " * (room - len(sign + mark)))
        if item.aside and not beside:
            text.append(f" ({item.aside})", style="dim" if styles else None)
        texts.append(text)
    return texts


def _mark(item: Item) -> str:
    if not item.mark:
        return ""
    return f" [{item.mark}]" if item.mark[0].isalnum() else item.mark


def _format_aside(item: Item, *, styles: bool) -> Text:
    return Text(f"({item.aside})" if item.aside else "", style="dim" if styles else "")
