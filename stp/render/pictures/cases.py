"""Group the results of a dimension (a question of the benchmark, with its own table) by test.

One of these tests is called a case. It is named by training and test dataset, subset and setting:
``kitti-caltech``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from stp.core.errors import StpError, suggest_name
from stp.plan.manifest import columns_of
from stp.plan.manifest_types import Cell, Manifest, Names, StoredCell


@dataclass(frozen=True)
class TestedCase:
    """One case (a test on one dataset in one setting), with the results of all models.

    Attributes:
        name: name of the case, such as ``kitti-caltech``.
        cells: results of one model and seed each, in the order of the manifest or the store.
        names: titles of models and datasets.
        variables: names of the variables that columns of the table show, such as ``z500``; empty
            for video.
    """

    name: str
    cells: Sequence[StoredCell]
    names: Names
    variables: Sequence[str]


def cases(manifest: Manifest) -> dict[str, list[Cell]]:
    """Group cells (results of one model and seed) by case: a test on one dataset in one setting.

    Args:
        manifest: the part of the plan that one table of the benchmark is made from.

    Returns:
        cells in the order of the manifest, by name of the case, such as ``kitti-caltech`` (trained
        on kitti, tested on caltech).
    """
    by_case: dict[str, list[Cell]] = {}
    for cell in manifest.cells:
        by_case.setdefault(cell.key.case_name, []).append(cell)
    return by_case


def find_case(manifest: Manifest, name: str) -> TestedCase:
    """Find a case (a test on one dataset in one setting) by its name, such as ``kitti-caltech``.

    Args:
        manifest: the part of the plan that one table of the benchmark is made from.
        name: name of the case.

    Raises:
        StpError: no case has this name.
    """
    by_case = cases(manifest)
    if name not in by_case:
        raise StpError(
            f"nothing of the dimension {manifest.dimension} was tested on {name!r}",
            remedy=suggest_name(name, by_case),
        )
    cells = by_case[name]
    columns = (columns_of(manifest, table, cells[0]).values() for table in manifest.tables)
    variables = [column.variable for of_table in columns for column in of_table if column.variable]
    return TestedCase(name, cells, manifest.names, variables)
