"""What the job of a search asks a cluster for, and how it goes on after its time limit."""

import signal
from pathlib import Path

import pytest
from bar_plan import SCALE, SPACE
from fake_slurm import answer, job

from stp.core.errors import StpError
from stp.core.job import Interrupted
from stp.plan.cells import Plan
from stp.plan.strict import merge
from stp.run import runner
from stp.run.cluster import attempts
from stp.run.cluster.resources import SAFETY, START_MINUTES, JobResources
from stp.run.cluster.site import GpuNodes, Site
from stp.run.costs.estimate import Costs
from stp.search import targets, trial
from stp.search.run import search
from stp.search.space import Space

LONG = {"train": {"epochs": 100}, "models": {"small_convnet": {"size": {"gmacs": 5.0}}}}


def test_the_search_is_that_of_the_first_seeds_training(plan: Plan) -> None:
    training = targets.training_of(plan, "small_convnet", "bar")
    assert (training.stage, training.recipe["seed"]) == ("train", 0)


@pytest.mark.parametrize(
    "words", [("convlstm", "bar"), ("small_convnet", "kth"), ("persistence", "bar")]
)
def test_only_trainings_of_the_plan_can_be_searched(plan: Plan, words: tuple[str, str]) -> None:
    with pytest.raises(StpError, match=r"trains no (.|\n)*one of: small_convnet bar"):
        targets.training_of(plan, *words)


def test_a_path_of_another_scale_is_refused(plan: Plan) -> None:
    targets.check_scale(plan, "bar")
    with pytest.raises(StpError, match="results/search/bar, as --configfile says"):
        targets.check_scale(plan, "paper")


def test_a_search_takes_as_long_as_all_its_trials(plan: Plan) -> None:
    long = Plan.load(merge(SCALE, LONG))
    training = targets.training_of(long, "small_convnet", "bar")
    costs = Costs(long)
    budget = {"trials": 20, "epochs": 10}
    space = Space.of({**SPACE, "budget": budget}, "space")
    # 20 trials of a tenth of the epochs, and one start
    start, whole = costs.constants.start_s.train, costs.of(training).seconds
    seconds = start + 2 * (whole - start)
    assert targets.seconds(costs, training, space) == pytest.approx(seconds)
    asked = targets.asks(JobResources(long, Site()), training, space)
    minutes = SAFETY * seconds / 60 + START_MINUTES
    assert minutes <= asked["runtime"] < minutes + 5
    short = Site(cpu={"max_hours": 1})
    assert targets.asks(JobResources(long, short), training, space)["runtime"] == 60


def test_a_search_has_one_gpu_however_many_train(plan: Plan) -> None:
    one, four = (Plan.load(merge(SCALE, {**LONG, "runtime": {"gpus": count}})) for count in (1, 4))
    space = Space.of(SPACE, "space")
    asked = {}
    for wide in (one, four):
        training = targets.training_of(wide, "small_convnet", "bar")
        resources = JobResources(wide, Site(gpu=GpuNodes(max_hours=1e6)))
        asked[wide] = targets.asks(resources, training, space)
    assert asked[one]["gpu"] == asked[four]["gpu"] == 1
    assert asked[four]["runtime"] >= asked[one]["runtime"], "not a quarter of the time"


def test_a_finished_search_is_asked_for_again_when_its_study_is_another(
    plan: Plan, space: Space
) -> None:
    training = targets.training_of(plan, "small_convnet", "bar")
    path = targets.write_identity(plan, training, space)
    written = path.stat().st_mtime_ns
    targets.write_identity(plan, training, space)
    assert path.stat().st_mtime_ns == written
    texts = {path.read_text()}
    for budget in ({"trials": 9}, {"epochs": 9}):
        changed = space.model_copy(update={"budget": space.budget.model_copy(update=budget)})
        texts.add(targets.write_identity(plan, training, changed).read_text())
    assert len(texts) == 3


def test_a_search_that_nears_its_time_limit_is_started_again(
    plan: Plan, space: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, tmp_path / "slurm", scontrol=job())
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(runner, "REQUEUE_SECONDS", 0)
    plain = trial.Reporter.after_epoch

    def after_epoch(self, training, row):
        plain(self, training, row)
        signal.raise_signal(signal.SIGURG)  # what Slurm sends ahead of the limit

    with monkeypatch.context() as patch:
        patch.setattr(trial.Reporter, "after_epoch", after_epoch)
        with pytest.raises(Interrupted):
            search(plan, "small_convnet", "bar", space=space)
    assert "requeue 7" in (tmp_path / "slurm" / "asked").read_text()
    (record,) = Path("results/search").rglob("jobs/7")
    assert attempts.count(record, attempts.REQUEUED) == 1
    out = search(plan, "small_convnet", "bar", space=space)
    assert out.is_file() and not record.exists()
