"""Define the key of a cell: the columns that identify it in all tables.

A cell is one model, trained on one dataset, tested on one dataset, in one setting, with one seed.
"""

from dataclasses import dataclass

from stp.plan.setting import ROBUSTNESS, setting_of


@dataclass(frozen=True)
class CellKey:
    """Key of a cell (result): one training run of a model and one test. Fields are table columns.

    Attributes:
        suite: name of the suite, the benchmark of one paper.
        dimension: name of the dimension, the question of the suite that the cell helps to answer.
        model: name of the model.
        variant: name of the set of options of the model, such as ``default``.
        trained_on: dataset of the training.
        train_subset: ``all`` training clips, or the name of a subset of them.
        tested_on: dataset of the test.
        subset: ``test``, the test split, or the name of a subset of the tested dataset.
        setting: what the evaluation changes of the dataset's protocol, such as ``horizon-16``.
        seed: seed of the training; None for models that have none.
    """

    suite: str
    dimension: str
    model: str
    variant: str
    trained_on: str
    train_subset: str
    tested_on: str
    subset: str
    setting: str
    seed: int | None

    @property
    def path(self) -> str:
        """Relative path of a cell (one model in one test), unique and readable."""
        return "/".join(
            [
                self.suite,
                self.dimension,
                self.model,
                self.variant,
                self.trained_on,
                self.train_subset,
                self.tested_on,
                self.subset,
                self.setting,
                seed_name(self.seed),
            ]
        )

    def __str__(self) -> str:
        seed = "" if self.seed is None else f", seed {self.seed}"
        return f"{self.model} on {self.test_label} ({self.dimension}{seed})"

    @property
    def test_label(self) -> str:
        """Datasets of training and test as a short text: ``kitti -> caltech``, ``bridge x2``.

        The latter is a test at twice the interval between frames.
        """
        is_same = self.tested_on == self.trained_on
        parts = [self.tested_on if is_same else f"{self.trained_on} -> {self.tested_on}"]
        parts += [] if self.subset in ("test", ROBUSTNESS) else [self.subset]
        if "interval" in self.setting:
            parts.append(f"x{setting_of(self.setting)['interval']}")
        if "update" in self.setting:
            parts.append(f"after {setting_of(self.setting)['update']:,} updates")
        return " ".join(parts)

    @property
    def case_name(self) -> str:
        """Name, in file names, of what is evaluated: ``kitti-caltech``, ``bridge-interval-2``.

        It consists of the datasets of training and test, their subsets and the setting, without
        the horizon (number of frames to predict). Model, variant and seed are not part of it.
        """
        is_same = self.tested_on == self.trained_on
        parts = [self.tested_on] if is_same else [self.trained_on, self.tested_on]
        parts += [] if self.subset in ("test", ROBUSTNESS) else [self.subset]
        parts += [] if self.train_subset == "all" else [f"trained_on_{self.train_subset}"]
        setting = setting_of(self.setting)
        parts += [f"{name}-{value}" for name, value in setting.items() if name != "horizon"]
        return "-".join(parts)


def seed_name(seed: int | None) -> str:
    """Name of a seed in paths: ``seed-0``; ``seed-none`` for None (models without a seed)."""
    return "seed-none" if seed is None else f"seed-{seed}"
