"""What goes wrong on clusters, one scenario each, and the results are those of a quiet run.

Every scenario begins with a copy of the finished store in which one training, and what was made
from it, is missing.
"""

import errno
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from pathlib import Path

import pytest
from acts import name, play
from asking import ask
from checkout import TABLE
from scenario import MODEL, Scenario
from standstill import STANDSTILL, hold

pytestmark = [pytest.mark.slow, pytest.mark.real_slurm]
SIMVP = "simvpv2"
HOG = """
kept = []

def stand_still():
    while len(kept) < 12:
        kept.append(b"x" * 100_000_000)
        pause(1)
    pause(1)
"""
"""Slowly take 1.2 GB, which is too much for the first 1.5 GB, beside torch and Snakemake."""
NO_ENVIRONMENT = """
import os, sys

if "SLURM_JOB_ID" in os.environ and os.path.exists("broken"):
    os.write(2, b"ModuleNotFoundError: No module named 'planted'\\n")
    os._exit(1)
"""
"""No Python starts in a job."""


# A training that ends before its time


def cancelled_training(run: Scenario, quiet: Scenario) -> None:
    """scancel: Snakemake submits it again, and it goes on where it was."""
    run.take_all_but(quiet, MODEL)
    driver = run.start()
    run.cluster.ask("scancel", run.wait_for_training())
    assert "Trying to restart job" in driver.succeed()
    assert run.receipt("models")["extras"]["resumes"], "it began again"
    assert len(run.attempts()) == 2 and run.attempts()[-1] == "done"
    assert run.same_results(quiet)


def time_limit(run: Scenario, quiet: Scenario) -> None:
    """A limit of 2 minutes for a training of more: it saves and requeues itself, twice or more."""
    run.take_all_but(quiet, MODEL)
    # 192 s of steps, of which at most 90 s fit between the start and the warning, and at least one
    # step does where a minute goes by before the first. (Slurm warns up to half a minute early.)
    run.configure(
        site={"warning_seconds": 30},
        gpu={"partition": "short", "max_hours": 0.034},
        gpus=1,
        slow_step_s=16,
    )
    driver = run.start()
    printed = driver.succeed(900)
    ends = run.attempts()
    assert ends.count("requeued") >= 2 and ends[-1] == "done", ends
    assert set(ends) == {"requeued", "done"}, ends
    assert len(run.jobs("rule_train_")) == 1, "one job, restarted by Slurm"
    assert "restart job" not in printed, "Snakemake's retries are for failures"
    assert run.same_results(quiet)


def preempted(run: Scenario, quiet: Scenario) -> None:
    """More important work takes the GPU: the training saves, waits, and goes on."""
    run.take_all_but(quiet, MODEL)
    run.configure(gpu={"request": "gres", "type": "small"}, gpus=1, slow_step_s=2)
    driver = run.start()
    job = run.wait_for_training()
    urgent = ["--partition=urgent", "--gres=gpu:small:1", "--time=5", "--mem=100"]
    run.cluster.ask("sbatch", *urgent, "--output=/dev/null", "--wrap=sleep 3")
    assert "restart job" not in driver.succeed()
    assert run.attempts() == ["requeued", "done"]
    assert [job] == run.jobs("rule_train_")
    assert run.same_results(quiet)


def out_of_memory(run: Scenario, quiet: Scenario) -> None:
    """Killed for its memory: the next attempt has twice as much."""
    run.take_all_but(quiet, MODEL)
    (run.folder / "sitecustomize.py").write_text(STANDSTILL + HOG)
    assert "Trying to restart job" in run.start().succeed()
    first, second = run.receipt("models")["attempts"]
    assert first["how"] == "out of memory" and second["how"] == "done"
    assert second["memory_mb"] == 2 * first["memory_mb"] == 3000
    assert run.same_results(quiet)


