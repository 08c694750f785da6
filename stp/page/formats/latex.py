r"""A table as LaTeX: a ``table`` with a booktabs ``tabular`` for each section.

``\input`` it in a document with ``\usepackage{booktabs,graphicx}``; pdfLaTeX needs no other
packages. The best is bold, the second best underlined.
"""

import re
import unicodedata
from collections.abc import Iterable

from stp.page.grid import Grid, Item, Section

WIDEST = 85
"""Maximum number of characters of a line between the margins; wider tables are scaled down."""

_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": r"\textasciigrave{}",
    # After the end of a row, LaTeX would read these as options.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "’": "'",
    "“": "``",
    "”": "''",
    "«": r"$\ll$",
    "»": r"$\gg$",
    **{sign: f"$^{{{plain}}}$" for sign, plain in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True)},
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "→": r"$\rightarrow$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "≈": r"$\approx$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "−": "$-$",
    "°": r"$^{\circ}$",
    "†": r"\textdagger{}",
    "‡": r"\textdaggerdbl{}",
    "µ": r"$\mu$",
    "μ": r"$\mu$",
    "σ": r"$\sigma$",
    "Δ": r"$\Delta$",
    "∞": r"$\infty$",
}

# Letters without accents that pdfLaTeX's own fonts lack.
_SIGNS |= {
    **{"Ð": "D", "ð": "d", "Đ": "D", "đ": "d", "Þ": "Th", "þ": "th", "Ħ": "H", "ħ": "h"},
    **{"ĸ": "k", "Ŋ": "N", "ŋ": "n", "Ŧ": "T", "ŧ": "t"},
}
_WITHOUT_ACCENT = "ĄąĘęĮįŲųĿŀŉſ"
"""Letters that the fonts only have without accents."""


def text(grid: Grid) -> str:
    r"""Write a table as LaTeX for ``\input``."""
    lines = [f"% {_comment(grid.title)}"]
    lines += [f"% {_comment(grid.made_from)}"] if grid.made_from else []
    lines += [r"% Needs \usepackage{booktabs,graphicx}.", ""]
    lines += [line for paragraph in grid.intro for line in (_paragraph(paragraph), "")]
    for number, section in enumerate(grid.sections):
        lines += [*_table(grid, section, number), ""]
    lines += [line for note in grid.legend for line in (_paragraph(note), "")]
    return "\n".join(lines)


def _table(grid: Grid, section: Section, number: int) -> Iterable[str]:
    yield r"\begin{table}[htbp]"
    yield r"\centering"
    title = f"{grid.title}: {section.title}" if section.title else grid.title
    caption = [rf"\textbf{{{_format_prose(warning)}}}" for warning in grid.warnings]
    yield rf"\caption{{{' '.join([_escape(title).rstrip('.') + '.', *caption])}}}"
    label = _label(grid.name)
    if section.title:
        label += f"-{_label(section.title) or number + 1}"
    yield rf"\label{{tab:{label}}}"
    for paragraph in section.intro:
        yield _paragraph(paragraph)
    wide = _width(section) > WIDEST
    yield rf"\{'footnotesize' if wide else 'small'}"
    if wide:
        yield r"\resizebox{\textwidth}{!}{%"
    yield from _tabular(section)
    if wide:
        yield "}"
    yield from (rf"\par{_paragraph(note)}" for note in section.notes)
    yield r"\end{table}"


def _paragraph(line: str) -> str:
    return rf"{{\footnotesize\noindent\raggedright {_format_prose(line)}\par}}"


def _tabular(section: Section) -> Iterable[str]:
    with_aside = section.with_aside()
    spec = (
        r"r@{\ }l" if two else "r" if right else "l"
        for right, two in zip(section.numeric, with_aside, strict=True)
    )
    yield rf"\begin{{tabular}}{{{''.join(spec)}}}"
    yield r"\toprule"
    yield _line(
        rf"\multicolumn{{2}}{{c}}{{{_escape(column)}}}" if two else _escape(column)
        for column, two in zip(section.columns, with_aside, strict=True)
    )
    yield r"\midrule"
    for row in section.rows:
        yield _line(
            cell for item, two in zip(row, with_aside, strict=True) for cell in _cells(item, two)
        )
    yield r"\bottomrule"
    yield r"\end{tabular}%"


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _item(item: str | Item) -> str:
    if isinstance(item, str):
        return _escape(item)
    text = _escape(item.text)
    if item.text and item.rank:
        text = rf"\{'textbf' if item.rank == 1 else 'underline'}{{{text}}}"
    return text + (rf"\textsuperscript{{{_escape(item.mark)}}}" if item.mark else "")


def _cells(item: str | Item, two: bool) -> list[str]:
    """An item as one cell, or as two, the second of which has the text in parentheses."""
    aside = f"({_escape(item.aside)})" if isinstance(item, Item) and item.aside else ""
    if two:
        return [_item(item), aside]
    return [f"{_item(item)} {aside}".rstrip()]


def _width(section: Section) -> int:
    rows = [section.columns, *([_plain_text(item) for item in row] for row in section.rows)]
    return sum(max(len(cell) for cell in cells) + 2 for cells in zip(*rows, strict=True))


def _plain_text(item: str | Item) -> str:
    if isinstance(item, str):
        return item
    return item.text + item.mark + (f" ({item.aside})" if item.aside else "")


def _escape(plain: str) -> str:
    """Escape special characters; letters that pdfLaTeX does not know lose their accents."""
    return "".join(_SIGNS.get(sign) or _transliterate(sign) for sign in " ".join(plain.split()))


def _transliterate(sign: str) -> str:
    if not sign.isprintable():
        return ""
    if ord(sign) < 0x180 and sign not in _WITHOUT_ACCENT:  # ASCII and the letters of Latin scripts
        return sign
    ascii_only = unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode()
    return "".join(_SIGNS.get(part, part) for part in ascii_only) or "?"


def _format_prose(line: str) -> str:
    r"""Escape a line; text between backticks is set by ``\texttt``."""
    parts = line.split("`")
    if len(parts) % 2 == 0:
        return _escape(line)
    parts_escaped = (
        _blank_ends(part) if i % 2 == 0 else _code(part) for i, part in enumerate(parts)
    )
    return "".join(parts_escaped)


def _code(name: str) -> str:
    r"""A name that may be broken after a dot, a slash or an underscore."""
    broken = re.sub(r"(\\_|[./])", r"\1\\allowbreak{}", _escape(name))
    return rf"\texttt{{{broken}}}"


def _blank_ends(part: str) -> str:
    inside = _escape(part)
    before = " " if part[:1].isspace() else ""
    after = " " if part[-1:].isspace() and part.strip() else ""
    return before + inside + after


def _comment(line: str) -> str:
    return " ".join(line.replace("`", "").split())


def _label(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()
