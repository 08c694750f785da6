"""The interface of metrics: statistics of single samples, and values computed from their means.

Shape letters: N samples, M members of an ensemble, K components, S series, T lead times, C
channels, H height, W width.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

Windows = tuple[tuple[int, int], ...]
"""First and last lead time, from 1, of each window of lead times over which frames are averaged."""


class NetworkInputs(NamedTuple):
    """Weights, features and device for metrics that use networks.

    Attributes:
        weights: for each network in config/weights.yaml, by name, the checksums that its file must
            have, such as ``{"sha256": ...}``.
        files: for each network, by name, the path of its weights file.
        features: for each convention of a distance between sets of clips, such as
            ``fvd.predicted_only``, the name of the features that it compares.
        folders: folders of features; those of observed clips under ``<name>.observed``, those of
            predicted clips under ``<name>.predicted``.
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

    Functions of ``stp.metrics`` make conventions from options. A convention has one method,
    `with_networks`, which is called before values are computed. There are three cases. If the
    convention needs no network, it is a `Metric`, and the method returns the object itself. If it
    needs a network, the method loads it, and returns a `Metric` that uses it. If it is a distance
    between sets, the method returns a `SetValue`, the value of all clips together.
    """

    def with_networks(self, name: str, networks: NetworkInputs, /) -> "Metric | SetValue":
        """Load the networks or features that the convention needs.

        Args:
            name: name of the convention, such as ``fvd.predicted_only``.
            networks: weights of networks, and features computed by networks.

        Returns:
            the metric that computes values of clips or, for distances between sets, the value of
            all clips together.

        Raises:
            StpError: weights or features are missing or damaged, or this convention does not
                compare frames.
        """


class Series(NamedTuple):
    """Variable, level and threshold to which one of a metric's values belongs.

    A metric may have several values at a lead time, such as one for each variable and threshold;
    each of these values, over all lead times, is a series. An attribute is None if the metric has
    no separate values for it, such as one value for all variables together.

    Attributes:
        variable: name of the variable, such as ``z500``.
        level: level, in the units of the data's coordinate ``level``.
        threshold: threshold of events, or another number that distinguishes the values, such as a
            rank or a wavenumber.
    """

    variable: str | None = None
    level: float | None = None
    threshold: float | None = None


def first_component(means: np.ndarray) -> np.ndarray:
    """Take the mean of the first of K statistics as the value: (..., K, T) to (..., T).

    This is the default of `Metric.finish`, the step from mean statistics to values.

    Args:
        means: mean statistics, (..., K, T).
    """
    return means[..., 0, :]


def every_component(means: np.ndarray) -> np.ndarray:
    """Take the mean of each of K statistics as a value of its own.

    This can be `Metric.finish`, the step from mean statistics to values.

    Args:
        means: mean statistics, (..., K, T), which are returned unchanged.
    """
    return means


class Batches(NamedTuple):
    """How the samples are divided into batches, and how a batch is scored as a whole.

    The statistics of the samples of a batch are averaged, and their mean is scored. An example is
    the spectrum of the mean field of a batch: the statistics are the fields, and the score compares
    the spectra of the mean predicted and the mean observed field. There is a score for each of C
    variables, which are the channels of the frames.

    Attributes:
        number: index of the batch of each sample, from 0, int64 (N,).
        components: number of statistics of each variable.
        score: function that scores a batch. Its argument is the mean of the statistics over the
            samples of the batch, at T' lead times, (C * components, T'). It returns the scores, (C,
            T').
    """

    number: np.ndarray
    components: int
    score: Callable[[np.ndarray], np.ndarray]


def batch_weights(number: np.ndarray) -> np.ndarray:
    """Compute weights that turn the mean over samples into the unweighted mean of batch means.

    The weight of a sample is 1 / (number of samples in its batch), times a constant.

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
        components: names of the K statistics; if series belong to variables, names of the K / S
            statistics of one series.
        leads: aggregation over lead times: "mean", the mean of the values of lead times; "pool",
            ``finish`` of the statistics averaged over lead times.
        no_value: reason why a value may be infinite or undefined for valid data.
        series: variable, level and threshold of each of the S values of a lead time (`Series`). By
            default there is one value, for all variables together. Series of a variable are
            adjacent. If K is a multiple of S, each series has K / S statistics of its own, which
            are adjacent, in the order of the series.
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
        batches: None for metrics of single samples. Otherwise, batches of samples, and the function
            that scores a batch as a whole (`Batches`). The statistics of the samples of a batch are
            averaged, and this mean is scored. Every sample of the batch gets this score as its
            value. The value of the metric is the mean of the scores of batches, in which all
            batches have equal weight. With batches, ``statistics`` returns (N, C *
            ``batches.components``, T') instead of (N, K, T').
        best_by: what is compared to find the best of several forecasts of a sample. None: values of
            the forecasts, averaged over lead times. A number: the index of one of the K statistics,
            which is compared in place of values; for metrics that have no value for one sample.
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
        """Select the lead times that have a value.

        All lead times have one, unless the metric compares means over windows of lead times (the
        attribute ``windows``), such as the weeks of a forecast. The value of a window is then that
        of its last lead time, and exists if all lead times of the window are present.

        Args:
            leads: indices of the lead times that are present, from 0.

        Returns:
            indices of the lead times that have a value, from 0.
        """
        present = frozenset(leads)
        if not self.windows:
            return present
        whole = (w for w in self.windows if present.issuperset(range(w[0] - 1, w[1])))
        return frozenset(last - 1 for _, last in whole)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables for which the metric has separate values.

        Empty if it has none, as for one value of all variables together, or values of thresholds.
        """
        named = (series.variable for series in self.series)
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def is_by_variable(self) -> bool:
        """Whether the metric has separate values for variables."""
        return bool(self.variables)

    def by_variable(self, statistics: np.ndarray) -> dict[str | None, np.ndarray]:
        """Split statistics by variable (one channel or several).

        Args:
            statistics: the K statistics of N samples at T' lead times, (N, K, T').

        Returns:
            statistics of each variable, (N, K / number of variables, T'), by its name; all
            statistics, under None, if the metric has no separate values for variables.
        """
        if not self.is_by_variable:
            return {None: statistics}
        parts = statistics.shape[1] // len(self.variables)
        return {
            variable: statistics[:, v * parts : (v + 1) * parts]
            for v, variable in enumerate(self.variables)
        }


def needs_data(*_: np.ndarray) -> np.ndarray:
    """Raise an error: a placeholder for `Metric.statistics` until the data are known.

    Some metrics must be adapted to their data before they can compute statistics, such as to a
    climatology. `Metric.on_data` returns the adapted metric, which has another function in place of
    this one.

    Raises:
        TypeError: always, since the metric was used without a call of `Metric.on_data`.
    """
    raise TypeError("a metric of `on_data` is used without its data")
