"""What the core of every stage is handed: plain data, folders and a way to report."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Report = Callable[[str, int, int], None]
"""Called as ``report(what, done, total)``; turns into progress lines with an ETA."""


class Interrupted(Exception):  # noqa: N818 (nothing went wrong)
    """The work was asked to stop, has saved its state, and can go on from there."""


def silent(what: str, done: int, total: int) -> None:
    """Report nothing: the default outside the command line."""


def never() -> bool:
    """Is not asked to stop: the default outside the command line."""
    return False


Recipe = Mapping[str, Any]
"""Everything that may influence a result, as JSON values. The keys are those of a stage, a reader
or a model, which build their frozen options from it."""
Extras = Mapping[str, object]
"""What a core reports for the receipt of its artefact, as JSON values; each has keys of its own."""


@dataclass(frozen=True)
class Job:
    """One piece of work of one stage.

    Attributes:
        recipe: everything that may influence the result; JSON values only.
        inputs: the folders (or lock files) of the artefacts this one is made from, by name.
        out: an existing, empty folder; what is written here becomes the artefact.
        state: a folder that survives a crash, for resumable state; never an output.
        runtime: settings without influence on the result (device, workers, raw folders).
        report: progress callback.
        interrupted: says whether to stop soon; work that can go on later then saves its state
            and raises `Interrupted`.
    """

    recipe: Recipe
    inputs: dict[str, Path]
    out: Path
    state: Path
    runtime: Mapping[str, Any] = field(default_factory=dict)
    report: Report = silent
    interrupted: Callable[[], bool] = never
