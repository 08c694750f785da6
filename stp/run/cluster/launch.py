"""Launch a training run in several processes, with srun in a Slurm job, else as child processes.

The launching process holds the lease, reports and publishes. It starts the processes of the
training (``python -m`` this module). These run the core, which is the function that trains, and
connect through a TCP store on the launching process.
"""

import contextlib
import ctypes
import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stp.core.disk import write_text
from stp.core.errors import StpError
from stp.core.job import Interrupted, Job
from stp.run.cluster import slurm
from stp.run.cluster.signals import handle_signals
from stp.run.read_audit import ReadAudit

SAVED = 75
"""Exit status of work that was interrupted and has saved its state (EX_TEMPFAIL)."""
POLL_SECONDS = 0.2

Json = dict[str, Any]


def run_ranks(core: str, job: Job, ranks: int, audit: ReadAudit) -> Json:
    """Run a core (the function that makes an artefact) in several processes.

    Args:
        core: full name of a module with ``run(job)``, which connects to the other processes with
            ``job.runtime["ranks"]``.
        job: the job; its state folder must be visible on all nodes of the Slurm job.
        ranks: number of processes; in a Slurm job, they are spread over the nodes.
        audit: audit of the files that the core reads.

    Returns:
        the return value of the core in the process with rank 0.

    Raises:
        StpError: the core raised this error, or a process died.
        Interrupted: the job was interrupted, and has saved its state.
    """
    from torch.distributed import TCPStore

    folder = job.state / "ranks"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    host = socket.gethostname()
    # Port 0: the system chooses a free one, and nobody can take it meanwhile.
    server = TCPStore(host, 0, is_master=True, wait_for_workers=False)
    work = {
        "core": core,
        "size": ranks,
        "host": host,
        "port": server.port,
        "recipe": job.recipe,
        "inputs": {name: str(path) for name, path in job.inputs.items()},
        "out": str(job.out),
        "state": str(job.state),
        "runtime": job.runtime,
        "audit": audit.as_json(),
    }
    write_text(folder / "work.json", json.dumps(work))
    with _start_processes(folder, ranks) as processes:
        while any(process.poll() is None for process in processes):
            time.sleep(POLL_SECONDS)
            _forward_report(folder / "report.json", job)
            if job.interrupted():
                (folder / "stop").touch()
            if any(process.poll() not in (None, 0, SAVED) for process in processes):
                break  # the others would wait for it
    with contextlib.suppress(FileNotFoundError):
        error = json.loads((folder / "error.json").read_text())
        raise StpError(error["what"], expected=error["expected"], remedy=error["remedy"])
    with contextlib.suppress(FileNotFoundError):
        raise Interrupted((folder / "interrupted.txt").read_text())
    with contextlib.suppress(FileNotFoundError):
        extras: Json = json.loads((folder / "extras.json").read_text())
        return extras
    codes = [process.returncode for process in processes]
    raise StpError(
        f"one of {ranks} processes died without a word (exit status {codes})",
        remedy="see the log; the usual cause is too little memory",
    )


@contextlib.contextmanager
def _start_processes(folder: Path, ranks: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Context manager: start the processes, and end all of them finally."""
    command = [sys.executable, "-m", "stp.run.cluster.launch", str(folder / "work.json")]
    if slurm.job_id():
        nodes = int(slurm.describe(str(slurm.job_id())).get("NumNodes", "1").partition("-")[0])
        srun = [
            "srun", "--overlap", "--kill-on-bad-exit=1", f"--nodes={nodes}", f"--ntasks={ranks}",
            "--cpu-bind=none", "--mem=0",
        ]  # fmt: skip
        processes = [subprocess.Popen(srun + command, env=_environment())]
    else:
        processes = [
            subprocess.Popen(
                command, env={**_environment(), "SLURM_PROCID": str(i), "SLURM_LOCALID": str(i)}
            )
            for i in range(ranks)
        ]
    try:
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                process.terminate()
        for process in processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _environment() -> dict[str, str]:
    """Environment variables of a process, with which it finds this package from any folder."""
    package = str(Path(__file__).parents[3])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _forward_report(report: Path, job: Job) -> None:
    with contextlib.suppress(OSError, json.JSONDecodeError):
        job.report(*json.loads(report.read_text()))


def main(path: Path) -> int:
    """Run the core of a training run in this process, one of several.

    Args:
        path: path of the file that describes the job.

    Returns:
        the exit status: 0, 1 after an error, or `SAVED` if the core was interrupted and has saved
        its state.
    """
    folder = path.parent
    work = json.loads(path.read_text())
    rank = int(os.environ["SLURM_PROCID"])
    rank_settings = {
        "rank": rank,
        "size": work["size"],
        "local_rank": int(os.environ["SLURM_LOCALID"]),
        "host": work["host"],
        "port": work["port"],
    }
    reports = _Reports(folder / "report.json") if rank == 0 else None
    _end_with_parent()
    with handle_signals(resumable=True) as stop:
        job = Job(
            recipe=work["recipe"],
            inputs={name: Path(value) for name, value in work["inputs"].items()},
            out=Path(work["out"]),
            state=Path(work["state"]),
            runtime={**work["runtime"], "ranks": rank_settings},
            report=reports or (lambda what, done, total: None),
            interrupted=lambda: stop() or (rank == 0 and (folder / "stop").exists()),
        )
        try:
            audit = ReadAudit(**work["audit"])
            extras = audit.watch(lambda: importlib.import_module(work["core"]).run(job))
        except Interrupted as saved:
            if rank == 0:
                write_text(folder / "interrupted.txt", str(saved))
            return SAVED
        except StpError as error:
            parts = {"what": error.what, "expected": error.expected, "remedy": error.remedy}
            write_text(folder / "error.json", json.dumps(parts))
            return 1
    if rank == 0:
        write_text(folder / "extras.json", json.dumps(extras))
    return 0


def _end_with_parent() -> None:
    """Let the kernel end this process when the launching process ends (Linux only)."""
    pr_set_pdeathsig = 1  # sys/prctl.h
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class _Reports:
    """Writes progress reports to a file, at most a few times per second."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written = 0.0
        self.lock = threading.Lock()

    def __call__(self, what: str, done: int, total: int) -> None:
        with self.lock:
            if time.monotonic() - self.written > 1:
                self.written = time.monotonic()
                write_text(self.path, json.dumps([what, done, total]))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
