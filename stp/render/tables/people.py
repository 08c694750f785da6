"""What tables of people say besides: how scenarios are cut, how many there are, what is printed."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from stp.collect.published import PublishedValue, beside
from stp.core.receipts import require_receipt
from stp.options.protocols import RELEASED
from stp.page.grid import Section
from stp.plan.manifest import Cell, Manifest
from stp.plan.setting import setting_of


class Counted(NamedTuple):
    """How much a row rests on.

    Attributes:
        scenarios: of the test, which overlap with each other.
        people: places in them: who is in two scenarios counts twice.
        episodes: of scenarios that overlap; only these are independent of each other.
    """

    scenarios: int
    people: int
    episodes: int


def counted(cell: Cell) -> Counted:
    """Read how many scenarios, people and episodes a cell was tested on.

    Raises:
        StpError: its predictions have no receipt.
    """
    extras = require_receipt(cell.demand_predictions()).extras
    return Counted(extras["scenarios"], extras["people"], extras["episodes"])


def lengths(manifest: Manifest, cell: Cell) -> str:
    """Say how many positions are observed and predicted: ``observe 6, predict 10 (4 s)``."""
    setting, tested = setting_of(cell.key.setting), cell.key.tested_on
    observe, predict = setting.get("observe", manifest.datasets[tested].context), setting["horizon"]
    return f"observe {observe}, predict {predict} ({predict * manifest.steps[tested]:.3g} s)"


def absent_methods(
    manifest: Manifest, cells: list[Cell], published: Sequence[PublishedValue]
) -> Iterable[tuple[str, str]]:
    """Methods that the paper tests as some cells are, and that no cell is of, with the reason.

    Args:
        manifest: says which (``absent``).
        cells: of one test.
        published: all printed values.
    """
    computed = {manifest.published_names.of_model(one.key) for one in cells}
    printed = {value.model for value in beside(manifest, cells[0], published)}
    for method, reason in manifest.absent.items():
        if method in printed - computed:
            yield method, reason


def sections(manifest: Manifest) -> list[Section]:
    """Where the paper and its released code differ; empty for suites that say nothing of it.

    Suites of people have a protocol for both, ``atlas-paper`` and ``strict``.
    """
    told = manifest.deviations
    if not told:
        return []
    columns = ["about", "paper", "released code", "here"]
    if any(manifest.kind_of(cell).counts_people for cell in manifest.cells):
        columns[2:] = [f"released code, and {RELEASED}", "strict"]
    return [
        Section(
            title="What the paper says, and what its code does",
            columns=columns,
            rows=[[one.about, one.paper, one.code, one.strict] for one in told],
            numeric=[False] * 4,
        )
    ]
