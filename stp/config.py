"""Configuration: YAML in, checked objects out.

`config/datasets`, `config/models`, `config/evaluation` and `config/conventions` hold facts;
a scale file (`config/demo.yaml`, `config/sample.yaml`, `config/paper.yaml`) says which cells
are wanted and overrides numbers. No torch and no look at the data.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stp.errors import StpError, nearest

CONFIG_FOLDER = Path(__file__).parent.parent / "config"
Json = dict[str, Any]
Dimension = Literal["short_term", "long_term", "generalization", "robustness"]
"""The dimensions of the evaluation; each has its own rules and its own table."""


class Strict(BaseModel):
    """Configuration in which an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


S = TypeVar("S", bound=Strict)


class RawFile(Strict):
    """One raw file of a release, or with `many` all files that match a pattern.

    Attributes:
        path: below a raw folder, such as ``kth/00sequences.txt``.
        access: open files are downloaded; for the others a person follows the instructions.
    """

    path: str
    url: str | None = None
    bytes: int | None = Field(default=None, ge=0)
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    md5_uncompressed: str | None = Field(default=None, pattern="^[0-9a-f]{32}$")
    licence: str = ""
    access: Literal["open", "registration", "manual"] = "open"
    instructions: str = ""
    many: bool = False
    min_files: int = Field(default=1, ge=1)

    @property
    def verified(self) -> bool:
        """Is it known what the official bytes are?"""
        return self.sha256 is not None or self.md5_uncompressed is not None


class Archive(Strict):
    """An archive from which files of a release are unpacked when they are fetched.

    For those that cannot be entered in the middle (.tar.gz, .tgz); readers use .tar and .zip
    packed, as raw files. What is unpacked are the files that the release declares. Where those lie
    in the raw folder already, their archive is not needed.

    Attributes:
        path: of the archive, below a raw folder.
        into: the folder below a raw folder that names in the archive are relative to; the one of
            the archive unless given.
        strip: leading folders of names in the archive that are dropped; "any": as many as it takes
            until a name is that of a declared file.
    """

    path: str = Field(pattern=r"\.(tar|tar\.gz|tgz|zip)$")
    url: str | None = None
    bytes: int | None = Field(default=None, ge=0)
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    access: Literal["open", "registration", "manual"] = "open"
    instructions: str = ""
    into: str | None = None
    strip: Annotated[int, Field(ge=0)] | Literal["any"] = 0


class Release(Strict):
    """Immutable raw bytes under a name: declared files, or a generator with its options.

    Attributes:
        archives: from which some of the files are unpacked; where the bytes of a file come from
            does not change them, so archives are no part of what a release is.
        source: whose bytes these are; every number made from them says so.
        prepare: options of the reader that this release needs.
        leaky: the training and test splits share a video, person or period.
        raw_gb: size of all its files in 10^9 bytes, where they do not declare it; for estimates
            only, in no recipe.
    """

    source: Literal["official", "sample", "synthetic", "own"]
    files: tuple[RawFile, ...] = ()
    archives: tuple[Archive, ...] = ()
    generator: str | None = None
    options: Json = {}
    prepare: Json = {}
    leaky: bool = False
    note: str = ""
    raw_gb: float | None = Field(default=None, gt=0)

    @property
    def verified(self) -> bool:
        """Are these official bytes, known by their checksums?"""
        return (
            self.source == "official"
            and bool(self.files)
            and all(file.verified for file in self.files)
        )


class Published(Strict):
    """Clips of each split in the paper's Table 1."""

    train: int | None = Field(default=None, ge=0)
    val: int | None = Field(default=None, ge=0)
    test: int | None = Field(default=None, ge=0)


class Counts(Strict):
    """Clips of each split, for estimates of time and storage and for `stp data`: in no recipe.

    What the options of a reader say (``clips``, ``clips_per_epoch``) wins.

    Attributes:
        frames: that are stored for all of them, where clips share frames.
        source: who counted them.
        published: what the paper's table says.
        explained: for a split where ours differ from the published ones, why.
    """

    train: int | None = Field(default=None, ge=0)
    val: int | None = Field(default=None, ge=0)
    test: int | None = Field(default=None, ge=0)
    frames: int | None = Field(default=None, ge=0)
    source: str = ""
    published: Published = Published()
    explained: dict[str, str] = {}


