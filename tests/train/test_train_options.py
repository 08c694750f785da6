"""Training options refuse what they do not know."""

import pytest

from stp.errors import StpError
from stp.train.options import TrainOptions


def test_the_key_that_was_meant_is_named():
    with pytest.raises(StpError, match=r"'epoch'[\s\S]*epochs"):
        TrainOptions.from_recipe({"epoch": 3})


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("epochs", 0, "whole number"),
        ("epochs", 2.5, "whole number"),
        ("batch_size", True, "whole number"),
        ("threads", -1, "whole number"),
        ("max_clips", 0, "null"),
        ("lr", 0, "> 0"),
        ("lr", "1e-3", "> 0"),  # what YAML makes of 1e-3 without a dot
        ("weight_decay", -0.1, ">= 0"),
        ("pct_start", 1.0, "below 1"),
        ("clip_norm", 0, "null"),
        ("optimizer", "sgd", "adamw"),
        ("schedule", "linear", "onecycle"),
        ("precision", "float16", "bf16"),
    ],
)
def test_values_out_of_range_are_refused(key, value, expected):
    with pytest.raises(StpError, match=rf"train\.{key} is [\s\S]*{expected}[\s\S]*remedy"):
        TrainOptions.from_recipe({key: value})


def test_paper_settings_are_accepted():
    given = {"pct_start": 0.0, "clip_norm": 1, "max_clips": None, "precision": "bf16"}
    assert TrainOptions.from_recipe(given).clip_norm == 1
