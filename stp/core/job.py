"""The arguments of the core of every stage: plain data, folders and callbacks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Report = Callable[[str, int, int], None]
"""Called as ``report(what, done, total)``; printed as progress with an ETA."""


class Interrupted(Exception):  # noqa: N818 (nothing went wrong)
    """The job was asked to stop, and has saved its state; it can be resumed."""


def silent(what: str, done: int, total: int) -> None:
    """Report nothing; the default outside the command line."""


def never() -> bool:
    """Never ask to stop; the default outside the command line."""
    return False


Recipe = Mapping[str, Any]
"""All that may influence a result, as JSON values; stages, readers and models build their frozen
options from it."""
Extras = Mapping[str, object]
"""Results for the receipt of an artefact, as JSON values; each core has keys of its own."""


@dataclass(frozen=True)
class Job:
    """One piece of work of one stage.

    Attributes:
        recipe: all that may influence the result; JSON values only.
        inputs: folders (or lock files) of the artefacts that this one is made from, by name.
        out: an existing, empty folder; its content becomes the artefact.
        state: a folder that survives a crash, for resumable state; never an output.
        runtime: settings without influence on the result (device, workers, raw folders).
        report: progress callback.
        interrupted: returns whether to stop soon; resumable work then saves its state and raises
            `Interrupted`.
    """

    recipe: Recipe
    inputs: dict[str, Path]
    out: Path
    state: Path
    runtime: Mapping[str, Any] = field(default_factory=dict)
    report: Report = silent
    interrupted: Callable[[], bool] = never
