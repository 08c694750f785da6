"""How a plan stands, as a grid that needs no colours, and for machines."""

import errno
import json
import os
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from fake_store import TINY, finish, finish_all, grow_old, hold, pick, small_plan, tried
from typer.testing import CliRunner, Result

from stp import job_client
from stp.cli import app
from stp.core.disk import write_text
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.checked_config import merge, read_yaml
from stp.run import progress, runner, status_text
from stp.run.cluster import driver
from stp.run.cluster.driver import Driver
from stp.run.costs.durations import Durations
from stp.run.status import artefact_states
from stp.run.workflow_files import results_of


@pytest.fixture
def plan(tmp_path, monkeypatch) -> Plan:
    monkeypatch.chdir(tmp_path)
    return small_plan(tmp_path, monkeypatch)


def shown(plan: Plan, width: int = 100, driver: Driver | None = None) -> list[str]:
    return list(status_text.lines(plan, artefact_states(plan), driver, width))


def grid_of(lines: list[str]) -> list[list[str]]:
    """The words of the rows of the first grid."""
    begin = next(i for i, line in enumerate(lines) if line.startswith("short_term: "))
    end = next(i for i, line in enumerate(lines) if line.startswith("  + done"))
    return [line.split() for line in lines[begin + 1 : end]]


def fail(plan: Plan, artefact, error: str) -> None:
    record = {"error": f"{error}\nremedy: ...", "log": "results/logs/train.log"}
    write_text(runner.state_folder(plan, artefact.folder) / "failure.json", json.dumps(record))


def test_each_state_has_a_symbol(plan):
    finish(plan, pick(plan, "prepare"))
    for stage in ("predict", "score"):
        finish(plan, pick(plan, stage, "persistence"))
    finish(plan, pick(plan, "train", "climatology"))
    fail(plan, pick(plan, "train", "convlstm"), "loss is NaN")
    running = runner.state_folder(plan, pick(plan, "train", "simvpv2").folder)
    hold(running, slurm_job="17")
    write_text(running / "now.json", json.dumps({"what": "epoch 1", "done": 3, "total": 7}))
    lines = shown(plan)
    # 2 datasets x (1 data + 3 fitted models + 4 forecasts + 4 scores)
    assert lines[0].startswith("[4/24]") and "prepare 1/2, predict 1/8, score 1/8" in lines[0]
    assert grid_of(lines) == [
        ["moving_mnist", "enso"],
        ["persistence", ".", "+"],
        ["climatology", ".", "~"],
        ["convlstm", ".", "x"],
        ["simvpv2", ".", ">42%"],  # 3 of 7
    ]
    (failed,) = [line for line in lines if "loss is NaN" in line]
    assert "convlstm on enso, seed 0" in failed and "results/logs/train.log" in failed
    (running,) = [line for line in lines if os.uname().nodename in line]
    assert all(part in running for part in ("simvpv2 on enso, seed 0", "17", "42 %"))


def test_all_done_says_so(plan):
    finish_all(plan)
    total = len(plan.artefacts)
    assert shown(plan)[0].startswith(f"[{total}/{total}] ")


def test_a_dataset_that_failed_stops_its_cells_and_only_them(plan):
    fail(plan, pick(plan, "prepare"), "no such file")
    assert [row[-2:] for row in grid_of(shown(plan))[1:]] == [[".", "x"]] * 4


def test_a_dataset_that_does_not_fit_stands_below_the_others(plan):
    """Names of rows have 11 characters, columns 12 and 4, and two blanks stand between them."""
    finish(plan, pick(plan, "prepare"))
    whole = grid_of(shown(plan, 11 + 14 + 6))
    assert whole[0] == ["moving_mnist", "enso"]
    apart = grid_of(shown(plan, 11 + 14 + 6 - 1))
    assert [apart[0], apart[5]] == [["moving_mnist"], ["enso"]]
    assert [words[0] for words in apart[1:5]] == [words[0] for words in apart[6:]]
    assert len(grid_of(shown(plan, 1))) == 10  # one at least
    for width in (30, 31):
        assert all(len(line) <= width for line in shown(plan, width) if line.startswith("    "))


def test_several_seeds_are_counted(plan):
    three = Plan(config.load(merge(read_yaml(TINY), {"seeds": [0, 1, 2]})))
    finish_all(three)
    seeds = [
        a for a in three.artefacts.values() if a.work == "score convlstm" and a.dataset == "enso"
    ]
    for artefact in seeds[1:]:
        (three.store / artefact.receipt).unlink()
    fail(three, seeds[2], "disk full")
    lines = shown(three)
    # models without randomness have one cell
    assert grid_of(lines)[1] == ["persistence", "+", "+"]
    assert grid_of(lines)[3:] == [["convlstm", "+3/3", "x1/3"], ["simvpv2", "+3/3", "+3/3"]]


def test_attempts_that_ended_badly_are_shown_and_the_rest_counted(plan):
    artefact = pick(plan, "train", "convlstm")
    state = runner.state_folder(plan, artefact.folder)
    tried(state, "requeued", "SIGURG, restart 1 of 100")  # no bad end
    for _ in range(22):
        tried(state, "out of memory", "Slurm says OUT_OF_MEMORY", slurm_job="5")
    lines = shown(plan)
    bad = [line for line in lines if "attempt " in line]
    assert len(bad) == 20
    for part in ("convlstm on enso, seed 0", "attempt 23", "node7", "5", "OUT_OF_MEMORY"):
        assert part in bad[0]
    assert any(" 2 more " in line for line in lines)


