"""The interface of metrics: statistics of single samples, and values computed from their means.

Shape letters: N samples, M members of an ensemble, K components, S series, T lead times, C
channels, H height, W width.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

Windows = tuple[tuple[int, int], ...]
"""First and last lead time of each window, from 1."""


class NetworkInputs(NamedTuple):
    """Weights, features and device for metrics that use networks.

    Attributes:
        weights: for each network in config/weights.yaml, the checksums that its file must have,
            such as ``{"sha256": ...}``.
        files: path of the weights file, by network.
        features: name of the features that a distance between sets of clips compares, by the
            convention (exact definition) of the distance, such as ``fvd.predicted_only``.
        folders: folders of features, by name, ``<name>.observed`` and ``<name>.predicted``.
        device: device of the networks: "auto", "cpu" or "cuda".
        threads: number of CPU threads.
    """

    weights: Mapping[str, Mapping[str, str]]
    files: Mapping[str, str]
    features: Mapping[str, str]
    folders: Mapping[str, Path]
    device: str
    threads: int


class SetValue(NamedTuple):
    """The value of a convention (one exact definition of a metric) for all clips together.

    Attributes:
        value: the value; None if there is a ``reason``.
        n: number of clips.
        reason: reason why the value is missing; None if there is a value.
    """

    value: float | None
    n: int
    reason: str | None


@runtime_checkable
class Convention(Protocol):
    """Interface of conventions (exact definitions of metrics, such as ``ssim.range2``).

    A convention is any object with the method ``with_networks``. Functions of ``stp.metrics`` make
    such objects from their options, e.g. a `Metric`.
    """

    def with_networks(self, name: str, networks: NetworkInputs, /) -> "Metric | SetValue":
        """The metric for single clips or, for distances between sets, the value of all clips.

        Args:
            name: name of the convention.
            networks: weights of networks, and features computed by networks.

        Raises:
            StpError: weights or features are missing or damaged, or this convention does not
                compare frames.
        """


class Series(NamedTuple):
    """Variable, level and threshold to which one of a metric's values belongs.

    A property is None if the metric has no separate values for it.

    Attributes:
        variable: name of the variable, such as ``z500``.
        level: level, in the units of the data's coordinate ``level``.
        threshold: threshold of events.
    """

    variable: str | None = None
    level: float | None = None
    threshold: float | None = None


def first_component(means: np.ndarray) -> np.ndarray:
    """Take the mean of the first of K statistics as the value: (..., K, T) to (..., T).

    It is the default of `Metric.finish`, the step from mean statistics to values.
    """
    return means[..., 0, :]


def every_component(means: np.ndarray) -> np.ndarray:
    """Take the mean of each of K statistics as a value of its own, unchanged: (..., K, T).

    It can be used as `Metric.finish`, the step from mean statistics to values.
    """
    return means


class Batches(NamedTuple):
    """Batches of samples that have one value together: the score of their mean statistics.

    An example is the spectrum of the mean field of a batch, whose statistics are the fields.

    Attributes:
        number: index of the batch of each sample, from 0, int64 (N,).
        components: number of statistics of each variable.
        score: function of the means over the samples of a batch at T' lead times, (C * components,
            T'), that returns the values, (C, T').
    """

    number: np.ndarray
    components: int
    score: Callable[[np.ndarray], np.ndarray]


def batch_weights(number: np.ndarray) -> np.ndarray:
    """Weights that turn the mean over samples into the unweighted mean of batch means.

    Args:
        number: index of the batch of each sample, from 0, (N,).

    Returns:
        weights of samples, with mean 1, float64 (N,).
    """
    sizes = np.bincount(number)
    return np.asarray(len(number) / (len(sizes) * sizes[number]))


class Metric(NamedTuple):
    """One convention (one exact definition) of a metric.

    Every value is ``finish(mean over samples of the per-sample statistics)``. One pass over the
    samples is therefore enough, sums over parts of a split can be merged in any order, and a
    bootstrap needs sums only.

    Attributes:
        statistics: function of predicted and observed frames, float32 (N, T, C, H, W) each, in the
            dataset's units, that returns K statistics of each sample, float64 (N, K, T'), at the
            last T' <= T lead times. NaN means bad data; infinity means that a frame has no value,
            for the reason ``no_value``.
        finish: function of means over samples (..., K, T') that returns values (..., T'), or (...,
            S, T') for several series; NaN or infinite where no value exists.
        components: names of the K statistics; if series are variables, names of the statistics of
            one variable.
        leads: aggregation over lead times: "mean", the mean of the values of lead times; "pool",
            ``finish`` of the statistics averaged over lead times.
        no_value: reason why a value may be infinite or undefined for valid data.
        series: variable, level and threshold of each of the S values. If K is a multiple of S, the
            components of a series are adjacent, in the order of the series, and so are the series
            of a variable.
        on_data: function of this metric and a `stp.metrics.comparison.Comparison` that returns the
            metric for these data, with adapted statistics or series, or with a ``reason``.
        numbered: whether ``statistics`` also takes the indices of the samples, int64 (N,), and of
            the lead times, from 0, int64 (T,).
        with_context: whether ``statistics`` also takes, as its last argument, the context frames of
            the samples, float32 (N, context, C, H, W).
        independent_leads: whether the statistics of a lead time need no frames of other lead times
            (T' is then T), so that lead times may be computed in blocks, and some may be missing.
        windows: first and last lead time, from 1, of each window. ``statistics`` gets the mean
            frame of a window as the frame of its last lead time; other lead times have no value.
            Empty for no averaging.
        transform: function of frames and observed frames, (N, T, C, H, W) each; ``statistics`` gets
            its result instead of frames. It is computed once for all conventions with the same
            transform.
        batches: for metrics of whole batches, such as of the mean field of a batch; None for
            metrics of single samples. ``statistics`` then returns ``batches.components`` statistics
            for each variable instead of K. Their means over the samples of a batch have one score,
            which every sample of the batch gets as its value. All batches have equal weight.
        best_by: index of the component whose mean over lead times selects the best of several
            forecasts of a sample, for metrics with a ``finish`` that is undefined for a single
            sample.
        ensemble: whether ``statistics`` takes predicted frames of all members, (N, M, T, C, H, W).
        keep_samples: whether the statistics of single samples are stored, or only their sums.
        share: whether the statistic of a sample is a share from 0 to 1 and the value is its mean:
            intervals then lie between 0 and 1, and exist even if all samples are equal.
        reason: reason why the metric has no value at all for these data; empty if it has values.
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

    def with_networks(self, _: str, networks: NetworkInputs) -> "Metric":
        """Return the metric itself: unlike other conventions, it needs no network."""
        return self

    def leads_with_value(self, leads: Iterable[int]) -> frozenset[int]:
        """Select the lead times that have a value: all or, with windows, the ends of windows.

        Args:
            leads: indices of the lead times that are present, from 0.

        Returns:
            those of the indices whose lead times have a value.
        """
        present = frozenset(leads)
        if not self.windows:
            return present
        whole = (w for w in self.windows if present.issuperset(range(w[0] - 1, w[1])))
        return frozenset(last - 1 for _, last in whole)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables of the series; empty if series are not variables."""
        named = (series.variable for series in self.series)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def is_by_variable(self) -> bool:
        """Whether each series belongs to a variable."""
        return bool(self.variables)

    def by_variable(self, statistics: np.ndarray) -> dict[str | None, np.ndarray]:
        """Split statistics by variable (one channel or several).

        Args:
            statistics: the K statistics of N samples at T' lead times, (N, K, T').

        Returns:
            statistics of each variable, (N, components, T'), by its name; all of them, under None,
            if the metric has no values of single variables.
        """
        if not self.is_by_variable:
            return {None: statistics}
        parts = statistics.shape[1] // len(self.variables)
        return {
            variable: statistics[:, v * parts : (v + 1) * parts]
            for v, variable in enumerate(self.variables)
        }


def needs_data(*_: np.ndarray) -> np.ndarray:
    """Placeholder for `Metric.statistics` of a metric that has to be adapted to its data first.

    Raises:
        TypeError: always; the result of `Metric.on_data` has statistics that can be computed.
    """
    raise TypeError("a metric of `on_data` is used without its data")
