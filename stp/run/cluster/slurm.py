"""What a job asks Slurm: who am I, what became of another job, start me again."""

import os
import re
import shutil
import subprocess
import time
from datetime import datetime

SECONDS = 30


def job_id() -> str | None:
    """The Slurm job that this process belongs to."""
    return os.environ.get("SLURM_JOB_ID")


def _ask(*command: str) -> str | None:
    """Run a command of Slurm; None if there is none, or it does not answer."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


def describe(job: str) -> dict[str, str]:
    """What the controller knows about a job, by its names: JobState, PreemptTime, ...

    Returns:
        nothing where the job is forgotten or the controller does not answer.
    """
    text = _ask("scontrol", "show", "job", "--oneliner", job) or ""
    return dict(re.findall(r"(?:^|\s)(\w[\w:/]*)=(\S*)", text))


def state(job: str) -> str | None:
    """How a job stands or ended, such as RUNNING or OUT_OF_MEMORY; None if nobody knows.

    The controller forgets finished jobs after a while (MinJobAge); then the accounting database
    is asked, where there is one.
    """
    found = describe(job).get("JobState")
    if found is None:
        lines = (_ask("sacct", "-X", "-n", "-P", "-o", "State", "-j", job) or "").split()
        found = lines[-1] if lines else None
    return found


def is_preempted(job: str) -> bool:
    """Was a job told to make room for another one?"""
    return describe(job).get("PreemptTime", "None") not in ("None", "")


def seconds_left(job: str) -> float | None:
    """Seconds until the time limit of a running job; None if it has none, or nobody knows."""
    try:
        return datetime.fromisoformat(describe(job).get("EndTime", "")).timestamp() - time.time()
    except ValueError:  # Unknown
        return None


def requeue(job: str) -> bool:
    """Ask Slurm to end a job and start it again later.

    Returns:
        whether Slurm agreed.
    """
    return _ask("scontrol", "requeue", job) is not None


def version() -> str | None:
    """The version of the controller; None if it does not answer."""
    text = _ask("scontrol", "show", "config") or ""
    found = re.search(r"SLURM_VERSION\s*=\s*(\S+)", text)
    return f"Slurm {found[1]}" if found else None


def has_accounting() -> bool:
    """Does this cluster remember finished jobs in a database?"""
    text = _ask("scontrol", "show", "config") or ""
    found = re.search(r"AccountingStorageType\s*=\s*(\S+)", text)
    return found is not None and not found[1].endswith(("none", "(null)"))


def memory_limit_mb() -> int | None:
    """Memory that this job may use on a node, in MB; None outside Slurm."""
    job = job_id()
    if job is None:
        return None
    if os.environ.get("SLURM_MEM_PER_NODE", "").isdigit():
        return int(os.environ["SLURM_MEM_PER_NODE"])
    found = re.match(r"(\d+)([MG]?)$", describe(job).get("MinMemoryNode", ""))
    if found is None:
        return None
    return int(found[1]) * (1024 if found[2] == "G" else 1) or None  # 0: no limit
