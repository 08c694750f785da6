"""No future is shown under `strict`, whatever the predictor; under `atlas-paper` it is measured."""

import pkgutil
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch
from crowds import line, tracks

from stp.options.protocols import PROTOCOLS
from stp.tracks import leak, predictors
from stp.tracks.prepared import PreparedTracks

EVERY = sorted(module.name for module in pkgutil.iter_modules(predictors.__path__))
"""All that there are: one that is added is tested too."""
NETWORKS = {
    "social_gan": lambda module: module.SocialGan().eval(),
    "trajectory_cvae": lambda module: module.Trained(
        module.Cvae(module.Parameters(), 0.4).eval(), module.Parameters()
    ),
}
"""How to make those that have weights: any weights will do."""
STRICT = [name for name in PROTOCOLS if name.startswith("strict")]


def some_parameters(name: str) -> Any:
    module = import_module(f"stp.tracks.predictors.{name}")
    torch.manual_seed(0)
    return NETWORKS[name](module) if name in NETWORKS else module.Parameters()


def numbers(predicted: Any) -> list[np.ndarray]:
    """What was predicted: positions, or all numbers of a density."""
    if is_dataclass(predicted):
        return [np.asarray(getattr(predicted, field.name)) for field in fields(predicted)]
    return [np.asarray(predicted)]


@pytest.fixture(scope="module")
def hall() -> PreparedTracks:
    """Six walk through a hall; three miss detections, one leaves, another is there for a while."""
    random = np.random.default_rng(0)
    paths = [
        np.add(line(60, (np.cos(angle), np.sin(angle)), wobble=number), [4 * number, -number])
        for number, angle in enumerate(random.uniform(0, 2 * np.pi, 6))
    ]
    for number in (0, 2, 4):
        paths[number][random.choice(np.arange(1, 59), 8, replace=False)] = np.nan
    paths[5] = paths[5][:40]
    here = tracks(*((number, 0, path) for number, path in enumerate(paths)), (9, 90, line(9) + 2))
    return PreparedTracks(
        here, None, {"dataset": "hall", "calibration": 0.1, "smooth": 5, "fewest": 2}
    )


@pytest.mark.parametrize("protocol", STRICT)
@pytest.mark.parametrize("name", EVERY)
def test_no_prediction_moves_with_the_future(hall, name, protocol):
    module, parameters = import_module(f"stp.tracks.predictors.{name}"), some_parameters(name)
    random = np.random.default_rng(1)

    def elsewhere(positions: np.ndarray) -> np.ndarray:
        return positions + random.normal(0, 5, positions.shape)

    moved = 0
    for before, after in leak.pairs(hall, protocol, 6, 8, elsewhere, most=8):
        np.testing.assert_array_equal(before.person, after.person)
        np.testing.assert_array_equal(before.observed, after.observed)
        assert np.nanmax(np.abs(before.future - after.future)) > 1
        for one, other in zip(
            numbers(module.predict(before, 8, parameters)),
            numbers(module.predict(after, 8, parameters)),
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)
        moved += 1
    assert moved >= 3


def test_what_the_papers_smoothing_lets_through():
    """Facts, measured in the released code: 0.40 m of what is seen, 2.05 m of what is predicted."""
    here = tracks((1, 0, line(40)), (2, 0, line(40) + 3))
    place = PreparedTracks(
        here, None, {"dataset": "hall", "calibration": 0.1, "smooth": 5, "fewest": 2}
    )
    module = import_module("stp.tracks.predictors.constant_velocity")
    predicts = {"cvm": partial(module.predict, steps=10, parameters=module.Parameters())}
    found = leak.measure(place, "atlas-paper", 6, 10, predicts)
    assert found.scenarios > 5
    assert found.observed == pytest.approx(0.4)
    # The last position moves by two fifths, the one before by one: half of a fifth per step each
    # in the last two velocities, of which the filter takes .5035 and .3228, for ten steps.
    assert found.predicted["cvm"] == pytest.approx(0.4 + 10 * 0.2 * (0.5035 + 0.3228), abs=1e-3)
    unsmoothed = PreparedTracks(here, None, {**place.about, "smooth": 0})
    assert leak.measure(unsmoothed, "atlas-paper", 6, 10, predicts).observed == 0


def test_gaps_that_are_filled_from_the_future_leak_too():
    """Under atlas-paper gaps are filled across the cut: three of four steps may be seen."""
    path = line(20)
    path[5:8] = np.nan
    place = PreparedTracks(
        tracks((1, 0, path), (2, 0, line(20) + 3)), None,
        {"dataset": "hall", "calibration": 0.01, "smooth": 0, "fewest": 2},
    )  # fmt: skip
    assert leak.measure(place, "atlas-paper", 6, 8, {}).observed == pytest.approx(0.75)
    assert leak.measure(place, "strict", 6, 8, {}).observed == 0


def test_a_leaky_protocol_would_be_found(hall, monkeypatch):
    """The test above can fail: strict with the smoothing of the paper is caught."""
    from stp.tracks import scenarios
    from stp.tracks.smoothing import whole_tracks

    cut = scenarios.extract
    monkeypatch.setattr(
        leak, "extract", lambda moved, **rules: cut(whole_tracks(moved, 5), **rules)
    )
    assert leak.measure(hall, "strict", 6, 8, {}, most=4).observed > 0.1


@pytest.mark.sample_bytes
def test_eth(raw_mirror):
    """The numbers of docs/human_motion.md."""
    from stp.prepare.track_readers import trajnetpp

    path = raw_mirror / "atlas/atlas_dataset/eth_data/biwi_eth.ndjson"
    about = {"dataset": "atlas_eth", "calibration": 0.2, "smooth": 5, "fewest": 2}
    place = PreparedTracks(trajnetpp.read(path, step=6, dt=0.4), None, about)
    module = import_module("stp.tracks.predictors.constant_velocity")
    predicts = {"cvm": partial(module.predict, steps=10, parameters=module.Parameters())}
    found = leak.measure(place, "atlas-paper", 6, 10, predicts)
    assert (found.observed, found.predicted["cvm"]) == pytest.approx((0.4, 2.05), abs=0.005)
    paper, strict = leak.effects(place, ("atlas-paper", "strict"), 6, 10, predicts)
    assert (paper.scenarios, strict.scenarios, paper.common) == (31, 31, 31)
    assert (paper.ade, paper.fde) == pytest.approx((0.283, 0.693), abs=0.001)
    assert (strict.ade, strict.fde) == pytest.approx((0.353, 0.772), abs=0.001)
