"""A search space is data, and what is wrong with it is said before anything is trained."""

from pathlib import Path
from typing import Any

import pytest

from stp.core.errors import StpError
from stp.plan.cells import Plan
from stp.run.runner import canonical_recipe
from stp.search import space as spaces
from stp.search.space import Space, with_values
from stp.search.targets import training_of

LR = {"low": 0.001, "high": 0.1, "log": True}
SPACES = sorted(path.stem for path in Path(spaces.CONFIG_FOLDER, "search").glob("*.yaml"))
PUBLISHED: dict[str, Any] = {
    "scale": "published",
    "dimensions": {"short_term": {"datasets": ["moving_mnist"], "models": SPACES}},
}
"""Every model that has a space, as the paper trains it."""


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ({"space": {"train.lr": LR}, "budgt": {}}, "unknown key budgt"),
        ({"space": {"train.lr": {**LR, "lgo": True}}}, "unknown key space.train.lr.lgo"),
        ({"space": {}}, "space is {}"),
        ({"space": {"train.lr": LR}, "budget": {"trials": 0}}, "budget.trials is 0"),
        ({"space": {"lr": LR}}, "space.lr is no key of a training recipe"),
        ({"space": {"train": LR}}, "space.train is no key of a training recipe"),
        ({"space": {"train.epochs": {"low": 1, "high": 9}}}, "train.epochs would change how long"),
        ({"space": {"train.max_val_clips": {"choices": [1, 2]}}}, "or what judges them"),
        ({"space": {"train.lr": {}}}, "neither choices nor low and high"),
        ({"space": {"train.lr": {"low": 0.1}}}, "neither choices nor low and high"),
        ({"space": {"train.lr": {**LR, "choices": [1, 2]}}}, "both choices and a range"),
        ({"space": {"train.lr": {"low": 0.1, "high": 0.01}}}, "low is 0.1, high 0.01"),
        ({"space": {"train.lr": {"low": 0, "high": 1.0, "log": True}}}, "low is 0"),
        ({"space": {"train.lr": {"low": "little", "high": 1}}}, "space.train.lr.low"),
        ({"space": {"train.schedule": {"choices": ["cosine"]}}}, r"choices are \['cosine'\]"),
        ({"space": {"options.n": {"choices": [[1, 2], [1, 2]]}}}, "choices are"),
    ],
)
def test_a_bad_space_is_refused(content: dict[str, Any], what: str) -> None:
    with pytest.raises(StpError, match=what):
        Space.of(content, "config/search/x.yaml")


@pytest.mark.parametrize(
    ("key", "choices", "what"),
    [
        ("train.lrr", [1, 2], "unknown key 'lrr'"),
        ("train.lr", [0.1, -1], "train.lr is -1"),
        ("train.schedule", ["cosine", "zigzag"], "train.schedule is 'zigzag'"),
        ("options.depth", [1, 2], "unknown key 'depth'"),
        ("options.width", [8, 0], "width"),
        ("options.width.x", [1, 2], "lies inside width"),
    ],
)
def test_what_a_trial_would_refuse_is_refused_first(plan: Plan, key: str, choices, what) -> None:
    space = Space.of({"space": {key: {"choices": choices}}}, "space")
    recipe = canonical_recipe(training_of(plan, "small_convnet", "bar"))
    with pytest.raises(StpError, match=what):
        space.check_with(recipe, "space")


@pytest.mark.long(part="learning")
def test_every_model_that_is_trained_has_a_space_and_they_fit(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path))
    plan = Plan.load(PUBLISHED)
    trained = {n: m for n, m in plan.config.models.items() if m.fit == "sgd"}
    assert set(SPACES) == {n for n, m in trained.items() if m.kind == "frames"}
    for model in SPACES:
        space = spaces.load(model)
        recipe = space.recipe(training_of(plan, model, "moving_mnist").recipe)
        space.check_with(recipe, model)
        assert space.baseline(recipe)["train.lr"] == recipe["train"]["lr"]


def test_all_models_get_the_same_budget() -> None:
    budgets = {model: spaces.load(model).budget for model in SPACES}
    assert len(set(budgets.values())) == 1, budgets


def test_a_model_without_a_space_says_which_file_is_missing() -> None:
    with pytest.raises(StpError, match=r"no search space for persistence(.|\n)*persistence.yaml"):
        spaces.load("persistence")


def test_trials_have_the_budgets_epochs_and_are_validated_after_each() -> None:
    space = Space.of({"budget": {"epochs": 7}, "space": {"train.lr": LR}}, "space")
    training = {"options": {}, "train": {"iterations": 500_000, "validate_every": 5, "lr": 0.2}}
    recipe = space.recipe(training)
    assert recipe["train"] == {"epochs": 7, "validate_every": 1, "lr": 0.2}
    assert training["train"]["iterations"] == 500_000, "the plan's recipe is not touched"


def test_values_are_set_where_they_belong() -> None:
    recipe = {"options": {"a": {"b": 1, "c": 2}}, "train": {"schedule": {"onecycle": {"x": 1}}}}
    changed = with_values(recipe, {"options.a.b": 3, "train.schedule": "cosine", "train.lr": 1})
    assert changed == {
        "options": {"a": {"b": 3, "c": 2}},
        "train": {"schedule": "cosine", "lr": 1},
    }
    assert recipe["options"]["a"]["b"] == 1


def test_the_baseline_is_what_the_recipe_has_as_far_as_the_space_holds_it() -> None:
    space = Space.of(
        {
            "space": {
                "train.lr": LR,
                "train.weight_decay": {"low": 0.0, "high": 0.1},
                "train.clip_norm": {"choices": [None, 1.0]},
                "options.width": {"low": 2, "high": 4},
                "options.stack": {"choices": [[8, 8], [16]]},
            }
        },
        "space",
    )
    recipe = {"train": {"lr": 0.5}, "options": {"width": 3, "stack": [16]}}
    assert space.baseline(recipe) == {
        "train.weight_decay": 0.0,  # the default of a training
        "train.clip_norm": None,
        "options.width": 3,
        "options.stack": [16],
    }