def gpu_types(run: Scenario, quiet: Scenario) -> None:
    """No fault, but another kind of site: GPU types are generic resources there."""
    run.take_all_but(quiet)
    run.forget(MODEL, "predictions", "scores")
    run.configure(gpu={"request": "gres", "type": "large"}, gpus=1)
    run.start().succeed()
    (job,) = run.jobs("rule_predict_")
    assert run.cluster.visible_gpus()[job] == {"1"}, "the large one is the second"
    assert run.same_results(quiet)


def several_gpus(run: Scenario, quiet: Scenario) -> None:
    """One training on both GPUs: two processes, started by srun inside one job, saved and resumed.

    Its results are those of one process up to rounding, so they are not compared.
    """
    run.take_all_but(quiet, MODEL)
    run.configure(gpus=2, slow_step_s=1)
    driver = run.start()
    job = run.wait_for_training()
    run.cluster.ask("scancel", job)
    driver.succeed()
    extras = run.receipt("models")["extras"]
    assert extras["processes"] == 2 and extras["resumes"]
    visible = run.cluster.visible_gpus()
    for training in run.jobs("rule_train_"):
        assert visible[training] == {"0,1"}


# The driver and the cluster


def killed_driver(run: Scenario, quiet: Scenario) -> None:
    """kill -9 of Snakemake: its jobs live on, and the next run waits for them and adopts."""
    run.take_all_but(quiet, MODEL)
    held = hold(run.folder)  # however long the second run takes to start
    driver = run.start()
    job = run.wait_for_training()
    driver.kill()
    assert "LockException" in run.start().fail()
    second = run.go_on()
    run.wait(lambda: len(run.jobs("rule_train_")) == 2, "the second run submits no job")
    assert run.cluster.jobs()[job]["JobState"] == "RUNNING"
    held.unlink()
    second.succeed()
    (attempt,) = run.receipt("models")["attempts"]
    assert attempt["slurm_job"] == job, "it was computed twice"
    assert run.same_results(quiet)


def late_resume(run: Scenario, quiet: Scenario) -> None:
    """The same, but the run goes on after its job has ended, with nobody there to see it."""
    run.take_all_but(quiet, MODEL)
    driver = run.start()
    job = run.wait_for_training()
    driver.kill()
    run.cluster.wait(
        lambda: run.cluster.jobs()[job]["JobState"] == "COMPLETED", "the job does not end", 300
    )
    run.go_on().succeed()
    assert run.jobs("rule_train_") == [job], "there was nothing left to train"
    assert run.same_results(quiet)


def controller_outage(run: Scenario, quiet: Scenario) -> None:
    """slurmctld is away while a job is submitted, and again while one ends."""
    run.take_all_but(quiet, MODEL)
    driver = run.start()
    run.wait(lambda: "Job stats:" in driver.text, "nothing is planned")
    run.cluster.stop_controller()
    try:
        run.wait(lambda: "rule train:" in driver.text, "no job is ready")
        time.sleep(10)
    finally:
        run.cluster.start_controller()
    run.wait_for_training()
    run.cluster.stop_controller()
    try:
        run.wait(lambda: list(run.store.glob(f"models/*/{MODEL}/**/artefact.json")), "not made")
        time.sleep(30)  # several questions fail
    finally:
        run.cluster.start_controller()
    driver.succeed()
    assert run.attempts() == ["done"]
    assert run.same_results(quiet)


def drained_node(run: Scenario, quiet: Scenario) -> None:
    """The node takes no more jobs for a while; what runs goes on, what waits is not lost."""
    run.take_all_but(quiet, MODEL)
    driver = run.start()
    job = run.wait_for_training()
    run.cluster.drain()
    run.wait(lambda: run.jobs("rule_predict_", "PENDING"), "the next job does not wait")
    assert run.cluster.jobs()[job]["JobState"] == "COMPLETED"
    run.cluster.resume()
    driver.succeed()
    assert run.attempts() == ["done"]
    assert run.same_results(quiet)


# What people and disks do


