"""Calibrate a predictor of people: search for the parameters with the smallest final error.

The final displacement error is the distance between predicted and observed position at the last
lead time. The benchmark Atlas calibrates on the first part of the detections (section V-B of its
paper). The search is Optuna's or SMAC3's (`stp.train.searches`) and begins with the default
parameters, as the released code of Atlas does.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from stp.core.errors import StpError
from stp.core.job import Interrupted, Report, never_interrupted, report_nothing
from stp.tracks import errors
from stp.tracks.densities import Density, to_positions
from stp.tracks.obstacles import Obstacles
from stp.tracks.scenarios import Scenarios
from stp.train import searches


class Predictor(Protocol):
    """Interface of a predictor module (`stp.tracks.predictors`) that can be calibrated.

    Attributes:
        SEARCH: smallest and largest value of each parameter to search, by name.
        Parameters: dataclass of all parameters, with their defaults.
    """

    SEARCH: dict[str, tuple[float, float]]
    Parameters: Any

    @staticmethod
    def predict(
        scenarios: Scenarios,
        steps: int,
        parameters: Any,
        obstacles: Obstacles | None = None,
        jitter: np.ndarray | None = None,
    ) -> np.ndarray | Density:
        """Predict the positions of the people in scenarios.

        Args:
            scenarios: S scenarios with the observed positions of at most N people each.
            steps: number T of lead times.
            parameters: parameters of the predictor.
            obstacles: obstacles of the scene; None if there is no map.
            jitter: random movement to add at each step, metres, (S, N, T, 2); None for none.

        Returns:
            positions in metres, (S, N, T, 2); or K samples of them, (K, S, N, T, 2); or a
            probability density of the position for each person and lead time.
        """
        ...


@dataclass(frozen=True)
class Calibrated:
    """Result of a calibration of a predictor of people's paths.

    Attributes:
        parameters: the best parameters.
        error: mean final displacement error of the best parameters, metres.
        default_error: mean final displacement error of the default parameters, metres.
        trials: number of trials.
        tried: parameters of all trials, in order, each with the key ``final_error``.
    """

    parameters: Any
    error: float
    default_error: float
    trials: int
    tried: list[dict[str, float]]


def final_error(
    predictor: Predictor, scenarios: Scenarios, parameters: Any, obstacles: Obstacles | None
) -> float:
    """Mean final displacement error of a predictor with given parameters, metres.

    The error of a person is the distance between predicted and observed position at the last lead
    time. A predicted density counts by one position, such as the centre of its most probable cell.

    Args:
        predictor: the predictor.
        scenarios: scenarios with observed and future positions of people.
        parameters: parameters of the predictor.
        obstacles: obstacles of the scene; None if there is no map.
    """
    steps = scenarios.future.shape[2]
    prediction = predictor.predict(scenarios, steps, parameters, obstacles)
    predicted = to_positions(prediction, scenarios, steps, predictor)
    of_scenarios = errors.by_scenario(errors.fde(errors.displacement(predicted, scenarios.future)))
    return float(of_scenarios.mean())


def calibrate(
    predictor: Predictor,
    scenarios: Scenarios,
    obstacles: Obstacles | None,
    *,
    trials: int,
    seed: int,
    folder: Path,
    search: str = "optuna",
    default: Any = None,
    report: Report = report_nothing,
    interrupted: Callable[[], bool] = never_interrupted,
) -> Calibrated:
    """Search for the parameters with the smallest final error.

    The result is the same whether or not the search is interrupted.

    Args:
        predictor: predictor with parameters to search.
        scenarios: scenarios to which predictions are compared.
        obstacles: obstacles of the scene; None if there is no map.
        trials: number of trials, including the trial of the default parameters.
        seed: seed of the search.
        folder: folder of the trials, used by this search only.
        default: parameters of the first trial, including fixed ones; by default the defaults of the
            predictor.
        search: search method: ``optuna`` or ``smac`` (see `stp.train.searches`).
        report: function that receives the progress.
        interrupted: function that returns whether to stop.

    Raises:
        StpError: the predictor has no parameters to search, there is no scenario, or the search
            method is not installed.
        Interrupted: the job was asked to stop; its trials are kept.
    """
    default = predictor.Parameters() if default is None else default
    if not predictor.SEARCH:
        raise StpError("this predictor has nothing to calibrate", remedy="use it as it is")
    if not len(scenarios):
        raise StpError(
            "no scenario to calibrate on",
            expected="at least one in the part of the dataset that calibration may see",
            remedy="ask for fewer people, or for shorter observation and prediction",
        )
    folder.mkdir(parents=True, exist_ok=True)
    first = {name: float(getattr(default, name)) for name in predictor.SEARCH}
    kind = searches.KINDS[search]
    running = kind(predictor.SEARCH, first, seed=seed, folder=folder, trials=trials)
    while (number := len(running.tried)) < trials:
        if interrupted():
            raise Interrupted(f"stopped after {number} of {trials} parameters")
        parameters = replace(default, **running.ask())
        running.tell(final_error(predictor, scenarios, parameters, obstacles))
        report("parameters", number + 1, trials)
    tried = running.tried[:trials]
    best, error = min(tried, key=lambda trial: trial[1])  # the first of equal ones
    return Calibrated(
        parameters=replace(default, **best),
        error=error,
        default_error=final_error(predictor, scenarios, default, obstacles),
        trials=len(tried),
        tried=[{**values, "final_error": error} for values, error in tried],
    )
