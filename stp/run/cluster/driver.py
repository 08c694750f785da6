"""Record the driver of a checkout (the Snakemake process of its last run), and check if it lives.

Snakemake's lock on a working directory has no owner, so a run records its driver when it starts. On
Linux, /proc shows whether that process, and not another one with its ID, still exists.
"""

import json
import os
import socket
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from stp.core.disk import write_text
from stp.run.cluster import slurm
from stp.run.results import RESULTS

FILE = ".driver.json"
NO_DRIVER = {"--mode", "-n", "--dry-run", "--dryrun", "--unlock"}
"""Options of Snakemake processes without a lock: processes of jobs, and dry runs."""
OF_ONE_RUN = "STP_JOB_SERVER"
"""Environment variable with the address of the job server, which ends with the run."""

_PROC = Path("/proc")
_ALIVE = ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "REQUEUED", "RESIZING")


@dataclass(frozen=True)
class Driver:
    """The Snakemake process of a run.

    Attributes:
        host: name of the machine.
        boot: boot ID of the machine, which changes when it restarts.
        pid: ID of the process.
        ticks: start time of the process, in clock ticks since the boot.
        slurm_job: ID of the Slurm job in which the process runs; None outside of Slurm.
        time: Unix time of the record.
        arguments: arguments of snakemake.
        environment: values of the environment variables STP_... of the process, by name.
        configfile: path of the file with the effective configuration of the run.
        succeeded: whether the run has finished all targets.
    """

    host: str
    boot: str
    pid: int
    ticks: int
    slurm_job: str | None
    time: float
    arguments: list[str]
    environment: dict[str, str]
    configfile: str
    succeeded: bool = False

    def __str__(self) -> str:
        job = f" in Slurm job {self.slurm_job}" if self.slurm_job else ""
        began = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.time))
        return f"snakemake, process {self.pid} on {self.host}{job}, started {began}"

    def is_ending(self) -> bool:
        """Whether the run is about to end, since its driver started this process.

        The driver (the Snakemake process of a run) starts ``stp status`` when the run ends. So if
        the driver is an ancestor of the process that shows the status, it is about to end.
        """
        pid = os.getppid()
        while pid > 1 and pid != self.pid:
            pid = _parent(pid)
        return pid == self.pid and self.host == socket.gethostname() and self.is_alive() is True

    def is_alive(self) -> bool | None:
        """Whether the driver is still running; None if that is unknown on this machine."""
        if self.host == socket.gethostname():
            return self.boot == _boot() and self.ticks == _ticks(self.pid)
        job_state = slurm.state(self.slurm_job) if self.slurm_job else None
        return None if job_state is None else job_state in _ALIVE


def write_driver(configfile: Path, results: Path = RESULTS) -> Driver | None:
    """Record the Snakemake process that started this process.

    Args:
        configfile: path of the file with the effective configuration of the run.
        results: folder of all results, where the record is written.

    Returns:
        the record; None if no Snakemake started this process.
    """
    pid = os.getppid()
    while pid > 1:
        arguments = _snakemake_arguments(pid)
        if arguments is not None:
            break
        pid = _parent(pid)
    else:
        return None
    driver = Driver(
        host=socket.gethostname(),
        boot=_boot(),
        pid=pid,
        ticks=_ticks(pid),
        slurm_job=slurm.job_id(),
        time=time.time(),
        arguments=arguments,
        environment={
            name: value
            for name, value in os.environ.items()
            if name.startswith("STP_") and name != OF_ONE_RUN
        },
        configfile=str(configfile),
    )
    write_text(results / FILE, json.dumps(asdict(driver), indent=1))
    return driver


def record_success(results: Path = RESULTS) -> None:
    """Record that the last run has finished all targets."""
    driver = read_driver(results)
    if driver is not None:
        write_text(results / FILE, json.dumps(asdict(replace(driver, succeeded=True)), indent=1))


def read_driver(results: Path = RESULTS) -> Driver | None:
    """Read the driver of the last run; None without a record."""
    try:
        return Driver(**json.loads((results / FILE).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def running_drivers(folder: Path) -> list[int]:
    """List the IDs of all drivers (Snakemake processes) of a folder that run on this machine.

    Args:
        folder: the working directory of the runs.
    """
    pids = []
    for entry in _PROC.glob("[0-9]*"):
        try:
            is_here = (entry / "cwd").samefile(folder)
        except OSError:  # the process has ended, or belongs to another user
            continue
        if is_here and not NO_DRIVER & set(_snakemake_arguments(int(entry.name)) or NO_DRIVER):
            pids.append(int(entry.name))
    return sorted(pids)


def _snakemake_arguments(pid: int) -> list[str] | None:
    """The arguments of a Snakemake process; None for other processes."""
    try:
        words = (_PROC / str(pid) / "cmdline").read_text(errors="replace").split("\0")[:-1]
    except OSError:
        return None
    # python .../bin/snakemake ..., python -m snakemake ...
    for i, word in enumerate(words[:4]):
        if Path(word).name == "snakemake" and (i < 2 or words[i - 1] == "-m"):
            return words[i + 1 :]
    return None


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the third on (proc(5)); empty if the process has ended."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _parent(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def _ticks(pid: int) -> int:
    """Start time of a process, in clock ticks since the boot; -1 if it has ended."""
    fields = _stat(pid)
    return int(fields[19]) if fields and fields[0] != "Z" else -1


def _boot() -> str:
    try:
        return (_PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
    except OSError:
        return ""
