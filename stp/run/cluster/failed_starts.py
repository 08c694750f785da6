"""Record Slurm jobs that ended before their `stp` command began.

If the Snakemake process inside a job rejects its command line, a module or the environment is
missing, or the node fails, no `stp` command leaves a record, and the cell would look as if it had
never been tried. The driver, which is notified of every failed job, then writes the record, with
the path of the log.
"""

import contextlib
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from stp.core import store
from stp.core.errors import StpError
from stp.plan.artefacts import Artefact, Raw
from stp.plan.cells import Plan
from stp.run import failures
from stp.run.cluster import attempts, slurm

SNAKEMAKE_LOGS = Path(".snakemake/log")
ERROR_LINE = re.compile(
    r"\w*(Error|Exception)\b.*:|\berror: |not found|No such file|CANCELLED|DUE TO"
)
"""Pattern of a line that says why a job ended."""
LONGEST = 300
"""Maximum number of characters of the reason why a job ended."""


class SubmittedJob(NamedTuple):
    """One Snakemake job in a submission to Slurm.

    Attributes:
        output: path of the receipt or lock file that the job makes.
        log: path of the log of the job's `stp` command; None without a log.
    """

    output: str
    log: Path | None


class FailedSubmission(NamedTuple):
    """A failed submission to Slurm.

    Attributes:
        job: ID of the Slurm job; None if Slurm refused it.
        submitted: Unix time of the submission.
        log: path of Slurm's log; None without a log.
        message: Snakemake's message about the failure.
    """

    job: str | None
    submitted: float
    log: Path | None
    message: str


def watch(plan: Plan) -> None:
    """Let this process, the driver of a run, record jobs whose `stp` commands never began.

    Snakemake's Slurm plugin (2.8) has no hook for failed jobs, so two methods of its executor are
    wrapped.
    """
    import snakemake_executor_plugin_slurm as plugin

    executor: Any = plugin.Executor
    submit, fail = executor.report_job_submission, executor.report_job_error
    began, submitted = time.time(), dict[str, float]()

    def note_time(self: Any, job_info: Any, *args: Any, **more: Any) -> None:
        submitted[str(job_info.external_jobid)] = time.time()
        submit(self, job_info, *args, **more)

    def record_and_fail(self: Any, job_info: Any, msg: Any = None, **more: Any) -> None:
        slurm_job, logs = job_info.external_jobid, more.get("aux_logs") or [None]
        failed = FailedSubmission(
            job=None if slurm_job is None else str(slurm_job),
            submitted=submitted.get(str(slurm_job), began),
            log=Path(logs[0]) if logs[0] else None,
            message=str(msg or ""),
        )
        jobs = list(job_info.job) if job_info.job.is_group() else [job_info.job]
        members = [
            SubmittedJob(str(job.output[0]), _first_path(job.log)) for job in jobs if job.output
        ]
        # A problem with the record must not end the run.
        with contextlib.suppress(OSError, StpError):
            record(plan, members, failed)
        fail(self, job_info, msg, **more)

    executor.report_job_submission = note_time
    executor.report_job_error = record_and_fail


def _first_path(logs: Iterable[object]) -> Path | None:
    return next((Path(str(log)) for log in logs), None)


def record(plan: Plan, members: Iterable[SubmittedJob], ended: FailedSubmission) -> list[Artefact]:
    """Record the failure of a submission if none of its `stp` commands has recorded it.

    If a command began and failed, its own record explains the failure, and later jobs of the
    submission are tried again. If no command began, all jobs without an output have failed.

    Args:
        plan: the plan.
        members: the jobs of the submission.
        ended: the failed submission.

    Returns:
        the artefacts whose failure was recorded; empty if a command began.
    """
    unfinished: list[tuple[Artefact, str]] = []
    for member in members:
        artefacts_of_job = _missing_artefacts(plan, member)
        if any(_has_begun(plan, artefact, member, ended) for artefact, _ in artefacts_of_job):
            return []
        unfinished += artefacts_of_job
    for artefact, job_name in unfinished:
        state = plan.store / "state" / artefact.folder
        state.mkdir(parents=True, exist_ok=True)
        log = ended.log if ended.log and ended.log.is_file() else _last_log()
        error = f"{job_name} ended before its work began: {_failure_reason(ended)}"
        attempts.add_unbegun(state, ended.job, error)
        failures.record(state, artefact, StpError(error), log)
    return [artefact for artefact, _ in unfinished]


def _missing_artefacts(plan: Plan, member: SubmittedJob) -> list[tuple[Artefact, str]]:
    """Artefacts that a failed job did not make, each with a description of the job.

    If the job fetches raw files, these are the artefacts that need the files.
    """
    if Path(member.output).exists():
        return []
    if not member.output.endswith(".lock.json"):
        try:
            artefact = plan.find(member.output)
        except StpError:  # a job of a rule that makes no artefact
            return []
        is_complete = store.is_complete(plan.store / artefact.folder)
        return [] if is_complete else [(artefact, "its job")]
    return [
        (artefact, f"fetch of {raw.dataset}")
        for artefact in plan.artefacts.values()
        for raw in artefact.inputs.values()
        if isinstance(raw, Raw) and str(plan.store / raw.lock) == member.output
    ]


def _has_begun(
    plan: Plan, artefact: Artefact, member: SubmittedJob, ended: FailedSubmission
) -> bool:
    """Whether the `stp` command of a job, or one of another run, has begun and left a record."""
    state = plan.store / "state" / artefact.folder
    if store.is_held(state):
        return True
    attempts_of_job = [
        attempt for attempt in attempts.read(state) if ended.job == attempt.slurm_job
    ]
    if ended.job and attempts_of_job and attempts_of_job[-1].how != attempts.REQUEUED:
        return True
    failure = failures.read(state)
    if failure and (failure.time or 0) >= ended.submitted:
        return True
    if not member.output.endswith(".lock.json"):
        return False
    try:  # a verb that fetches leaves nothing but its log
        return member.log is not None and member.log.stat().st_mtime >= ended.submitted
    except OSError:
        return False


def _failure_reason(ended: FailedSubmission) -> str:
    """The reason that a job failed, in one line: the first error in its log, else its state."""
    lines: list[str] = []
    if ended.log is not None:
        with contextlib.suppress(OSError):
            lines = ended.log.read_text(errors="replace").splitlines()
    if ended.job is None:
        return (ended.message.splitlines() or ["it was not submitted"])[0][:LONGEST]
    error = next((line for line in lines if ERROR_LINE.search(line)), "").strip()
    state = slurm.state(ended.job)
    parts = [f"Slurm says {state}" if state else "", error]
    return "; ".join(filter(None, parts))[:LONGEST] or "it left no message"


def _last_log() -> Path | None:
    logs = list(SNAKEMAKE_LOGS.glob("*.snakemake.log"))
    return max(logs, key=lambda path: path.stat().st_mtime).absolute() if logs else None
