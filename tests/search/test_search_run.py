"""A search of a tiny network on a moving bar, from prepared data to best parameters."""

import csv
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from bar_plan import SCALE, SPACE, put_data
from moving_bar import SIDE
from typer.testing import CliRunner

import stp.cli  # noqa: F401 (all verbs)
from stp.core.errors import StpError
from stp.core.job import Interrupted
from stp.data.prepared import Prepared
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.recipes import Recipes
from stp.plan.strict import merge
from stp.search import trial
from stp.search.run import search
from stp.search.space import Space
from stp.verbs.app import app

STUDIES = Path("results/search/bar/small_convnet/bar")


def rows(out: Path) -> list[dict[str, str]]:
    """All trials, without how long they took."""
    with out.with_name(f"{out.stem}_trials.csv").open() as file:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]


def run(plan: Plan, space: Space | dict[str, Any], **more: Any) -> Path:
    space = space if isinstance(space, Space) else Space.of(space, "space")
    return search(plan, "small_convnet", "bar", space=space, **more)


def with_rates(*rates: float, trials: int) -> dict[str, Any]:
    budget = {**SPACE["budget"], "trials": trials, "epochs": 2}
    return {"budget": budget, "space": {"train.lr": {"choices": list(rates)}}}


def at_epoch(monkeypatch: pytest.MonkeyPatch, number: int, epoch: int, do) -> None:
    """Do something in the middle of a search, once: when an epoch of a trial ends."""
    plain, done = trial.Reporter.after_epoch, []

    def after_epoch(self, training, row):
        plain(self, training, row)
        if (self.trial.number, row["epoch"]) == (number, epoch) and not done:
            done.append(True)
            do()

    monkeypatch.setattr(trial.Reporter, "after_epoch", after_epoch)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """The trials of a search that nothing interrupts."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("STP_STORE_DIR", str(folder / "store"))
        patch.delenv("SLURM_JOB_ID", raising=False)
        plan = Plan.load(SCALE)
        put_data(plan)
        return rows(folder / run(plan, SPACE))


def test_a_search_finds_a_better_rate_than_the_worst_of_its_space(whole) -> None:
    complete = [row for row in whole if row["state"] == "complete"]
    best = min(complete, key=lambda row: float(row["best_mse"]))
    assert len(whole) == 6
    assert float(best["train.lr"]) > 0.01, "a few steps need a high rate"
    assert float(best["best_mse"]) < 0.5 * max(float(row["best_mse"]) for row in whole)
    assert whole[0]["train.lr"] == "0.001", "the first trial is the recipe itself"


def test_what_lags_behind_is_pruned(whole) -> None:
    pruned = [row for row in whole if row["state"] == "pruned"]
    assert pruned
    for row in pruned:
        assert 1 < int(row["epochs"]) < 4, "after the warm-up, before the end"
        assert int(row["trial"]) > 2, "not before enough trials are complete"


def test_the_result_is_a_part_of_a_scale_file(plan: Plan, space: Space) -> None:
    out = run(plan, space)
    assert out == Path("results/search/bar/small_convnet/bar.yaml")
    scale = {key: value for key, value in SCALE.items() if key != "models"}
    pasted = yaml.safe_dump(scale) + "models:\n" + out.read_text()
    recipe = Recipes(config.load(yaml.safe_load(pasted))).train("small_convnet", "bar", 0)
    best = min(rows(out), key=lambda row: float(row["best_mse"]))
    assert recipe["train"]["lr"] == float(best["train.lr"])
    assert recipe["options"]["width"] == int(best["options.width"])
    assert recipe["train"]["batch_size"] == 8, "what was not searched stays"
    assert recipe["train"]["epochs"] == 20, "nor does the search's number of epochs get into it"


def test_the_result_says_where_it_comes_from(plan: Plan, space: Space) -> None:
    out = run(plan, space, trials=3)
    text = " ".join(line.strip(" #") for line in out.read_text().splitlines())
    (study,) = STUDIES.iterdir()
    assert "Best of 3 trials (3 complete) of small_convnet on bar, 4 epochs each" in text
    assert "Criterion: lowest mean squared error of free-running forecasts" in text
    assert "Test data were not looked at." in text
    assert "Data: synthetic (release synthetic), scale bar." in text
    assert str(study) in text
    assert out.with_name("bar_history.png").read_bytes().startswith(b"\x89PNG")


def test_test_clips_are_never_read(plan: Plan, whole, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    plain = Prepared.clips

    def clips(self, split, subset="all", interval=1):
        asked.append(split)
        return plain(self, split, subset, interval)

    monkeypatch.setattr(Prepared, "clips", clips)
    # Frames that only test clips have are others: 32 and later.
    folder = plan.store / plan.data("bar").folder
    shutil.rmtree(folder)
    frames = np.zeros((38, 1, SIDE, SIDE), np.uint8)
    for t in range(38):
        frames[t, 0, :, t % SIDE] = 255
    frames[32:] = np.random.default_rng(0).integers(0, 255, frames[32:].shape)
    put_data(plan, frames=frames)
    assert rows(run(plan, SPACE)) == whole
    assert set(asked) == {"train", "val"}
    with pytest.raises(StpError, match="a search asked for the split 'test'"):
        trial.WithoutTest(folder).clips("test")


def test_a_search_that_was_asked_to_stop_goes_on_as_if_it_had_not_been(
    plan: Plan, space: Space, whole, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    at_epoch(monkeypatch, 2, 2, lambda: signal.raise_signal(signal.SIGTERM))
    with pytest.raises(Interrupted, match="saved at step 5 of 8"):
        run(plan, space)
    (study,) = STUDIES.iterdir()
    assert (study / "trials" / "2" / "training.pt").is_file()
    assert "because of SIGTERM" in capsys.readouterr().err
    steps: list[int] = []
    monkeypatch.setattr(
        trial.Reporter, "after_step", lambda self, t, loss: steps.append(t.progress.step), False
    )
    assert rows(run(plan, space)) == whole
    assert steps[:3] == [6, 7, 8], "from the checkpoint on"
    assert not list(study.rglob("training.pt*"))


@pytest.mark.timeout(300)
@pytest.mark.long(part="processes")
def test_a_search_that_was_killed_goes_on_as_if_it_had_not_been(
    plan: Plan, space: Space, whole
) -> None:
    script = Path(__file__).with_name("killed.py")
    paths = os.pathsep.join(filter(None, sys.path))
    killed = subprocess.run([sys.executable, script], env={**os.environ, "PYTHONPATH": paths})
    assert killed.returncode == -signal.SIGKILL
    assert rows(run(plan, space)) == whole


def test_more_trials_go_on_with_a_study(plan: Plan, space: Space, whole) -> None:
    assert rows(run(plan, space, trials=3)) == whole[:3]
    assert rows(run(plan, space)) == whole
    assert rows(run(plan, space, trials=2)) == whole, "what was computed is not thrown away"


def test_a_changed_space_starts_a_new_study_and_keeps_the_old(plan: Plan) -> None:
    run(plan, with_rates(0.01, 0.02, trials=1))
    (old,) = STUDIES.iterdir()
    before = (old / "study.journal").read_bytes()
    changed = run(plan, with_rates(0.01, 0.05, trials=2))
    assert len(rows(changed)) == 2
    assert len(list(STUDIES.iterdir())) == 2
    assert (old / "study.journal").read_bytes() == before


@pytest.mark.parametrize("change", ["recipe", "data"])
def test_a_changed_recipe_or_data_start_a_new_study(plan: Plan, change: str) -> None:
    space = with_rates(0.01, 0.02, trials=1)
    run(plan, space)
    scale = merge(SCALE, {"train": {"batch_size": 4}} if change == "recipe" else {})
    if change == "data":
        scale = merge(scale, {"datasets": {"bar": {"prepare": {"stride": 2}}}})
    changed = Plan.load(scale)
    if change == "data":
        put_data(changed)
    run(changed, space)
    assert len(list(STUDIES.iterdir())) == 2


def test_a_training_that_diverges_is_a_failed_trial_and_not_a_failed_search(plan: Plan) -> None:
    out = run(plan, with_rates(0.01, 1e30, trials=4))
    states = {(row["train.lr"], row["state"]) for row in rows(out)}
    assert ("1e+30", "failed") in states and ("0.01", "complete") in states
    reasons = [row["reason"] for row in rows(out) if row["state"] == "failed"]
    assert all("small_convnet on bar: " in reason for reason in reasons)
    assert "lr: 0.01" in out.read_text() and "(3 complete, 1 failed)" in out.read_text()


def test_a_search_without_any_good_trial_says_why(plan: Plan) -> None:
    with pytest.raises(StpError, match=r"none of 2 trials of small_convnet on bar came to its end"):
        run(plan, with_rates(1e29, 1e30, trials=2))
    assert not Path("results/search/bar/small_convnet/bar.yaml").exists()


def test_a_trial_that_could_not_run_is_tried_again(
    plan: Plan, space: Space, whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise StpError("the memory of the device does not hold a step", expected="enough memory")

    at_epoch(monkeypatch, 1, 2, fail)
    with pytest.raises(StpError, match="the memory of the device"):
        run(plan, space)
    assert rows(run(plan, space)) == whole


def test_data_that_are_missing_are_named(plan: Plan, space: Space) -> None:
    shutil.rmtree(plan.store / plan.data("bar").folder)
    with pytest.raises(StpError, match=r"is missing or damaged(.|\n)*snakemake --profile local"):
        run(plan, space)


def test_the_verb(plan: Plan, tmp_path: Path) -> None:
    Path("scale.yaml").write_text(yaml.safe_dump(SCALE))
    words = ["search", "small_convnet", "bar", "--configfile", "scale.yaml", "--trials"]
    done = CliRunner().invoke(app, [*words, "2", "--log", "log.txt", "--device", "cpu"])
    assert done.exit_code == 0, done.output
    assert "train.schedule" in Path(STUDIES.parent, "bar_trials.csv").read_text()
    assert "trial 2/2 complete" in Path("log.txt").read_text()
    none = CliRunner().invoke(app, [*words, "0"])
    assert isinstance(none.exception, StpError) and "--trials is 0" in str(none.exception)