class Subset(Strict):
    """A part of a dataset's test clips, or clips that only an evaluation uses.

    Attributes:
        title: what it is.
        clips: their number, for estimates of time and storage only: in no recipe.
    """

    title: str
    clips: int | None = Field(default=None, ge=0)


class Dataset(Strict):
    """What is known about a dataset (config/datasets/<name>.yaml).

    Attributes:
        shape: channels, height and width of a prepared frame.
        published_name: what the paper calls it; None for your own data.
        context: number of context frames.
        horizon: number of frames to predict in training and in the short-term table.
        metrics: conventions such as ``mse.pixel_sum`` that become the columns of its table, where
            config/evaluation has no row for it: your own data.
        reader: module of stp.prepare; the dataset's name unless set.
        virtual_clips: module of stp.data that draws training clips, if they are not stored.
        subsets: parts of the test clips, or clips that only an evaluation uses.
        train_subsets: other training and validation clips, such as those of a split without
            leakage; the index calls their splits ``<name>-train`` and ``<name>-val``.
        conventions: choices where the paper, its code and correctness disagree, each with its
            reason.
        problems: what is known to be wrong with the data, or with getting them.
    """

    title: str
    published_name: str | None = None
    domain: Literal["motion", "robot", "driving", "traffic", "weather", "own"] = "own"
    shape: tuple[int, int, int]
    context: int = Field(ge=1)
    horizon: int = Field(ge=1)
    units: str = "1"
    metrics: tuple[str, ...] = ()
    protocol_source: str = "your own data"
    homepage: str = ""
    citation: str = ""
    licence: str = ""
    reader: str | None = None
    virtual_clips: str | None = None
    prepare: Json = {}
    counts: Counts = Counts()
    subsets: dict[str, Subset] = {}
    train_subsets: dict[str, Subset] = {}
    conventions: dict[str, str] = {}
    problems: tuple[str, ...] = ()
    release: str
    releases: dict[str, Release]


class Size(Strict):
    """What a network costs, for estimates of time, memory and storage only: in no recipe.

    All figures are those of one forecast of Moving-MNIST (10 -> 10 frames of 1 x 64 x 64) with the
    options beside them; other datasets are converted (stp/costs/work.py).

    Attributes:
        parameters: their number.
        gmacs: 10^9 multiply-adds, of one evaluation of the network where a forecast takes several.
        evaluations: of the network in one forecast; a training step takes one.
        once_gmacs: of those, what all evaluations of one forecast share and compute once.
        steps: ``frame``: a recurrent network computes each frame from the one before; ``pass``: it
            predicts as many frames at once as it was shown.
        activations_mb: memory of what a CPU keeps for the backward pass.
        gpu_gmacs_per_s: 10^9 multiply-adds per second that one GPU achieves with it.
    """

    parameters: int | None = Field(default=None, ge=0)
    gmacs: float | None = Field(default=None, ge=0)
    evaluations: int | None = Field(default=None, ge=1)
    once_gmacs: float | None = Field(default=None, ge=0)
    steps: Literal["frame", "pass"] | None = None
    activations_mb: float | None = Field(default=None, ge=0)
    gpu_gmacs_per_s: float | None = Field(default=None, gt=0)


class Weights(Strict):
    """Weights of a network that a training begins with, or that replace it.

    Attributes:
        file: a URL, or a path: absolute, or below a raw folder.
        sha256: of the file; that is what the trained model is known by.
        use: ``initialise`` a training, or ``replace`` it.
        access: as of a raw file.
    """

    file: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    use: Literal["initialise", "replace"]
    access: Literal["open", "registration", "manual"] = "open"
    instructions: str = ""

    @property
    def release(self) -> Release:
        """The file as raw bytes."""
        is_url = "://" in self.file
        path = f"weights/{self.sha256[:16]}-{self.file.rpartition('/')[2]}" if is_url else self.file
        file = RawFile(
            path=path,
            url=self.file if is_url else None,
            sha256=self.sha256,
            access=self.access,
            instructions=self.instructions,
        )
        return Release(source="own", files=(file,), raw_gb=0.2)


