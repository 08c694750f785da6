"""Digits of generated Moving-MNIST: the same ones are known again, others are found."""

from pathlib import Path

import numpy as np
import pytest
from conventions import convention
from scipy import ndimage
from sklearn.datasets import load_digits

from stp.data.digit_scans import digit_scans
from stp.data.moving_digits import render
from stp.datasets.moving_mnist.generator import enlarge
from stp.metrics import digit_identity
from stp.metrics.comparison import Comparison, on_data
from stp.metrics.metric import Metric
from stp.score.members import Members
from stp.score.motion import PeopleData

CLIPS, LENGTH = 6, 10


def clips(scans: slice, size: int = 64, number: int = 2) -> np.ndarray:
    """Clips of generated digits, which move alike whichever digits they are: (N, T, 1, H, W)."""
    side = size * 28 // 64 // 2 * 2
    pool = np.stack([enlarge(scan / 16, side) for scan in load_digits().images[scans]])
    rows = np.arange(CLIPS)
    frames = render(pool, rows, seed=3, epoch=0, length=LENGTH, size=size, n_digits=number)
    return frames.astype(np.float32) / 255


def metric_for(number: int | None) -> Metric:
    virtual = {} if number is None else {"virtual": {"train": {"n_digits": number}}}
    data = PeopleData(Path(), {"units": "1", **virtual}, (1, 64, 64), np.arange(1))
    return on_data(
        convention("digit_identity.same_digits"), Comparison(data, np.zeros((1, 1), np.int64))
    )


def share(predicted: np.ndarray, observed: np.ndarray, number: int) -> float:
    metric = metric_for(number)
    means = metric.statistics(predicted, observed).mean(axis=(0, 2))
    assert means[0] > 0.3, "of the frames are judged"
    return float(metric.finish(means[:, None])[0])


def test_the_scans_are_those_of_scikit_learn() -> None:
    pictures, labels = digit_scans()
    expected = load_digits()
    np.testing.assert_array_equal(pictures * 16, expected.images)
    np.testing.assert_array_equal(labels, expected.target)


def test_a_digit_has_a_margin_of_one_and_its_cells_cover_it() -> None:
    area = np.ones((30, 12))
    actual = digit_identity.deskew(area)
    rows, columns = np.nonzero(actual > digit_identity.INK)
    assert actual.shape == (20, 20) and len(actual) % digit_identity.CELLS == 0
    assert (rows.min(), rows.max()) == (1, 18) and 6 < np.ptp(columns) < 9


def test_scans_are_recognised_by_the_others() -> None:
    known, labels = digit_identity.scans()
    alike = known @ known.T
    np.fill_diagonal(alike, -1)
    nearest = labels[np.argsort(-alike, axis=1)[:, : digit_identity.NEAREST]]
    sure = (nearest == nearest[:, :1]).all(axis=1)
    most = (nearest[..., None] == np.arange(10)).sum(axis=1).argmax(axis=1)
    assert np.mean(most == labels) == pytest.approx(0.994, abs=0.002)  # as in docs/scv.md
    assert sure.mean() == pytest.approx(0.967, abs=0.003)


@pytest.mark.parametrize(("size", "number"), [(64, 2), (32, 1)])
def test_digits_that_stay_the_same_are_known_again(size: int, number: int) -> None:
    # The first ten scans are the digits from 0 to 9, and so are the next ten.
    observed = clips(slice(0, 10), size, number)
    assert share(observed, observed, number) == 1
    blurred = ndimage.gaussian_filter(observed, (0, 0, 0, 0.5, 0.5))
    assert share(blurred, observed, number) > 0.95
    shifted = np.roll(observed, 1, axis=1)
    assert share(observed, shifted, number) > 0.5, "places do not matter"


def test_other_digits_are_found() -> None:
    """A digit that is swapped for another is, and so is one that vanishes."""
    observed = clips(slice(0, 10), 32, 1)
    swapped = observed.copy()
    swapped[:, 5:] = clips(slice(1, 11), 32, 1)[:, 5:]  # each digit n is now n + 1
    actual = metric_for(1).statistics(swapped, observed)
    assert (actual[:, 1, :5] == actual[:, 0, :5]).all()
    assert actual[:, 1, 5:].sum() == 0 < actual[:, 0, 5:].sum()
    assert share(np.zeros_like(observed), observed, 1) == 0
    still = np.repeat(observed[:, :1], LENGTH, axis=1)
    assert share(still, observed, 1) == 1, "persistence keeps digits"


def test_of_several_forecasts_the_one_that_keeps_most_digits_counts() -> None:
    observed = clips(slice(0, 10), 32, 1)
    gone = observed.copy()
    gone[:3, 5:] = 0  # the first member loses digits of some clips, the second those of the others
    others = observed.copy()
    others[3:, 5:] = 0
    name, metric = "digit_identity.same_digits", metric_for(1)
    members = Members(2, "best_of_members", {name: True})
    metric = members.adapt_metric(name, metric)
    assert metric.reason == ""
    numbers, leads = np.arange(CLIPS), np.arange(LENGTH)
    both = np.stack([gone, others], axis=1)
    best = members.statistics(name, metric, both, observed, numbers, leads)
    np.testing.assert_array_equal(best, metric.statistics(observed, observed))
    one = members.statistics(name, metric, both[:, [0, 0]], observed, numbers, leads)
    np.testing.assert_array_equal(one, metric.statistics(gone, observed))


def test_what_cannot_be_judged_has_no_value() -> None:
    observed = clips(slice(0, 10), 32, 1)
    assert "how many digits" in metric_for(None).reason
    metric = metric_for(1)
    noise = np.random.default_rng(0).random(observed.shape, dtype=np.float32)
    means = metric.statistics(observed, noise).mean(axis=(0, 2))
    assert np.isnan(metric.finish(means[:, None])).all()
    bad = observed.copy()
    bad[0, 0] = np.nan
    actual = metric.statistics(bad, observed)
    assert np.isnan(actual[0, :, 0]).all() and np.isfinite(actual[0, :, 1:]).all()