def failing_cell(run: Scenario, quiet: Scenario) -> None:
    """One model cannot be trained: the others finish, the gap is explained, and mended."""
    run.take_all_but(quiet, MODEL, SIMVP)
    run.configure(site={"retries": 0}, gpus=0)
    loss = "def loss(self, clip: Tensor, step: int) -> Tensor:\n"
    run.edit("stp/models/simvp.py", loss, loss + "        raise ValueError('hopeless')\n")
    driver = run.start()
    driver.fail()
    assert not (run.folder / TABLE).exists()
    partial = (
        (run.folder / "results" / "tiny" / "partial" / "short_term.csv").read_text().splitlines()
    )
    (gap,) = [line for line in partial if "hopeless" in line]
    assert "SimVP" in gap and len(partial) == 1 + 4
    assert run.receipt("scores", MODEL), "the other network is there"
    assert SIMVP in driver.summary and "hopeless" in driver.summary, "it names the cell"
    (log,) = (run.folder / "results/tiny/logs/train").rglob(f"{SIMVP}/**/*.log")
    assert str(log.relative_to(run.folder)) in driver.summary, "it names the log"

    run.restore("stp/models/simvp.py")
    run.start().succeed()
    assert not (run.folder / "results" / "tiny" / "partial" / "short_term.csv").exists()
    assert run.same_results(quiet)


def damaged_artefact(run: Scenario, quiet: Scenario) -> None:
    """A file is cut off after it was made: the error says what to delete; then all is well."""
    run.take_all_but(quiet)
    (model,) = run.store.glob(f"models/*/{MODEL}/**/model.pt")
    model.write_bytes(model.read_bytes()[:1000])
    run.forget(MODEL, "predictions", "scores")
    run.configure(site={"retries": 0}, gpus=0)
    driver = run.start()
    driver.fail()
    assert f"rm -r {model.parent}" in run.logs(), "the remedy is to delete this folder"
    assert str(model.parent) in driver.summary
    run.forget(MODEL, "models")
    run.start().succeed()
    assert run.same_results(quiet)


def broken_member(run: Scenario, quiet: Scenario) -> None:
    """One of eight jobs that were submitted together fails: the next run submits it alone."""
    run.take_all_but(quiet)
    (model,) = run.store.glob(f"models/*/{SIMVP}/**/model.pt")
    model.write_bytes(model.read_bytes()[:1000])
    for name_of_model in ("persistence", MODEL, SIMVP):
        run.forget(name_of_model, "predictions", "scores")
    run.configure(site={"retries": 0}, gpus=0)
    driver = run.start()
    driver.fail()
    (group,) = run.jobs()
    assert len(re.findall("Removing output files of failed job", driver.text)) > 0
    receipts = run.receipts()
    assert scored(receipts) >= {"persistence"}, "it is there, whatever Snakemake removed"
    assert SIMVP not in scored(receipts)
    assert f"predict of {SIMVP}" in driver.summary, "it names the broken one"
    assert "persistence" not in "".join(re.findall("  failed: .*", driver.summary))

    run.start().fail()
    again = run.receipts()
    assert {path: again[path] for path in receipts} == receipts, "finished work was touched"
    assert scored(again) == {"persistence", MODEL}, "the broken one is in nobody's way"
    assert len(run.jobs(f"rule_predict_short_term_.*_{SIMVP}_")) == 1, "it went alone"
    assert not set(run.jobs("persistence")) - {group}, "what is there is not submitted"

    run.forget(SIMVP, "models")
    run.start().succeed()
    assert run.same_results(quiet)


def scored(receipts: Iterable[str]) -> set[str]:
    """The models whose scores are there."""
    return {path.split("/")[3] for path in receipts if path.startswith("scores/")}


