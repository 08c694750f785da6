"""`stp check leak`: what it refuses; what it measures is in tests/tracks and tests/workflow."""

import pytest

from stp.core.errors import StpError
from stp.inspect import future
from stp.plan.cells import Plan

SCALE = {
    "scale": "one",
    "suite": "atlas",
    "dimensions": {
        "atlas_transfer": {
            "models": ["constant_velocity"],
            "cells": [{"trained_on": "atlas_eth", "subset": "strict"}],
        }
    },
    "bootstrap": {"resamples": 100, "seed": 0},
}


@pytest.mark.parametrize(
    ("name", "says"),
    [("atlas_eht", "atlas_eht"), ("kth", "kth"), ("atlas_eth", "atlas_eth")],
)
def test_datasets_that_cannot_be_measured_are_refused(name, says, tmp_path, monkeypatch):
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path))
    with pytest.raises(StpError, match=says):
        future.measure(Plan.load(SCALE), name)


def test_tables_of_leakage_have_their_numbers():
    from stp.tracks.leak import Effect, Leak

    found = future.FutureLeakage(
        "hall", "synthetic", 6, 10, {"constant_velocity": "default"},
        [Leak("strict", 4, 0.0, {"constant_velocity": 0.0})],
        [Effect("strict", "constant_velocity", 4, 8, 0.25, 0.5, 0, float("nan"), float("nan"))],
        {"atlas-paper": "hall: none of 9 moments is a scenario"},
    )  # fmt: skip
    text = "\n".join(future.lines(found, 150))
    assert "hall: none of 9 moments is a scenario" in text
    assert "0.250" in text and "nan" not in text
