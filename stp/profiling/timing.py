"""Time repeated work after a warm-up: median and quartiles of the durations."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

from torch import nn

from stp.core.job import Report

LEAST = 3
"""Minimum number of repetitions."""
MOST = 1000
WARM = 0.2
"""Share of the time for the warm-up."""


@dataclass(frozen=True)
class Timing:
    """Durations of a piece of work, in seconds.

    Attributes:
        median: median of the repetitions.
        low: first quartile of the repetitions.
        high: third quartile of the repetitions.
        repetitions: number of repetitions, without the warm-up.
    """

    median: float
    low: float
    high: float
    repetitions: int

    @classmethod
    def of(cls, durations: Sequence[float]) -> "Timing":
        """Summarise durations in seconds; at least two are required."""
        low, median, high = statistics.quantiles(durations, n=4, method="inclusive")
        return cls(median, low, high, len(durations))

    def times(self, factor: float) -> "Timing":
        """Multiply all durations, for several such pieces of work one after the other.

        Args:
            factor: number of pieces; below 1 for a part of one.
        """
        return Timing(self.median * factor, self.low * factor, self.high * factor, self.repetitions)


def time_repetitions(
    run: Callable[[], object], wait: Callable[[], None], seconds: float, label: str, report: Report
) -> Timing:
    """Measure how long a piece of work takes, in 3 to 1000 repetitions after a warm-up.

    The warm-up is further calls of ``run``, for a fifth of ``seconds``. Work that takes ``seconds``
    or longer has no such warm-up.

    Args:
        run: function that does the work. The caller has to call it once before, since first calls
            are often slower.
        wait: function that waits until the device has finished all of its work.
        seconds: total time of repetitions, in seconds, after which no further one starts.
        label: name of the work, for the progress line.
        report: callback for the progress, in milliseconds done and to do.
    """
    first = _time_once(run, wait)
    # Long work is warmed up by the first call.
    durations = [first] if first >= seconds else []
    warmed = first
    while not durations and warmed < WARM * seconds:
        report(f"{label}: warming up", 0, int(1000 * seconds))
        warmed += _time_once(run, wait)
    while len(durations) < LEAST or (sum(durations) < seconds and len(durations) < MOST):
        durations.append(_time_once(run, wait))
        done = min(sum(durations), seconds)
        report(f"{label}: repetition {len(durations)}", int(1000 * done), int(1000 * seconds))
    return Timing.of(durations)


class Laps:
    """Stopwatch for a forecast that evaluates its network several times, such as by diffusion.

    The forecast is made repeatedly; each repetition is a lap. Durations are in seconds.

    Args:
        network: the network that the forecast evaluates.
        wait: function that waits until the device has finished all of its work.

    Attributes:
        before: times from the start to the first evaluation, one for each lap.
        inside: durations of all evaluations.
        between: times from the start of an evaluation to that of the next one, or to the end.
    """

    def __init__(self, network: nn.Module, wait: Callable[[], None]) -> None:
        self.network, self.wait = network, wait
        self.before: list[float] = []
        self.inside: list[float] = []
        self.between: list[float] = []
        self._starts: list[float] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Context manager: record start and duration of each evaluation of the network."""
        hooks = [
            self.network.register_forward_pre_hook(lambda *_: self._starts.append(self._now())),
            self.network.register_forward_hook(
                lambda *_: self.inside.append(self._now() - self._starts[-1])
            ),
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def lap(self, run: Callable[[], object]) -> None:
        """Make the forecast once, and record its durations; to be called inside `watching`.

        Args:
            run: function that makes the forecast.
        """
        self._starts = []
        begun = self._now()
        run()
        self.before.append(self._starts[0] - begun)
        marks = [*self._starts, self._now()]
        self.between += [after - before for before, after in pairwise(marks)]

    def _now(self) -> float:
        self.wait()
        return time.perf_counter()


def _time_once(run: Callable[[], object], wait: Callable[[], None]) -> float:
    wait()
    begun = time.perf_counter()
    run()
    wait()
    return time.perf_counter() - begun