Statistic = Literal["mean_of_members", "ensemble_mean", "best_of_members"]
"""What is scored of several forecasts of a clip; see `stp.score.members`."""


class PerDataset(Strict):
    """What a model sets for one dataset."""

    options: Json = {}
    train: Json = {}
    predict: Json = {}
    statistic: Statistic | None = None
    size: Size = Size()
    weights: Weights | None = None


class ModelSettings(Strict):
    """What a scale may override in a model.

    Attributes:
        statistic: what is scored of several forecasts of a clip (``predict: {samples: 10}``);
            mean_of_members unless set.
    """

    options: Json = {}
    train: Json = {}
    predict: Json = {}
    statistic: Statistic | None = None
    size: Size = Size()
    weights: Weights | None = None
    datasets: dict[str, PerDataset] = {}


class Model(ModelSettings):
    """What is known about a model (config/models/<name>.yaml).

    Attributes:
        fit: none (nothing to learn), closed_form (one pass over the training data), sgd
            (gradient descent; has seeds) or calibrate (a search over parameters).
        is_sampled: it draws its forecasts, so that there can be several of a clip
            (``predict: {samples: 10}``).
        datasets: what the paper set for each dataset.
    """

    title: str
    reference: str
    published_name: str | None = None
    fit: Literal["none", "closed_form", "sgd", "calibrate"]
    is_sampled: bool = False


class ReproducedColumn(Strict):
    """What a column of a reproduction table is.

    Attributes:
        convention: or ``<convention>@<threshold>``.
        factor: that our value is multiplied by, to be in the units of the column.
        unit: of the column, in words, where they are not those of the convention.
        doubt: why it is not certain; such a column gets no difference.
    """

    convention: str
    factor: float = 1.0
    unit: str = ""
    doubt: str = ""


class Reproduction(Strict):
    """A table of what the paper reproduced on one dataset with the original code.

    Attributes:
        table: its name among the published values.
        columns: its columns, in the order of the paper.
    """

    table: str
    columns: dict[str, ReproducedColumn]


class Evaluation(Strict):
    """Which scores go into which columns (config/evaluation/predbench.yaml).

    Attributes:
        columns: group of datasets -> column -> convention, or ``<convention>@<threshold>``.
        also: group -> further conventions that are scored.
        ensembles: group -> conventions that are scored besides of several forecasts of a clip.
        datasets: dataset -> its group.
        reproduction: dataset -> its table of what was reproduced.
    """

    columns: dict[str, dict[str, str]]
    also: dict[str, tuple[str, ...]]
    ensembles: dict[str, tuple[str, ...]] = {}
    datasets: dict[str, str]
    reproduction: dict[str, Reproduction] = {}


class Metric(Strict):
    """What is known about a metric and its conventions (config/conventions/<name>.yaml).

    Attributes:
        higher_is_better: the direction of its conventions, except those in `opposite`; null if
            neither higher nor lower is better.
        best_at: the value at which a convention is best, such as 1 for a ratio; the closer the
            better.
        available: whether stp.metrics has it; if not, tables show `reason`.
        perceptual: compares what networks see, and so is scored by a job of its own, on a GPU.
        weights: the network of config/weights.yaml that a convention looks through; where its
            weights are not at hand, the convention has no value.
        conventions: what each one computes, and whose it is.
    """

    title: str
    unit: str
    higher_is_better: bool | None
    opposite: tuple[str, ...] = ()
    best_at: dict[str, float] = {}
    available: bool = True
    perceptual: bool = False
    weights: dict[str, str] = {}
    reason: str = ""
    conventions: dict[str, str]

    def is_higher_better(self, choice: str) -> bool | None:
        """The direction of one convention; None if it is best at a value, or has none."""
        if self.higher_is_better is None or choice in self.best_at:
            return None
        return self.higher_is_better != (choice in self.opposite)


class Setting(Strict):
    """What else distinguishes an evaluation.

    Attributes:
        horizon: number of frames to predict; that of the tested dataset unless set.
        interval: frames between consecutive frames, in those of the training.
    """

    horizon: int | None = Field(default=None, ge=1)
    interval: int | None = Field(default=None, ge=1)


