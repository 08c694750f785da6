"""Jobs that ended before their verb began are failed cells, with the log that tells why."""

import json
import time
from pathlib import Path

import pytest
from fake_slurm import answer, job
from fake_store import finish, pick, small_plan

from stp.core.errors import StpError
from stp.plan.artefacts import Artefact, Raw
from stp.plan.cells import Plan
from stp.run import failures
from stp.run.cluster import attempts
from stp.run.cluster.failed_starts import FailedSubmission, SubmittedJob, record
from stp.run.cluster.resources import JobResources
from stp.run.cluster.site import Site
from stp.run.status import FAILED, MISSING, artefact_states
from stp.run.status_text import lines
from stp.upkeep.differences import OlderArtefacts
from stp.upkeep.why import explain

TOLD = "ModuleNotFoundError: No module named 'snakemake'"


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan whose data are prepared, on a cluster where job 7 has failed."""
    answer(monkeypatch, tmp_path / "bin", scontrol=job(JobState="FAILED", BatchHost="node3"))
    monkeypatch.chdir(tmp_path)
    made = small_plan(tmp_path, monkeypatch)
    finish(made, pick(made, "prepare"))
    return made


@pytest.fixture
def ended(tmp_path: Path) -> FailedSubmission:
    log = tmp_path / "7.log"
    log.write_text(f"host: node3\nTraceback (most recent call last):\n{TOLD}\n")
    return FailedSubmission("7", time.time() - 5, log, "SLURM-job '7' failed")


def member(plan: Plan, artefact: Artefact) -> SubmittedJob:
    return SubmittedJob(str(plan.store / artefact.receipt), None)


def is_grouped(plan: Plan, artefact: Artefact) -> bool:
    return JobResources(plan, Site(group_minutes=1e6)).group(artefact.receipt) is not None


def test_it_is_a_failed_cell_with_the_log_that_tells_why(
    plan: Plan, ended: FailedSubmission
) -> None:
    forecast = pick(plan, "predict", "persistence")
    assert is_grouped(plan, forecast)
    assert record(plan, [member(plan, forecast)], ended) == [forecast]
    standing = artefact_states(plan)
    step = standing[forecast.folder]
    assert step.state == FAILED and step.failure is not None
    assert TOLD in step.failure.error and step.failure.log == str(ended.log)
    (told,) = [line for line in lines(plan, standing, None, 100) if str(ended.log) in line]
    assert forecast.label in told
    reasons = explain(plan, forecast, OlderArtefacts(plan), step).because
    assert all(any(part in one for one in reasons) for part in (str(ended.log), TOLD))
    (attempt,) = step.attempts
    assert (attempt.how, attempt.slurm_job, attempt.host) == ("failed", "7", "node3")
    assert not is_grouped(plan, forecast), "its next try goes alone"


def test_of_a_group_in_which_none_began_all_have_failed(
    plan: Plan, ended: FailedSubmission
) -> None:
    group = [pick(plan, "predict", "persistence"), pick(plan, "score", "persistence")]
    other = pick(plan, "train", "climatology")
    finish(plan, other)
    assert record(plan, [member(plan, one) for one in (*group, other)], ended) == group
    assert not any(is_grouped(plan, one) for one in group)


def test_members_that_had_no_turn_are_left_alone(plan: Plan, ended: FailedSubmission) -> None:
    """One that did begin has told why the submission failed: it goes alone, and no other."""
    broken, waiting = (pick(plan, "predict", name) for name in ("persistence", "climatology"))
    finish(plan, pick(plan, "train", "climatology"))
    failed_in_job(plan, broken, "failed")
    assert record(plan, [member(plan, one) for one in (waiting, broken)], ended) == []
    assert artefact_states(plan)[waiting.folder].state == MISSING
    assert is_grouped(plan, waiting) and not is_grouped(plan, broken)


def test_a_job_that_was_put_back_and_never_began_again_has_failed(
    plan: Plan, ended: FailedSubmission
) -> None:
    forecast = pick(plan, "predict", "persistence")
    failed_in_job(plan, forecast, attempts.REQUEUED)
    assert record(plan, [member(plan, forecast)], ended) == [forecast]


def test_what_a_verb_has_recorded_is_kept(plan: Plan, ended: FailedSubmission) -> None:
    forecast = pick(plan, "predict", "persistence")
    state = plan.store / "state" / forecast.folder
    state.mkdir(parents=True)
    failures.record(state, forecast, StpError("its own words"), None)
    assert record(plan, [member(plan, forecast)], ended) == []
    failure = failures.read(state)
    assert failure is not None and "its own words" in failure.error


def test_memory_counts_for_the_next_try(
    plan: Plan, ended: FailedSubmission, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forecast = pick(plan, "predict", "persistence")
    requests = JobResources(plan, Site())
    before = requests.of(forecast.receipt)["mem_mb"]
    answer(monkeypatch, tmp_path / "bin", scontrol=job(JobState="OUT_OF_MEMORY"))
    record(plan, [member(plan, forecast)], ended)
    assert requests.of(forecast.receipt, 2)["mem_mb"] == 2 * before


def test_data_whose_files_could_not_be_fetched_have_failed(
    plan: Plan, ended: FailedSubmission
) -> None:
    data = next(
        one for one in plan.artefacts.values() if one.stage == "prepare" and one.dataset != "enso"
    )
    (raw,) = [one for one in data.inputs.values() if isinstance(one, Raw)]
    log = Path("fetch.log")
    fetching = SubmittedJob(str(plan.store / raw.lock), log)
    log.write_text("fetch starts\n")
    assert record(plan, [fetching], ended) == [], "its verb began, and has told what happened"
    log.unlink()
    assert record(plan, [fetching], ended) == [data]
    assert artefact_states(plan)[data.folder].state == FAILED


@pytest.mark.parametrize("refused", [True, False])
def test_without_a_log_of_slurm_snakemakes_own_is_named(
    plan: Plan, ended: FailedSubmission, refused: bool
) -> None:
    own = Path(".snakemake/log/now.snakemake.log").absolute()
    own.parent.mkdir(parents=True)
    own.touch()
    forecast = pick(plan, "predict", "persistence")
    gone = ended._replace(
        job=None if refused else "7", log=own.with_name("7.log"), message="sbatch: no"
    )
    record(plan, [member(plan, forecast)], gone)
    failure = failures.read(plan.store / "state" / forecast.folder)
    assert failure is not None and failure.log == str(own)
    assert ("sbatch: no" if refused else "FAILED") in failure.error


def failed_in_job(plan: Plan, artefact: Artefact, how: str) -> None:
    """An attempt of job 7 that began, and ended."""
    state = plan.store / "state" / artefact.folder
    state.mkdir(parents=True)
    told = {"attempt": 1, "time": time.time()}
    begin, end = {"event": "start", "slurm_job": "7"}, {"event": "end", "how": how}
    text = "".join(json.dumps({**told, **line}) + "\n" for line in (begin, end))
    (state / attempts.FILE).write_text(text)
