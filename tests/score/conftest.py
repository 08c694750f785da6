"""A tiny data set with predictions, for tests that score."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from toy_scored import Scored, write_scored


@pytest.fixture
def make_scored(tmp_path: Path) -> Callable[..., Scored]:
    """`write_scored` into the test's folder."""
    return partial(write_scored, tmp_path)


@pytest.fixture
def video(make_scored: Callable[..., Scored]) -> Scored:
    """23 clips of 12 videos: 3 context frames, 4 lead times, 2 x 16 x 18 pixels."""
    rng = np.random.default_rng(0)
    clips = rng.integers(0, 256, (23, 7, 2, 16, 18), dtype=np.uint8)
    noise = rng.normal(0, 0.1, (23, 4, 2, 16, 18))
    predicted = (clips[:, 3:] / 255 + noise).astype(np.float32)
    return make_scored(clips, predicted, clusters=[f"video{n % 12}" for n in range(23)])