class Case(Strict):
    """One evaluation of trained models.

    Attributes:
        trained_on: the dataset of training.
        tested_on: the dataset of the test; that of training unless set.
        train_subset: all training clips, or a training subset that the dataset declares.
        subset: the test split, or a subset that the tested dataset declares.
        keep: store this many forecasts, for pictures, and score all while they are made: for those
            that are too large to be stored. Unless set, all are stored first. Scores are the same.
    """

    trained_on: str
    train_subset: str = "all"
    tested_on: str | None = None
    subset: str = "test"
    setting: Setting = Setting()
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
    """

    scale: str = Field(pattern="^[a-z0-9-]+$")
    suite: Literal["predbench"] = "predbench"
    seeds: tuple[int, ...] = Field((0,), min_length=1)
    paths: Paths = Paths()
    dimensions: dict[Dimension, Wanted]
    prepared: tuple[str, ...] = ()
    datasets: dict[str, Json] = {}
    models: dict[str, ModelSettings] = {}
    metrics: dict[str, Json] = {}
    train: Json = {}
    predict: Json = {}
    bootstrap: Bootstrap = Bootstrap()
    runtime: Json = {}


class Config(Strict):
    """Everything the plan is made from."""

    scale: Scale
    datasets: dict[str, Dataset]
    models: dict[str, Model]
    evaluation: Evaluation
    metrics: dict[str, Metric]
    equivalent: dict[str, str]


def merge(base: Mapping[str, Any], *layers: Mapping[str, Any]) -> Json:
    """Lay mappings over one another; nested mappings are merged, all else is replaced."""
    merged = dict(base)
    for layer in layers:
        for key, value in layer.items():
            if isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
                merged[key] = merge(merged[key], value)
            else:
                merged[key] = value
    return merged


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Dates stay text, as in JSON."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> Any:
    """Read one YAML or JSON file.

    Raises:
        StpError: there is no such file, or it is not YAML.
    """
    try:
        return yaml.load(path.read_bytes(), Loader=_Loader)
    except FileNotFoundError:
        raise StpError(
            f"there is no configuration file {path}",
            remedy=f"name an existing file; {CONFIG_FOLDER.name}/ holds the project's",
        ) from None
    except yaml.YAMLError as error:
        raise StpError(f"{path} is not YAML: {error}", remedy="mend the named line") from None


def check(kind: type[S], value: Any, where: str) -> S:
    """Check a mapping against its schema; the first problem becomes one clear error."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        problem = error.errors()[0]
        keys = [str(part) for part in problem["loc"]]
        name = ".".join(keys)
        if problem["type"] == "extra_forbidden":
            known = _fields_at(kind, problem["loc"][:-1])
            raise StpError(
                f"{where}: unknown key {name}", remedy=nearest(keys[-1], known) if known else ""
            ) from None
        raise StpError(
            f"{where}: {name or 'the whole file'} is {problem.get('input')!r}",
            expected=problem["msg"],
            remedy="change the value",
        ) from None


def _fields_at(kind: type[BaseModel], location: Iterable[Any]) -> list[str]:
    """List the keys that a schema knows at a place inside it."""
    current: Any = kind
    for part in location:
        field = getattr(current, "model_fields", {}).get(part)
        annotation = field.annotation if field else current
        inner = [a for a in getattr(annotation, "__args__", ()) if hasattr(a, "model_fields")]
        current = inner[0] if inner else annotation
    return list(getattr(current, "model_fields", {}))


def _read_folder(
    kind: type[S], folder: Path, overrides: Mapping[str, Json], what: str, where: str
) -> dict[str, S]:
    """Read all facts of a kind, with what a scale file overrides in them.

    A dataset may also stand in the scale file as a whole, with its releases.
    """
    paths: dict[str, Path | None] = {path.stem: path for path in sorted(folder.glob("*.yaml"))}
    for name, override in overrides.items():
        if name not in paths and kind is Dataset and "releases" in override:
            paths[name] = None
        check_known(name, paths, what, f"{where}: {what}s")
    found = {}
    for name, path in paths.items():
        label = f"{where}: {what}s.{name}" if name in overrides else str(path)
        facts = read_yaml(path) if path else {}
        found[name] = check(kind, merge(facts, overrides.get(name, {})), label)
    return found


