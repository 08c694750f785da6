"""The arguments of the core of every stage: plain data, folders and callbacks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Report = Callable[[str, int, int], None]
"""Callback for progress, ``report(what, done, total)``; the progress is printed with an ETA."""


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
"""Results that a core reports for the receipt of its artefact, as JSON values; the keys depend on
the core."""


@dataclass(frozen=True)
class Job:
    """One piece of work of one stage.

    Attributes:
        recipe: all that may influence the result; JSON values only.
        inputs: folders of the artefacts (or lock files) that this one is made from, by name.
        out: an existing, empty folder, the content of which becomes the artefact.
        state: a folder for the state from which the work can be resumed; it survives a crash, and
            does not become part of the artefact.
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
