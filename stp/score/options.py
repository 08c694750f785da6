"""What a score recipe may say."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from stp.errors import StpError

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
        _check_integer("bootstrap.resamples", self.resamples, 100)
        _check_integer("bootstrap.seed", self.seed, 0)


@dataclass(frozen=True)
class ScoreOptions:
    """A score recipe.

    Attributes:
        cell: the keys of the cell (``CELL_KEYS``), written into every row.
        conventions: named ``<metric>.<choice>``, without repetition.
        split: split of the data that the predictions belong to.
        bootstrap: how intervals are made.
        threads: conventions that are computed at the same time.
    """

    cell: dict[str, Any]
    conventions: tuple[str, ...]
    split: str = "test"
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    threads: int = 1

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
        twice = sorted({name for name in self.conventions if self.conventions.count(name) > 1})
        if twice or not self.conventions:
            raise StpError(
                f"score recipe: conventions are {list(self.conventions)}",
                expected="at least one, none of them twice",
                remedy="name each convention once",
            )
        _check_integer("threads", self.threads, 1)

    @classmethod
    def from_recipe(cls, recipe: dict[str, Any]) -> "ScoreOptions":
        """Read a recipe.

        Raises:
            StpError: an unknown key, a missing key or a value out of range.
        """
        check_keys("score recipe", recipe, [option.name for option in fields(cls)])
        lost = [key for key in ("cell", "conventions") if key not in recipe]
        if lost:
            raise StpError(f"score recipe: no {', '.join(lost)}", expected="cell and conventions")
        bootstrap = recipe.get("bootstrap", {})
        check_keys(
            "score recipe: bootstrap", bootstrap, [option.name for option in fields(Bootstrap)]
        )
        return cls(
            **{
                **recipe,
                "conventions": tuple(recipe["conventions"]),
                "bootstrap": Bootstrap(**bootstrap),
            }
        )


def check_keys(where: str, found: Iterable[str], known: Iterable[str]) -> None:
    """Raise a StpError that names the nearest key if one of ``found`` is not among ``known``."""
    known = list(known)
    for key in found:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            raise StpError(
                f"{where}: unknown key {key!r}",
                expected=", ".join(known),
                remedy=f"did you mean {near[0]!r}?" if near else "remove it",
            )


def _check_integer(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise StpError(
            f"score recipe: {name} is {value!r}",
            expected=f"an integer of at least {least}",
            remedy=f"set {name} to {least} or more",
        )
