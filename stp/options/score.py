"""What a score recipe may say."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, NonNegativeInt, PositiveInt

from stp.core.errors import StpError
from stp.core.options import build, check_keys

CELL_KEYS = (
    "suite",
    "dimension",
    "model",
    "variant",
    "trained_on",
    "train_subset",
    "tested_on",
    "subset",
    "setting",
    "seed",
)
"""The key columns of every row; all text but the seed."""
CellValues = Mapping[str, str | int | None]
"""Values of the key columns."""


NOTE = "note.json"
"""Beside scores of predictions of which something is to be said: ``note``, and perhaps ``members``,
how many of them were counted."""
Statistic = Literal["mean_of_members", "ensemble_mean", "best_of_members"]
"""What metrics of one forecast may make of several; see `stp.score.members`."""
STATISTICS = get_args(Statistic)


@dataclass(frozen=True)
class Bootstrap:
    """Resampling of clusters.

    Attributes:
        resamples: how many.
        seed: of the random stream; all conventions share the same resamples.
    """

    resamples: Annotated[int, Field(ge=100)] = 1000
    seed: NonNegativeInt = 0


@dataclass(frozen=True)
class ScoreOptions:
    """A score recipe.

    Attributes:
        cell: the keys of the cell (``CELL_KEYS``), written into every row.
        conventions: named ``<metric>.<choice>``, with their functions and options (see
            `stp.options.conventions`); none where all conventions of a cell need a network, and
            belong to its other scores.
        split: split of the data that the predictions belong to.
        interval: every which frame of its clips was predicted and counts.
        bootstrap: how intervals are made.
        threads: of the networks that conventions look through.
        statistic: how several forecasts of a sample are scored by metrics of one forecast; see
            `stp.score.members`. None where there is one.
        higher_is_better: by convention, for the best of several forecasts only; None where neither
            higher nor lower is better.
        weights: checksums of the weights that conventions of single clips look through, by the name
            of the network; those whose weights are not named have no value.
        features: of distances between sets of clips: convention -> what its inputs are called,
            ``<name>.observed`` and ``<name>.predicted``; those without have no value.
    """

    cell: CellValues
    conventions: Mapping[str, Mapping[str, Any]]
    split: str = "test"
    interval: PositiveInt = 1
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    threads: PositiveInt = 1
    statistic: Statistic | None = None
    higher_is_better: dict[str, bool | None] = field(default_factory=dict)
    weights: dict[str, dict[str, str]] = field(default_factory=dict)
    features: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lost = [key for key in CELL_KEYS if key not in self.cell]
        if lost:
            raise StpError(
                f"score recipe: cell has no {', '.join(lost)}", expected=", ".join(CELL_KEYS)
            )
        check_keys("score recipe: cell", self.cell, CELL_KEYS)
        for key, value in self.cell.items():
            if value is not None and not isinstance(value, int if key == "seed" else str):
                raise StpError(
                    f"score recipe: cell {key} is {value!r}",
                    expected="an integer or null" if key == "seed" else "text",
                    remedy="let the plan write the recipe",
                )
        lacking = next((n for n, of in self.conventions.items() if "function" not in of), None)
        if lacking is not None:
            raise StpError(
                f"score recipe: conventions.{lacking} has no function",
                expected="a function with options for each name",
                remedy="let the plan write the recipe",
            )

    @classmethod
    def from_recipe(cls, recipe: Mapping[str, Any]) -> "ScoreOptions":
        """Read a recipe.

        Raises:
            StpError: an unknown key, a missing key or a value out of range.
        """
        bootstrap = build(Bootstrap, recipe.get("bootstrap", {}), "score recipe: bootstrap")
        options = {key: value for key, value in recipe.items() if key != "bootstrap"}
        return replace(build(cls, options, "score recipe"), bootstrap=bootstrap)
