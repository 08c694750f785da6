"""Training options refuse what they do not know."""

import pytest

from stp.core.errors import StpError
from stp.options.train import TrainOptions


def test_the_key_that_was_meant_is_named():
    with pytest.raises(StpError, match=r"'epoch'[\s\S]*epochs"):
        TrainOptions.from_recipe({"epoch": 3})


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        *(("epochs", 0, ""), ("epochs", 2.5, ""), ("batch_size", True, ""), ("threads", -1, "")),
        *(("max_clips", 0, "null"), ("lr", 0, "> 0"), ("clip_norm", 0, "null")),
        ("lr", "1e-3", "> 0"),  # what YAML makes of 1e-3 without a dot
        *(("weight_decay", -0.1, ">= 0"), ("explodes", 1, "> 1"), ("optimizer", "sgd", "adamw")),
        *(("compiled", "yes", "true"), ("channels_last", 1, "true")),
        *(("callbacks", ["early_stopping"], ""), ("schedule", "linear", "onecycle")),
        *(("schedule", {"cosine": {}, "onecycle": {}}, ""), ("schedule", 3, "")),
        *(("schedule", {"cosine": 3}, ""), ("loss", "mean", "mse")),
        ("precision", "float16", "bf16"),
    ],
)
def test_values_out_of_range_are_refused(key, value, expected):
    with pytest.raises(StpError, match=rf"train\.{key} [\s\S]*{expected}"):
        TrainOptions.from_recipe({key: value})


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ({"onecycle": {"pct_start": 1.0}}, "onecycle.*pct_start .*1.0"),
        ({"onecycle": {"div_factor": 0}}, "onecycle.*div_factor .*0"),
        ({"onecycle": {"final_div_factor": "1e4"}}, "final_div_factor .*'1e4'"),
        ({"onecycle": {"divfactor": 2}}, r"'divfactor'[\s\S]*div_factor"),
        ({"linear_warmup": {"warmup_steps": 0}}, "warmup_steps .*0"),
        ({"constant": {"rate": 1}}, "constant .*rate"),
    ],
)
def test_a_schedule_refuses_its_options(schedule, problem):
    with pytest.raises(StpError, match=problem):
        TrainOptions.from_recipe({"schedule": schedule}).learning_rate(0, 100)


def test_a_callback_that_does_not_exist_names_the_nearest():
    with pytest.raises(StpError, match=r"'early_stoping'[\s\S]*early_stopping"):
        TrainOptions.from_recipe({"callbacks": {"early_stoping": {}}})


def test_paper_settings_are_accepted():
    given = {"clip_norm": 1, "max_clips": None, "precision": "bf16"}
    given["schedule"] = {"onecycle": {"pct_start": 0.0, "final_div_factor": 100.0}}
    assert TrainOptions.from_recipe(given).clip_norm == 1
