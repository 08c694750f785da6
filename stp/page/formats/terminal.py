"""A grid in a terminal, or as plain text where styles mean nothing.

The best value of a column is bold, the second best underlined; plain text has the signs that
Markdown has for them (``**0.91**``, ``*0.90*``). Numbers stand below each other, whatever signs
they have. What a second text in parentheses says stands in a column beside.
"""

import textwrap

from rich.console import Group, RenderableType
from rich.text import Text

from stp.page.grid import Grid, Item, Section
from stp.page.text_table import Column, plain, styled

PROSE = 100
"""Characters of a line of plain prose."""
_HELD = "\u2007"
"""Stands for a blank that must not become the end of a line."""
_SIGNS = {1: "**", 2: "*"}
_STYLES = {1: "bold green", 2: "underline"}


def text(grid: Grid) -> str:
    """Write a table as plain text; nothing of it depends on a terminal."""
    parts = [_underlined(grid.title, "=")]
    parts += [_filled(paragraph) for paragraph in (*grid.intro, *grid.warnings)]
    for section in grid.sections:
        parts += [_underlined(section.title, "-")] if section.title else []
        parts += [_filled(paragraph) for paragraph in section.intro]
        parts += [plain(_columns(section, styles=False))] if section.rows else []
        parts += ["".join(_filled(note, "  ") for note in section.notes)] if section.notes else []
    parts += ["".join(_filled(line, "  ") for line in grid.legend)] if grid.legend else []
    parts += [_filled(grid.made_from)] if grid.made_from else []
    return "\n".join(parts)


def renderable(grid: Grid, width: int) -> RenderableType:
    """Make a table for a terminal of so many characters."""
    parts: list[RenderableType] = [Text(grid.title, style="bold underline"), ""]
    for paragraph in grid.intro:
        parts += [_prose(paragraph, width), ""]
    for warning in grid.warnings:
        parts += [_prose(warning, width, "bold yellow"), ""]
    for section in grid.sections:
        parts += [Text(section.title, style="bold cyan"), ""] if section.title else []
        for paragraph in section.intro:
            parts += [_prose(paragraph, width), ""]
        parts += [styled(_columns(section, styles=True), width), ""] if section.rows else []
        parts += [_prose(note, width, "dim") for note in section.notes]
        parts += [""] if section.notes else []
    parts += [_prose(line, width, "dim") for line in (*grid.legend, grid.made_from) if line]
    return Group(*parts)


def _underlined(title: str, sign: str) -> str:
    return f"{title}\n{sign * Text(title).cell_len}\n"


def _filled(line: str, later: str = "", width: int = PROSE) -> str:
    """Fold a line between words; commands, between backticks, and paths stay whole: they are there
    to be copied."""
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


def _prose(line: str, width: int, style: str = "") -> Text:
    """A folded line, with what lies between backticks in a style of its own."""
    parts = _filled(line, width=width).rstrip("\n").split("`")
    # What is still longer than a line is the terminal's to break.
    found = Text(style=style, no_wrap=True, overflow="ignore")
    for i, part in enumerate(parts):
        found.append(part, style="cyan" if i % 2 and len(parts) % 2 else None)
    return found


def _columns(section: Section, *, styles: bool) -> list[Column]:
    columns = []
    asides = section.with_aside()
    for i, heading in enumerate(section.columns):
        places = [row[i] for row in section.rows]
        items = [place if isinstance(place, Item) else Item(place) for place in places]
        right, beside = section.numeric[i], asides[i]
        columns.append(Column(heading, right, _cells(items, right, beside, styles=styles)))
        if beside:
            columns.append(
                Column("", False, [_aside(item, styles=styles) for item in items], joined=True)
            )
    return columns


def _cells(items: list[Item], right: bool, beside: bool, *, styles: bool) -> list[Text]:
    """The places of a column; behind numbers, blanks stand where others have a sign."""
    signs = ["" if styles else _SIGNS.get(item.rank, "") for item in items]
    marks = [_mark(item) for item in items]
    behind = [sign + mark for sign, mark in zip(signs, marks, strict=True)]
    room = max((len(end) for end in behind), default=0) if right else 0
    found = []
    for item, sign, mark in zip(items, signs, marks, strict=True):
        shown = Text(sign)
        shown.append(item.text, style=_STYLES.get(item.rank) if styles else None)
        shown.append(sign + mark)
        shown.append(" " * (room - len(sign + mark)))
        if item.aside and not beside:
            shown.append(f" ({item.aside})", style="dim" if styles else None)
        found.append(shown)
    return found


def _mark(item: Item) -> str:
    """Behind the text, as Markdown has it."""
    if not item.mark:
        return ""
    return f" [{item.mark}]" if item.mark[0].isalnum() else item.mark


def _aside(item: Item, *, styles: bool) -> Text:
    return Text(f"({item.aside})" if item.aside else "", style="dim" if styles else "")
