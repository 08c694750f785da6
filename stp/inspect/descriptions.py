"""Interface of the modules that describe datasets of a task: see `Task.inspect`."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, NamedTuple, Protocol, cast

from stp.inspect.counts import Row
from stp.inspect.leakage import Shared
from stp.plan.cells import Plan
from stp.plan.dataset import Dataset
from stp.tasks.task import Task


class Leakage(NamedTuple):
    """Clips that splits of a dataset share.

    Attributes:
        shared: shared clips of each compared pair of splits.
        unnamed: splits that cannot be compared, since their clips have no known names.
        reason: reason why no splits can be compared; empty if some can.
    """

    shared: list[Shared]
    unnamed: list[str]
    reason: str


class DatasetDescriber(Protocol):
    """A module that describes datasets of one task."""

    def describe(self, plan: Plan, name: str, leakage: bool) -> tuple[list[Row], Leakage | None]:
        """Count the samples of a dataset; if ``leakage``, also find samples that its splits share.

        Raises:
            StpError: prepared data are damaged.
        """

    def facts(self, plan: Plan, name: str) -> dict[str, Any] | None:
        """Counts by the reader of a dataset during its preparation; None if there are none."""

    def lines(self, plan: Plan, name: str, leakage: Leakage, width: int) -> Iterator[str]:
        """Lines about one dataset, such as clips that its splits share."""

    def size_text(self, dataset: Dataset) -> str:
        """Text with the size of a sample at each time: ``1 x 64 x 64``."""

    def protocol_text(self, dataset: Dataset) -> str:
        """Noun for the unit of context and horizon, such as ``frames of 1 x 64 x 64``."""

    def section(self, dataset: Dataset) -> Iterator[str]:
        """Lines of the Markdown section about a dataset: counts, subsets and protocols."""


def describer_of(task: Task) -> DatasetDescriber:
    """The module that describes datasets of a task."""
    return cast(DatasetDescriber, import_module(task.inspect))


def markdown_row(cells: Iterable[str]) -> str:
    """Format cells as a row of a Markdown table."""
    escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(escaped)} |"
