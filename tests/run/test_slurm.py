"""What we make of Slurm's answers."""

import time
from datetime import datetime, timedelta

import pytest
from fake_slurm import answer, job

from stp.run.cluster import slurm


def test_without_slurm_nobody_knows_anything(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert slurm.job_id() is None
    assert slurm.state("7") is None
    assert slurm.memory_limit_mb() is None
    assert not slurm.has_accounting()
    assert not slurm.requeue("7")


def test_the_controller_knows_how_a_job_stands(monkeypatch, tmp_path):
    answer(monkeypatch, tmp_path, scontrol=job(JobState="TIMEOUT"))
    assert slurm.state("7") == "TIMEOUT"


def test_a_forgotten_job_is_looked_up_in_the_accounting_database(monkeypatch, tmp_path):
    answer(monkeypatch, tmp_path, scontrol="", sacct="OUT_OF_MEMORY\n")
    assert slurm.state("7") == "OUT_OF_MEMORY"


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("AccountingStorageType   = accounting_storage/slurmdbd", True),
        ("AccountingStorageType   = accounting_storage/none", False),
        ("AccountingStorageType   = (null)", False),
    ],
)
def test_accounting_is_detected(monkeypatch, tmp_path, line, known):
    answer(monkeypatch, tmp_path, scontrol=f"AuthType = auth/munge\n{line}")
    assert slurm.has_accounting() is known


@pytest.mark.parametrize(("told", "mb"), [("1500M", 1500), ("16G", 16384), ("0", 0), ("", None)])
def test_the_memory_limit_of_a_job(monkeypatch, tmp_path, told, mb):
    monkeypatch.delenv("SLURM_MEM_PER_NODE", raising=False)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    answer(monkeypatch, tmp_path, scontrol=job(MinMemoryNode=told))
    assert slurm.memory_limit_mb() == (mb or None)


def test_preemption_and_time_left(monkeypatch, tmp_path):
    end = datetime.now() + timedelta(minutes=5)
    told = job(PreemptTime="2026-01-01T00:00:00", EndTime=end.isoformat(timespec="seconds"))
    answer(monkeypatch, tmp_path, scontrol=told)
    assert slurm.is_preempted("7")
    assert slurm.seconds_left("7") == pytest.approx(end.timestamp() - time.time(), abs=5)
    answer(monkeypatch, tmp_path, scontrol=job(EndTime="Unknown"))
    assert not slurm.is_preempted("7")
    assert slurm.seconds_left("7") is None
