"""Predicted quality over the intensities of distortions of real clips."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from stp.collect.sensitivity import CONSTANT
from stp.external import quality, quality_card
from stp.external.quality import Rating
from stp.external.quality_card import FEW, curves

CLIPS = [f"clip {number}" for number in range(24)]
INDEX = pd.DataFrame({"clip": CLIPS, "cluster": [f"film {n // 2}" for n in range(24)]})


def cell(number: int, model: str, setting: str) -> Any:
    key = {"scale": "fvd", "tested_on": "bair", "subset": "test", "variant": "default"}
    return SimpleNamespace(number=number, model=model, setting=setting, **key)


def ratings(values: list[float | None]) -> list[Rating]:
    return [
        Rating(clip, 16, value, value, value, 1.0, "pooled", "")
        for clip, value in zip(CLIPS, values, strict=True)
    ]


def test_quality_is_followed_over_the_clips_that_all_intensities_have(monkeypatch):
    monkeypatch.setattr(quality_card, "predictions", lambda _: SimpleNamespace(index=INDEX))
    base = np.linspace(40, 60, 24)
    rated, cells = {}, []
    # From the strongest on: cells of a store come in any order.
    for place, intensity in enumerate((5, 3, 1)):
        worse = (base - 5 * intensity).tolist()
        if intensity == 5:
            worse[0] = None
        far = worse if intensity < 5 else [None] * 12 + worse[12:]
        noisy = [value + (30 if n < 4 else 0) * (intensity == 3) for n, value in enumerate(base)]
        of = {"worse": worse, "better": (base + intensity).tolist(), "same": base.tolist(),
              "far": far, "mixed": noisy}  # fmt: skip
        for step, (model, values) in enumerate(of.items()):
            number = 10 * place + step
            cells.append(cell(number, model, f"horizon-16,intensity-{intensity}"))
            rated[number] = ratings(values)
    cells.append(cell(99, "tau", "horizon-16"))
    rated[99] = ratings(base.tolist())
    found = {one.distortion: one for one in curves(cells, rated)}
    assert set(found) == {"worse", "better", "same", "far", "mixed"}
    worse, better = found["worse"], found["better"]
    assert worse.intensities == (1, 3, 5) and worse.n == 23
    assert worse.values == pytest.approx([base[1:].mean() - 5 * n for n in (1, 3, 5)])
    assert (worse.correlation, worse.low, worse.high, worse.why) == (1, 1, 1, "")
    assert (better.correlation, better.low, better.high) == (-1, -1, -1)
    assert (found["same"].correlation, found["same"].why) == (None, CONSTANT)
    assert (found["far"].values, found["far"].why) == ((None,) * 3, FEW)
    # The middle is best, the others are equal.
    assert found["mixed"].correlation == pytest.approx(0) and found["mixed"].low == 0


def test_the_first_frames_of_a_distorted_clip_are_those_of_the_real_one(monkeypatch):
    real, distorted = np.zeros((1, 16, 1, 8, 8)), np.ones((1, 1, 16, 1, 8, 8))

    def read(start: int, stop: int, leads: slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        return distorted[:, :, leads], real[:, leads]

    stored = SimpleNamespace(index=INDEX[:1], context=0, read=read)
    monkeypatch.setattr(quality, "predictions", lambda _: stored)
    (clip,) = quality.of_cell(cell(0, "blur", "intensity-1"))
    assert clip.context == quality.OBSERVED and clip.frames.shape == (16, 8, 8, 3)
    assert (clip.frames[:4] == 0).all() and (clip.frames[4:] == 255).all()
