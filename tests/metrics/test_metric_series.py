"""How statistics are dealt out to variables."""

import numpy as np

from stp.metrics.metric import Metric, Series, needs_data


def test_each_variable_has_as_many_components_as_the_others():
    statistics = np.arange(2 * 6 * 3).reshape(2, 6, 3)
    for names in (("u", "v"), ("u", "v", "w"), tuple("abcdef")):
        metric = Metric(needs_data, series=tuple(Series(variable=name) for name in names))
        actual = metric.by_variable(statistics)
        expected = np.split(statistics, len(names), axis=1)
        assert tuple(actual) == names
        for ours, theirs in zip(actual.values(), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    assert list(Metric(needs_data).by_variable(statistics)) == [None]
