"""A scale file: which cells, how much of everything, and where."""

import os
from pathlib import Path

from pydantic import Field

from stp.core.errors import StpError
from stp.plan.model import ModelSettings
from stp.plan.strict import Json, Strict


class Setting(Strict):
    """What else distinguishes an evaluation.

    Attributes:
        horizon: number of frames to predict; that of the tested dataset unless set.
        interval: frames between consecutive frames, in those of the training.
        observe: of tracks: observed positions; those of the tested dataset unless set.
        noise: of tracks: standard deviation of noise on observed positions, in millimetres.
        people: of tracks: people that a scenario has at least.
    """

    horizon: int | None = Field(default=None, ge=1)
    interval: int | None = Field(default=None, ge=1)
    observe: int | None = Field(default=None, ge=2)
    noise: int | None = Field(default=None, ge=1)
    people: int | None = Field(default=None, ge=1)


class Case(Strict):
    """One evaluation of trained models.

    Attributes:
        trained_on: the dataset of training.
        tested_on: the dataset of the test; that of training unless set.
        train_subset: all training clips, or a training subset that the dataset declares.
        subset: the test split, or a subset that the tested dataset declares.
        variant: of the models: trained or calibrated here, or options by name.
        models: of those of the dimension, if not all of them.
        keep: store this many forecasts, for pictures, and score all while they are made: for those
            that are too large to be stored. Unless set, all are stored first. Scores are the same.
    """

    trained_on: str
    train_subset: str = "all"
    tested_on: str | None = None
    subset: str = "test"
    setting: Setting = Setting()
    variant: str = "default"
    models: tuple[str, ...] = ()
    keep: int | None = Field(default=None, ge=1)


class Wanted(Strict):
    """The cells of one evaluation dimension: every model in every case.

    Attributes:
        models: which models.
        datasets: short for cases: tested as they were trained.
        cells: all other cases.
    """

    models: tuple[str, ...]
    datasets: tuple[str, ...] = ()
    cells: tuple[Case, ...] = ()

    @property
    def cases(self) -> tuple[Case, ...]:
        """All cases, those of the short form first."""
        return (*(Case(trained_on=name) for name in self.datasets), *self.cells)


class Paths(Strict):
    """Folders; the environment variables STP_STORE_DIR, ... win over the configuration."""

    store: str = "results/store"
    raw: str = "results/raw"
    mirror: str | None = None
    weights: str | None = None


class Bootstrap(Strict):
    """Resampling of clusters for confidence intervals."""

    resamples: int = Field(default=1000, ge=100)
    seed: int = 0


class Scale(Strict):
    """A scale file: which cells, how much of everything, and where.

    Attributes:
        prepared: datasets that `results/data/all` prepares, besides those of the cells.
        versions: installed packages whose versions count in all fingerprints, such as torch.
    """

    scale: str = Field(pattern="^[a-z0-9-]+$")
    suite: str = "predbench"
    seeds: tuple[int, ...] = Field((0,), min_length=1)
    paths: Paths = Paths()
    dimensions: dict[str, Wanted]
    prepared: tuple[str, ...] = ()
    datasets: dict[str, Json] = {}
    models: dict[str, ModelSettings] = {}
    metrics: dict[str, Json] = {}
    train: Json = {}
    predict: Json = {}
    bootstrap: Bootstrap = Bootstrap()
    versions: tuple[str, ...] = ()
    runtime: Json = {}


def folders(paths: Paths) -> dict[str, Path | None]:
    """Resolve the folders: environment first, then configuration.

    Returns:
        absolute paths for store, raw, mirror and weights; the last two may be None.
    """
    variables = {
        "store": "STP_STORE_DIR",
        "raw": "STP_RAW_DIR",
        "mirror": "STP_RAW_MIRROR",
        "weights": "STP_WEIGHTS_DIR",
    }
    found: dict[str, Path | None] = {}
    for name, variable in variables.items():
        value = os.environ.get(variable) or getattr(paths, name)
        found[name] = Path(value).absolute() if value else None
        if value and not set("{}\n").isdisjoint(str(found[name])):
            raise StpError(
                f"the folder of {name} is {str(found[name])!r} ({variable}, or paths.{name})",
                expected="a path without braces and line breaks, which Snakemake cannot have",
                remedy="choose another folder",
            )
    return found
