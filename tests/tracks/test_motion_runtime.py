"""How long a predictor takes, by the number of people."""

import numpy as np
import pytest
from crowds import crowd

from stp.tracks import runtime
from stp.tracks.scenarios import Scenarios


class Predictor:
    """Takes 3 ms for each person of a scenario, by a clock of its own; at first a second more."""

    def __init__(self) -> None:
        self.now, self.calls = 0.0, []

    def __call__(self, scenarios: Scenarios) -> None:
        people = int(scenarios.present.sum())
        known = people in [number for number, _ in self.calls]
        self.calls.append((people, scenarios.person.shape))
        self.now += 0.003 * people + (0 if known else 1)

    def clock(self) -> float:
        return self.now


def test_each_number_of_people_has_its_milliseconds() -> None:
    predictor = Predictor()
    scenarios = crowd(40, 4, seed=1)
    found = runtime.measure(predictor, scenarios, seconds=100, clock=predictor.clock).to_pylist()
    counts = np.bincount(scenarios.present.sum(axis=1))
    assert [row["people"] for row in found] == [2, 3, 4]
    for row in found:
        times = [row[name] for name in ("milliseconds", "low", "high", "least")]
        assert times == pytest.approx([3 * row["people"]] * 4)
        assert row["scenarios"] == min(5, counts[row["people"]])
        assert row["measurements"] == 5 * row["scenarios"]


def test_scenarios_are_measured_alone_and_without_empty_places() -> None:
    predictor = Predictor()
    runtime.measure(predictor, crowd(9, 5), seconds=100, clock=predictor.clock)
    assert all(shape == (1, people) for people, shape in predictor.calls)


def test_every_number_of_people_has_its_share_of_the_time() -> None:
    predictor = Predictor()  # 2 s for the first call of each number of people
    found = runtime.measure(predictor, crowd(60, 6), seconds=0.5, clock=predictor.clock).to_pylist()
    assert [(row["scenarios"], row["measurements"]) for row in found] == [(1, 1)] * 5
    quick = Predictor()
    quick.calls = predictor.calls  # warm: 6 ms to 18 ms each, of a fifth of 0.31 s
    found = runtime.measure(quick, crowd(60, 6), seconds=0.31, clock=quick.clock).to_pylist()
    assert [row["scenarios"] for row in found] == [5, 4, 3, 3, 2]
    assert all(row["people"] * 0.003 * row["measurements"] < 0.06 for row in found)


def test_median_quartiles_and_least_are_over_all_measurements() -> None:
    durations = iter([7, 1, 7, 2, 7, 3, 7, 4, 7, 5, *range(6, 26)])  # warm-ups take 7 s
    now = [0.0]

    def predict(one: Scenarios) -> None:
        now[0] += next(durations)

    (row,) = runtime.measure(predict, crowd(5, 2), seconds=1e9, clock=lambda: now[0]).to_pylist()
    assert row == {
        **{"people": 2, "milliseconds": 13000, "low": 7000, "high": 19000, "least": 1000},
        **{"scenarios": 5, "measurements": 25},
    }
