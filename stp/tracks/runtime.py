"""How long a predictor takes for one scenario, by the number of its people.

Scenarios are predicted one at a time, as a robot would have to, and not in batches: what is
measured is the answer's delay. Durations differ from run to run, so nothing is made of them but
the table and the figure that show them.
"""

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from stp.tracks.scenarios import Scenarios

SCENARIOS = 5
"""Of each number of people that are measured at most, evenly spread over those that there are."""
REPEATS = 5
"""Times that each is measured at most, after a first time, which warms up."""
SECONDS = 0.5
"""That all measurements may take; each number of people has its share, and one measurement."""

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
"""A row for each number of people: median, quartiles and least of the milliseconds of one scenario,
over all measurements of so many scenarios. On a busy machine the least says most."""


def measure(
    predict: Callable[[Scenarios], object],
    scenarios: Scenarios,
    *,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.perf_counter,
) -> pa.Table:
    """Measure a predictor.

    Args:
        predict: predicts scenarios.
        scenarios: to choose from.
        seconds: that it may take.
        clock: seconds.

    Returns:
        rows of `RUNTIME`, ascending in the number of people.
    """
    sizes = scenarios.present.sum(axis=1)
    counts = np.unique(sizes).tolist()
    rows = []
    for people in counts:
        alike = np.flatnonzero(sizes == people)
        picked = np.linspace(0, len(alike) - 1, min(SCENARIOS, len(alike))).round().astype(int)
        chosen = [scenarios.chosen(alike[[place]]) for place in picked]
        took, number = _measured(predict, chosen, seconds / len(counts), clock)
        low, middle, high = np.percentile(took, (25, 50, 75))
        rows.append((people, middle, low, high, min(took), number, len(took)))
    columns = list(zip(*rows, strict=True)) or [()] * len(RUNTIME)
    return pa.table(dict(zip(RUNTIME.names, columns, strict=True)), RUNTIME)


def _measured(
    predict: Callable[[Scenarios], object],
    chosen: list[Scenarios],
    seconds: float,
    clock: Callable[[], float],
) -> tuple[list[float], int]:
    """Milliseconds of each measurement, all scenarios in turn; how many of them were reached."""
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
