"""What is searched, as data: config/search/<model>.yaml."""

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from stp.core.errors import StpError
from stp.options.train import TrainOptions
from stp.plan.recipes import check_options
from stp.plan.strict import CONFIG_FOLDER, Json, Strict, check, read_yaml

GIVEN = ("epochs", "iterations", "validate_every", "max_clips", "max_val_clips", "threads")
"""Keys of ``train`` that say how long a training is and what it is judged by: the same for all."""


class Budget(Strict):
    """How much is tried; equal for all models that are to be compared.

    Attributes:
        trials: trainings, of which those that show little promise end early.
        epochs: of each of them.
        startup_trials: drawn at random before the sampler learns from them; and trials that have
            to be complete before others are pruned.
        warmup_epochs: in which no trial is pruned.
    """

    trials: int = Field(default=20, ge=1)
    epochs: int = Field(default=10, ge=1)
    startup_trials: int = Field(default=5, ge=1)
    warmup_epochs: int = Field(default=2, ge=0)


class Parameter(Strict):
    """The values of one parameter: a range or choices.

    Attributes:
        low: least value. If both bounds are whole numbers, whole numbers are drawn.
        high: largest value.
        log: whether orders of magnitude are equally likely.
        choices: any JSON values, two or more.
    """

    low: int | float | None = None
    high: int | float | None = None
    log: bool = False
    choices: tuple[Any, ...] | None = None

    @property
    def is_whole(self) -> bool:
        """Are whole numbers drawn?"""
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def extremes(self) -> tuple[Any, ...]:
        """The bounds, or all choices."""
        return (self.low, self.high) if self.choices is None else self.choices

    @property
    def words(self) -> list[str]:
        """The choices as text, as a study stores them."""
        return [word(value) for value in self.choices or ()]

    def holds(self, value: Any) -> bool:
        """Can this value be drawn?"""
        if self.choices is not None:
            return word(value) in self.words
        assert self.low is not None and self.high is not None
        kinds = int if self.is_whole else (int, float)
        is_number = isinstance(value, kinds) and not isinstance(value, bool)
        return bool(is_number and self.low <= value <= self.high)

    def check(self, where: str) -> None:
        """Refuse what cannot be drawn from.

        Raises:
            StpError: neither a range nor choices, or a range without values.
        """

        def require(ok: bool, what: str, expected: str) -> None:
            if not ok:
                raise StpError(f"{where}: {what}", expected=expected, remedy="correct the space")

        example = "{low: 0.00001, high: 0.01, log: true} or {choices: [onecycle, cosine]}"
        if self.choices is not None:
            bounds = self.low is not None or self.high is not None or self.log
            require(not bounds, "both choices and a range", example)
            enough = len(set(self.words)) == len(self.words) >= 2
            require(
                enough, f"choices are {list(self.choices)}", "two values or more, all different"
            )
            return
        if self.low is None or self.high is None:
            require(False, "neither choices nor low and high", example)
        else:
            require(self.low < self.high, f"low is {self.low}, high {self.high}", "low below high")
            require(self.low > 0 or not self.log, f"low is {self.low}", "above 0, as log is true")


class Space(Strict):
    """One file of config/search.

    Attributes:
        budget: how much is tried.
        space: parameters by their place in a training recipe, such as ``train.lr`` or
            ``options.hid_t``.
    """

    budget: Budget = Budget()
    space: dict[str, Parameter] = Field(min_length=1)

    @classmethod
    def of(cls, value: Any, where: str) -> "Space":
        """Check the content of a file.

        Raises:
            StpError: an unknown key, a range without values, or a parameter that no recipe has.
        """
        space = check(cls, value, where)
        for key, parameter in space.space.items():
            part, _, name = key.partition(".")
            if part not in ("train", "options") or not name:
                raise StpError(
                    f"{where}: space.{key} is no key of a training recipe",
                    expected="train.* or options.*, such as train.lr",
                    remedy="correct the key",
                )
            if part == "train" and name.partition(".")[0] in GIVEN:
                raise StpError(
                    f"{where}: space.{key} would change how long trials are, or what judges them",
                    expected=f"none of {', '.join(f'train.{given}' for given in GIVEN)}",
                    remedy="take it out; budget.epochs says how long trials are",
                )
            parameter.check(f"{where}: space.{key}")
        return space

    def recipe(self, training: Json) -> Json:
        """The recipe that trials start from: a training's, for the budget's number of epochs.

        It is validated after each epoch, so that there is something to prune by.
        """
        recipe = copy.deepcopy(training)
        train = {key: value for key, value in recipe["train"].items() if key != "iterations"}
        recipe["train"] = {**train, "epochs": self.budget.epochs, "validate_every": 1}
        return recipe

    def baseline(self, recipe: Json) -> Json:
        """The values that a recipe has itself, as far as the space holds them."""
        found: Json = {}
        for key, parameter in self.space.items():
            value = _look_up(recipe, key)
            if parameter.holds(value):
                found[key] = value
        return found

    def check_with(self, recipe: Json, label: str) -> None:
        """Refuse at once what a trial would refuse: each extreme value, the others as they are.

        Args:
            recipe: that trials start from.
            label: whose space it is.

        Raises:
            StpError: the training or the model does not know a parameter, or refuses a value.
        """
        import torch  # not for those who only read the file

        from stp.models.create import create

        for key, parameter in self.space.items():
            for value in parameter.extremes:
                changed = with_values(recipe, {key: value})
                check_options(TrainOptions, changed["train"], f"{label}, {key} = {value}")
                if not key.startswith("options."):
                    continue
                with torch.device("meta"):  # shapes only: no memory, no time
                    try:
                        create(changed)
                    except StpError as error:
                        raise StpError(
                            f"{label}, {key} = {value}: {error.what}",
                            expected=error.expected,
                            remedy=error.remedy,
                        ) from error


def path_of(model: str) -> Path:
    """The file of a model's space."""
    return CONFIG_FOLDER / "search" / f"{model}.yaml"


def load(model: str) -> Space:
    """Read the space of a model.

    Raises:
        StpError: there is none, or it is wrong.
    """
    path = path_of(model)
    if not path.is_file():
        raise StpError(
            f"there is no search space for {model}",
            expected=f"config/search/{path.name}",
            remedy="write it, after config/search/small_convnet.yaml",
        )
    return Space.of(read_yaml(path), f"config/search/{path.name}")


def word(value: object) -> str:
    """A JSON value as text."""
    return json.dumps(value, sort_keys=True)


def with_values(recipe: Mapping[str, Any], values: Json) -> Json:
    """Set parameters in a copy of a recipe.

    Args:
        recipe: of a training.
        values: by their place in it, such as ``train.lr``.

    Raises:
        StpError: a place lies inside something that is no mapping.
    """
    changed = copy.deepcopy(dict(recipe))
    for key, value in values.items():
        *parents, last = key.split(".")
        place = changed
        for parent in parents:
            place = place.setdefault(parent, {})
            if not isinstance(place, dict):
                raise StpError(
                    f"search space: {key} lies inside {parent}, which is {place!r}",
                    expected="a mapping there",
                    remedy=f"search {'.'.join(parents)} as a whole, by choices",
                )
        place[last] = value
    return changed


def _look_up(recipe: Json, key: str) -> Any:
    """The value at a place of a recipe, or the default of a training; else None."""
    value: Any = recipe
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None and key.startswith("train."):
        return getattr(TrainOptions, key.removeprefix("train."), None)
    return value
