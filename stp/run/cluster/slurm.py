"""Query Slurm about this job, other jobs, and the cluster."""

import os
import re
import shutil
import subprocess
import time
from datetime import datetime

SECONDS = 30


def job_id() -> str | None:
    """ID of the Slurm job to which this process belongs; None outside of Slurm."""
    return os.environ.get("SLURM_JOB_ID")


def _run_slurm(*command: str) -> str | None:
    """Run a command of Slurm and return its output; None if it is missing or fails."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None


def describe(job: str) -> dict[str, str]:
    """Ask the controller for the fields of a job: JobState, PreemptTime, ...

    Returns:
        values by field; empty if the controller does not know the job or does not answer.
    """
    text = _run_slurm("scontrol", "show", "job", "--oneliner", job) or ""
    return dict(re.findall(r"(?:^|\s)(\w[\w:/]*)=(\S*)", text))


def state(job: str) -> str | None:
    """Ask for the state of a job, such as RUNNING or OUT_OF_MEMORY; None if unknown.

    The controller forgets finished jobs after some time (MinJobAge); the accounting database, if
    there is one, is then asked instead.
    """
    job_state = describe(job).get("JobState")
    if job_state is None:
        lines = (_run_slurm("sacct", "-X", "-n", "-P", "-o", "State", "-j", job) or "").split()
        job_state = lines[-1] if lines else None
    return job_state


def is_preempted(job: str) -> bool:
    """Whether Slurm is preempting a job."""
    return describe(job).get("PreemptTime", "None") not in ("None", "")


def seconds_left(job: str) -> float | None:
    """Seconds until the time limit of a running job; None without a limit, or if unknown."""
    try:
        return datetime.fromisoformat(describe(job).get("EndTime", "")).timestamp() - time.time()
    except ValueError:  # Unknown
        return None


def requeue(job: str) -> bool:
    """Ask Slurm to end a job and start it again later.

    Returns:
        whether Slurm agreed.
    """
    return _run_slurm("scontrol", "requeue", job) is not None


def version() -> str | None:
    """The version of the controller; None if it does not answer."""
    text = _run_slurm("scontrol", "show", "config") or ""
    match = re.search(r"SLURM_VERSION\s*=\s*(\S+)", text)
    return f"Slurm {match[1]}" if match else None


def has_accounting() -> bool:
    """Whether this cluster keeps finished jobs in a database."""
    text = _run_slurm("scontrol", "show", "config") or ""
    match = re.search(r"AccountingStorageType\s*=\s*(\S+)", text)
    return match is not None and not match[1].endswith(("none", "(null)"))


def memory_limit_mb() -> int | None:
    """Memory limit of this job on a node, in MB; None outside of Slurm."""
    job = job_id()
    if job is None:
        return None
    if os.environ.get("SLURM_MEM_PER_NODE", "").isdigit():
        return int(os.environ["SLURM_MEM_PER_NODE"])
    match = re.match(r"(\d+)([MG]?)$", describe(job).get("MinMemoryNode", ""))
    if match is None:
        return None
    return int(match[1]) * (1024 if match[2] == "G" else 1) or None  # 0: no limit
