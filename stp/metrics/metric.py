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
    """Weights, features and device for conventions that use a network.

    Attributes:
        weights: network to the checksums of its declared weights.
        files: network to the path of its file of weights.
        features: convention of a distance between sets of clips to the name of its features.
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
        reason: reason why the value is missing; None if it is not.
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
    """The subject of one of several values of a convention; None where values are not split.

    Attributes:
        variable: name of the variable, such as ``z500``.
        level: level, in the units of the data's coordinate.
        threshold: threshold of events.
    """

    variable: str | None = None
    level: float | None = None
    threshold: float | None = None


def first_component(means: np.ndarray) -> np.ndarray:
    """The value is the mean of the first component: (..., K, T) to (..., T)."""
    return means[..., 0, :]


def every_component(means: np.ndarray) -> np.ndarray:
    """Each component is a series, whose value is its mean: (..., K, T) to (..., S = K, T)."""
    return means


class Batches(NamedTuple):
    """Samples that make one value together: means of their statistics become its score.

    Attributes:
        number: number of the batch of each sample, from 0, int64 (N,).
        components: number of statistics of each variable.
        score: function of the means over the samples of a batch, (C * components, T'), that returns
            the values, (C, T').
    """

    number: np.ndarray
    components: int
    score: Callable[[np.ndarray], np.ndarray]


def batch_weights(number: np.ndarray) -> np.ndarray:
    """Weights of samples with which their mean is the unweighted mean of the means of batches.

    Args:
        number: number of the batch of each sample, from 0, (N,).

    Returns:
        weights with mean 1, float64 (N,).
    """
    sizes = np.bincount(number)
    return np.asarray(len(number) / (len(sizes) * sizes[number]))


class Metric(NamedTuple):
    """One convention of one metric.

    Every value is ``finish(mean over samples of the per-sample statistics)``. So one pass over the
    samples is enough, sums of parts can be merged in any order, and a bootstrap needs only sums.

    Attributes:
        statistics: function of predicted and observed frames, float32 (N, T, C, H, W) each, in the
            dataset's units, that returns statistics, float64 (N, K, T'). NaN means bad data;
            infinite means a frame without a value, for the reason ``no_value``. T' is at most T;
            the last entry always belongs to lead time T.
        finish: function of means over samples (..., K, T') that returns values (..., T'), or
            (..., S, T') where there are several series; NaN or infinite where there is no value.
        components: names of the K statistics; where series are variables, those of one variable.
        leads: how the value of all lead times together is made: "mean", as the mean of the values
            of lead times; "pool", as ``finish`` of the statistics averaged over lead times.
        no_value: reason why a value may be infinite or undefined although the data are good.
        series: subjects of the S values. Where K is a multiple of S, the components of a series
            are adjacent, in the order of the series, and so are the series of a variable.
        on_data: function of this metric and a `stp.metrics.comparison.Comparison` that returns the
            metric for these data, with other statistics or series, or with a ``reason``.
        numbered: whether ``statistics`` also takes the numbers of the samples, int64 (N,), and of
            the lead times, from 0, int64 (T,).
        with_context: whether ``statistics`` also takes, as its last argument, the context frames of
            the samples, float32 (N, context, C, H, W).
        independent_leads: whether the statistics of a lead time need no frames of other lead times
            (T' is then T): lead times may be computed in blocks, and some may be absent.
        windows: first and last lead time, from 1, of each window. ``statistics`` takes the mean of
            the frames of a window as the frame of its last lead time; other lead times have no
            value. Empty: frames are compared as they are.
        transform: function of frames and observed frames, (N, T, C, H, W) each, that returns what
            ``statistics`` takes instead of frames. It is computed once for all conventions with the
            same transform.
        batches: samples that share one value. ``statistics`` then has their ``components`` of each
            variable instead of K; the score of their means is the value of each sample of a batch.
            All batches have the same weight.
        best_by: number of the component whose mean over lead times decides which of several
            forecasts of a sample is the best, where ``finish`` is undefined for a single sample.
        ensemble: whether ``statistics`` takes all members, predicted (N, M, T, C, H, W).
        keep_samples: whether the statistics of single samples are kept, or only their sums.
        share: whether the statistic of a sample is a share from 0 to 1 and the value is its mean:
            intervals then lie between 0 and 1, and exist even where all samples are equal.
        reason: reason why there is no value at all for these data; empty if there is one.
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
        """Those of the forecast's lead times `leads`, from 0, that have a value."""
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
