"""Find the parameters with which a predictor was closest to people, on a part of a dataset.

Atlas calibrates to the final displacement error on the first part of the detections (section V-B).
The search is Optuna's (a tree-structured Parzen estimator), which begins with the default
parameters, as the released code does; its trials are kept in a journal, so that one that was
interrupted goes on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from stp.errors import StpError
from stp.job import Interrupted, Report, never, silent
from stp.motion import errors
from stp.motion.obstacles import Obstacles
from stp.motion.scenarios import Scenarios


class Predictor(Protocol):
    """A module of `stp.motion.predictors`."""

    SEARCH: dict[str, tuple[float, float]]
    Parameters: Any

    @staticmethod
    def predict(
        scenarios: Scenarios, steps: int, parameters: Any, obstacles: Obstacles | None = None
    ) -> np.ndarray:
        """Predict positions, (S, N, steps, 2), metres."""
        ...


@dataclass(frozen=True)
class Calibrated:
    """What a search has found.

    Attributes:
        parameters: the best ones.
        error: mean final displacement error with them, metres.
        default_error: with the default parameters.
        trials: how many parameters were tried.
    """

    parameters: Any
    error: float
    default_error: float
    trials: int


def final_error(
    predictor: Predictor, scenarios: Scenarios, parameters: Any, obstacles: Obstacles | None
) -> float:
    """Mean over scenarios of the final displacement error, metres."""
    steps = scenarios.future.shape[2]
    predicted = predictor.predict(scenarios, steps, parameters, obstacles)
    found = errors.by_scenario(errors.fde(errors.displacement(predicted, scenarios.future)))
    return float(found.mean())


def calibrate(
    predictor: Predictor,
    scenarios: Scenarios,
    obstacles: Obstacles | None,
    *,
    trials: int,
    seed: int,
    folder: Path,
    report: Report = silent,
    interrupted: Callable[[], bool] = never,
) -> Calibrated:
    """Search for the parameters with the smallest final error.

    The same arguments give the same parameters, in one go or in several.

    Args:
        predictor: with parameters to search.
        scenarios: to be close to.
        obstacles: of their place.
        trials: parameters to try, the default ones first.
        seed: of the search.
        folder: of the journal, for this search alone.
        report: is told the progress.
        interrupted: says whether to stop.

    Raises:
        StpError: there is nothing to search, or no scenario.
        Interrupted: it was asked to stop; what was tried is kept.
    """
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    from optuna.trial import TrialState

    from stp.search.study import JOURNAL, mend

    default = predictor.Parameters()
    if not predictor.SEARCH:
        raise StpError("this predictor has nothing to calibrate", remedy="use it as it is")
    if not len(scenarios):
        raise StpError(
            "no scenario to calibrate on",
            expected="at least one in the part of the dataset that calibration may see",
            remedy="ask for fewer people, or for shorter observation and prediction",
        )
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    folder.mkdir(parents=True, exist_ok=True)
    mend(folder / JOURNAL)
    study = optuna.create_study(
        study_name="calibration",
        storage=JournalStorage(JournalFileBackend(str(folder / JOURNAL))),
        direction="minimize",
        load_if_exists=True,
    )
    if not study.trials:
        study.enqueue_trial({name: getattr(default, name) for name in predictor.SEARCH})

    def done() -> int:
        return len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))

    while (number := done()) < trials:
        if interrupted():
            raise Interrupted(f"stopped after {number} of {trials} parameters")
        # A sampler of its own for each trial: the numbers that it draws depend on the trial alone,
        # and not on where a search was interrupted.
        study.sampler = optuna.samplers.TPESampler(seed=seed + number)
        trial = study.ask()
        given = {
            name: trial.suggest_float(name, low, high)
            for name, (low, high) in predictor.SEARCH.items()
        }
        error = final_error(predictor, scenarios, replace(default, **given), obstacles)
        study.tell(trial, error)
        report("parameters", number + 1, trials)
    tried = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))[:trials]
    best = min(tried, key=lambda trial: (trial.value, trial.number))
    return Calibrated(
        parameters=replace(default, **best.params),
        error=float(best.value or 0.0),
        default_error=final_error(predictor, scenarios, default, obstacles),
        trials=len(tried),
    )
