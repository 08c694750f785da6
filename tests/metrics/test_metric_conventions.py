"""Conventions of the configuration: a function of stp.metrics with its options, and its facts."""

import pytest
from conventions import convention

from stp.core.errors import StpError
from stp.metrics.metric import Convention, Metric
from stp.options.conventions import modules_of
from stp.plan.checked_config import check, entries, read_yaml
from stp.plan.metric import Metric as Declared
from stp.plan.metric import check_definition, read_convention
from stp.score.conventions import build

METRICS = {
    name: check(Declared, read_yaml(path), str(path))
    for name, path in entries("conventions").items()
}
NAMES = [f"{name}.{choice}" for name, metric in METRICS.items() for choice in metric.conventions]


@pytest.mark.parametrize("name", NAMES)
def test_a_convention_is_its_function_with_its_options(name: str) -> None:
    metric, _, choice = name.partition(".")
    definition = METRICS[metric].conventions[choice].definition
    check_definition(definition, name)
    assert isinstance(build(name, definition), Convention)


@pytest.mark.parametrize("name", METRICS)
def test_entries_say_what_a_reader_needs(name: str) -> None:
    facts = METRICS[name]
    assert facts.title and facts.unit and facts.conventions
    for choice, of in facts.conventions.items():
        assert of.about
        directed = facts.is_higher_better(choice) is not None
        assert not (directed and of.best_at is not None)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("ssim.range3", "range"),
        ("sim.range1", "ssim"),
        ("mse", "mse"),
        ("rmse.perframe", "per_frame"),
        ("os.path", "acc"),
        ("", "mse"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(wrong: str, right: str) -> None:
    with pytest.raises(StpError) as caught:
        read_convention(wrong, "--metric")
    assert right in caught.value.remedy or wrong in ("", "mse", "os.path")


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ({"function": "wrmse"}, "root"),
        ({"function": "wrmse", "root": "pool"}, "'pool'"),
        ({"function": "wrmse", "root": "pooled", "regoin": "tropics"}, "regoin"),
        ({"function": "wrms", "root": "pooled"}, "stp.metrics.wrms"),
        ({"function": "nino34.rmsee"}, "rmsee"),
        ({"function": "../os"}, "wrmse.own"),
    ],
)
def test_the_plan_refuses_what_a_function_does_not_have(
    definition: dict[str, object], said: str
) -> None:
    with pytest.raises(StpError) as caught:
        check_definition(definition, "config/suites/mine.yaml: wrmse.own")
    assert caught.value.what.startswith("config/suites/mine.yaml: wrmse.own")
    assert said in caught.value.what


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ({"function": "wrmse", "root": "pooled", "region": "atlantis"}, "atlantis"),
        ({"function": "wrmse", "root": "pooled", "windows": "months"}, "months"),
        ({"function": "wrmse", "root": "pooled", "windows": [[5, 1]]}, "[[5, 1]]"),
        ({"function": "wrmse", "root": "pooled", "members": "all"}, "all"),
        ({"function": "crps", "fair": True, "members": "mean_of_scores"}, "ensembles"),
        ({"function": "wrmse", "root": "pooled", "batch": 16}, "16"),
        ({"function": "rmse", "root": "frames", "batch": 0}, "batch"),
        ({"function": "csi", "thresholds": []}, "[]"),
        ({"function": "csi", "thresholds": [2, "many"]}, "many"),
        ({"function": "frechet", "region": "tropics"}, "region"),
        ({"function": "ms_ssim", "scales": 6}, "6"),
    ],
)
def test_options_that_do_not_fit_are_named(definition: dict[str, object], said: str) -> None:
    with pytest.raises(StpError) as caught:
        build("own.own", definition)
    assert said in caught.value.what


def test_compositions_are_modules_of_their_own() -> None:
    """So that an edit of a region makes no score of video again."""
    definition = METRICS["wrmse"].conventions["pooled_tropics"].definition
    assert modules_of(definition) == ["stp.metrics.wrmse", "stp.metrics.regions"]
    assert modules_of({"function": "nino34.rmse"}) == ["stp.metrics.nino34"]
    assert isinstance(convention("wrmse.pooled_tropics"), Metric)
