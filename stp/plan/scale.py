"""A scale file: which cells, how much of everything, and where."""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field
from typing_extensions import TypedDict

from stp.core.errors import StpError
from stp.core.json_files import Json
from stp.plan.checked_config import Name, Strict
from stp.plan.column import ConventionName
from stp.plan.grid import Case, Grid, Number
from stp.plan.metric import Convention
from stp.plan.model import ModelSettings, OwnForecasts


class DimensionCells(Strict):
    """The cells of one evaluation dimension: every model in every case.

    Attributes:
        models: which models.
        datasets: short for cells: tested as they were trained.
        cells: all other evaluations, each entry one of them or a grid.
    """

    models: tuple[str, ...]
    datasets: tuple[str, ...] = ()
    cells: tuple[Grid, ...] = ()

    def entries(self, where: str) -> list[tuple[str, Grid]]:
        """All grids, the short form first, and where each stands in the scale file."""
        short = [(f"{where}.datasets", Grid(trained_on=self.datasets))] if self.datasets else []
        return short + [(f"{where}.cells.{n}", grid) for n, grid in enumerate(self.cells)]

    def cases(self, where: str = "the scale file") -> list[Case]:
        """All evaluations.

        Args:
            where: the dimension stands, for errors.

        Raises:
            StpError: an entry leaves out what is not there, or everything.
        """
        return [case for at, grid in self.entries(where) for case in grid.cases(self.models, at)]


class Paths(Strict):
    """Folders; the environment variables STP_STORE_DIR, ... win over the configuration.

    Attributes:
        store: everything that is computed (STP_STORE_DIR).
        raw: raw files that were fetched (STP_RAW_DIR).
        mirror: raw files that others have, for reading (STP_RAW_MIRROR).
        weights: weights of networks that metrics use (STP_WEIGHTS_DIR).
    """

    store: str = "results/store"
    raw: str = "results/raw"
    mirror: str | None = None
    weights: str | None = None


class Bootstrap(Strict):
    """Resampling of clusters for confidence intervals.

    Attributes:
        resamples: their number.
        seed: of the draw.
    """

    resamples: int = Field(default=1000, ge=100)
    seed: int = 0


class Runtime(TypedDict, total=False):
    """How jobs run on a machine: in no recipe.

    Attributes:
        device: where networks compute; auto takes a GPU if there is one.
        gpus: of one training; a forecast takes one at most.
        ranks: processes that share a training; one for each GPU unless set.
        micro_batch: clips of a batch that are computed at once: less memory, the same gradient.
        recompute: forget what the backward pass needs and compute it twice: less memory.
        checkpoint_every_s: seconds from one saved state of a training to the next.
        prepare_workers: processes that prepare a dataset.
        score_threads: threads that score forecasts while they are made.
        block_samples: forecasts that are scored at a time.
        block_leads: lead times that are scored at a time.
        downloads: files that are downloaded at the same time.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    device: Literal["auto", "cpu", "cuda"]
    gpus: Annotated[int, Field(ge=0)]
    ranks: Number | None
    micro_batch: Number | None
    recompute: bool
    checkpoint_every_s: Annotated[float, Field(ge=0)]
    prepare_workers: Number
    score_threads: Number
    block_samples: Number
    block_leads: Number
    downloads: Number


RESERVED = ("main", "plan", "raw", "store", "system", "tables", "temp", "weights")
"""No scale is called so: folders beside those of scales, and schemas that DuckDB has itself."""


def _unreserved(name: str) -> str:
    if name in RESERVED:
        raise ValueError(f"{name} is reserved, as are {', '.join(RESERVED)}")
    return name


class Scale(Strict):
    """A scale file: which cells, how much of everything, and where.

    Attributes:
        scale: its name; results lie in ``results/<scale>/``.
        suite: the suite, a name in ``suites/``; that of its dimensions unless given.
        seeds: of training.
        paths: folders.
        dimensions: for each dimension of the suite, its evaluations.
        prepared: datasets that ``results/data/all`` prepares, besides those of the cells.
        datasets: values that replace those of the dataset's entry, by dataset; or a whole entry.
        models: values that replace those of the model's entry, by model.
        forecasts: of your own that are read from files, by the name of the model that they are.
        metrics: values that replace those of the metric's entry, by metric.
        definitions: conventions of its own, by their names, <metric>.<choice>; see the files of
            config/conventions.
        train: settings of training, for all models and datasets.
        predict: settings of prediction, likewise.
        bootstrap: how confidence intervals are made.
        versions: installed packages whose versions count in all fingerprints, such as torch.
        runtime: how jobs run on this machine; nothing of it changes a result.
    """

    scale: Annotated[str, Field(pattern="^[a-z0-9][a-z0-9-]*$"), AfterValidator(_unreserved)]
    suite: str = ""
    seeds: tuple[int, ...] = Field((0,), min_length=1)
    paths: Paths = Paths()
    dimensions: dict[str, DimensionCells]
    prepared: tuple[str, ...] = ()
    datasets: dict[str, Json] = {}
    models: dict[str, ModelSettings] = {}
    forecasts: dict[Name, OwnForecasts] = {}
    metrics: dict[str, Json] = {}
    definitions: dict[ConventionName, Convention] = {}
    train: Json = {}
    predict: Json = {}
    bootstrap: Bootstrap = Bootstrap()
    versions: tuple[str, ...] = ()
    runtime: Runtime = {}


def folders(paths: Paths) -> dict[str, Path | None]:
    """Resolve the folders: environment first, then configuration.

    Returns:
        absolute paths for store, raw, mirror and weights; the last two may be None.

    Raises:
        StpError: one is a file, or has characters that Snakemake cannot have in a path.
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
        if value:
            _require_folder(found[name], name, variable)
    return found


def _require_folder(path: Path | None, name: str, variable: str) -> None:
    """Refuse a folder that is a file, or below one; it need not exist."""
    assert path is not None
    for place in (path, *path.parents):
        if place.is_dir():
            return
        if place.exists():
            raise StpError(
                f"the folder of {name} is {path} ({variable}, or paths.{name}), and {place} is a "
                "file",
                expected="a folder, or a path where one can be made",
                remedy="choose another folder",
            )
