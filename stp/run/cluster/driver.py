"""Which Snakemake drives this checkout, and whether it still lives.

Snakemake's lock on a working directory names no owner. So a run notes its driver when it starts;
on Linux, /proc tells whether that very process is still there.
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
"""Options of processes of Snakemake that hold no lock: parts of jobs, and those that only look."""
OF_ONE_RUN = "STP_JOB_SERVER"
"""Variable that names a server which ends with the run (job_client.ADDRESS)."""

_PROC = Path("/proc")
_ALIVE = ("PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "REQUEUED", "RESIZING")


@dataclass(frozen=True)
class Driver:
    """The Snakemake process of a run.

    Attributes:
        host: where it runs, ...
        boot: ... in which start of that machine, ...
        pid: ... as which process, ...
        ticks: ... begun when, in clock ticks since the machine started.
        slurm_job: that it runs in, if it does.
        time: when it was noted, as Unix time.
        arguments: of snakemake.
        environment: the variables STP_... that it was started with.
        configfile: the effective configuration of the run.
        succeeded: it has made all that it was asked for.
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
        """Did it start this process? It does so, once it has begun, only when it ends."""
        pid = os.getppid()
        while pid > 1 and pid != self.pid:
            pid = _parent(pid)
        return pid == self.pid and self.host == socket.gethostname() and self.is_alive() is True

    def is_alive(self) -> bool | None:
        """Does it still run? None if that cannot be seen from here."""
        if self.host == socket.gethostname():
            return self.boot == _boot() and self.ticks == _ticks(self.pid)
        said = slurm.state(self.slurm_job) if self.slurm_job else None
        return None if said is None else said in _ALIVE


def write_driver(configfile: Path, results: Path = RESULTS) -> Driver | None:
    """Note the Snakemake that this process was started by; None if there is none."""
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
    """Note that the run that was noted last has made all that it was asked for."""
    driver = read_driver(results)
    if driver is not None:
        write_text(results / FILE, json.dumps(asdict(replace(driver, succeeded=True)), indent=1))


def read_driver(results: Path = RESULTS) -> Driver | None:
    """The driver that was noted last; None if there never was one."""
    try:
        return Driver(**json.loads((results / FILE).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def running_drivers(folder: Path) -> list[int]:
    """List the processes of this machine that are drivers in a working directory."""
    found = []
    for entry in _PROC.glob("[0-9]*"):
        try:
            here = (entry / "cwd").samefile(folder)
        except OSError:  # gone, or somebody else's
            continue
        if here and not NO_DRIVER & set(_snakemake_arguments(int(entry.name)) or NO_DRIVER):
            found.append(int(entry.name))
    return sorted(found)


def _snakemake_arguments(pid: int) -> list[str] | None:
    """The arguments of a process if it is Snakemake."""
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
    """The fields of /proc/PID/stat from the third on (proc(5)); none if it is gone."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _parent(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[1]) if fields else 0


def _ticks(pid: int) -> int:
    """When a process began; -1 if it is gone or a zombie."""
    fields = _stat(pid)
    return int(fields[19]) if fields and fields[0] != "Z" else -1


def _boot() -> str:
    try:
        return (_PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
    except OSError:
        return ""
