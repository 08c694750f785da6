"""Measure run times of predictions, by the number of people in a scenario.

Scenarios are predicted one at a time, as a robot would do it, so durations are latencies. They
differ between runs, and are used in one table and one figure only.
"""

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from stp.tracks.scenarios import Scenarios

SCENARIOS = 5
"""Maximum number of measured scenarios for each number of people, evenly spaced."""
REPEATS = 5
"""Maximum number of measurements of each scenario, after a warm-up."""
SECONDS = 0.5
"""Time limit of all measurements, divided among the numbers of people; each has at least one
measurement."""

RUNTIME = pa.schema(
    [
        ("people", pa.int64()),
        ("milliseconds", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("least", pa.float64()),
        ("scenarios", pa.int64()),
        ("measurements", pa.int64()),
    ]
)
"""A row for each number of people: median, quartiles and minimum of the milliseconds of a scenario,
and numbers of scenarios and measurements. On a busy machine, the minimum is most reliable."""


def measure(
    predict: Callable[[Scenarios], object],
    scenarios: Scenarios,
    *,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> pa.Table:
    """Measure the duration of the prediction of a scenario, by number of people.

    Args:
        predict: function that predicts scenarios; its result is ignored.
        scenarios: scenarios, some of which are measured.
        seconds: time limit of all measurements together, seconds.
        clock: function that returns the current time in seconds.

    Returns:
        a row for each number of people, ascending, with the schema `RUNTIME`: median, quartiles
        and minimum of the milliseconds of a prediction, and numbers of scenarios and measurements.
    """
    sizes = scenarios.present.sum(axis=1)
    counts = np.unique(sizes).tolist()
    rows = []
    for people in counts:
        alike = np.flatnonzero(sizes == people)
        picked = np.linspace(0, len(alike) - 1, min(SCENARIOS, len(alike))).round().astype(int)
        chosen = [scenarios.select(alike[[place]]) for place in picked]
        took, number = _time_scenarios(predict, chosen, seconds / len(counts), clock)
        low, middle, high = np.percentile(took, (25, 50, 75))
        rows.append((people, middle, low, high, min(took), number, len(took)))
    columns = list(zip(*rows, strict=True)) or [()] * len(RUNTIME)
    return pa.table(dict(zip(RUNTIME.names, columns, strict=True)), RUNTIME)


def _time_scenarios(
    predict: Callable[[Scenarios], object],
    chosen: list[Scenarios],
    seconds: float,
    clock: Callable[[], float],
) -> tuple[list[float], int]:
    """Measure scenarios in turn: milliseconds of each measurement, and number of scenarios."""
    began = clock()
    took: list[float] = []
    for turn in range(REPEATS):
        for one in chosen:
            if took and clock() - began > seconds:
                return took, min(len(took), len(chosen))
            if turn == 0:
                predict(one)
            before = clock()
            predict(one)
            took.append(1000 * (clock() - before))
    return took, len(chosen)
