"""The contract of a metric: statistics of single samples, and values computed from their mean.

Shape letters: N samples, M members of an ensemble, K components, S series, T lead times, C
channels, H, W.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

Windows = tuple[tuple[int, int], ...]
"""First and last lead times, from 1."""


class NetworkInputs(NamedTuple):
    """What conventions that use a network are computed from.

    Attributes:
        weights: checksums of the declared weights, by network.
        files: paths of files of weights, by network.
        features: name of the features of each distance between sets of clips.
        folders: artefacts of features, ``<name>.observed`` and ``<name>.predicted``.
        device: "auto", "cpu" or "cuda".
        threads: number of CPU threads.
    """

    weights: Mapping[str, Mapping[str, str]]
    files: Mapping[str, str]
    features: Mapping[str, str]
    folders: Mapping[str, Path]
    device: str
    threads: int


class SetValue(NamedTuple):
    """The value of a convention for all clips together.

    Attributes:
        value: the value; None where there is a ``reason``.
        n: number of clips.
        reason: why the value is missing.
    """

    value: float | None
    n: int
    reason: str | None


@runtime_checkable
class Convention(Protocol):
    """A function of ``stp.metrics`` with options, which says how it scores forecasts of frames."""

    def loaded(self, name: str, networks: NetworkInputs, /) -> "Metric | SetValue":
        """The metric of single clips, or the value of all clips.

        Args:
            name: name of the convention.
            networks: weights of networks, and features that networks computed.

        Raises:
            StpError: weights or features are missing or damaged, or this convention does not
                compare frames.
        """


class Series(NamedTuple):
    """The subject of one of several values of a convention; None where it is everything.

    Attributes:
        variable: a variable, such as ``z500``.
        level: a level, in the units of the data's coordinate.
        threshold: a threshold of events.
    """

    variable: str | None = None
    level: float | None = None
    threshold: float | None = None


def first_component(means: np.ndarray) -> np.ndarray:
    """The mean itself is the value: (..., K, T) -> (..., T)."""
    return means[..., 0, :]


def every_component(means: np.ndarray) -> np.ndarray:
    """The mean of each component is the value of a series: (..., K, T) -> (..., S = K, T)."""
    return means


class Batches(NamedTuple):
    """Samples that make one value together: means of their statistics become its score.

    Attributes:
        number: number of the batch of each sample, from 0, int64 (N,).
        components: statistics of each variable.
        score: means over the samples of a batch, (C * components, T'), to values (C, T').
    """

    number: np.ndarray
    components: int
    score: Callable[[np.ndarray], np.ndarray]


def batch_weights(number: np.ndarray) -> np.ndarray:
    """Weights with mean 1 of each sample in the mean of means of batches, which weigh alike.

    Args:
        number: number of the batch of each sample, from 0, (N,).

    Returns:
        float64 (N,).
    """
    sizes = np.bincount(number)
    return np.asarray(len(number) / (len(sizes) * sizes[number]))


class Metric(NamedTuple):
    """One convention of one metric.

    Every value is ``finish(mean over samples of the per-sample statistics)``. So one pass over the
    samples is enough, sums of parts can be merged in any order, and a bootstrap needs only sums.

    Attributes:
        statistics: (predicted, observed), each float32 (N, T, C, H, W) in the dataset's units, to
            float64 (N, K, T'). NaN means bad data; infinite means a frame without a value, for the
            reason ``no_value``. T' is at most T; the last entry always belongs to lead time T.
        finish: means over samples (..., K, T') to values (..., T'), or (..., S, T') where there
            are several series; NaN or infinite where there is no value.
        components: names of the K statistics; where series are variables, those of one variable.
        leads: the value for all lead times is the mean of the values per lead time ("mean"), or
            ``finish`` of the statistics averaged over lead times ("pool").
        no_value: why a value may be infinite or undefined although nothing is wrong with the data.
        series: subjects of the S values. Where K is a multiple of S, the components of a series
            are adjacent, in the order of the series, and so are the series of a variable.
        on_data: (this metric, `stp.metrics.comparison.Comparison`) to the metric for these data,
            with other statistics or series, or with a ``reason``.
        numbered: ``statistics`` also takes the numbers of the samples, int64 (N,), and of the lead
            times, from 0, int64 (T,).
        with_context: ``statistics`` also takes, last, the context frames of the samples, float32
            (N, context, C, H, W).
        independent_leads: the statistics of a lead time need no frames of other lead times, and T'
            is T: lead times may be computed in blocks, and some may be absent.
        windows: first and last lead time, from 1, of each window. ``statistics`` takes the mean of
            the frames of a window as the frame of its last lead time; other lead times have no
            value. Empty: frames are compared as they are.
        transform: (frames, observed frames), (N, T, C, H, W) each, to what ``statistics`` takes
            instead of frames. It is computed once for all conventions with the same transform.
        batches: samples that share one value. ``statistics`` then has their ``components`` of each
            variable instead of K; the score of their means is the value of each sample of a batch.
            All batches have the same weight.
        best_by: number of the component whose mean over lead times decides which of several
            forecasts of a sample is the best, where ``finish`` is undefined for a single sample.
        ensemble: ``statistics`` takes all members: predicted is (N, M, T, C, H, W).
        keep_samples: whether the statistics of single samples are kept, or only their sums.
        share: the statistic of a sample is 0 or 1, or a share between, and the value is its mean:
            intervals lie between 0 and 1, and exist even where all samples are equal.
        reason: why there is no value at all for these data; empty if there is.
    """

    statistics: Callable[..., np.ndarray]
    finish: Callable[[np.ndarray], np.ndarray] = first_component
    components: tuple[str, ...] = ("value",)
    leads: Literal["mean", "pool"] = "mean"
    no_value: str = ""
    series: tuple[Series, ...] = (Series(),)
    on_data: Callable[[Any, Any], "Metric"] | None = None
    numbered: bool = False
    with_context: bool = False
    independent_leads: bool = True
    windows: Windows = ()
    transform: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    batches: Batches | None = None
    best_by: int | None = None
    ensemble: bool = False
    keep_samples: bool = True
    share: bool = False
    reason: str = ""

    def loaded(self, _: str, networks: NetworkInputs) -> "Metric":
        """The metric itself, which needs no network."""
        return self

    def valued(self, leads: Iterable[int]) -> frozenset[int]:
        """The lead times with a value, of forecasts with the lead times `leads`; numbers from 0."""
        present = frozenset(leads)
        if not self.windows:
            return present
        whole = (w for w in self.windows if present.issuperset(range(w[0] - 1, w[1])))
        return frozenset(last - 1 for _, last in whole)

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables of the series, one for each channel; empty where series are no variables."""
        named = (series.variable for series in self.series)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def is_by_variable(self) -> bool:
        """Whether each series belongs to a variable."""
        return bool(self.variables)

    def by_variable(self, statistics: np.ndarray) -> dict[str | None, np.ndarray]:
        """Split statistics (N, K, T') by variable, (N, components, T') each.

        Returns:
            All of them under None, unless series are variables.
        """
        if not self.is_by_variable:
            return {None: statistics}
        parts = statistics.shape[1] // len(self.variables)
        return {
            variable: statistics[:, v * parts : (v + 1) * parts]
            for v, variable in enumerate(self.variables)
        }


def needs_data(*_: np.ndarray) -> np.ndarray:
    """Placeholder of the statistics of a metric that is not bound to its data yet."""
    raise TypeError("a metric of `on_data` is used without its data")
