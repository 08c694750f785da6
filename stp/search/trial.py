"""One trial: a training as any other, on training and validation clips alone."""

from typing import Any

import optuna
from optuna.trial import TrialState

from stp.core.errors import StpError
from stp.core.job import Job
from stp.data.prepared import Clips, Prepared
from stp.models.compute import settle
from stp.models.create import create
from stp.models.normalisation import Normalisation
from stp.options.train import TrainOptions
from stp.search.study import Study
from stp.train import given_weights
from stp.train.distributed import Ranks
from stp.train.gradient_descent import DivergenceError, GradientDescent

SEEN = ("train", "val")
"""The splits that a search may look at."""


class WithoutTest(Prepared):
    """Prepared data that refuse to show test clips: parameters must not be chosen by them."""

    def clips(self, split: str, subset: str = "all", interval: int = 1) -> Clips:
        """The clips of a split for training.

        Raises:
            StpError: it is no such split.
        """
        if split not in SEEN:
            raise StpError(
                f"{self.folder}: a search asked for the split {split!r}",
                expected=" or ".join(SEEN),
                remedy="choose parameters by the validation split; test data are for the tables",
            )
        return super().clips(split, subset, interval)


class Reporter:
    """The callback of a trial's training: tells the study of each epoch, and ends what lags behind.

    Args:
        study: that the trial belongs to.
        trial: with all its parameters.
    """

    def __init__(self, study: Study, trial: optuna.Trial) -> None:
        self.study, self.trial = study, trial
        # An epoch that was reported before an interruption is computed again, to the same value.
        before = study.of_state(TrialState.RUNNING)
        (mine,) = (found for found in before if found.number == trial.number)
        self.reported = set(mine.intermediate_values)

    def after_epoch(self, training: Any, row: dict[str, Any]) -> None:
        """Report the criterion of an epoch.

        Raises:
            TrialPruned: at this epoch half of the complete trials were better.
        """
        if row["val_mse"] is None:
            return
        if row["epoch"] not in self.reported:
            self.trial.report(row["val_mse"], row["epoch"])
        if self.trial.should_prune():
            _note(self.trial, training)
            raise optuna.TrialPruned(f"pruned after epoch {row['epoch']}")


def run_trial(study: Study, trial: optuna.Trial, job: Job) -> TrialState:
    """Train with the parameters of a trial, and tell the study how it ended.

    A training that diverges and a model that refuses a combination of values are failed trials:
    they say something about the parameters. Any other error is raised, and the trial is left
    unfinished, as after an interruption; the next run goes on with it.

    Args:
        study: that the trial belongs to.
        trial: with all its parameters; the caller holds it.
        job: of the training, its recipe with these parameters; its state folder is the trial's.

    Raises:
        StpError: damaged data, no such device, out of memory, ...
        Interrupted: it was asked to stop, and has saved its state.
    """
    try:
        options = TrainOptions.from_recipe(job.recipe["train"])
        create(job.recipe)
    except StpError as error:
        return _failed(study, trial, error)
    data = WithoutTest(job.inputs["data"])
    given = given_weights.read(job) if "weights" in job.recipe else None
    device = job.runtime.get("device", "auto")
    with settle(device, options.threads, options.precision) as compute:
        training = GradientDescent(
            job,
            options,
            data,
            Normalisation.of(data.attrs),
            compute,
            Ranks(),
            given.tensors if given else None,
            callbacks=[Reporter(study, trial)],
        )
        try:
            training.train()
        except optuna.TrialPruned:
            study.study.tell(trial, state=TrialState.PRUNED)
            return TrialState.PRUNED
        except DivergenceError as error:
            return _failed(study, trial, error)
    _note(trial, training)
    study.study.tell(trial, training.progress.best_mse)
    return TrialState.COMPLETE


def _failed(study: Study, trial: optuna.Trial, error: StpError) -> TrialState:
    trial.set_user_attr("reason", error.what)
    study.study.tell(trial, state=TrialState.FAIL)
    return TrialState.FAIL


def _note(trial: optuna.Trial, training: Any) -> None:
    """Keep what is worth knowing of a training."""
    progress = training.progress
    trial.set_user_attr("criterion", training.describe()["selection"]["criterion"])
    trial.set_user_attr("best_epoch", progress.best_epoch)
    trial.set_user_attr("best_mse", progress.best_mse)
    trial.set_user_attr("epochs", len(progress.history))
    trial.set_user_attr("seconds", round(sum(row["seconds"] for row in progress.history), 3))
