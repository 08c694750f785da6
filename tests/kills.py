"""A job that is killed (SIGKILL) again and again, before ever later changes of files, and ends."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stp.core.job import Job

CHANGES = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.move"}
"""Events of Python that say so, of files beside the state of the job."""


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of all files below a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def run_until_it_ends(
    make: Callable[[], Job], run: Callable[[Job], object]
) -> tuple[Path, list[Path]]:
    """Kill a job before its third change of files, go on until about twice as many, and so on.

    Args:
        make: the job: with an empty folder to write to, and the state that was left.
        run: the stage.

    Returns:
        what the last run wrote, and the folders of those that were killed.
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
    left = changes

    def count(event: str, given: tuple[Any, ...]) -> None:
        nonlocal left
        if event in CHANGES and str(job.state.parent) in str(given[0]):
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    run(job)
