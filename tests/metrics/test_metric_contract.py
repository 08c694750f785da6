"""The contract of all conventions: shapes, inputs, bad data, constants, direction, lead times."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from conventions import convention
from held_numbers import Held, require_held, summary, write

from stp.metrics import acc, crpss, latitude, regions, rpss, spectral_coherence
from stp.metrics.comparison import Comparison, on_data
from stp.metrics.metric import Metric
from stp.plan.checked_config import entries, read_yaml
from stp.plan.metric import read_convention
from stp.score.aggregate import values
from stp.score.members import Members
from stp.score.motion import PeopleData

LEADS, MEMBERS, SAMPLES = 5, 3, 3
OF_SETS_AND_SPLITS = {"frechet", "kvd", "opinion_rmse", "plcc", "srocc"}
CONVENTIONS = {
    f"{file}.{choice}": facts
    for file, path in entries("conventions").items()
    for choice, facts in read_yaml(path)["conventions"].items()
    if not {"windows", "network", "weights"} & facts.keys()
    and facts["function"] not in OF_SETS_AND_SPLITS
}
"""By their names in config/conventions, except those that need weights of a network, values of sets
of clips and of splits, and means over windows, which are computed before
(tests/score/test_score_windows_of_weeks.py)."""
FUNCTIONS = {
    *("acc", "bias", "collision_rate", "crps", "crpss", "csi", "digit_identity", "displacement"),
    *("field_ms_ssim", "field_spectral_divergence", "final_displacement", "frequency_bias", "mae"),
    *("miss_rate", "ms_ssim", "mse", "nino34", "pod", "position_nlp", "psnr", "rank_histogram"),
    *("rmse", "rpss", "scv_success", "spectral_coherence", "spectral_divergence"),
    *("spectral_power", "spectral_residual", "spread", "ssim", "sucr", "top_k_displacement"),
    *("wmape", "wrmse"),
}
"""Modules of stp.metrics that compute them."""
OF_PEOPLE = ("displacement", "collision_rate", "miss_rate", "position_nlp")
"""In their frames NaN means that nobody is there."""
NUMBERS = Path(__file__).with_name("test_metric_contract.yaml")
TOLERANCE = 1e-5
"""Relative to the norm; rounding of sums in other orders explains less than 1e-6."""


def frames(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Predicted (N, M, T, C, H, W) and observed frames that the convention is made for."""
    shape = (2, 48, 50)
    if any(part in name for part in OF_PEOPLE):
        shape = (2, 1, 6)
    elif name.startswith("nino34"):
        shape = (1, 24, 48)
    elif name.startswith("ms_ssim") and "three" not in name:
        shape = (1, 176, 178)
    return drawn(shape)


