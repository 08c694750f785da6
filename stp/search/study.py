"""The study: all trials of a search, in a journal that several jobs may write, also over NFS."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from stp.core import store
from stp.core.job import Interrupted, never
from stp.core.journal import JOURNAL, mend
from stp.plan.strict import Json
from stp.search.space import Parameter, Space, word

NAME = "search"
WAIT_SECONDS = 1.0


class Study:
    """Optuna's study of one search, made or opened.

    Args:
        folder: of this study alone; holds the journal and the state of unfinished trials.
        space: what is searched.
        baseline: values of the first trial; what it leaves out is drawn.
        seed: of the sampler.
        say: gets lines for people.
        interrupted: says whether to stop waiting for other processes.
    """

    def __init__(
        self,
        folder: Path,
        space: Space,
        baseline: Json,
        seed: int,
        say: Callable[[str], None] = print,
        interrupted: Callable[[], bool] = never,
    ) -> None:
        self.folder, self.space, self.seed = folder, space, seed
        self.say, self.interrupted = say, interrupted
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        folder.mkdir(parents=True, exist_ok=True)
        journal = folder / JOURNAL
        mend(journal)
        self.storage = JournalStorage(JournalFileBackend(str(journal)))
        with self._alone():
            self.study = optuna.create_study(
                study_name=NAME,
                storage=self.storage,
                direction="minimize",
                load_if_exists=True,
                pruner=optuna.pruners.MedianPruner(
                    n_startup_trials=space.budget.startup_trials,
                    # Steps are epochs, which count from 1.
                    n_warmup_steps=space.budget.warmup_epochs + 1,
                ),
            )
            if not self.study.get_trials(deepcopy=False):
                self.study.enqueue_trial(
                    {key: _stored(space.space[key], value) for key, value in baseline.items()}
                )

    def state(self, number: int) -> Path:
        """The folder of a trial's training state, as long as it is not finished."""
        return self.folder / "trials" / str(number)

    @contextlib.contextmanager
    def claim(self, trials: int) -> Iterator[optuna.Trial | None]:
        """Take a trial until the end of the block: one that somebody left unfinished, or a new one.

        Where the others are being computed elsewhere, their end is awaited: their process may die.

        Args:
            trials: total number of trials of the study.

        Yields:
            the trial, with all its parameters; None when all are finished.

        Raises:
            Interrupted: it was asked to stop while it waited.
        """
        said = False
        while True:
            with contextlib.ExitStack() as held:
                with self._alone():
                    number, running = self._next(trials)
                    if number is not None:
                        held.enter_context(store.lease(self.state(number), self.say))
                        trial = self._draw(number)
                if number is not None:
                    yield trial
                    return
            if not running:
                yield None
                return
            if not said:
                numbers = ", ".join(str(number + 1) for number in running)
                self.say(f"waits for trials that run elsewhere: {numbers}")
                said = True
            if self.interrupted():
                raise Interrupted("nothing begun")
            time.sleep(WAIT_SECONDS)

    def values(self, trial: optuna.Trial | FrozenTrial) -> Json:
        """The parameters of a trial by their place in a recipe."""
        return {
            key: _value(self.space.space[key], stored)
            for key, stored in sorted(trial.params.items())
        }

    @property
    def trials(self) -> list[FrozenTrial]:
        """All trials that were begun, by number."""
        found = self.study.get_trials(deepcopy=False)
        return [trial for trial in found if trial.state != TrialState.WAITING]

    def of_state(self, *states: TrialState) -> list[FrozenTrial]:
        """The trials in certain states."""
        return [trial for trial in self.trials if trial.state in states]

    @property
    def best(self) -> FrozenTrial | None:
        """The complete trial with the lowest criterion; of equal ones the first."""
        complete = self.of_state(TrialState.COMPLETE)
        return min(complete, key=lambda trial: float(trial.value or 0.0), default=None)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time: who counts trials and adds one must not be overtaken."""
        with store.lease(self.folder / "claiming", self.say, self.interrupted):
            yield

    def _next(self, trials: int) -> tuple[int | None, list[int]]:
        """The number of the trial to go on with, and those that others compute."""
        unfinished = [trial.number for trial in self.of_state(TrialState.RUNNING)]
        running = [number for number in unfinished if store.is_held(self.state(number))]
        left = [number for number in unfinished if number not in running]
        if left:
            return left[0], running
        if len(self.trials) < trials:
            return self.study.ask().number, running
        return None, running

    def _draw(self, number: int) -> optuna.Trial:
        """Draw the parameters of a trial, or read those that it has.

        The sampler's stream is that of the trial's number, so that a study that was interrupted
        goes on as if it had not been.
        """
        seed = np.random.SeedSequence([self.seed, number]).generate_state(1)[0]
        self.study.sampler = optuna.samplers.TPESampler(
            seed=int(seed), n_startup_trials=self.space.budget.startup_trials
        )
        study = self.storage.get_study_id_from_name(NAME)
        identity = self.storage.get_trial_id_from_study_id_trial_number(study, number)
        trial = optuna.Trial(self.study, identity)
        before = self.study.get_trials(deepcopy=False)[number]
        drawn = before.params.keys() - before.system_attrs.get("fixed_params", {}).keys()
        for key, parameter in sorted(self.space.space.items()):
            if key in drawn - trial.relative_params.keys():
                # A process died after it: the stream goes on behind what it has drawn.
                self.study.sampler.sample_independent(
                    self.study, before, key, before.distributions[key]
                )
            _suggest(trial, key, parameter)
        return trial


def _suggest(trial: optuna.Trial, key: str, parameter: Parameter) -> None:
    if parameter.choices is not None:
        trial.suggest_categorical(key, parameter.words)
        return
    low, high = parameter.low, parameter.high
    assert low is not None and high is not None
    if parameter.is_whole:
        trial.suggest_int(key, int(low), int(high), log=parameter.log)
    else:
        trial.suggest_float(key, low, high, log=parameter.log)


def _stored(parameter: Parameter, value: Any) -> Any:
    """A value as the study keeps it: choices as text, since they may be lists."""
    return value if parameter.choices is None else word(value)


def _value(parameter: Parameter, stored: Any) -> Any:
    if parameter.choices is None:
        return stored
    return parameter.choices[parameter.words.index(stored)]
