"""Searches for parameters: each is asked for a set of them, and told how good it was.

A search keeps what it was told in a folder, so that one that was interrupted goes on, and finds
what it would have found: what it asks for next depends on the seed and on what it was told alone.
"""

import json
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from stp.core.errors import StpError

Given = dict[str, float]
Bounds = dict[str, tuple[float, float]]


class Search(Protocol):
    """A search.

    Attributes:
        tried: what was tried, in order: parameters and error.
    """

    tried: list[tuple[Given, float]]

    def ask(self) -> Given:
        """What to try next."""
        ...

    def tell(self, error: float) -> None:
        """How good what was asked for last is; the least is best."""
        ...


class Optuna:
    """A tree-structured Parzen estimator; its trials are in Optuna's journal.

    Args:
        bounds: least and greatest value of each parameter.
        default: what is tried first.
        seed: of the search.
        folder: of the journal.
        trials: ignored; other searches need their number.
    """

    def __init__(
        self, bounds: Bounds, default: Given, *, seed: int, folder: Path, trials: int = 0
    ) -> None:
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend
        from optuna.trial import TrialState

        from stp.core.journal import JOURNAL, mend

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        mend(folder / JOURNAL)
        self._bounds, self._seed = bounds, seed
        self._study = optuna.create_study(
            study_name="calibration",
            storage=JournalStorage(JournalFileBackend(str(folder / JOURNAL))),
            direction="minimize",
            load_if_exists=True,
        )
        complete, running, waiting = (
            self._study.get_trials(deepcopy=False, states=(state,))
            for state in (TrialState.COMPLETE, TrialState.RUNNING, TrialState.WAITING)
        )
        self.tried = [(dict(trial.params), float(trial.value or 0.0)) for trial in complete]
        for trial in running:  # killed: it is tried again, and the sampler shall not count it
            self._study.tell(trial.number, state=TrialState.FAIL)
        if not self.tried and not waiting:
            self._study.enqueue_trial(default)

    def ask(self) -> Given:
        """See `Search`."""
        import optuna

        # A sampler of its own for each trial: the numbers that it draws depend on the trial alone,
        # and not on where a search was interrupted. No trial of another seed has the same.
        stream = np.random.SeedSequence([self._seed, len(self.tried)]).generate_state(1)[0]
        self._study.sampler = optuna.samplers.TPESampler(seed=int(stream))
        self._trial = self._study.ask()
        return {
            name: self._trial.suggest_float(name, low, high)
            for name, (low, high) in self._bounds.items()
        }

    def tell(self, error: float) -> None:
        """See `Search`."""
        self._study.tell(self._trial, error)
        self.tried.append((dict(self._trial.params), error))


class Smac:
    """SMAC3: random forests, with the default parameters as the initial design, as Atlas has it.

    What it was told is in a file of ours; a search that goes on is told it again, from the first,
    and so is what it was. SMAC asks the same again, or the file is of another search.

    Args:
        bounds: least and greatest value of each parameter.
        default: what is tried first.
        seed: of the search.
        folder: of the file, and of what SMAC itself writes.
        trials: that there will be.

    Raises:
        StpError: SMAC3 is not installed, or the file is of another search.
    """

    TRIED = "smac.jsonl"

    def __init__(
        self, bounds: Bounds, default: Given, *, seed: int, folder: Path, trials: int
    ) -> None:
        try:
            from ConfigSpace import ConfigurationSpace, Float
            from smac import HyperparameterOptimizationFacade, Scenario
            from smac.initial_design import DefaultInitialDesign
        except ImportError:
            raise StpError(
                "SMAC3 is not installed",
                expected="the extra smac, for train: {search: smac}",
                remedy="pip install 'stp[smac]', or leave search out: then it is Optuna's",
            ) from None
        space = ConfigurationSpace(seed=seed)
        space.add([Float(name, edges, default=default[name]) for name, edges in bounds.items()])
        scenario = Scenario(
            space, deterministic=True, n_trials=trials, seed=seed, output_directory=folder / "smac"
        )
        self._names = list(bounds)
        self._smac = HyperparameterOptimizationFacade(
            scenario,
            _never_called,
            acquisition_maximizer=_in_order(
                HyperparameterOptimizationFacade.get_acquisition_maximizer(scenario)
            ),
            initial_design=DefaultInitialDesign(scenario),
            overwrite=True,
            logging_level=False,
        )
        self._path = folder / self.TRIED
        self.tried: list[tuple[Given, float]] = []
        for given, error in _lines(self._path):
            if self.ask() != given:
                raise StpError(
                    f"{self._path}: SMAC asks for something else than was tried",
                    expected="trials of this search, by this version of SMAC",
                    remedy=f"begin again: rm -r {folder}",
                )
            self._learn(error)

    def ask(self) -> Given:
        """See `Search`."""
        self._trial = self._smac.ask()
        config = dict(self._trial.config)
        return {name: float(config[name]) for name in self._names}

    def tell(self, error: float) -> None:
        """See `Search`."""
        self._learn(error)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self.tried[-1]) + "\n")

    def _learn(self, error: float) -> None:
        from smac.runhistory import TrialValue

        config = dict(self._trial.config)
        self._smac.tell(self._trial, TrialValue(cost=error))
        self.tried.append(({name: float(config[name]) for name in self._names}, error))


def _in_order(maximizer: Any) -> Any:
    """Let SMAC's local search begin in a stated order.

    It keeps where to begin in a set (smac 2.4.1), whose order comes from hashes of text, so from
    the process, and draws numbers for one after the other: a search that goes on in another
    process would ask for something else.
    """
    local = maximizer._local_search
    starts = local._get_init_points_from_previous_configs

    def sorted_starts(*args: Any, **more: Any) -> list[Any]:
        return sorted(starts(*args, **more), key=lambda config: config.get_array().tolist())

    local._get_init_points_from_previous_configs = sorted_starts
    return maximizer


def _never_called(config: Any, seed: int = 0) -> float:
    """SMAC wants a function, but is asked and told."""
    raise AssertionError("SMAC is told errors, and computes none")


def _lines(path: Path) -> list[tuple[Given, float]]:
    """Trials of a file; a last line that a crash tore is cut off, and tried again."""
    if not path.is_file():
        return []
    content = path.read_text(encoding="utf-8")
    whole = content[: content.rfind("\n") + 1]
    if whole != content:
        path.write_text(whole, encoding="utf-8")
    return [(given, error) for given, error in map(json.loads, whole.splitlines())]


KINDS: dict[str, type[Optuna] | type[Smac]] = {"optuna": Optuna, "smac": Smac}
"""By the name that ``train: {search: ...}`` has for them."""
