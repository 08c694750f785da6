"""CSI, POD, success ratio and bias: by hand, by counting pixels, and without events."""

import numpy as np
import pytest
from conventions import convention

from stp.metrics.metric import Metric
from stp.score.aggregate import values

THRESHOLDS = (16, 74, 133, 160, 181, 219)
ALL = {
    "csi": convention("csi.mean"),
    "pod": convention("pod.mean"),
    "sucr": convention("sucr.mean"),
    "bias": convention("frequency_bias.mean"),
}


def frames(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Predicted and observed radar codes, float32 (6, 3, 1, 12, 12)."""
    rng = np.random.default_rng(seed)
    observed = rng.integers(0, 256, (6, 3, 1, 12, 12)).astype(np.float32)
    predicted = np.clip(observed + rng.normal(0, 40, observed.shape), 0, 255).astype(np.float32)
    return predicted, observed


def evaluate(metric: Metric, predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """(7 series: mean and thresholds, 1 + T lead times)."""
    return values(metric, metric.statistics(predicted, observed).mean(axis=0))


@pytest.mark.parametrize("name", ALL)
def test_scores_match_counting_all_pixels(name: str) -> None:
    predicted, observed = frames()
    actual = evaluate(ALL[name], predicted, observed)
    expected = []
    for threshold in THRESHOLDS:
        hits = misses = alarms = 0
        for p, o in zip(predicted.reshape(-1).tolist(), observed.reshape(-1).tolist(), strict=True):
            hits += p >= threshold and o >= threshold
            misses += p < threshold and o >= threshold
            alarms += p >= threshold and o < threshold
        expected.append(
            {
                "csi": hits / (hits + misses + alarms),
                "pod": hits / (hits + misses),
                "sucr": hits / (hits + alarms),
                "bias": (hits + alarms) / (hits + misses),
            }[name]
        )
    np.testing.assert_allclose(actual[1:, 0], expected, rtol=1e-12)
    assert actual[0, 0] == pytest.approx(np.mean(expected))


def test_the_conventions_differ_in_what_they_do_with_lead_times() -> None:
    predicted, observed = frames()
    predicted[:, 2] = 0  # nothing is predicted at the last lead time
    pooled, averaged = (
        evaluate(m, predicted, observed)
        for m in (convention("csi.mean"), convention("csi.mean_of_leads"))
    )
    np.testing.assert_array_equal(pooled[:, 1:], averaged[:, 1:])
    np.testing.assert_allclose(averaged[:, 0], averaged[:, 1:].mean(axis=1))
    assert pooled[0, 0] != pytest.approx(averaged[0, 0], abs=1e-3)
    assert pooled[0, 3] == 0


def test_the_printed_mean_of_a_paper_follows_from_its_thresholds() -> None:
    # PredBench, Table 16, Earthformer: original and reproduced CSI-16 ... CSI-219, then CSI-M.
    for printed, mean in (
        ((0.7634, 0.6836, 0.4177, 0.3098, 0.2697, 0.1638), 0.4346),
        ((0.7528, 0.6891, 0.4287, 0.3209, 0.2791, 0.1640), 0.4391),
    ):
        counts = [count for c in printed for count in (c, 1 - c, 0.0)]
        actual = values(convention("csi.mean"), np.array(counts)[:, None])
        np.testing.assert_allclose(actual[1:, 0], printed)
        assert actual[0, 0] == pytest.approx(mean, abs=1e-4)  # four digits printed


def test_a_threshold_without_events_has_no_value_and_neither_has_the_mean() -> None:
    observed = np.full((2, 2, 1, 4, 4), 100, np.float32)
    actual = evaluate(convention("csi.mean"), observed, observed)
    np.testing.assert_array_equal(actual[1:3], 1)  # 16 and 74
    assert np.isnan(actual[[0, 3, 4, 5, 6]]).all()
