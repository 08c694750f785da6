"""A table as one self-contained HTML file without scripts, fonts or pictures.

The file suits screen readers (captions, headings of rows and columns), phones (tables scroll, names
of rows stay in view), light and dark mode, and print.
"""

from collections.abc import Iterable
from html import escape

from stp.page.grid import Grid, Item, Section

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --soft: #59636e;
  --line: #d1d9e0; --band: #f6f8fa; --warn-ink: #6b3c00; --warn: #fff4d6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --soft: #9198a1; --line: #3d444d; --band: #151b23;
    --warn-ink: #f2cc60; --warn: #2b2410; } }
body { margin: 0 auto; padding: 1rem; max-width: 80rem; color: var(--ink);
  background: var(--paper); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; }
p, li { max-width: 46rem; overflow-wrap: anywhere; }
.warning { padding: .5rem .75rem; border-left: .25rem solid var(--warn-ink);
  color: var(--warn-ink); background: var(--warn); font-weight: 600; }
.scroll { overflow-x: auto; margin-top: 1.5rem; }
.scroll:focus-visible { outline: 2px solid var(--soft); }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
caption { padding-bottom: .25rem; text-align: left; font-size: 1.125rem; font-weight: 600; }
th, td { padding: .3rem .6rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
thead th { vertical-align: bottom; background: var(--band); }
tbody th { position: sticky; left: 0; font-weight: 400; background: var(--paper); }
.right { text-align: right; white-space: nowrap; }
.right + td:has(.aside), .right + td:empty { padding-left: 0; white-space: nowrap; }
th[colspan] { text-align: center; }
sup { line-height: 0; }
em { font-style: normal; text-decoration: underline; text-underline-offset: .15em; }
.aside, footer, .notes { color: var(--soft); }
.notes { font-size: .875rem; }
@media print { body { max-width: none; } .scroll { overflow: visible; } }
""".strip()


def text(grid: Grid) -> str:
    """Write a table as one HTML file."""
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(grid.title)}</title>",
        f"<style>\n{_STYLE}\n</style>",
        "</head>",
        "<body>",
        "<main>",
        f"<h1>{escape(grid.title)}</h1>",
        *(f"<p>{_format_prose(paragraph)}</p>" for paragraph in grid.intro),
        *(f'<p class="warning">{_format_prose(warning)}</p>' for warning in grid.warnings),
    ]
    for number, section in enumerate(grid.sections, start=1):
        lines += _section(section, section.title or grid.title, number)
    if grid.legend:
        lines += ["<h2>Legend</h2>", *_list(grid.legend, "legend")]
    lines += ["</main>"]
    if grid.made_from:
        lines += [f"<footer><p>{_format_prose(grid.made_from)}</p></footer>"]
    return "\n".join([*lines, "</body>", "</html>", ""])


def _section(section: Section, title: str, number: int) -> Iterable[str]:
    # Only a focusable region can be scrolled from the keyboard.
    yield f'<div class="scroll" role="region" aria-labelledby="table-{number}" tabindex="0">'
    yield "<table>"
    yield f'<caption id="table-{number}">{escape(title)}</caption>'
    yield "<thead><tr>"
    with_aside = section.with_aside()
    for column, right, two in zip(section.columns, section.numeric, with_aside, strict=True):
        scope = 'scope="col" colspan="2"' if two else f'scope="col"{_align_attribute(right)}'
        yield f"<th {scope}>{escape(column)}</th>"
    yield "</tr></thead>"
    yield "<tbody>"
    for row in section.rows:
        cells = []
        for i, (item, right) in enumerate(zip(row, section.numeric, strict=True)):
            tag, scope = ("th", ' scope="row"') if i == 0 else ("td", "")
            aside = _format_aside(item)
            content = _item(item) + (f" {aside}" if aside and not with_aside[i] else "")
            cells.append(f"<{tag}{scope}{_align_attribute(right)}>{content}</{tag}>")
            cells += [f"<td>{aside}</td>"] if with_aside[i] else []
        yield f"<tr>{''.join(cells)}</tr>"
    yield from ("</tbody>", "</table>", "</div>")
    yield from (f'<p class="notes">{_format_prose(paragraph)}</p>' for paragraph in section.intro)
    if section.notes:
        yield from _list(section.notes, "notes")


def _list(lines: list[str], kind: str) -> Iterable[str]:
    yield f'<ul class="{kind}">'
    yield from (f"<li>{_format_prose(line)}</li>" for line in lines)
    yield "</ul>"


def _align_attribute(right: bool) -> str:
    return ' class="right"' if right else ""


def _item(item: str | Item) -> str:
    if isinstance(item, str):
        return escape(item)
    tag = {1: "strong", 2: "em"}.get(item.rank) if item.text else None
    text = f"<{tag}>{escape(item.text)}</{tag}>" if tag else escape(item.text)
    return text + (f"<sup>{escape(item.mark)}</sup>" if item.mark else "")


def _format_aside(item: str | Item) -> str:
    if isinstance(item, str) or not item.aside:
        return ""
    return f'<span class="aside">({escape(item.aside)})</span>'


def _format_prose(line: str) -> str:
    parts = line.split("`")
    if len(parts) % 2 == 0:
        return escape(line)
    return "".join(
        f"<code>{escape(part)}</code>" if i % 2 else escape(part) for i, part in enumerate(parts)
    )
