"""Kill a job (SIGKILL) repeatedly, before ever later changes of files, until it ends."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stp.core.job import Job

CHANGES = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.move"}
"""Audit events of Python for changes of files."""


def contents(folder: Path) -> dict[str, bytes]:
    """The content of all files below a folder, by relative path."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def run_until_it_ends(
    make: Callable[[], Job], run: Callable[[Job], object]
) -> tuple[Path, list[Path]]:
    """Kill a job before its third change of files, resume it until about twice as many, and so on.

    Args:
        make: makes the job, with an empty output folder and the state of the killed one.
        run: the stage.

    Returns:
        the output folder of the last run, and those of the killed ones.
    """
    killed: list[Path] = []
    changes, context = 3, multiprocessing.get_context("fork")
    while True:
        job = make()
        process = context.Process(target=_run_until_killed, args=(run, job, changes))
        process.start()
        process.join()
        if process.exitcode == 0:
            return job.out, killed
        assert process.exitcode == -signal.SIGKILL
        killed.append(job.out)
        changes = 2 * changes + len(killed) % 3


def _run_until_killed(run: Callable[[Job], object], job: Job, changes: int) -> None:
    remaining = changes

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal remaining
        if event in CHANGES and str(job.state.parent) in str(arguments[0]):
            remaining -= 1
            if not remaining:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    run(job)
