"""Measure how much of the future leaks into what predictors of people's paths observe.

All positions after the last observed one are moved, and scenarios are cut again. If observed or
predicted positions then move too, the protocol by which scenarios are cut leaks the future, for
example since it smooths whole tracks.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from stp.tracks import errors
from stp.tracks.prepared import PreparedTracks
from stp.tracks.scenarios import Scenarios, extract
from stp.tracks.tracks import Tracks

SHIFT = 1.0
"""Shift of futures along x, metres."""
MOST = 60
"""Maximum number of measured scenarios, evenly spaced over all."""

Predict = Callable[[Scenarios], np.ndarray]
"""Function from scenarios to positions, (S, N, T, 2), metres."""


@dataclass(frozen=True)
class Leak:
    """Movements of observed and predicted positions caused by moving the future.

    Attributes:
        protocol: name of the protocol by which scenarios are cut, such as ``strict``.
        scenarios: number of scenarios whose future was moved.
        observed: largest movement of an observed position, metres.
        predicted: largest movement of a predicted position, metres, by name of the predictor.
    """

    protocol: str
    scenarios: int
    observed: float
    predicted: dict[str, float]


@dataclass(frozen=True)
class Effect:
    """Displacement errors of a predictor in scenarios that were cut by one protocol.

    Protocols yield different scenarios, so errors are also given for those that all have in common.

    Attributes:
        protocol: name of the protocol, such as ``strict``.
        predictor: name of the predictor.
        scenarios, people: numbers of scenarios, and of people over all scenarios.
        ade, fde: average and final displacement error, mean over scenarios, metres.
        common: number of scenarios that all protocols have in common, identified by their first
            frame.
        common_ade, common_fde: the same errors, mean over the common scenarios, metres.
    """

    protocol: str
    predictor: str
    scenarios: int
    people: int
    ade: float
    fde: float
    common: int
    common_ade: float
    common_fde: float


def shifted(positions: np.ndarray) -> np.ndarray:
    """Move positions, a row (x, y) each, by `SHIFT` (1 m) along x."""
    return positions + np.array([SHIFT, 0.0])


def pairs(
    place: PreparedTracks,
    protocol: str,
    observe: int,
    predict: int,
    change: Callable[[np.ndarray], np.ndarray] = shifted,
    most: int = MOST,
) -> Iterator[tuple[Scenarios, Scenarios]]:
    """Yield each scenario twice: unchanged, and with a changed future of all people.

    Args:
        place: the dataset; its test part is used.
        protocol: name of the rules by which scenarios are cut, such as ``strict``.
        observe, predict: numbers of observed and of future positions.
        change: function of all positions after the observation, a row (x, y) each in metres, that
            returns the changed positions.
        most: maximum number of scenarios, which are evenly spaced over all.

    Yields:
        a pair for each scenario: itself, and the scenario that is cut from the same moment after
        the change.

    Raises:
        StpError: there is no scenario.
    """
    tracks = place.part("test", protocol)
    begin, end = spans(tracks)
    # People of the first and the last frame are kept, since moments are counted from these.
    ends = (tracks.frame == tracks.frame.min()) | (tracks.frame == tracks.frame.max())
    ends = np.isin(tracks.person, tracks.person[ends])
    whole = place.scenarios("test", protocol, observe, predict)
    for number in np.unique(np.linspace(0, len(whole) - 1, most).astype(int)):
        start = whole.start[number]
        near = (begin < start + (observe + predict) * place.step) & (end >= start)
        some = tracks.rows(near | ends)
        later = some.frame >= start + observe * place.step
        position = some.position.copy()
        position[later] = change(position[later])
        moved = replace(some, position=position)
        other = extract(moved, observe=observe, predict=predict, **place.rules(protocol))
        (same,) = np.flatnonzero(other.start == whole.start[number])
        yield whole.select(np.array([number])), other.select(np.array([same]))


def spans(tracks: Tracks) -> tuple[np.ndarray, np.ndarray]:
    """Look up when the person of each detection is first and last seen.

    Returns:
        numbers of these first frames, and of these last frames: two arrays with an element for
        each detection.
    """
    _, person = np.unique(tracks.person, return_inverse=True)
    begin = np.full(person.max(initial=0) + 1, np.inf)
    end = np.full(len(begin), -np.inf)
    np.minimum.at(begin, person, tracks.frame)
    np.maximum.at(end, person, tracks.frame)
    return begin[person], end[person]


def measure(
    place: PreparedTracks,
    protocol: str,
    observe: int,
    predict: int,
    predictors: Mapping[str, Predict],
    most: int = MOST,
) -> Leak:
    """Measure how far positions move when the future of all people is moved by `SHIFT` (1 m).

    Observed positions should not move at all, nor should predictions, which depend on them only.

    Args:
        place: the dataset; its test part is used.
        protocol: name of the rules by which scenarios are cut, such as ``strict``.
        observe, predict: numbers of observed and of future positions.
        predictors: functions from scenarios to predicted positions, by name of the predictor.
        most: maximum number of scenarios.

    Raises:
        StpError: there is no scenario.
    """
    count, observed = 0, 0.0
    predicted = dict.fromkeys(predictors, 0.0)
    for before, after in pairs(place, protocol, observe, predict, most=most):
        count += 1
        observed = max(observed, farthest(before.observed, after.observed))
        for name, predictor in predictors.items():
            moved = farthest(predictor(before), predictor(after))
            predicted[name] = max(predicted[name], moved)
    return Leak(protocol, count, observed, predicted)


def farthest(before: np.ndarray, after: np.ndarray) -> float:
    """Largest distance between corresponding positions of `before` and `after`, metres.

    Both have the shape (..., 2). Positions of absent people, NaN, are ignored; if all people are
    absent, the result is 0.
    """
    away = np.linalg.norm(after - before, axis=-1)
    return float(np.nanmax(away, initial=0.0))


def effects(
    place: PreparedTracks,
    protocols: tuple[str, ...],
    observe: int,
    predict: int,
    predictors: Mapping[str, Predict],
) -> list[Effect]:
    """Compute the errors of predictors in scenarios that were cut by several protocols.

    Errors are means over all scenarios, and over those that all protocols have in common.

    Args:
        place: the dataset; its test part is used.
        protocols: names of the protocols.
        observe, predict: numbers of observed and of future positions.
        predictors: functions from scenarios to predicted positions, by name of the predictor.

    Returns:
        errors of each predictor under each protocol.

    Raises:
        StpError: a protocol has no scenario.
    """
    cut = {name: place.scenarios("test", name, observe, predict) for name in protocols}
    common = set.intersection(*(set(scenarios.start.tolist()) for scenarios in cut.values()))
    rows = []
    for predictor, predicts in predictors.items():
        for protocol, scenarios in cut.items():
            away = errors.displacement(predicts(scenarios), scenarios.future)
            ade, fde = (errors.by_scenario(f(away)) for f in (errors.ade, errors.fde))
            shared = np.isin(scenarios.start, list(common))
            rows.append(
                Effect(
                    protocol,
                    predictor,
                    scenarios=len(scenarios),
                    people=int(scenarios.has_future.sum()),
                    ade=float(ade.mean()),
                    fde=float(fde.mean()),
                    common=len(common),
                    common_ade=float(ade[shared].mean()) if common else np.nan,
                    common_fde=float(fde[shared].mean()) if common else np.nan,
                )
            )
    return rows
