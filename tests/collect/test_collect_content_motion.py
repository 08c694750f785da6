"""Distortions of time beside those of space with the same error: by hand."""

from pathlib import Path

import pytest
from small_store import SmallStore, convention_facts

from stp.collect import content_motion
from stp.collect.content_motion import BEYOND, compare
from stp.collect.sensitivity import Curve
from stp.plan.manifest import load_manifest

FVD = "fvd.random_logits"
CURVES = {  # distortion -> PSNR and distance at each intensity
    "local_swap": [(20, 3.0)],  # an error of 0.01
    "switching": [(5, 8.0)],
    "gaussian_noise": [(30, 1.0), (10, 100.0)],  # in a straight line: 10 at 0.01
    "gaussian_blur": [(10, 40.0)],  # from 0: 4 at 0.01
    "black_rectangle": [(25, 9.0)],  # never reaches it
}


def test_a_value_of_time_is_over_the_mean_of_those_of_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    curves = [
        Curve("moving_mnist", name, convention, tuple(range(1, 1 + len(points))), values, 8)
        for name, points in CURVES.items()
        for convention, values in zip(
            (content_motion.ERROR, FVD), zip(*points, strict=True), strict=True
        )
    ]
    monkeypatch.setattr(content_motion, "curves", lambda plan, resamples: curves)
    store = SmallStore(tmp_path)
    values = {FVD: {"mean": 3.0}, content_motion.ERROR: {"mean": 20.0}}
    store.add("local_swap", "moving_mnist", values)
    store.manifest["conventions"][FVD] = convention_facts(False, compares_sets=True)
    swap, switching = compare(load_manifest(store.write()))
    assert swap[:4] == ("moving_mnist", FVD, "local_swap", 1)
    assert (swap.error, swap.value, swap.why) == (pytest.approx(0.01), 3.0, "")
    assert swap.of_space == pytest.approx({"gaussian_noise": 10, "gaussian_blur": 4})
    assert swap.ratio == pytest.approx(3 / 7)
    assert switching.distortion == "switching" and switching.error == pytest.approx(10**-0.5)
    assert (switching.of_space, switching.ratio, switching.why) == ({}, None, BEYOND)
