"""Whose lock is it, and does its owner live? Decided without Snakemake; see also tests/workflow."""

import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from stp.core.errors import StpError
from stp.run.cluster import driver, resume
from stp.run.cluster.driver import Driver

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="drivers are known on Linux")


@pytest.fixture
def checkout(tmp_path) -> Path:
    (tmp_path / "results").mkdir()
    return tmp_path


def start(checkout: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a process that looks like Snakemake, in a checkout."""
    script = checkout / "bin" / "snakemake"
    script.parent.mkdir(exist_ok=True)
    script.write_text("import time\nprint(flush=True)\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [sys.executable, script, *arguments], cwd=checkout, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def note(checkout: Path, **changes) -> Driver:
    """Write down a driver: this process, unless told otherwise."""
    pid = os.getpid()
    known = Driver(
        host=socket.gethostname(), boot=driver._boot(), pid=pid, ticks=driver._ticks(pid),
        slurm_job=None, time=time.time(), arguments=["--cores", "1", "all"], environment={},
        configfile="none.json",
    )  # fmt: skip
    noted = Driver(**{**asdict(known), **changes})
    (checkout / "results" / driver.FILE).write_text(json.dumps(asdict(noted)))
    return noted


def lock(checkout: Path, seconds_old: float = 10) -> None:
    folder = checkout / resume.LOCKS
    folder.mkdir(parents=True)
    (folder / "0.output.lock").write_text("results/tables/short_term.csv\n")
    moment = time.time() - seconds_old
    os.utime(folder / "0.output.lock", (moment, moment))


def test_a_process_is_recognised_by_when_it_began_not_by_its_number_alone(checkout):
    assert note(checkout).is_alive()
    assert note(checkout, ticks=driver._ticks(os.getpid()) - 1).is_alive() is False
    assert note(checkout, boot="before the power cut").is_alive() is False
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert note(checkout, pid=ended.pid).is_alive() is False
    assert note(checkout, host="elsewhere").is_alive() is None


def test_a_driver_is_ending_if_it_started_this_process(checkout):
    pid = os.getppid()
    assert note(checkout, pid=pid, ticks=driver._ticks(pid)).is_ending()
    assert not note(checkout, pid=pid).is_ending()  # its number alone
    assert not note(checkout, pid=pid, ticks=driver._ticks(pid), host="elsewhere").is_ending()
    assert not note(checkout).is_ending()  # alive, but no ancestor


def test_a_driver_that_is_a_job_is_asked_for_in_slurm(checkout, monkeypatch):
    said = {"7": "RUNNING", "8": "CANCELLED", "9": None}
    monkeypatch.setattr("stp.run.cluster.slurm.state", said.get)
    alive = [note(checkout, host="node1", slurm_job=job).is_alive() for job in said]
    assert alive == [True, False, None]


def test_only_drivers_of_this_checkout_count(checkout, tmp_path):
    (tmp_path / "other").mkdir()
    processes = [
        start(checkout, "--cores", "1"),
        start(checkout, "--mode", "remote"),  # a part of a job
        start(checkout, "-n"),
        start(tmp_path / "other"),
    ]
    try:
        assert driver.running_drivers(checkout) == [processes[0].pid]
        with pytest.raises(StpError, match=rf"{checkout}.* {processes[0].pid}"):
            resume.refuse_if_alive(checkout, owner_is_dead=True)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert driver.running_drivers(checkout) == []


def test_the_lock_of_a_dead_owner_is_free(checkout):
    lock(checkout)
    note(checkout, pid=2**22 + 1)
    resume.refuse_if_alive(checkout, owner_is_dead=False)


def test_where_nobody_can_tell_a_person_has_to(checkout):
    lock(checkout)
    with pytest.raises(StpError, match="--owner-is-dead"):
        resume.refuse_if_alive(checkout, owner_is_dead=False)
    note(checkout, host="login2", pid=55)
    with pytest.raises(StpError, match=r"55 .*login2(.|\n)*--resume"):
        resume.refuse_if_alive(checkout, owner_is_dead=False)
    resume.refuse_if_alive(checkout, owner_is_dead=True)
    # a later run took the lock and was killed before it noted itself: the note says nothing of it
    note(checkout, pid=2**22 + 1)
    moment = time.time() - 60
    os.utime(checkout / "results" / driver.FILE, (moment, moment))
    with pytest.raises(StpError, match="--owner-is-dead"):
        resume.refuse_if_alive(checkout, owner_is_dead=False)


def test_a_job_in_slurm_that_lives_keeps_its_lock(checkout, monkeypatch):
    monkeypatch.setattr("stp.run.cluster.slurm.state", lambda job: "RUNNING")
    lock(checkout)
    note(checkout, host="node1", slurm_job="7")
    with pytest.raises(StpError, match="job 7"):
        resume.refuse_if_alive(checkout, owner_is_dead=True)


def test_the_command_of_the_crashed_run_is_taken_unless_another_is_given(checkout, monkeypatch):
    monkeypatch.setenv("STP_RAW_DIR", "/mine")
    with pytest.raises(StpError, match=str(checkout)):
        resume.command(checkout, [])
    note(checkout, environment={"STP_RAW_DIR": "/theirs", "STP_TEST_ONLY": "1"})
    assert resume.command(checkout, []) == (["--cores", "1", "all"], {"STP_TEST_ONLY": "1"})
    assert resume.command(checkout, ["-n"])[0] == ["-n"]


def test_why_snakemake_does_not_unlock_is_told(checkout, monkeypatch):
    monkeypatch.chdir(checkout)
    lock(checkout)
    note(checkout, pid=2**22 + 1)
    said: list[str] = []
    with pytest.raises(StpError, match="Snakefile") as refused:  # there is none
        resume.resume([], owner_is_dead=False, say=said.append)
    assert str(checkout) in refused.value.what and "b'" not in refused.value.what
    assert len(said) == 1
