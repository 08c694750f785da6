"""Every end of every attempt is known, also of those that could not say anything."""

import json

import pytest
from fake_slurm import answer, job

from stp.core.job import Interrupted
from stp.run.cluster import attempts


def begun(state, **start):
    """An attempt that began and left no word about its end."""
    known = {"slurm_job": None, "memory_mb": None, "gpus": 0, "host": "a", "pid": 1}
    line = {"event": "start", "attempt": 1, "time": 100.0, **known, **start}
    state.mkdir(exist_ok=True)
    (state / attempts.FILE).write_text(json.dumps(line) + "\n")
    return state


def test_a_finished_attempt_says_when_where_and_how(tmp_path):
    with attempts.record_attempt(tmp_path, 2, lambda: None) as attempt:
        attempt.end(attempts.DONE)
    (found,) = attempts.read(tmp_path)
    assert (found.attempt, found.how, found.gpus) == (1, "done", 2)
    assert found.ended >= found.time and found.peak_mb > 0


@pytest.mark.parametrize(
    ("error", "how", "detail"),
    [
        (Interrupted("saved at step 3 of 9"), "saved", "SIGTERM: saved at step 3 of 9"),
        (MemoryError("8 GB"), "out of memory", "8 GB"),
        (ValueError("bad\nthing"), "failed", "bad"),
        (KeyboardInterrupt(), "killed", "SIGTERM"),
    ],
)
def test_every_error_has_a_name(tmp_path, error, how, detail):
    with pytest.raises(type(error)), attempts.record_attempt(tmp_path, 0, lambda: "SIGTERM"):
        raise error
    (found,) = attempts.read(tmp_path)
    assert (found.how, found.detail) == (how, detail)
    assert attempts.count(tmp_path, how) == 1


@pytest.mark.parametrize(
    ("state", "how"),
    [("OUT_OF_MEMORY", "out of memory"), ("TIMEOUT", "time limit"), ("CANCELLED", "killed"),
     ("NODE_FAIL", "killed")],
)  # fmt: skip
def test_slurm_says_why_a_job_vanished(monkeypatch, tmp_path, state, how):
    answer(monkeypatch, tmp_path / "bin", scontrol=job(JobState=state))
    folder = begun(tmp_path / "state", slurm_job="7")
    attempts.settle_vanished(folder)
    (found,) = attempts.read(folder)
    assert found.how == how
    assert state in found.detail


@pytest.mark.parametrize(
    ("peak_mb", "how"),
    # of 1000 MB, Snakemake's two processes have 320: 530 is just below 85 %, 531 above
    [(530, "killed"), (531, "out of memory")],
)
def test_without_cgroups_the_memory_last_seen_decides(monkeypatch, tmp_path, peak_mb, how):
    answer(monkeypatch, tmp_path / "bin", scontrol=job(JobState="FAILED"))
    folder = begun(tmp_path / "state", slurm_job="7", memory_mb=1000)
    (folder / attempts.PROGRESS).write_text(json.dumps({"peak_mb": peak_mb}))
    attempts.settle_vanished(folder)
    assert attempts.read(folder)[0].how == how
    assert not (folder / attempts.PROGRESS).exists()


def test_the_next_attempt_settles_the_last_one_and_counts_on(tmp_path):
    folder = begun(tmp_path / "state")
    with (folder / attempts.FILE).open("a") as file:
        file.write('{"event": "end", "atte')  # torn
    with attempts.record_attempt(folder, 0, lambda: None) as attempt:
        assert attempts.read(folder)[0].how == "killed"
        assert attempts.read(folder)[1].how is None
        history = attempts.history(folder)
        assert "2" in history and "killed" in history
        attempt.end(attempts.DONE)
    assert [a.how for a in attempts.read(folder)] == ["killed", "done"]


def test_a_later_word_about_an_end_counts(tmp_path):
    with pytest.raises(Interrupted), attempts.record_attempt(tmp_path, 0, lambda: "SIGURG"):
        raise Interrupted("saved")
    attempts.amend(tmp_path, attempts.REQUEUED, "restart 1 of 100")
    (found,) = attempts.read(tmp_path)
    assert (found.how, found.detail) == ("requeued", "restart 1 of 100")


def test_how_far_a_running_attempt_is_can_be_read(tmp_path):
    with attempts.record_attempt(tmp_path, 0, lambda: None) as attempt:
        assert (attempt.now.what, attempt.now.done, attempt.now.total) == ("", 0, 0)
        attempt.report("epoch 1/2", 3, 10)
        while (attempts.read_progress(tmp_path) or attempts.AttemptProgress()).done != 3:
            pass
        attempt.end(attempts.DONE)
    assert attempts.read_progress(tmp_path) is None
