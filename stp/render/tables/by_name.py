"""Find the module of a table by name; it imports little, since planning uses it."""

import importlib
from pathlib import Path
from types import ModuleType

from stp.core import named_modules
from stp.core.errors import StpError, suggest_name

ROOM = "stp.render.tables"


def module_of(table: str) -> str:
    """Full name of a table's module, in `stp.render.tables` or that of a benchmark (suite).

    Raises:
        StpError: no module, or more than one module, has the name of the table.
    """
    names = named_modules.names_in(ROOM)
    if table not in names:
        raise StpError(
            f"the table {table} has no module",
            expected=f"{table}.py in stp/render/tables, or in the folder tables of its suite",
            remedy=suggest_name(table, names),
        )
    return named_modules.module_of(ROOM, table)


def import_table(table: str) -> ModuleType:
    """Import a table's module.

    Raises:
        StpError: the table has no module.
    """
    return importlib.import_module(module_of(table))


def render(table: str, source: Path, out: Path) -> None:
    """Write a table with the function ``render_<table>`` of its module.

    Args:
        source: file from which the table is made: the manifest of its dimension, or the results
            store.
        out: path of the CSV file.

    Raises:
        StpError: the table is unknown, or a file is missing or damaged; nothing is written.
    """
    getattr(import_table(table), f"render_{table}")(source, out)
