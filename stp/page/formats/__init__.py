"""Formats in which tables are written, each a module with ``text(grid) -> str``."""

from pathlib import Path

from stp.page.formats import html, latex, markdown
from stp.page.grid import Grid


def render_grid(grid: Grid, folder: Path, name: str | None = None) -> dict[Path, str]:
    """Texts of the files ``<name>.md``, ``<name>.tex`` and ``<name>.html`` of a table, by path.

    Args:
        grid: the table.
        folder: folder of the files.
        name: base name of the files; by default that of the grid.
    """
    name = name or grid.name
    return {
        folder / f"{name}.md": markdown.text(grid),
        folder / f"{name}.tex": latex.text(grid),
        folder / f"{name}.html": html.text(grid),
    }