def check_known(name: str, known: Iterable[str], what: str, where: str) -> None:
    """Refuse a name that does not exist, and suggest the nearest.

    Raises:
        StpError: the name is not known.
    """
    known = list(known)
    if name not in known:
        raise StpError(f"{where}: unknown {what} {name!r}", remedy=nearest(name, known))


def _check_wanted(
    wanted: Wanted,
    datasets: Mapping[str, Dataset],
    models: Iterable[str],
    evaluation: Evaluation,
    where: str,
) -> None:
    """Refuse cells of unknown models, datasets or subsets, without metrics, or that do not fit.

    Raises:
        StpError: a name is not known, nothing says what is scored on a dataset, or the frames of
            the test are not those of the training.
    """
    for name in wanted.models:
        check_known(name, models, "model", f"{where}.models")
    for name in wanted.datasets:
        check_known(name, datasets, "dataset", f"{where}.datasets")
    for name in {case.tested_on or case.trained_on for case in wanted.cases}:
        if name in datasets and name not in evaluation.datasets and not datasets[name].metrics:
            raise StpError(
                f"{where}: nothing says what is scored on {name}",
                expected=f"metrics in config/datasets/{name}.yaml",
                remedy="add a line such as metrics: [mse.pixel_mean, ssim.range1]",
            )
    for number, case in enumerate(wanted.cells):
        label = f"{where}.cells.{number}"
        check_known(case.trained_on, datasets, "dataset", f"{label}.trained_on")
        tested_on = case.tested_on or case.trained_on
        check_known(tested_on, datasets, "dataset", f"{label}.tested_on")
        known = ["all", *datasets[case.trained_on].train_subsets]
        check_known(
            case.train_subset,
            known,
            f"training subset of {case.trained_on}",
            f"{label}.train_subset",
        )
        known = ["test", *datasets[tested_on].subsets]
        check_known(case.subset, known, f"subset of {tested_on}", label)
        trained, tested = datasets[case.trained_on].shape, datasets[tested_on].shape
        if trained != tested:
            raise StpError(
                f"{label}: {tested_on} has frames of C, H, W = {list(tested)}",
                expected=f"{list(trained)}, those of {case.trained_on}, which trains the models",
                remedy="test on a dataset with equal frames, or prepare one of the two otherwise",
            )


def load(scale: Mapping[str, Any] | Path, folder: Path = CONFIG_FOLDER) -> Config:
    """Read the whole configuration for one scale.

    Args:
        scale: a scale file or its content.
        folder: the folder of facts.

    Raises:
        StpError: an unknown key or name, or a value out of range.
    """
    where = str(scale) if isinstance(scale, Path) else "the scale file"
    content = read_yaml(scale) if isinstance(scale, Path) else scale
    wanted = check(Scale, content, where)
    models = _read_folder(Model, folder / "models", {}, "model", where)
    datasets = _read_folder(Dataset, folder / "datasets", wanted.datasets, "dataset", where)
    metrics = _read_folder(Metric, folder / "conventions", wanted.metrics, "metric", where)
    for name, dataset in datasets.items():
        label = f"{where}: datasets.{name}"
        check_known(dataset.release, dataset.releases, "release", label)
    for name, settings in wanted.models.items():
        check_known(name, models, "model", f"{where}: models")
        for dataset_name in settings.datasets:
            check_known(dataset_name, datasets, "dataset", f"{where}: models.{name}.datasets")
    for name in wanted.prepared:
        check_known(name, datasets, "dataset", f"{where}: prepared")
    table = folder / "evaluation" / "predbench.yaml"
    evaluation = check(Evaluation, read_yaml(table), str(table))
    for name, dataset in datasets.items():
        if dataset.metrics and name in evaluation.datasets:
            raise StpError(
                f"{folder / 'datasets' / name}.yaml: metrics",
                expected=f"none: {table} says what is scored on {name}",
                remedy="take them out, or give your own data another name",
            )
    for dimension, cells in wanted.dimensions.items():
        _check_wanted(cells, datasets, models, evaluation, f"{where}: dimensions.{dimension}")
    equivalent = read_yaml(folder / "equivalent.yaml") or []
    return Config(
        scale=wanted,
        datasets=datasets,
        models=models,
        evaluation=evaluation,
        metrics=metrics,
        equivalent={entry["new"]: entry["old"] for entry in equivalent},
    )


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
    return found
