"""Parameter searches with an ask-and-tell interface: Optuna and SMAC3.

A search stores its trials in a folder. The next parameters depend on the seed and the trials only,
so a resumed search gives the same result as an uninterrupted one.
"""

import json
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from stp.core.errors import StpError

Values = dict[str, float]
"""Values of the searched parameters, by name."""
Bounds = dict[str, tuple[float, float]]
"""Smallest and largest value of each searched parameter, by name."""


class Search(Protocol):
    """Interface of a search for parameters with a small error.

    It proposes values of the parameters, by name (`ask`), and is told their error (`tell`).

    Attributes:
        tried: parameters and error of each trial, in order.
    """

    tried: list[tuple[Values, float]]

    def ask(self) -> Values:
        """Return the values to try next, by name of the parameter."""
        ...

    def tell(self, error: float) -> None:
        """Record the error of the parameters that the last call of `ask` returned."""
        ...


class Optuna:
    """Optuna's tree-structured Parzen estimator; its trials are stored in a file of Optuna.

    Args:
        bounds: smallest and largest value of each parameter.
        default: parameters of the first trial.
        seed: seed of the search.
        folder: folder of the file with the trials.
        trials: ignored; other searches need the number of trials.
    """

    def __init__(
        self, bounds: Bounds, default: Values, *, seed: int, folder: Path, trials: int = 0
    ) -> None:
        import optuna
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend
        from optuna.trial import TrialState

        from stp.core.journal import JOURNAL, remove_incomplete_line

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        remove_incomplete_line(folder / JOURNAL)
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
        for trial in running:  # killed: tried again, and ignored by the sampler
            self._study.tell(trial.number, state=TrialState.FAIL)
        if not self.tried and not waiting:
            self._study.enqueue_trial(default)

    def ask(self) -> Values:
        """Return the values to try next, by name of the parameter."""
        import optuna

        # Each trial has a sampler of its own, so that its random numbers do not depend on where a
        # search was interrupted. Trials of other seeds have other numbers.
        stream = np.random.SeedSequence([self._seed, len(self.tried)]).generate_state(1)[0]
        self._study.sampler = optuna.samplers.TPESampler(seed=int(stream))
        self._trial = self._study.ask()
        return {
            name: self._trial.suggest_float(name, low, high)
            for name, (low, high) in self._bounds.items()
        }

    def tell(self, error: float) -> None:
        """Record the error of the values that the last call of `ask` returned."""
        self._study.tell(self._trial, error)
        self.tried.append((dict(self._trial.params), error))


class Smac:
    """SMAC3: Bayesian optimisation with random forests, starting at the defaults, as in Atlas.

    Trials are stored in a file of our own format, and replayed when a search is resumed.

    Args:
        bounds: smallest and largest value of each parameter.
        default: parameters of the first trial.
        seed: seed of the search.
        folder: folder of the trials and of SMAC's own files.
        trials: number of trials.

    Raises:
        StpError: SMAC3 is not installed, or the file belongs to another search.
    """

    TRIED = "smac.jsonl"

    def __init__(
        self, bounds: Bounds, default: Values, *, seed: int, folder: Path, trials: int
    ) -> None:
        try:
            from ConfigSpace import ConfigurationSpace, Float
            from smac import HyperparameterOptimizationFacade, Scenario
            from smac.initial_design import DefaultInitialDesign
        except ImportError:
            raise StpError(
                "SMAC3 is not installed",
                expected="the extra smac, for train: {search: smac}",
                remedy="pip install 'stp[smac]', or omit search to use Optuna",
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
        self.tried: list[tuple[Values, float]] = []
        for parameters, error in _lines(self._path):
            if self.ask() != parameters:
                raise StpError(
                    f"{self._path}: SMAC asks for other parameters than were tried",
                    expected="trials of this search, by this version of SMAC",
                    remedy=f"start again: rm -r {folder}",
                )
            self._learn(error)

    def ask(self) -> Values:
        """Return the values to try next, by name of the parameter."""
        self._trial = self._smac.ask()
        config = dict(self._trial.config)
        return {name: float(config[name]) for name in self._names}

    def tell(self, error: float) -> None:
        """Record the error of the values that the last call of `ask` returned."""
        self._learn(error)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self.tried[-1]) + "\n")

    def _learn(self, error: float) -> None:
        from smac.runhistory import TrialValue

        config = dict(self._trial.config)
        self._smac.tell(self._trial, TrialValue(cost=error))
        self.tried.append(({name: float(config[name]) for name in self._names}, error))


def _in_order(maximizer: Any) -> Any:
    """Let SMAC's local search visit its starting points in sorted order.

    SMAC (2.4.1) stores them in a set, whose order depends on the process, and draws random numbers
    in this order. A search resumed in another process would therefore propose other parameters.
    """
    local = maximizer._local_search
    starts = local._get_init_points_from_previous_configs

    def sorted_starts(*args: Any, **more: Any) -> list[Any]:
        return sorted(starts(*args, **more), key=lambda config: config.get_array().tolist())

    local._get_init_points_from_previous_configs = sorted_starts
    return maximizer


def _never_called(config: Any, seed: int = 0) -> float:
    """Placeholder for the target function that SMAC requires, even with ask and tell."""
    raise AssertionError("SMAC does not compute errors")


def _lines(path: Path) -> list[tuple[Values, float]]:
    """Read the trials in a file; an incomplete last line, left by a crash, is removed."""
    if not path.is_file():
        return []
    content = path.read_text(encoding="utf-8")
    whole = content[: content.rfind("\n") + 1]
    if whole != content:
        path.write_text(whole, encoding="utf-8")
    return [(parameters, error) for parameters, error in map(json.loads, whole.splitlines())]


KINDS: dict[str, type[Optuna] | type[Smac]] = {"optuna": Optuna, "smac": Smac}
"""Searches by their name in ``train: {search: ...}``."""
