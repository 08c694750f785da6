"""Find the parameters with which a predictor was closest to people, on a part of a dataset.

Atlas calibrates to the final displacement error on the first part of the detections (section
V-B). The search is Optuna's, or SMAC3's (`stp.train.searches`); it begins with the default
parameters, as the released code does, and one that was interrupted goes on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from stp.core.errors import StpError
from stp.core.job import Interrupted, Report, never, silent
from stp.tracks import errors
from stp.tracks.densities import Density, stated
from stp.tracks.obstacles import Obstacles
from stp.tracks.scenarios import Scenarios
from stp.train import searches


class Predictor(Protocol):
    """A module of `stp.tracks.predictors`; see there."""

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
        """Predict points, samples or a density."""
        ...


@dataclass(frozen=True)
class Calibrated:
    """What a search has found.

    Attributes:
        parameters: the best ones.
        error: mean final displacement error with them, metres.
        default_error: with the default parameters.
        trials: how many parameters were tried.
        tried: all of them in their order, with their ``final_error``.
    """

    parameters: Any
    error: float
    default_error: float
    trials: int
    tried: list[dict[str, float]]


def final_error(
    predictor: Predictor, scenarios: Scenarios, parameters: Any, obstacles: Obstacles | None
) -> float:
    """Mean over scenarios of the final displacement error, metres; of densities, that of the stated
    point.
    """
    steps = scenarios.future.shape[2]
    found = predictor.predict(scenarios, steps, parameters, obstacles)
    predicted = stated(found, scenarios, steps, predictor)
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
        folder: of what it has tried, for this search alone.
        default: parameters that are tried first, and those that are not searched; the predictor's
            own unless given.
        search: a name of `stp.train.searches.KINDS`.
        report: is told the progress.
        interrupted: says whether to stop.

    Raises:
        StpError: there is nothing to search, or no scenario, or the search is not installed.
        Interrupted: it was asked to stop; what was tried is kept.
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
    found = kind(predictor.SEARCH, first, seed=seed, folder=folder, trials=trials)
    while (number := len(found.tried)) < trials:
        if interrupted():
            raise Interrupted(f"stopped after {number} of {trials} parameters")
        given = found.ask()
        found.tell(final_error(predictor, scenarios, replace(default, **given), obstacles))
        report("parameters", number + 1, trials)
    tried = found.tried[:trials]
    best, error = min(tried, key=lambda one: one[1])  # of equal ones the first
    return Calibrated(
        parameters=replace(default, **best),
        error=error,
        default_error=final_error(predictor, scenarios, default, obstacles),
        trials=len(tried),
        tried=[{**given, "final_error": error} for given, error in tried],
    )
