"""What is made of an observed day is made once, however many starts are compared with it."""

import numpy as np
import pytest

from stp.score import target_cache
from stp.score.target_cache import TargetCache

SAMPLES, LEADS = 4, 5
FRAMES = np.arange(SAMPLES)[:, None] + np.arange(LEADS)  # daily starts
DAYS = np.random.default_rng(0).normal(size=(SAMPLES + LEADS, 2, 3, 4))


def test_days_are_transformed_once_and_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def transform(frames: np.ndarray, _: np.ndarray) -> np.ndarray:
        seen.append(float(frames.sum()))
        return frames.sum(axis=-1)

    leads = np.arange(LEADS)
    truth = TargetCache(FRAMES)
    for n in range(SAMPLES):
        found = truth.of(transform, DAYS[FRAMES[n : n + 1]], np.array([n]), leads)
        np.testing.assert_array_equal(found, DAYS[FRAMES[n : n + 1]].sum(axis=-1))
    assert len(seen) == len(set(seen)) == SAMPLES + LEADS - 1

    seen.clear()
    monkeypatch.setattr(target_cache, "KEPT_BYTES", 2 * 2 * 3 * 8)  # two of the days
    truth = TargetCache(FRAMES)
    for n in (0, 0):
        truth.of(transform, DAYS[FRAMES[n : n + 1]], np.array([n]), leads)
    assert len(seen) == 2 * LEADS
