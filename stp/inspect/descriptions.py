"""What the kinds of samples have in common when datasets are described: see `Task.inspect`."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, NamedTuple, Protocol, cast

from stp.inspect.counts import Row
from stp.inspect.leakage import Shared
from stp.plan.cells import Plan
from stp.plan.dataset import Dataset
from stp.tasks.task import Task


class Leakage(NamedTuple):
    """What the splits of a dataset share.

    Attributes:
        shared: pairs of splits.
        unnamed: splits that cannot be compared, since at most the number of their clips is known.
        reason: why nothing can be compared at all.
    """

    shared: list[Shared]
    unnamed: list[str]
    reason: str


class About(Protocol):
    """The functions of a module that describes datasets of one kind."""

    def describe(self, plan: Plan, name: str, leakage: bool) -> tuple[list[Row], Leakage | None]:
        """Count a dataset, and compare its splits if that is asked for.

        Raises:
            StpError: prepared data are damaged.
        """

    def facts(self, plan: Plan, name: str) -> dict[str, Any] | None:
        """What readers counted while they prepared a dataset; None if there is nothing."""

    def lines(self, plan: Plan, name: str, found: Leakage, width: int) -> Iterator[str]:
        """Write more about one dataset, what its splits share among it."""

    def size_text(self, dataset: Dataset) -> str:
        """What a sample has at each time: ``1 x 64 x 64``."""

    def protocol_text(self, dataset: Dataset) -> str:
        """What context and horizon count: ``frames of 1 x 64 x 64 (channels, height, width)``."""

    def section(self, dataset: Dataset) -> Iterator[str]:
        """The parts of a dataset, in Markdown: counts, and what else can be tested."""


def of_kind(kind: Task) -> About:
    """The module that describes datasets of a kind."""
    return cast(About, import_module(kind.inspect))


def markdown_row(cells: Iterable[str]) -> str:
    """A row of a table in Markdown."""
    shown = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(shown)} |"