@cache
def drawn(shape: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    observed = rng.random((SAMPLES, LEADS, *shape), dtype=np.float32)
    noise = rng.normal(0, 0.3, (SAMPLES, MEMBERS, LEADS, *shape))
    return (observed[:, None] + noise).astype(np.float32), observed


def bound(name: str, shape: tuple[int, int, int]) -> Metric:
    """The convention for data on the globe in [0, 1], without the climatology of a year."""
    variables = [f"v{c}" for c in range(shape[0])]
    attrs = {"units": "1", "variables": variables, "virtual": {"train": {"n_digits": 1}}}
    data = PeopleData(Path("nowhere"), attrs, shape, np.arange(shape[0]))
    densities = {
        kind: np.random.default_rng(1).normal(size=(SAMPLES, shape[-1], LEADS))
        for kind in ("grid", "mixture")
    }
    steps = np.arange(SAMPLES * LEADS).reshape(SAMPLES, LEADS)
    metric = convention(name)
    assert isinstance(metric, Metric)
    return on_data(metric, Comparison(data, steps, MEMBERS, densities))


@contextmanager
def globe_without_files() -> Iterator[None]:
    """Latitudes and a climatology without files."""

    def coordinate(data: Any, name: str) -> np.ndarray | None:
        grid = {"lat": np.linspace(-88, 88, data.shape[1]), "lon": np.arange(data.shape[2]) * 7.0}
        return grid.get(name)

    class Climatology:
        def __init__(self, data: Any, kind: str) -> None:
            self.shape = data.shape

        def missing_of(self, frames: np.ndarray) -> str:
            return ""

        def read(self, frame: int) -> np.ndarray:
            return np.random.default_rng(frame).random(self.shape, dtype=np.float32)

    with pytest.MonkeyPatch.context() as patch:
        for module in (latitude, regions):
            patch.setattr(module, "coordinate", coordinate)
        for module in (acc, crpss, rpss, spectral_coherence):
            patch.setattr(module, "Climatology", Climatology)
        yield


@pytest.fixture(scope="module")
def globe() -> Iterator[None]:
    with globe_without_files():
        yield


class Case(NamedTuple):
    """A convention with frames that it is made for.

    Attributes:
        predicted: (N, M, T, C, H, W).
        observed: (N, T, C, H, W).
    """

    name: str
    metric: Metric
    predicted: np.ndarray
    observed: np.ndarray

    def statistics(
        self,
        samples: slice = slice(None),
        leads: slice = slice(None),
        *,
        predicted: np.ndarray | None = None,
        observed: np.ndarray | None = None,
    ) -> np.ndarray:
        """Statistics (n, K, t') of some samples and lead times, of all members."""
        predicted = self.predicted if predicted is None else predicted
        observed = self.observed if observed is None else observed
        numbers, steps = np.arange(SAMPLES)[samples], np.arange(LEADS)[leads]
        pair = predicted[samples, :, leads], observed[samples, leads]
        members = Members(MEMBERS, "mean_of_members")
        with np.errstate(all="ignore"):
            return members.statistics(self.name, self.metric, *pair, numbers, steps)

    def value(self, statistics: np.ndarray) -> np.ndarray:
        """Values over all lead times, (S,) or a scalar."""
        with np.errstate(all="ignore"):
            return values(self.metric, statistics.mean(axis=0))[..., 0]

    def numbers(self, statistics: np.ndarray) -> Held:
        """Of the statistics, and of the values that are made from them."""
        held = {"statistics": summary(statistics)}
        if self.metric.batches is None:
            held["value"] = summary(self.value(statistics))
        return held


def case_of(name: str) -> Case:
    predicted, observed = (values.copy() for values in frames(name))
    metric = bound(name, observed.shape[2:])
    assert not metric.reason
    return Case(name, metric, predicted, observed)


@pytest.fixture(scope="module", params=CONVENTIONS)
def case(request: pytest.FixtureRequest, globe: None) -> Case:
    return case_of(request.param)


@pytest.fixture(scope="module")
def whole(case: Case) -> np.ndarray:
    """Statistics of all samples and lead times."""
    return case.statistics()


def test_statistics_have_their_shape_and_change_no_frame(case: Case, whole: np.ndarray) -> None:
    predicted, observed = frames(case.name)
    assert np.array_equal(case.predicted, predicted) and np.array_equal(case.observed, observed)
    assert whole.dtype == np.float64 and len(whole) == SAMPLES
    assert whole.shape[1] % len(case.metric.components) == 0 and 1 <= whole.shape[2] <= LEADS
    if case.metric.batches is None:
        means = case.metric.finish(whole.mean(axis=0))
        series = means.shape[0] if means.ndim > 1 else 1
        assert means.shape[-1] == whole.shape[-1] and series == len(case.metric.series)


def test_statistics_and_values_are_the_held_ones(case: Case, whole: np.ndarray) -> None:
    """The code itself computed them, after tests of each metric had compared it with a reference
    library or an equation. Where a convention is meant to change, this writes its new numbers,
    whose difference is to be read:

        PYTHONPATH=tests python tests/metrics/test_metric_contract.py ssim  # no name: all
    """
    require_held(case.name, case.numbers(whole), NUMBERS, TOLERANCE)


def test_samples_do_not_see_each_other(case: Case, whole: np.ndarray) -> None:
    alone = case.statistics(slice(1, 2))
    np.testing.assert_allclose(alone, whole[1:2], rtol=1e-12, atol=1e-12)


def test_a_frame_with_nan_spoils_its_own_sample_and_lead_time_alone(
    case: Case, whole: np.ndarray
) -> None:
    if any(part in case.name for part in OF_PEOPLE):
        return
    predicted = case.predicted.copy()
    # The last lead time, of all members: a metric of the last one sees it, too.
    last = predicted[1, :, -1]
    if "region" in CONVENTIONS[case.name]:
        last[...] = np.nan
    else:
        last[..., last.shape[-2] // 2, last.shape[-1] // 2] = np.nan
    actual = case.statistics(predicted=predicted)
    assert not np.isfinite(actual[1, ..., -1]).all()
    np.testing.assert_array_equal(actual[[0, 2]], whole[[0, 2]])
    if case.metric.independent_leads:
        np.testing.assert_array_equal(actual[1, ..., :-1], whole[1, ..., :-1])


def test_constant_frames_have_a_value_or_a_reason(case: Case) -> None:
    constants = np.full_like(case.predicted, 0.25), np.full_like(case.observed, 0.75)
    actual = case.statistics(predicted=constants[0], observed=constants[1])
    if case.metric.batches is None:
        assert np.isfinite(case.value(actual)).all() or case.metric.no_value


def test_no_forecast_is_better_than_the_truth(case: Case, whole: np.ndarray) -> None:
    """In the direction that the configuration gives."""
    metric, choice = read_convention(case.name, "a test")[0], case.name.partition(".")[2]
    higher = metric.is_higher_better(choice)
    # Densities are not of these frames, and batches have no value of single samples.
    if higher is None or case.metric.batches is not None or case.name.startswith("position_nlp"):
        return
    truth = np.repeat(case.observed[:, None], MEMBERS, axis=1)
    best, usual = case.value(case.statistics(predicted=truth)), case.value(whole)
    assert not (best < usual if higher else best > usual).any()


def test_lead_times_are_as_independent_as_it_says(case: Case, whole: np.ndarray) -> None:
    blocks = [slice(0, 1), slice(1, 4), slice(4, 5)]
    if case.metric.independent_leads:
        apart = np.concatenate([case.statistics(leads=some) for some in blocks], axis=-1)
        assert whole.shape[-1] == LEADS
        assert apart.tobytes() == whole.tobytes()
        return
    try:
        apart = np.concatenate([case.statistics(leads=some) for some in blocks], axis=-1)
    except Exception:  # such as too few months
        return
    assert apart.shape != whole.shape or not np.array_equal(apart, whole)


def test_all_kinds_were_tried() -> None:
    functions = {facts["function"].partition(".")[0] for facts in CONVENTIONS.values()}
    assert functions == FUNCTIONS
    dependent = {name for name in CONVENTIONS if not convention(name).independent_leads}
    assert dependent == {
        *(f"nino34.{choice}" for choice in ("correlation", "correlation_weighted", "rmse")),
        *(f"final_displacement.{choice}" for choice in ("by_scenario", "by_person")),
        "miss_rate.two_metres",
        "collision_rate.half_metre",
        "top_k_displacement.trajectory",
        "position_nlp.final_gaussian",
        *(
            f"scv_{how}success.{game}"
            for how in ("", "partial_")
            for game in ("brawl", "collect_shards", "move_unit", "road_trip")
        ),
    }


if __name__ == "__main__":
    with globe_without_files():

        def compute(name: str) -> Held:
            computed = case_of(name)
            return computed.numbers(computed.statistics())

        write(NUMBERS, CONVENTIONS, compute, sys.argv[1:])
