"""Search: trial after trial, until the study has as many as were asked for."""

import contextlib
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from optuna.trial import TrialState

from stp.core import bytecode
from stp.core.disk import disk_error
from stp.core.errors import StpError
from stp.core.job import Interrupted, Job, Recipe
from stp.core.units import duration
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.run import runner
from stp.run.cluster import attempts, slurm
from stp.run.cluster.signals import Stop, listening
from stp.run.progress import Progress
from stp.search import report, targets, trial
from stp.search import space as spaces
from stp.search.report import STATES
from stp.search.space import Space, with_values
from stp.search.study import Study


def search(
    plan: Plan,
    model: str,
    dataset: str,
    *,
    trials: int | None = None,
    out: Path | None = None,
    log: Path | None = None,
    space: Space | None = None,
    **runtime: Any,
) -> Path:
    """Search the hyper-parameters of a training, or go on with a search.

    Args:
        plan: has the training.
        model: its name.
        dataset: that it is trained and validated on; its test clips are never read.
        trials: total number of trials of the study; those of the space's budget unless given.
        out: of the best parameters (.yaml), with a table and a picture of the trials beside it.
        log: a file for all progress lines.
        space: what is searched; config/search/<model>.yaml unless given.
        runtime: settings without influence on the result, over those of the configuration.

    Returns:
        the file of the best parameters.

    Raises:
        StpError: no such training or space, data are missing, no trial came to its end, or what a
            training has to say.
        Interrupted: a signal asked it to stop, and it has saved its state.
    """
    training = targets.training_of(plan, model, dataset)
    space = space or spaces.load(model)
    recipe = space.recipe(runner.canonical_recipe(training))
    space.check_with(recipe, f"config/search/{model}.yaml")
    target = targets.out_of(plan, model, dataset)
    folder = target.with_suffix("") / targets.fingerprint_of(training, space)
    inputs = targets.inputs(plan, training)
    bytecode.refuse_stale(training.code.modules)
    with runner.open_log(log) as file:
        lines = Progress("search", f"{model} on {dataset}", plan, file)
        stop = Stop()
        job = None if slurm.job_id() is None else folder / "jobs" / str(slurm.job_id())
        try:
            with listening(True) as stop, runner.warned_of_time_limit(True, stop):
                study = Study(
                    folder, space, space.baseline(recipe), recipe["seed"], lines.say, stop
                )
                task = _Task(plan, training, recipe, inputs, study, lines, stop, runtime)
                with _recorded(job, stop):
                    task.run_trials(trials or space.budget.trials)
        except Interrupted as saved:
            lines.say(f"{saved}, because of {stop.reason}")
            if job is not None:
                runner.go_on_later(job, stop, lines)
            raise
        except OSError as error:
            raise disk_error(error, f"search of {model} on {dataset}") from error
        if job is not None:
            shutil.rmtree(job, ignore_errors=True)
        return report.write(plan, training, study, out or target)


class _Task:
    """The loop over trials."""

    def __init__(
        self,
        plan: Plan,
        training: Artefact,
        recipe: Recipe,
        inputs: dict[str, Path],
        study: Study,
        lines: Progress,
        stop: Stop,
        runtime: dict[str, Any],
    ) -> None:
        self.recipe, self.inputs, self.study = recipe, inputs, study
        self.lines, self.stop = lines, stop
        self.runtime = {
            **plan.config.scale.runtime,
            **runner.raw_roots(plan, training),
            **runtime,
        }

    def run_trials(self, trials: int) -> None:
        begun, here = time.time(), 0
        found = len(self.study.trials)
        self.lines.say(f"starts, {found} of {trials} trials were begun before{self._best()}")
        runner.keep_freed_memory()
        while True:
            with self.study.claim(trials) as claimed:
                if claimed is None:
                    break
                state = self.study.state(claimed.number)
                finished = self.study.of_state(*set(STATES) - {TrialState.RUNNING})
                left = max(1, trials - len(finished))
                job = self._job(claimed, state, trials, here, left)
                ended = STATES[trial.run_trial(self.study, claimed, job)]
                for path in state.glob("training.pt*"):  # finished: nothing to go on from
                    path.unlink()
            here += 1
            remaining = (time.time() - begun) / here * (left - 1)
            self.lines.say(
                f"trial {claimed.number + 1}/{trials} {ended}{self._best()}; "
                f"about {duration(remaining)} left"
            )
            if self.stop() and left > 1:
                raise Interrupted(f"saved after {len(finished) + 1} of {trials} trials")

    def _job(self, claimed: Any, state: Path, trials: int, here: int, left: int) -> Job:
        label = f"trial {claimed.number + 1}/{trials}{self._best()}"

        def say(what: str, done: int, total: int) -> None:
            # Steps of all trials: those that are finished, and those that are left.
            self.lines.report(f"{label}, {what}", here * total + done, (here + left) * total)

        changed = with_values(self.recipe, self.study.values(claimed))
        return Job(
            recipe=json.loads(json.dumps(changed, sort_keys=True)),
            inputs=self.inputs,
            out=state,
            state=state,
            runtime=self.runtime,
            report=say,
            interrupted=self.stop,
        )

    def _best(self) -> str:
        best = self.study.best
        return "" if best is None else f" (best {best.value:.4g}, trial {best.number + 1})"


@contextlib.contextmanager
def _recorded(job: Path | None, stop: Stop) -> Iterator[None]:
    """In a Slurm job, count how often it saved itself and was started again."""
    if job is None:
        yield
        return
    job.mkdir(parents=True, exist_ok=True)
    with attempts.recorded(job, 0, lambda: stop.reason) as attempt:
        yield
        attempt.end(attempts.DONE)


def check_trials(trials: int | None) -> None:
    """Refuse a number of trials that is none.

    Raises:
        StpError: it is below 1.
    """
    if trials is not None and trials < 1:
        raise StpError(
            f"--trials is {trials}", expected="1 or more", remedy="name how many trials to make"
        )
