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
    """What splits of a dataset share, such as clips of one video in training and test.

    Attributes:
        shared: numbers of shared clips, for each compared pair of splits; empty for datasets
            without clips (tracks, opinions).
        unnamed: names of splits that cannot be compared, since their clips have no known names.
        reason: text in place of a comparison of splits: why there is none or, for tracks, how many
            people are in both calibration and test. Empty if splits are compared.
    """

    shared: list[Shared]
    unnamed: list[str]
    reason: str


class DatasetDescriber(Protocol):
    """A module that describes datasets of one task, such as `stp.inspect.clips` for frames."""

    def describe(self, plan: Plan, name: str, leakage: bool) -> tuple[list[Row], Leakage | None]:
        """Count the samples of a dataset, and find out what its splits share.

        Args:
            plan: plan with the dataset.
            name: name of the dataset.
            leakage: whether to find out what splits share.

        Returns:
            rows of numbers, one for each split or protocol; and what splits share, None unless
            ``leakage`` is set.

        Raises:
            StpError: prepared data are damaged.
        """

    def facts(self, plan: Plan, name: str) -> dict[str, Any] | None:
        """Look up what the reader counted besides clips when it prepared a dataset.

        Returns:
            counts by name, such as the number of people or of raters; None if the dataset is not
            prepared, or if its reader counts nothing else.
        """

    def lines(self, plan: Plan, name: str, leakage: Leakage, width: int) -> Iterator[str]:
        """Yield lines of text about a dataset, such as a table of shared clips.

        Args:
            plan: plan with the dataset.
            name: name of the dataset.
            leakage: what the splits share, from `describe`.
            width: maximum length of a line, characters.
        """

    def size_text(self, dataset: Dataset) -> str:
        """Write the size of a sample at one time as text, e.g. "1 x 64 x 64"."""

    def protocol_summary(self, dataset: Dataset) -> str:
        """Write the unit of context and horizon as text, e.g. "positions of each person".

        The page of datasets shows it after the lengths of context and horizon: "Protocol: 6 -> 10
        positions of each person".
        """

    def section(self, dataset: Dataset) -> Iterator[str]:
        """Yield lines of Markdown about the counts, subsets and protocols of a dataset."""


def describer_of(task: Task) -> DatasetDescriber:
    """Import the module that describes datasets of a task."""
    return cast(DatasetDescriber, import_module(task.inspect))


def markdown_row(cells: Iterable[str]) -> str:
    """Format cells as a row of a Markdown table."""
    escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(escaped)} |"