def test_receipts_of_this_run_tell_of_bad_ends_before_success(plan):
    ended = {"attempt": 1, "how": "time limit", "detail": "", "host": "node7", "time": 1.0,
             "ended": time.time(), "slurm_job": None}  # fmt: skip
    old = finish(plan, pick(plan, "train", "simvpv2"), attempts=[ended])
    grow_old(old, 1)
    progress.mark_start(plan)
    time.sleep(0.01)
    finish(plan, pick(plan, "train", "convlstm"), attempts=[ended])
    (line,) = [line for line in shown(plan) if "time limit" in line]
    assert "convlstm" in line


def test_the_run_is_named_and_whether_it_lives(plan):
    gone = Driver("elsewhere", "", 12, 34, None, 0.0, ["all"], {}, "x.json")
    (line,) = [line for line in shown(plan, driver=gone) if line.startswith("  run: ")]
    assert "12" in line and "elsewhere" in line and "--resume" not in line
    here = Driver(os.uname().nodename, "another boot", 12, 34, None, 0.0, ["all"], {}, "x.json")
    (line,) = [line for line in shown(plan, driver=here) if line.startswith("  run: ")]
    assert "--resume" in line


def test_what_is_left_is_told_of_a_living_run_only(plan):
    progress.mark_start(plan)
    durations = Durations(plan.store / "state" / "durations.jsonl")
    for stage in ("prepare", "train", "predict", "score"):
        durations.add(stage, time.time(), 60.0)
    lives = Driver("elsewhere", "", 12, 34, None, 0.0, ["all"], {}, "x.json")
    ended = replace(lives, host=os.uname().nodename)
    told = [" left at " in "\n".join(shown(plan, driver=of)) for of in (lives, ended)]
    assert told == [True, False]


def test_tables_of_an_earlier_run_are_told_apart(plan):
    table = results_of(plan) / "tables" / "short_term.csv"
    table.parent.mkdir(parents=True)
    table.touch()
    grow_old(table, 1)
    progress.mark_start(plan)
    made = Driver("elsewhere", "", 12, 34, None, 0.0, ["all"], {}, "x.json", succeeded=True)
    earlier, own = (
        next(line for line in shown(plan, driver=run) if str(table) in line) for run in (None, made)
    )
    assert earlier.startswith(own) and earlier != own


def test_without_a_scale_file_it_is_that_of_the_last_run(plan, monkeypatch, capfd):
    given = Path("results/plan/config-1.json")
    write_text(given, json.dumps(plan.config.scale.model_dump(mode="json", exclude_unset=True)))
    last = Driver("elsewhere", "", 12, 34, None, 0.0, ["all"], {}, str(given))
    write_text(Path("results/.driver.json"), json.dumps(asdict(last)))
    done = CliRunner().invoke(app, ["status"])
    assert done.exit_code == 0, done.output
    assert "[0/24]" in done.output and "12 on elsewhere" in done.output
    # The run of another scale is not that of this one.
    demo = Path(__file__).parents[2] / "config" / "demo.yaml"
    done = CliRunner().invoke(app, ["status", "--configfile", str(demo)])
    assert "demo" in done.output and "elsewhere" not in done.output


def test_the_socket_of_a_run_is_not_kept_for_the_next(monkeypatch):
    assert driver.OF_ONE_RUN == job_client.ADDRESS


def stp(*words: str) -> Result:
    return CliRunner().invoke(app, [*words, "--configfile", str(TINY)])


def test_the_verb_prints_json_and_notes_a_start(plan):
    finish(plan, pick(plan, "score", "persistence"))
    done = stp("status", "--format", "json")
    assert done.exit_code == 0, done.exception
    found = json.loads(done.stdout)
    states = {(cell["model"], cell["tested_on"]): cell["state"] for cell in found["cells"]}
    assert states["persistence", "enso"] == "done"
    assert states["persistence", "moving_mnist"] == "missing"
    assert len(found["artefacts"]) == len(plan.artefacts)
    assert stp("status", "--start").stdout == ""
    assert progress.run_started(plan) > 0
    assert len(list((plan.store / "state" / "plans").glob("*.json"))) == 1


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_run_begins_though_the_store_is_read_only(plan, monkeypatch, tmp_path, number):
    def refuse(*_args):
        raise OSError(number, os.strerror(number), str(plan.store))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("stp.run.progress.mark_start", refuse)
    done = CliRunner().invoke(app, ["status", "--start", "--configfile", str(TINY)])
    assert done.exit_code == 0, done.exception
    assert str(plan.store) in done.output


def test_a_full_disk_is_not_taken_for_a_read_only_one(plan, monkeypatch, tmp_path):
    def full(*_args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("stp.run.progress.mark_start", full)
    done = CliRunner().invoke(app, ["status", "--start", "--configfile", str(TINY)])
    assert isinstance(done.exception, OSError)
