"""Options of scores: all settings of the scores of one model on one dataset (a cell)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal, get_args

from pydantic import ConfigDict, Field, NonNegativeInt, PositiveInt, with_config

from stp.core.errors import StpError
from stp.core.job import Recipe
from stp.core.json_files import Json
from stp.core.options import Options, build, check_keys

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
"""Names of the key columns of every row; all of them are text, except for the seed."""
CellValues = Mapping[str, str | int | None]
"""Values of the key columns, by the name of the column."""
NOTE = "note.json"
"""Name of a file beside scores with a ``note`` on their predictions, and optionally ``members``,
the number of scored forecasts."""
Statistic = Literal["mean_of_members", "ensemble_mean", "best_of_members"]
"""Ways in which metrics of single forecasts score several forecasts; see `stp.score.members`."""
STATISTICS = get_args(Statistic)


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True)
class Bootstrap:
    """Resampling of clusters (groups of dependent clips) for confidence intervals.

    Attributes:
        resamples: number of resamples.
        seed: seed of the random stream; all conventions share the same resamples.
    """

    resamples: Annotated[int, Field(ge=100)] = 1000
    seed: NonNegativeInt = 0


@dataclass(frozen=True)
class ScoreOptions(Options):
    """All settings of the scores of a cell (one model on one dataset in one setting).

    A convention is one exact definition of a metric, such as ``ssim.range2``.

    Attributes:
        cell: key of the cell (``CELL_KEYS``), written into every row.
        conventions: definition of each convention by its name ``<metric>.<choice>``: a function and
            its options (see `stp.options.conventions`). Two jobs score a cell: one computes the
            conventions that need no network, and the other the rest, if there are any. The mapping
            has the conventions of one job. It is empty for the first job if all conventions of the
            cell need networks.
        split: split of the data that the predictions belong to.
        interval: spacing of the predicted frames of a clip, in frames of the data.
        bootstrap: options of the bootstrap of confidence intervals.
        threads: number of threads of the networks that conventions use.
        statistic: how metrics of single forecasts score several forecasts of a sample, such as
            ``best_of_members`` (the score of the best forecast); see `stp.score.members`. None for
            one forecast.
        higher_is_better: direction of each convention, by name; set only if the best of several
            forecasts is scored. None if neither higher nor lower is better.
        weights: checksums of the weights file of each network that runs while clips are scored, by
            the name of the network. The checksums of a file are given by kind, such as
            ``{"sha256": "5c5e..."}``; the kinds are ``sha256`` and ``git_blob_sha1``. A convention
            whose weights are missing has no value.
        features: for each convention that is a distance between sets of clips, the name of the
            features that it compares. The features are the inputs ``<name>.observed`` and
            ``<name>.predicted``. A distance without inputs has no value.
    """

    PART = "score recipe"

    cell: CellValues
    conventions: Mapping[str, Json]
    split: str = "test"
    interval: PositiveInt = 1
    bootstrap: Bootstrap = field(default_factory=Bootstrap)
    threads: PositiveInt = 1
    statistic: Statistic | None = None
    higher_is_better: dict[str, bool | None] = field(default_factory=dict)
    weights: dict[str, dict[str, str]] = field(default_factory=dict)
    features: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        missing = [key for key in CELL_KEYS if key not in self.cell]
        if missing:
            raise StpError(
                f"score recipe: cell has no {', '.join(missing)}", expected=", ".join(CELL_KEYS)
            )
        check_keys("score recipe: cell", self.cell, CELL_KEYS)
        for key, value in self.cell.items():
            if value is not None and not isinstance(value, int if key == "seed" else str):
                raise StpError(
                    f"score recipe: cell {key} is {value!r}",
                    expected="an integer or null" if key == "seed" else "text",
                )
        incomplete = [name for name, of in self.conventions.items() if "function" not in of]
        if incomplete:
            raise StpError(
                f"score recipe: conventions.{incomplete[0]} has no function",
                expected="a function with options for each name",
            )

    @classmethod
    def from_recipe(cls, recipe: Recipe) -> "ScoreOptions":
        """Build the options from a recipe (all settings of a job).

        Raises:
            StpError: a key is unknown or missing, or a value is out of range.
        """
        bootstrap = build(Bootstrap, recipe.get("bootstrap", {}), "score recipe: bootstrap")
        options = {key: value for key, value in recipe.items() if key != "bootstrap"}
        return replace(build(cls, options, "score recipe"), bootstrap=bootstrap)
