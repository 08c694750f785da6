"""The module of a table is found by the table's name. Planning uses it: it imports nothing heavy.

Generic tables lie in this room, and those of one suite in the folder of that suite.
"""

import importlib
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from stp.core.errors import StpError, nearest

FOLDERS = ("stp.render.tables", "stp.suites.{suite}.tables")


def module_of(table: str, suite: str) -> str:
    """The name of a table's module.

    Args:
        table: its name.
        suite: that has it.

    Raises:
        StpError: there is no such module, or there are two.
    """
    names = [f"{folder.format(suite=suite)}.{table}" for folder in FOLDERS]
    modules = [name for name in names if _exists(name)]
    if len(modules) != 1:
        raise StpError(
            f"the table {table} of the suite {suite} has {len(modules) or 'no'} modules",
            expected=f"one of {' and '.join(names)}",
            remedy="rename one of the two" if modules else nearest(table, _tables()),
        )
    return modules[0]


def render(table: str, suite: str, source: Path, out: Path) -> None:
    """Write a table by ``render_<table>`` of its module.

    Args:
        table: its name.
        suite: that has it.
        source: the manifest of its dimension, or the results store: what it is made from.
        out: the CSV file.

    Raises:
        StpError: there is no such table, or a file is missing or damaged; nothing is written.
    """
    getattr(imported(table, suite), f"render_{table}")(source, out)


def imported(table: str, suite: str) -> ModuleType:
    """Import a table's module.

    Raises:
        StpError: there is none.
    """
    return importlib.import_module(module_of(table, suite))


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a folder above it
        return False


def _tables() -> list[str]:
    return [path.stem for path in Path(__file__).parent.glob("*.py")]
