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
        shared: by pair of splits.
        unnamed: splits that cannot be compared, since their clips have no known names.
        reason: why no splits can be compared; empty if some can.
    """

    shared: list[Shared]
    unnamed: list[str]
    reason: str


class DatasetDescriber(Protocol):
    """A module that describes datasets of one task."""

    def describe(self, plan: Plan, name: str, leakage: bool) -> tuple[list[Row], Leakage | None]:
        """Count a dataset, and compare its splits if ``leakage``.

        Raises:
            StpError: prepared data are damaged.
        """

    def facts(self, plan: Plan, name: str) -> dict[str, Any] | None:
        """Counts by the reader of a prepared dataset; None without any."""

    def lines(self, plan: Plan, name: str, leakage: Leakage, width: int) -> Iterator[str]:
        """Lines about one dataset, such as clips that its splits share."""

    def size_text(self, dataset: Dataset) -> str:
        """Size of a sample at each time: ``1 x 64 x 64``."""

    def protocol_text(self, dataset: Dataset) -> str:
        """What context and horizon count: ``frames of 1 x 64 x 64 (channels, height, width)``."""

    def section(self, dataset: Dataset) -> Iterator[str]:
        """Section of a dataset in Markdown: counts, subsets and protocols."""


def describer_of(task: Task) -> DatasetDescriber:
    """The module that describes datasets of a task."""
    return cast(DatasetDescriber, import_module(task.inspect))


def markdown_row(cells: Iterable[str]) -> str:
    """A row of a table in Markdown."""
    escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(escaped)} |"
