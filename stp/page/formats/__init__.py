"""Formats of a grid: ``text(grid) -> str`` each. All formats of one table go together."""

from pathlib import Path

from stp.page.formats import html, latex, markdown
from stp.page.grid import Grid


def texts(grid: Grid, folder: Path, name: str | None = None) -> dict[Path, str]:
    """A table as ``<name>.md``, ``<name>.tex`` and ``<name>.html`` in a folder: path -> text.

    Args:
        name: base name of the files; by default that of the grid.
    """
    name = name or grid.name
    return {
        folder / f"{name}.md": markdown.text(grid),
        folder / f"{name}.tex": latex.text(grid),
        folder / f"{name}.html": html.text(grid),
    }
