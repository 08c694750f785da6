"""Interface of the modules that count and describe datasets, one for each task.

A task says what a sample is: a clip of frames, tracks of people, or opinions of videos. Its field
`inspect` (`stp.tasks.task.Task`) names the module that describes its datasets.
"""

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, NamedTuple, Protocol, cast

from stp.inspect.counts import Row
from stp.inspect.leakage import Shared
from stp.plan.cells import Plan
from stp.plan.dataset import Dataset
from stp.tasks.task import Task


class Leakage(NamedTuple):
    """Facts about clips that splits of a dataset share, such as training and test.

    Attributes:
        shared: shared clips of each compared pair of splits.
        unnamed: splits that cannot be compared, since their clips have no known names.
        reason: reason why no splits can be compared; empty if some can.
    """

    shared: list[Shared]
    unnamed: list[str]
    reason: str


class DatasetDescriber(Protocol):
    """A module that describes datasets of one task, such as `stp.inspect.clips` for frames."""

    def describe(self, plan: Plan, name: str, leakage: bool) -> tuple[list[Row], Leakage | None]:
        """Count the samples of a dataset, and find samples that its splits share.

        Returns:
            a row of numbers for each split; and the shared samples, None unless ``leakage`` is set.

        Raises:
            StpError: prepared data are damaged.
        """

    def facts(self, plan: Plan, name: str) -> dict[str, Any] | None:
        """What the reader counted besides samples when it prepared a dataset; None if nothing.

        Returns:
            counts by name, such as the number of people or of raters.
        """

    def lines(self, plan: Plan, name: str, leakage: Leakage, width: int) -> Iterator[str]:
        """Lines of text about one dataset, such as a table of clips that its splits share.

        Args:
            plan: plan with the dataset.
            name: name of the dataset.
            leakage: what the splits share, from `describe`.
            width: maximum length of a line, characters.
        """

    def size_text(self, dataset: Dataset) -> str:
        """Text with the size of a sample at each time: ``1 x 64 x 64``."""

    def protocol_text(self, dataset: Dataset) -> str:
        """Name the unit of a sample's length, as text, such as ``frames of 1 x 64 x 64``."""

    def section(self, dataset: Dataset) -> Iterator[str]:
        """Lines of the Markdown section about a dataset: counts, subsets and protocols."""


def describer_of(task: Task) -> DatasetDescriber:
    """The module that describes datasets of a task."""
    return cast(DatasetDescriber, import_module(task.inspect))


def markdown_row(cells: Iterable[str]) -> str:
    """Format cells as a row of a Markdown table."""
    escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(escaped)} |"
