"""The cells of a dimension by what was tested: a figure or a section for each."""

from collections.abc import Sequence
from dataclasses import dataclass

from stp.core.errors import StpError, nearest
from stp.plan.manifest import columns_of
from stp.plan.manifest_types import Cell, Manifest, Names, StoredCell


@dataclass(frozen=True)
class TestedCase:
    """Everything that was tested in one way.

    Attributes:
        name: see `stp.plan.cell_key.CellKey.case_name`.
        cells: in the order of the manifest or the store.
        names: titles of models and datasets.
        variables: that columns of the tables for its dataset are of.
    """

    name: str
    cells: Sequence[StoredCell]
    names: Names
    variables: Sequence[str]


def cases(manifest: Manifest) -> dict[str, list[Cell]]:
    """Cells by case (`stp.plan.cell_key.CellKey.case_name`), both in the order of the manifest."""
    found: dict[str, list[Cell]] = {}
    for cell in manifest.cells:
        found.setdefault(cell.key.case_name, []).append(cell)
    return found


def case_of(manifest: Manifest, name: str) -> TestedCase:
    """One case of a manifest.

    Raises:
        StpError: there is no such case.
    """
    found = cases(manifest)
    if name not in found:
        raise StpError(
            f"nothing of the dimension {manifest.dimension} was tested on {name!r}",
            expected=f"one of {', '.join(found)}",
            remedy=nearest(name, found) or "choose one of these",
        )
    cells = found[name]
    columns = (columns_of(manifest, table, cells[0]).values() for table in manifest.tables)
    named = [column.variable for of_table in columns for column in of_table if column.variable]
    return TestedCase(name, cells, manifest.names, named)
