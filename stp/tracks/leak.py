"""How much of the future a protocol lets through to what predictors are given.

It is measured: everything after the last observed position is moved, scenarios are cut again, and
what a predictor is given, and what it predicts, should not have moved.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from stp.tracks import errors
from stp.tracks.prepared import PreparedTracks
from stp.tracks.scenarios import Scenarios, extract
from stp.tracks.tracks import Tracks

SHIFT = 1.0
"""Metres by which futures are moved, along x."""
MOST = 60
"""Scenarios that are looked at, spread over all of them."""

Predict = Callable[[Scenarios], np.ndarray]
"""Positions of scenarios, (S, N, T, 2), metres."""


@dataclass(frozen=True)
class Leak:
    """How far things move when the future does.

    Attributes:
        protocol: of cutting scenarios.
        scenarios: whose future was moved.
        observed: the farthest that an observed position moved, metres.
        predicted: the farthest that a predicted position moved, metres, by predictor.
    """

    protocol: str
    scenarios: int
    observed: float
    predicted: dict[str, float]


@dataclass(frozen=True)
class Effect:
    """Errors of a predictor under a protocol.

    Attributes:
        protocol: of cutting scenarios.
        predictor: its name.
        scenarios, people: that were predicted; a person counts in each scenario.
        ade, fde: means over scenarios, metres.
        common: scenarios that all protocols have, by first frame.
        common_ade, common_fde: means over those.
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
    """Move positions (n, 2) by `SHIFT` along x."""
    return positions + np.array([SHIFT, 0.0])


def pairs(
    place: PreparedTracks,
    protocol: str,
    observe: int,
    predict: int,
    change: Callable[[np.ndarray], np.ndarray] = shifted,
    most: int = MOST,
) -> Iterator[tuple[Scenarios, Scenarios]]:
    """One scenario at a time, as it is and with another future of everybody.

    Args:
        place: the dataset, whose test part is looked at.
        protocol: of cutting scenarios.
        observe, predict: numbers of positions.
        change: what happens to all detections after the observation, (n, 2) to (n, 2), metres.
        most: scenarios that are looked at.

    Raises:
        StpError: there is no scenario.
    """
    tracks = place.part("test", protocol)
    begin, end = spans(tracks)
    # The first and the last one stay: moments are counted from them.
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
        yield whole.chosen(np.array([number])), other.chosen(np.array([same]))


def spans(tracks: Tracks) -> tuple[np.ndarray, np.ndarray]:
    """First and last frame of the person of each detection, (R,)."""
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
    """Move the future of everybody by `SHIFT`, scenario by scenario.

    Args:
        place: the dataset, whose test part is looked at.
        protocol: of cutting scenarios.
        observe, predict: numbers of positions.
        predictors: by name.
        most: scenarios that are looked at.

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
    """The greatest distance between positions (..., 2), metres; NaN is nobody."""
    away = np.linalg.norm(after - before, axis=-1)
    return float(np.nanmax(away, initial=0.0))


def effects(
    place: PreparedTracks,
    protocols: tuple[str, ...],
    observe: int,
    predict: int,
    predictors: Mapping[str, Predict],
) -> list[Effect]:
    """Errors of each predictor under each protocol: on all its scenarios, and on those of all.

    Args:
        place: the dataset, whose test part is looked at.
        protocols: of cutting scenarios.
        observe, predict: numbers of positions.
        predictors: by name.

    Raises:
        StpError: a protocol has no scenario.
    """
    cut = {name: place.scenarios("test", name, observe, predict) for name in protocols}
    common = set.intersection(*(set(found.start.tolist()) for found in cut.values()))
    rows = []
    for predictor, predicts in predictors.items():
        for protocol, found in cut.items():
            away = errors.displacement(predicts(found), found.future)
            ade, fde = (errors.by_scenario(f(away)) for f in (errors.ade, errors.fde))
            shared = np.isin(found.start, list(common))
            rows.append(
                Effect(
                    protocol,
                    predictor,
                    scenarios=len(found),
                    people=int(found.followed.sum()),
                    ade=float(ade.mean()),
                    fde=float(fde.mean()),
                    common=len(common),
                    # A mean over no scenario does not exist.
                    common_ade=float(ade[shared].mean()) if common else np.nan,
                    common_fde=float(fde[shared].mean()) if common else np.nan,
                )
            )
    return rows
