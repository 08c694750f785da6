"""List the evaluations that a scale file plans, and choose one by the options of a command.

A scale file, such as config/demo.yaml, says which models and datasets are evaluated. An evaluation
is a test of any model: on which data it is trained and tested, and how many frames it predicts.
"""

from collections.abc import Iterator
from typing import NamedTuple

from stp.core.errors import StpError
from stp.data.prepared import SPLITS
from stp.plan.checked_config import check_known
from stp.plan.config import Config
from stp.plan.recipes import Recipes
from stp.plan.setting import setting_name, setting_of


class Evaluation(NamedTuple):
    """A test that a scale file (which says what is evaluated) plans for its models.

    The type also describes windows of the subsets ``train`` and ``val``, which models elsewhere are
    trained on (`choose`). These are no tests of any dimension.

    Attributes:
        dimension: question of the benchmark, such as ``short_term``; empty for windows of ``train``
            and ``val``.
        trained_on: dataset that models are trained on.
        train_subset: "all", or a subset of the training data.
        tested_on: dataset whose windows are predicted.
        subset: split or subset of the windows, such as ``test``.
        setting: horizon, and interval if it is not 1, as a name: ``horizon-30+interval-2``.
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
        """Spacing of the frames of a window, in frames of the clip; 1 uses every frame."""
        return setting_of(self.setting).get("interval", 1)

    @property
    def options(self) -> str:
        """Arguments of `stp external windows` that choose this evaluation, as one text."""
        words = [self.tested_on]
        words += [f"--dimension {self.dimension}"] if self.dimension else []
        words += [f"--trained-on {self.trained_on}"] if self.trained_on != self.tested_on else []
        words += [f"--train-subset {self.train_subset}"] if self.train_subset != "all" else []
        return " ".join(
            [*words, f"--subset {self.subset}", f"--horizon {self.horizon}"]
            + ([f"--interval {self.interval}"] if "interval" in self.setting else [])
        )


def planned_evaluations(config: Config) -> Iterator[Evaluation]:
    """Yield the evaluations of a scale file, such as config/demo.yaml.

    Those of snapshots of a training (``update``) are left out: only models that are trained here
    have snapshots.
    """
    recipes = Recipes(config)
    for dimension, of_dimension in config.scale.dimensions.items():
        for case in of_dimension.cases():
            if "update" in case.setting:  # models that are trained here; the windows are the same
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
    """Find the only evaluation of a scale file that has the given values.

    No scale file evaluates the subsets ``train`` and ``val``. For these, an evaluation is made from
    the dataset, horizon and interval alone, so that models elsewhere can be trained on its windows.
    Its dimension is empty, it is trained and tested on the dataset, and `trained_on` and
    `train_subset` are ignored.

    Args:
        config: configuration with the scale file.
        dataset: name of the dataset whose windows are predicted.
        dimension: question of the benchmark, such as ``short_term``; None for any.
        trained_on: name of the dataset that models are trained on; None for any.
        train_subset: "all", or a subset of the training data; None for any.
        subset: split or subset of the windows, such as ``test``; None for any that is planned.
        horizon: number of frames to predict; None for any. For ``train`` and ``val``, None stands
            for the horizon of the dataset.
        interval: spacing of the frames of a window, in frames of the clip; None for any. For
            ``train`` and ``val``, None stands for 1: every frame.

    Raises:
        StpError: no evaluation matches, or several do.
    """
    check_known(dataset, config.datasets, "dataset", "stp external windows")
    if subset in SPLITS and subset != "test":
        setting = {"horizon": horizon or config.datasets[dataset].horizon}
        setting |= {"interval": interval} if interval and interval > 1 else {}
        return Evaluation("", dataset, "all", dataset, subset, setting_name(setting))
    of_dataset = [test for test in planned_evaluations(config) if test.tested_on == dataset]
    matches = [
        test
        for test in of_dataset
        if dimension in (None, test.dimension)
        and trained_on in (None, test.trained_on)
        and train_subset in (None, test.train_subset)
        and subset in (None, test.subset)
        and horizon in (None, test.horizon)
        and interval in (None, test.interval)
    ]
    if len(matches) == 1:
        return matches[0]
    listed = "\n".join(f"stp external windows {test.options}" for test in matches or of_dataset)
    number = f"{len(matches)} evaluations" if matches else "no such evaluation"
    raise StpError(
        f"the scale {config.scale.scale} has {number} on {dataset}",
        expected=f"one of these:\n{listed}" if listed else "",
        remedy="" if listed else "name another scale file (--configfile)",
    )
