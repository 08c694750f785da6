"""Formats of a grid: ``text(grid) -> str`` each. All formats of one table go together."""

from pathlib import Path

from stp.render.formats import html, latex, markdown
from stp.render.grid import Grid


def texts(grid: Grid, folder: Path) -> dict[Path, str]:
    """A table as ``<name>.md``, ``<name>.tex`` and ``<name>.html`` in a folder: path -> text."""
    return {
        folder / f"{grid.name}.md": markdown.text(grid),
        folder / f"{grid.name}.tex": latex.text(grid),
        folder / f"{grid.name}.html": html.text(grid),
    }
