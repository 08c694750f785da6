"""Jobs of Slurm that ended before their verb began: the driver records what they could not.

Snakemake of the job did not understand its command line, a module was missing, there was no
environment, the node went away: then no verb has left a record, and the cell would look as if
nobody had tried it. So the driver, which hears of each job that failed, leaves the record, with the
path of the log that tells why.
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
TELLING = re.compile(r"\w*(Error|Exception)\b.*:|\berror: |not found|No such file|CANCELLED|DUE TO")
"""Of a line that says why a job ended."""
LONGEST = 300
"""Characters of such a line."""


class Member(NamedTuple):
    """A job of Snakemake: one of those that a submission consists of.

    Attributes:
        output: the receipt or lock file that it makes.
        log: that its verb writes.
    """

    output: str
    log: Path | None


class Ended(NamedTuple):
    """A submission that failed.

    Attributes:
        job: of Slurm; None if it was refused.
        submitted: when, as Unix time.
        log: of Slurm, if there is one.
        told: what Snakemake says of its end.
    """

    job: str | None
    submitted: float
    log: Path | None
    told: str


def watch(plan: Plan) -> None:
    """Let this process, the driver, record jobs whose verbs never began."""
    import snakemake_executor_plugin_slurm as plugin

    executor: Any = plugin.Executor
    submit, fail = executor.report_job_submission, executor.report_job_error
    began, submitted = time.time(), dict[str, float]()

    def note_time(self: Any, job_info: Any, *args: Any, **more: Any) -> None:
        submitted[str(job_info.external_jobid)] = time.time()
        submit(self, job_info, *args, **more)

    def record_and_fail(self: Any, job_info: Any, msg: Any = None, **more: Any) -> None:
        job, logs = job_info.external_jobid, more.get("aux_logs") or [None]
        ended = Ended(
            job=None if job is None else str(job),
            submitted=submitted.get(str(job), began),
            log=Path(logs[0]) if logs[0] else None,
            told=str(msg or ""),
        )
        jobs = list(job_info.job) if job_info.job.is_group() else [job_info.job]
        members = [Member(str(one.output[0]), _first(one.log)) for one in jobs if one.output]
        # Whatever goes wrong with the record, the run goes on.
        with contextlib.suppress(OSError, StpError):
            record(plan, members, ended)
        fail(self, job_info, msg, **more)

    executor.report_job_submission = note_time
    executor.report_job_error = record_and_fail


def _first(logs: Iterable[object]) -> Path | None:
    return next((Path(str(log)) for log in logs), None)


def record(plan: Plan, members: Iterable[Member], ended: Ended) -> list[Artefact]:
    """Record the failure of a submission that no verb of its members has recorded.

    Where a verb did begin and was not successful, its own record tells why the submission failed,
    and members that never had their turn are tried again as if nothing had been. Where none did,
    every member that is not there has failed.

    Args:
        plan: the plan.
        members: of the submission.
        ended: how it ended.

    Returns:
        the artefacts that have failed.
    """
    unfinished: list[tuple[Artefact, str]] = []
    for member in members:
        made = _made_by(plan, member)
        if any(_has_begun(plan, artefact, member, ended) for artefact, _ in made):
            return []
        unfinished += made
    for artefact, what in unfinished:
        state = plan.store / "state" / artefact.folder
        state.mkdir(parents=True, exist_ok=True)
        log = ended.log if ended.log and ended.log.is_file() else _last_log()
        error = f"{what} ended before its work began: {_why(ended)}"
        attempts.add_unbegun(state, ended.job, error)
        failures.record(state, artefact, StpError(error), log)
    return [artefact for artefact, _ in unfinished]


def _made_by(plan: Plan, member: Member) -> list[tuple[Artefact, str]]:
    """The artefacts that a job should have made and has not, and what the job is called.

    Raw files are no artefacts: where they could not be fetched, data could not be prepared.
    """
    if Path(member.output).exists():
        return []
    if not member.output.endswith(".lock.json"):
        try:
            artefact = plan.find(member.output)
        except StpError:  # of a rule that makes no artefact
            return []
        is_there = store.is_complete(plan.store / artefact.folder)
        return [] if is_there else [(artefact, "its job")]
    return [
        (artefact, f"fetch of {raw.dataset}")
        for artefact in plan.artefacts.values()
        for raw in artefact.inputs.values()
        if isinstance(raw, Raw) and str(plan.store / raw.lock) == member.output
    ]


def _has_begun(plan: Plan, artefact: Artefact, member: Member, ended: Ended) -> bool:
    """Has the verb of a member begun, and said what became of it, or somebody else's?"""
    state = plan.store / "state" / artefact.folder
    if store.is_held(state):
        return True
    mine = [one for one in attempts.read(state) if one.slurm_job and one.slurm_job == ended.job]
    if mine and mine[-1].how != attempts.REQUEUED:
        return True
    failure = failures.read(state)
    if failure and (failure.time or 0) >= ended.submitted:
        return True
    if not member.output.endswith(".lock.json"):
        return False
    try:  # nothing else tells of a verb that fetches
        return member.log is not None and member.log.stat().st_mtime >= ended.submitted
    except OSError:
        return False


def _why(ended: Ended) -> str:
    """Why a job ended, in a line: the first telling one of its log, or else what is said of it."""
    lines: list[str] = []
    if ended.log is not None:
        with contextlib.suppress(OSError):
            lines = ended.log.read_text(errors="replace").splitlines()
    told = next((line for line in lines if TELLING.search(line)), "").strip()
    said = slurm.state(ended.job) if ended.job else None
    if ended.job is None:
        return (ended.told.splitlines() or ["it was not submitted"])[0][:LONGEST]
    return "; ".join(filter(None, [f"Slurm says {said}" if said else "", told]))[:LONGEST] or (
        "it left no word"
    )


def _last_log() -> Path | None:
    """The log of this Snakemake."""
    logs = list(SNAKEMAKE_LOGS.glob("*.snakemake.log"))
    return max(logs, key=lambda path: path.stat().st_mtime).absolute() if logs else None
