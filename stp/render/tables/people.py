"""Make additions to tables about people, such as numbers of scenarios.

They are lengths and numbers of scenarios, methods without values, and differences between the paper
and its code.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from stp.collect.published import PublishedValue, select_published
from stp.core.receipts import require_receipt
from stp.options.protocols import RELEASED
from stp.page.grid import Section
from stp.plan.manifest import Cell, Manifest
from stp.plan.setting import setting_of


class Counted(NamedTuple):
    """Numbers of scenarios, people and episodes behind a row of a table.

    Attributes:
        scenarios: number of scenarios of the test, which may overlap in time.
        people: number of people in the scenarios; a person in two scenarios counts twice.
        episodes: number of episodes. An episode is a group of scenarios that overlap in time;
            different episodes are independent of each other.
    """

    scenarios: int
    people: int
    episodes: int


def read_counts(cell: Cell) -> Counted:
    """Read the numbers of scenarios, people and episodes on which a predictor was tested.

    An episode is a group of scenarios that overlap in time.

    Args:
        cell: results of the predictor in the test.

    Raises:
        StpError: the predictions have no receipt.
    """
    extras = require_receipt(cell.demand_predictions()).extras
    return Counted(extras["scenarios"], extras["people"], extras["episodes"])


def lengths(manifest: Manifest, cell: Cell) -> str:
    """Describe the numbers of observed and predicted positions: ``observe 6, predict 10 (4 s)``.

    Args:
        manifest: manifest of the dimension, which has the time between positions.
        cell: results of a predictor in a test.
    """
    setting, tested = setting_of(cell.key.setting), cell.key.tested_on
    observe, predict = setting.get("observe", manifest.datasets[tested].context), setting["horizon"]
    return f"observe {observe}, predict {predict} ({predict * manifest.steps[tested]:.3g} s)"


def absent_methods(
    manifest: Manifest, cells: list[Cell], published: Sequence[PublishedValue]
) -> Iterable[tuple[str, str]]:
    """List the methods that have values in the paper but none here, each with the reason.

    Args:
        manifest: manifest of the dimension, which states reasons in ``absent``.
        cells: results of all models in one test.
        published: published values of the dimension.

    Returns:
        pairs of the paper's name of a method and the reason.
    """
    computed = {manifest.published_names.of_model(cell.key) for cell in cells}
    printed = {value.model for value in select_published(manifest, cells[0], published)}
    for method, reason in manifest.absent.items():
        if method in printed - computed:
            yield method, reason


def sections(manifest: Manifest) -> list[Section]:
    """Make a section on differences between a paper and the code of its authors.

    The section has a row for each difference. The columns are the subject, what the paper says,
    what the authors' code does, and what stp does.

    For suites about people, stp has two protocols: ``atlas-paper`` does what the authors' code
    does, and ``strict`` is stp's own. There, the heading of the third column names the code and
    ``atlas-paper``, and that of the fourth column ``strict``.

    Args:
        manifest: manifest of the dimension, with the differences in ``deviations``.

    Returns:
        a list with the one section; empty if the manifest has no differences.
    """
    deviations = manifest.deviations
    if not deviations:
        return []
    columns = ["about", "paper", "released code", "here"]
    if any(manifest.kind_of(cell).counts_people for cell in manifest.cells):
        columns[2:] = [f"released code, and {RELEASED}", "strict"]
    return [
        Section(
            title="Differences between the paper and its code",
            columns=columns,
            rows=[
                [deviation.about, deviation.paper, deviation.code, deviation.strict]
                for deviation in deviations
            ],
            numeric=[False] * 4,
        )
    ]
