"""Scale files, such as config/demo.yaml: evaluations to run, overrides of settings, and folders."""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field
from typing_extensions import TypedDict

from stp.core.errors import ConfigurationError
from stp.core.json_files import Json
from stp.options.score import Bootstrap
from stp.plan.checked_config import Name, Strict
from stp.plan.column import ConventionName
from stp.plan.grid import Case, Grid, Number
from stp.plan.metric import Convention
from stp.plan.model import ModelSettings, OwnForecasts


class DimensionCells(Strict):
    """Which cells of a dimension a scale has: every model in every evaluation that is listed.

    Attributes:
        models: names of models.
        datasets: datasets on each of which every model is both trained and tested, in the usual
            setting.
        cells: all other evaluations; each entry is one evaluation or a grid of evaluations.
    """

    models: tuple[str, ...]
    datasets: tuple[str, ...] = ()
    cells: tuple[Grid, ...] = ()

    def entries(self, where: str) -> list[tuple[str, Grid]]:
        """List the grids of evaluations, each with its key in the scale file.

        If `datasets` is set, the first grid trains and tests the models on each of these datasets.
        The grids of `cells` follow.

        Args:
            where: key of the dimension in the scale file, with which the keys of its grids begin,
                e.g. ``dimensions.short_term``.

        Returns:
            a key, e.g. ``dimensions.short_term.cells.0``, for error messages, and the grid.
        """
        short = [(f"{where}.datasets", Grid(trained_on=self.datasets))] if self.datasets else []
        return short + [(f"{where}.cells.{n}", grid) for n, grid in enumerate(self.cells)]

    def cases(self, where: str = "the scale file") -> list[Case]:
        """List all evaluations that the scale file selects for the dimension.

        Args:
            where: key of the dimension in the scale file, for errors, e.g.
                ``dimensions.short_term``.

        Raises:
            ConfigurationError: an entry of `without` leaves nothing out, or nothing is left.
        """
        entries = self.entries(where)
        return [case for key, grid in entries for case in grid.cases(self.models, key)]


class Paths(Strict):
    """Paths of folders; the environment variables in parentheses override them.

    Attributes:
        store: folder of all results (STP_STORE_DIR).
        raw: folder of fetched raw files (STP_RAW_DIR).
        mirror: folder of further raw files, which is only read (STP_RAW_MIRROR).
        weights: folder of weights of networks that metrics use (STP_WEIGHTS_DIR).
    """

    store: str = "results/store"
    raw: str = "results/raw"
    mirror: str | None = None
    weights: str | None = None


class Runtime(TypedDict, total=False):
    """How jobs run on a machine; these settings change no result.

    Attributes:
        device: device of the networks; auto selects a GPU if there is one.
        gpus: number of GPUs of a training run; a forecast takes one at most.
        ranks: number of processes of a training run; one for each GPU unless set.
        micro_batch: number of clips of a batch that are computed at once; fewer clips need less
            memory and give the same gradient.
        recompute: whether activations are recomputed in the backward pass, which needs less memory
            and more time.
        checkpoint_every_s: seconds between saved states of a training run.
        prepare_workers: number of processes that prepare a dataset.
        score_threads: number of threads that score forecasts while further forecasts are computed.
        block_samples: number of forecasts that are scored together.
        block_leads: number of lead times that are scored together.
        downloads: number of simultaneous downloads.
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
"""Names that no scale may have: other folders of results, and schemas of DuckDB."""


def _check_not_reserved(name: str) -> str:
    if name in RESERVED:
        raise ValueError(f"{name} is reserved, as are {', '.join(RESERVED)}")
    return name


class Scale(Strict):
    """A scale file: which models and datasets are evaluated, and with which settings.

    Attributes:
        scale: name of the scale; results lie in ``results/<scale>/``.
        suite: name of the suite, a folder of config/suites; unless set, the suite with the
            `dimensions`.
        seeds: seeds of training runs.
        paths: folders of results, raw files and weights.
        dimensions: evaluations to run, by dimension of the suite.
        prepared: datasets that the target ``results/data/all`` of Snakemake prepares, besides the
            datasets of the cells.
        datasets: values that override the dataset's entry, or a whole entry, by dataset.
        models: values that override the model's entry, by model.
        forecasts: your own forecasts that are read from files, by the name of their model.
        metrics: values that override the metric's entry, by metric.
        definitions: further conventions by name, <metric>.<choice>; see the files of
            config/conventions.
        train: settings of training, for all models and datasets.
        predict: settings of prediction, for all models and datasets.
        bootstrap: options of the bootstrap of confidence intervals.
        versions: names of installed packages, such as torch, whose versions are part of all
            fingerprints.
        runtime: settings of this machine, which change no result.
    """

    scale: Annotated[
        str, Field(pattern="^[a-z0-9][a-z0-9-]*$"), AfterValidator(_check_not_reserved)
    ]
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
    """Resolve the folders: environment variables first, then the configuration.

    Returns:
        absolute paths of the folders store, raw, mirror and weights, by name; the last two are
            None if unset.

    Raises:
        ConfigurationError: a path is that of a file, or has characters that Snakemake does not
            allow.
    """
    variables = {
        "store": "STP_STORE_DIR",
        "raw": "STP_RAW_DIR",
        "mirror": "STP_RAW_MIRROR",
        "weights": "STP_WEIGHTS_DIR",
    }
    resolved: dict[str, Path | None] = {}
    for name, variable in variables.items():
        value = os.environ.get(variable) or getattr(paths, name)
        path = resolved[name] = Path(value).absolute() if value else None
        if path is None:
            continue
        if not set("{}\n").isdisjoint(str(path)):
            raise ConfigurationError(
                f"the folder of {name} is {str(path)!r} ({variable}, or paths.{name})",
                expected="a path without braces and line breaks, which Snakemake does not allow",
            )
        _require_folder(path, name, variable)
    return resolved


def _require_folder(path: Path, name: str, variable: str) -> None:
    """Refuse a folder that is a file, or below one; it need not exist."""
    for parent in (path, *path.parents):
        if parent.is_dir():
            return
        if parent.exists():
            raise ConfigurationError(
                f"the folder of {name} is {path} ({variable}, or paths.{name}), and {parent} is a "
                "file",
            )
