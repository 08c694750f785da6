"""The job that every stage gets as its argument: plain data, folders, callbacks.

The core of a stage is a function, ``run(job)``, that makes one artefact (an immutable folder).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Report = Callable[[str, int, int], None]
"""Callback for progress, ``report(what, done, total)``; the progress is printed with an ETA."""


class Interrupted(Exception):  # noqa: N818 (nothing went wrong)
    """The job stopped on request, after it saved its state; it can be resumed."""


def report_nothing(what: str, done: int, total: int) -> None:
    """Progress callback that reports nothing; the default outside of the command line."""


def never_interrupted() -> bool:
    """Stop callback that never asks to stop; the default outside of the command line."""
    return False


Recipe = Mapping[str, Any]
"""All that may influence a result, as JSON values; stages, readers and models build their frozen
options from it."""
Extras = Mapping[str, object]
"""Results that a core reports for the receipt of its artefact, as JSON values; the keys depend on
the core."""


@dataclass(frozen=True)
class Job:
    """One run of one stage (such as ``train``), which makes one artefact (an immutable folder).

    Attributes:
        recipe: all settings that may influence the result; JSON values only.
        inputs: folders of the input artefacts, or paths of lock files, by name.
        out: existing, empty folder; files that are written there become the artefact.
        state: folder for the state from which the work can be resumed; it survives a crash and is
            no part of the artefact.
        runtime: settings without influence on the result (device, workers, raw folders).
        report: progress callback.
        interrupted: callback that returns whether to stop soon; resumable work then saves its state
            and raises `Interrupted`.
    """

    recipe: Recipe
    inputs: dict[str, Path]
    out: Path
    state: Path
    runtime: Mapping[str, Any] = field(default_factory=dict)
    report: Report = report_nothing
    interrupted: Callable[[], bool] = never_interrupted