def no_environment(run: Scenario, quiet: Scenario) -> None:
    """Jobs end before their verb begins: failed cells, with the log of Slurm that tells why."""
    run.take_all_but(quiet)
    run.forget(MODEL, "predictions", "scores")
    run.configure(site={"retries": 0}, gpus=0)
    (run.folder / "sitecustomize.py").write_text(NO_ENVIRONMENT)
    (run.folder / "broken").touch()
    driver = run.start()
    driver.fail()
    (group,) = run.jobs()
    (log,) = (run.folder / ".snakemake/slurm_logs").rglob(f"{group}.log")
    assert "planted" in log.read_text()
    (told,) = re.findall(f"  failed: predict of {MODEL} .*", driver.summary)
    assert "planted" in told and str(log) in told
    why = run.run("stp", "why", "predict", MODEL).stdout
    assert "planted" in why and str(log) in why
    (partial,) = (run.folder / "results/tiny/partial").glob("*.duckdb")
    (row,) = ask(partial, "SELECT model, how, detail, log FROM missing")
    assert row[:2] == (MODEL, "failed") and "planted" in row[2] and row[3] == str(log)

    (run.folder / "broken").unlink()
    run.start().succeed()
    again = set(run.jobs()) - {group}
    assert again == set(run.jobs(f"rule_(predict|score)_short_term_.*_{MODEL}_"))
    assert len(again) == 2, "not together"
    assert run.same_results(quiet)


def edited_checkout(run: Scenario, quiet: Scenario) -> None:
    """Somebody edits the model while it is trained: nothing is published under a wrong name."""
    run.take_all_but(quiet, MODEL)
    run.configure(site={"retries": 0}, gpus=0, slow_step_s=1)
    driver = run.start()
    run.wait_for_training()
    run.edit(f"stp/models/{MODEL}.py")
    driver.fail()
    assert "the code changed while" in run.logs()
    (log,) = (run.folder / "results/tiny/logs/train").rglob("*.log")
    assert str(log.relative_to(run.folder)) in driver.text
    assert not list(run.store.glob(f"models/*/{MODEL}/**/artefact.json"))
    run.restore(f"stp/models/{MODEL}.py")
    run.start().succeed()
    assert run.same_results(quiet)


def full_store(run: Scenario, quiet: Scenario) -> None:
    """The file system of the store is full: a clear error, nothing half-written, then room."""
    with small_disk(run.shared):
        run.take_all_but(quiet, MODEL)
        run.configure(site={"retries": 0}, gpus=0, slow_step_s=1)
        driver = run.start()
        run.wait_for_training()
        filler = run.shared / "filler"
        fill(filler)
        driver.fail()
        assert "No space left on device" in run.logs()
        assert not list(run.store.glob(f"models/*/{MODEL}/**/artefact.json"))
        assert not list(run.store.rglob("*.partial"))
        printed = run.start().fail()  # still no room
        assert "No space left on device" in printed and "Traceback" not in printed
        filler.unlink()
        run.start().succeed()
    assert run.same_results(quiet)


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """Mount a small file system; what is on it in the end stays in the folder."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=32m", "stp-test", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr}")
    try:
        yield
    finally:
        kept = folder.with_name("kept")
        shutil.copytree(folder, kept, symlinks=True)
        # A process may still look at it: it goes when that one does.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        kept.rename(folder)


def fill(path: Path) -> None:
    """Write a file until its file system has no more room."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 14))
        except OSError as error:
            assert error.errno == errno.ENOSPC


@pytest.mark.parametrize("scenario", [killed_driver], ids=name)
def test_fault(scenario, started):
    started[scenario].result()


OF_JOBS = [
    *(cancelled_training, time_limit, preempted, out_of_memory, several_gpus, gpu_types),
    *(drained_node, late_resume),
]


@pytest.mark.long(part="slurm-jobs")
@pytest.mark.parametrize("scenario", OF_JOBS, ids=name)
def test_fault_of_jobs(scenario, started):
    started[scenario].result()


OF_PEOPLE_AND_DISKS = [
    *(failing_cell, broken_member, no_environment),
    *(edited_checkout, damaged_artefact, full_store),
]


@pytest.mark.long(part="slurm-people")
@pytest.mark.parametrize("scenario", OF_PEOPLE_AND_DISKS, ids=name)
def test_fault_of_people_and_disks(scenario, started):
    started[scenario].result()


@pytest.mark.long(part="slurm-people")
def test_controller_outage(started, undisturbed, tmp_path):
    """Disturbs everybody, so it waits until all others have ended."""
    wait(started.values())
    play(controller_outage, Scenario.on(undisturbed.cluster, tmp_path), started[None])
