"""What a score recipe may say."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stp.core.errors import StpError
from stp.core.options import build, check_keys, require, whole

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
STATISTICS = ("mean_of_members", "ensemble_mean", "best_of_members")
"""What metrics of one forecast may make of several; see `stp.score.members`."""


@dataclass(frozen=True)
class Bootstrap:
    """Resampling of clusters.

    Attributes:
        resamples: how many.
        seed: of the random stream; all conventions share the same resamples.
    """

    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        ok = whole(self.resamples, 100)
        require(ok, "bootstrap.resamples", self.resamples, "a whole number from 100")
        require(whole(self.seed, 0), "bootstrap.seed", self.seed, "a whole number from 0")


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
    interval: int = 1
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    threads: int = 1
    statistic: str | None = None
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
        ok = isinstance(self.conventions, Mapping) and all(
            isinstance(of, Mapping) and isinstance(of.get("function"), str)
            for of in self.conventions.values()
        )
        require(ok, "conventions", self.conventions, "a function with options for each name")
        require(whole(self.interval, 1), "interval", self.interval, "a whole number from 1")
        require(whole(self.threads, 1), "threads", self.threads, "a whole number from 1")
        ok = self.statistic is None or self.statistic in STATISTICS
        require(ok, "statistic", self.statistic, f"null or one of {', '.join(STATISTICS)}")

    @classmethod
    def from_recipe(cls, recipe: Mapping[str, Any]) -> "ScoreOptions":
        """Read a recipe.

        Raises:
            StpError: an unknown key, a missing key or a value out of range.
        """
        bootstrap = build(Bootstrap, recipe.get("bootstrap", {}), "score recipe: bootstrap")
        return build(cls, {**recipe, "bootstrap": bootstrap}, "score recipe")
