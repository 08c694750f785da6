"""Which test is meant: an evaluation of the scale file, or windows to train with."""

from collections.abc import Iterator
from typing import NamedTuple

from stp.core.errors import StpError
from stp.data.prepared import SPLITS
from stp.plan.checked_config import check_known
from stp.plan.config import Config
from stp.plan.recipes import Recipes
from stp.plan.setting import setting_name, setting_of


class Evaluation(NamedTuple):
    """One evaluation, whichever the model.

    Attributes:
        dimension: of the plan; empty for windows that nothing is tested on.
        trained_on: whose training data the models have.
        train_subset: all of these, or a subset.
        tested_on: the dataset whose windows are predicted.
        subset: split or subset of the windows.
        setting: horizon, and interval where it is one.
    """

    dimension: str
    trained_on: str
    train_subset: str
    tested_on: str
    subset: str
    setting: str

    @property
    def horizon(self) -> int:
        """Number of frames to predict."""
        return setting_of(self.setting)["horizon"]

    @property
    def interval(self) -> int:
        """Every which frame of the clips counts."""
        return setting_of(self.setting).get("interval", 1)

    @property
    def options(self) -> str:
        """As options of `stp external windows`."""
        given = [self.tested_on]
        given += [f"--dimension {self.dimension}"] if self.dimension else []
        given += [f"--trained-on {self.trained_on}"] if self.trained_on != self.tested_on else []
        given += [f"--train-subset {self.train_subset}"] if self.train_subset != "all" else []
        return " ".join(
            [*given, f"--subset {self.subset}", f"--horizon {self.horizon}"]
            + ([f"--interval {self.interval}"] if "interval" in self.setting else [])
        )


def planned(config: Config) -> Iterator[Evaluation]:
    """Yield all evaluations of a scale file."""
    recipes = Recipes(config)
    for dimension, wanted in config.scale.dimensions.items():
        for case in wanted.cases():
            if "update" in case.setting:  # of trainings here: the same windows as without
                continue
            yield Evaluation(
                dimension,
                case.trained_on,
                case.train_subset,
                case.tested_on,
                case.subset,
                recipes.setting(case),
            )


def choose(
    config: Config,
    dataset: str,
    *,
    dimension: str | None = None,
    trained_on: str | None = None,
    train_subset: str | None = None,
    subset: str | None = None,
    horizon: int | None = None,
    interval: int | None = None,
) -> Evaluation:
    """Find the one evaluation of a scale file that is meant; what is not named may be anything.

    The splits ``train`` and ``val`` are no test: their windows are for training elsewhere.

    Raises:
        StpError: the scale has no such evaluation, or several.
    """
    check_known(dataset, config.datasets, "dataset", "stp external windows")
    if subset in SPLITS and subset != "test":
        setting = {"horizon": horizon or config.datasets[dataset].horizon}
        setting |= {"interval": interval} if interval and interval > 1 else {}
        return Evaluation("", dataset, "all", dataset, subset, setting_name(setting))
    there = [one for one in planned(config) if one.tested_on == dataset]
    found = [
        one
        for one in there
        if dimension in (None, one.dimension)
        and trained_on in (None, one.trained_on)
        and train_subset in (None, one.train_subset)
        and subset in (None, one.subset)
        and horizon in (None, one.horizon)
        and interval in (None, one.interval)
    ]
    if len(found) == 1:
        return found[0]
    scale = config.scale.scale
    listed = "\n".join(f"stp external windows {one.options}" for one in found or there)
    if found:
        raise StpError(
            f"the scale {scale} has {len(found)} evaluations on {dataset}",
            expected=f"options that choose one:\n{listed}",
            remedy="use one of these lines",
        )
    raise StpError(
        f"the scale {scale} has no such evaluation on {dataset}",
        expected=f"one of these:\n{listed}" if listed else f"{dataset} among its tests",
        remedy="use one of these lines" if listed else "name another scale file (--configfile)",
    )
