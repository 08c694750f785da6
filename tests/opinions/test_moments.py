"""Table 2 of Somraj et al. (2022): what its printed moments say of its tests."""

from pathlib import Path

import pytest
from asking import csv_rows

from stp.opinions.moments import Moments, p_value, pool_moments

PUBLISHED = Path(__file__).parents[2] / "config" / "suites" / "pvqa" / "published.csv"


def rows(table: str) -> list[dict[str, str]]:
    return [row for row in csv_rows(PUBLISHED) if row["table"] == table]


@pytest.fixture(scope="module")
def printed() -> dict[str, Moments]:
    actual: dict[str, dict[str, float]] = {}
    for row in rows("2"):
        actual.setdefault(row["model"], {})[row["metric"]] = float(row["value"])
    return {
        name: Moments(one["MOS"], one["MOS sd"], int(one["videos"])) for name, one in actual.items()
    }


def test_deviations_are_divided_by_n(printed: dict[str, Moments]):
    """Groups that make up another one give its printed deviation only so."""
    natural = pool_moments(
        printed["Upsampled Natural Videos"], printed["Non-upsampled Natural Videos"]
    )
    assert natural.mean == pytest.approx(76.68, abs=0.01)
    assert natural.deviation == pytest.approx(3.79, abs=0.01)
    predicted = pool_moments(printed["Stochastic Prediction"], printed["Deterministic Prediction"])
    assert predicted.mean == pytest.approx(46.97, abs=0.01)
    assert predicted.deviation == pytest.approx(10.88, abs=0.01)


def test_the_tests_are_welchs(printed: dict[str, Moments]):
    upsampled = p_value(
        printed["Upsampled Natural Videos"],
        printed["Non-upsampled Natural Videos"],
        alternative="two-sided",
        equal_variances=False,
    )
    assert upsampled == pytest.approx(0.07, abs=0.005)
    pair = printed["Stochastic Prediction"], printed["Deterministic Prediction"]
    welch, student = (
        p_value(*pair, alternative="greater", equal_variances=equal) for equal in (False, True)
    )
    assert welch == pytest.approx(6e-9, rel=0.1)
    assert student == pytest.approx(1.5e-12, rel=0.1)


def test_the_mean_opinion_alone_has_an_error_of_13_7(printed: dict[str, Moments]):
    """Its root mean squared error is the deviation of all videos; three printed rows have more."""
    everything = pool_moments(printed["Natural Videos"], printed["Predicted Videos"])
    assert everything.n == 300
    assert everything.deviation == pytest.approx(13.67, abs=0.05)
    errors = [float(row["value"]) for row in rows("3") if row["metric"] == "RMSE"]
    assert sum(error > everything.deviation for error in errors) == 3
