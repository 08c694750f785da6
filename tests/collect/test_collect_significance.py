"""Corrections of p values, and effects that tests find: by their definitions and statsmodels."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from stp.collect.significance import effect, holm


def test_holm_corrects_step_by_step() -> None:
    # Holm (1979): the smallest of four times 4, the next times 3, ..., never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(6)
    for size in (1, 2, 10, 105):
        p = list(rng.uniform(size=size) ** 3)
        assert holm(p) == pytest.approx(list(multipletests(p, method="holm")[1]))


def test_an_effect_is_that_of_statsmodels() -> None:
    """Its search is exact where there are not few clusters and many tests."""
    for size, tests in ((26, 1), (60, 66), (200, 190)):
        expected = TTestPower().solve_power(nobs=size, alpha=0.05 / tests, power=0.8)
        found = effect((3,) * size, tests)
        assert found == pytest.approx(expected * size**0.5, rel=1e-4)
    # Of few clusters: a noncentral t statistic is beyond the critical value in 80 %.
    critical = stats.t(9).isf(0.05 / 66 / 2)
    assert stats.nct.sf(critical, 9, effect((3,) * 10, 66)) == pytest.approx(0.8)
