"""Configuration: YAML in, checked objects out.

`config/datasets`, `config/models`, `config/evaluation` and `config/conventions` hold facts;
a scale file (`config/demo.yaml`, `config/sample.yaml`, `config/paper.yaml`) says which cells
are wanted and overrides numbers. No torch and no look at the data.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from stp.core.errors import StpError, nearest
from stp.core.fingerprint import digest

CONFIG_FOLDER = Path(__file__).parent.parent / "config"
Json = dict[str, Any]
Dimension = Literal[
    "short_term",
    "long_term",
    "generalization",
    "robustness",
    "atlas_transfer",
    "atlas_horizons",
    "atlas_observation",
    "atlas_noise",
    "atlas_people",
    "atlas_synthetic",
]
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
        behind_paper: these very files are what the paper's numbers were made from, although they
            came from elsewhere: differences to these are given.
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
    behind_paper: bool = False
    raw_gb: float | None = Field(default=None, gt=0)

    @property
    def verified(self) -> bool:
        """Are these official bytes, or those behind the paper, known by their checksums?"""
        return (
            (self.source == "official" or self.behind_paper)
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


A_PERSON = (2, 1, 1)
"""Shape of a position: x and y."""
PROTOCOLS = {
    "atlas-paper": {"title": "scenarios as the released code of Atlas cuts them"},
    "strict": {"title": "scenarios whose observation holds no future"},
    "strict-relaxed": {"title": "as strict, and others may come and go"},
}
"""Subsets of all tracks of people: how scenarios are cut."""


class Dataset(Strict):
    """What is known about a dataset (config/datasets/<name>.yaml).

    Attributes:
        kind: of what is predicted: frames, or tracks of people.
        shape: channels, height and width of a prepared frame; of tracks, x and y of one person.
        published_name: what the paper calls it; None for your own data.
        context: number of context frames, or of observed positions.
        horizon: number of frames to predict in training and in the short-term table, or of future
            positions.
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
    kind: Literal["frames", "tracks"] = "frames"
    domain: Literal["motion", "robot", "driving", "traffic", "weather", "people", "own"] = "own"
    shape: tuple[int, int, int] = A_PERSON
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

    @model_validator(mode="before")
    @classmethod
    def _tracks_have_protocols(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("kind") == "tracks":
            return {"subsets": PROTOCOLS, "train_subsets": PROTOCOLS, **given}
        return given

    @model_validator(mode="after")
    def _frames_have_a_shape(self) -> Self:
        if self.kind == "frames" and "shape" not in self.model_fields_set:
            raise PydanticCustomError("missing", "a dataset of frames needs a shape")
        return self


class Size(Strict):
    """What a network costs, for estimates of time, memory and storage only: in no recipe.

    All figures are those of one forecast of Moving-MNIST (10 -> 10 frames of 1 x 64 x 64) with the
    options beside them; other datasets are converted (stp/run/costs/work.py).

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
        url: of a file with a path below a raw folder.
        sha256: of the file; that is what the trained model is known by.
        use: ``initialise`` a training, or ``replace`` it.
        access: as of a raw file.
        licence: of the weights.
    """

    file: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    use: Literal["initialise", "replace"]
    access: Literal["open", "registration", "manual"] = "open"
    instructions: str = ""
    licence: str = ""
    url: str | None = None

    @property
    def release(self) -> Release:
        """The file as raw bytes."""
        is_url = "://" in self.file
        path = f"weights/{self.sha256[:16]}-{self.file.rpartition('/')[2]}" if is_url else self.file
        file = RawFile(
            path=path,
            url=self.file if is_url else self.url,
            sha256=self.sha256,
            access=self.access,
            instructions=self.instructions,
            licence=self.licence,
        )
        return Release(source="own", files=(file,), raw_gb=0.2)


Statistic = Literal["mean_of_members", "ensemble_mean", "best_of_members"]
"""What is scored of several forecasts of a clip; see `stp.score.members`."""


class Submission(Strict):
    """Predictions that were made elsewhere, of one cell (written by `stp import-predictions`).

    Attributes:
        dimension, trained_on, train_subset, tested_on, subset, setting: of the cell; what the model
            was trained on is the submitter's statement.
        data: digest of the recipe of the prepared data that they are about: another release, or
            other clips, are another test.
        windows: identity of the windows that they were made from (stp/predict/windows.py).
        bytes: size of their file.
        sha256: of the file; that is what they are known by, and what it is called.
        members: forecasts of each sample.
        statistic: what metrics of one forecast make of several (stp/score/members.py).
        imported: the date.
    """

    dimension: Dimension
    trained_on: str
    train_subset: str = "all"
    tested_on: str
    subset: str = "test"
    setting: str
    data: str = Field(pattern="^[0-9a-f]{16}$")
    windows: str = Field(pattern="^[0-9a-f]{64}$")
    bytes: int = Field(ge=1)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    members: int = Field(default=1, ge=1)
    statistic: Statistic | None = None
    imported: str = ""

    @property
    def cell(self) -> tuple[str, ...]:
        """What distinguishes it from the other submissions of its model."""
        place = (self.dimension, self.trained_on, self.train_subset, self.tested_on)
        return (*place, self.subset, self.setting, self.data)

    @property
    def release(self) -> Release:
        """The file as raw bytes: float32, (sample, [member,] lead, channel, y, x), as .npy."""
        file = RawFile(
            path=f"external/{self.sha256[:16]}.npy",
            bytes=self.bytes,
            sha256=self.sha256,
            access="manual",
            instructions="import the predictions again: stp import-predictions",
        )
        return Release(source="own", files=(file,))


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


class Variant(Strict):
    """Named options of a model that somebody else has found.

    Attributes:
        title: what tables call it.
        reference: who has found them, and where they are printed.
        datasets: dataset that they were found on -> options.
    """

    title: str
    reference: str
    datasets: dict[str, Json]


class Model(ModelSettings):
    """What is known about a model (config/models/<name>.yaml).

    Attributes:
        fit: none (nothing to learn), closed_form (one pass over the training data), sgd
            (gradient descent; has seeds), calibrate (a search over parameters) or external (it
            lives elsewhere, and joins by its predictions).
        is_sampled: it draws its forecasts, so that there can be several of a clip
            (``predict: {samples: 10}``).
        density: it says where people may be by densities (`stp.tracks.densities`): always, or
            where its option of this name is set.
        datasets: what the paper set for each dataset.
        variants: options by name, instead of a training or calibration.
        kind: of what it predicts: frames, or tracks of people.
        training: of an external model, or one whose weights are released: what it was trained on,
            in the words of who did it.
        submissions: of an external model: its predictions.
    """

    title: str
    reference: str
    published_name: str | None = None
    fit: Literal["none", "closed_form", "sgd", "calibrate", "external"]
    kind: Literal["frames", "tracks"] = "frames"
    is_sampled: bool = False
    density: bool | str = False
    variants: dict[str, Variant] = {}
    training: str = ""
    submissions: tuple[Submission, ...] = ()


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


class Deviation(Strict):
    """Something that a paper says and its released code does otherwise.

    Attributes:
        about: what it is about, in a few words.
        paper: what the paper says.
        code: what the released code does, and the protocol named after the paper.
        strict: what the protocol `strict` does.
        dimensions: whose tables say so; all unless set.
    """

    about: str
    paper: str
    code: str
    strict: str
    dimensions: tuple[Dimension, ...] = ()


class Evaluation(Strict):
    """Which scores go into which columns (config/evaluation/predbench.yaml).

    Attributes:
        columns: group of datasets -> column -> convention, or ``<convention>@<threshold>``.
        also: group -> further conventions that are scored.
        ensembles: group -> conventions that are scored besides of several forecasts of a clip.
        datasets: dataset -> its group.
        reproduction: dataset -> its table of what was reproduced.
        sampled: group -> further columns of models that draw several forecasts; {K} in a column
            stands for their number.
        absent: method of the paper that there are no values of -> why.
        deviations: what tables say of the paper and its code.
    """

    columns: dict[str, dict[str, str]]
    also: dict[str, tuple[str, ...]]
    ensembles: dict[str, tuple[str, ...]] = {}
    datasets: dict[str, str]
    reproduction: dict[str, Reproduction] = {}
    sampled: dict[str, dict[str, str]] = {}
    absent: dict[str, str] = {}
    deviations: tuple[Deviation, ...] = ()


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
    """

    scale: str = Field(pattern="^[a-z0-9-]+$")
    suite: Literal["predbench", "atlas"] = "predbench"
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
    models: Mapping[str, Model],
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
        for name in case.models:
            check_known(name, wanted.models, "model of the dimension", f"{label}.models")
        trained, tested = datasets[case.trained_on].shape, datasets[tested_on].shape
        if trained != tested:
            raise StpError(
                f"{label}: {tested_on} has frames of C, H, W = {list(tested)}",
                expected=f"{list(trained)}, those of {case.trained_on}, which trains the models",
                remedy="test on a dataset with equal frames, or prepare one of the two otherwise",
            )
    for case in wanted.cases:
        for name in case.models or wanted.models:
            _check_kinds(case, models[name], name, datasets, where)


def _check_kinds(
    case: Case, model: Model, name: str, datasets: Mapping[str, Dataset], where: str
) -> None:
    """Refuse a model of frames for tracks, or the reverse, and tracks without a protocol.

    Raises:
        StpError: what is wrong.
    """
    tested_on = case.tested_on or case.trained_on
    for dataset in (case.trained_on, tested_on):
        kind = datasets[dataset].kind
        if kind != model.kind:
            raise StpError(
                f"{where}: {name} predicts {model.kind}, and {dataset} has {kind}",
                expected="a model and datasets of one kind",
                remedy=f"name another model, or take {dataset} out for this one",
            )
    if model.kind == "frames":
        return
    fitted = model.fit in ("calibrate", "sgd") and case.variant == "default"
    for key, value, needed in (
        ("subset", case.subset, True),
        ("train_subset", case.train_subset, fitted),
    ):
        if needed and value not in PROTOCOLS:
            raise StpError(
                f"{where}: {name} on {tested_on} has {key} {value!r}",
                expected=f"how scenarios are cut: {' or '.join(PROTOCOLS)}",
                remedy=f"write `{key}: strict` in its line of `cells`",
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
    table = folder / "evaluation" / f"{wanted.suite}.yaml"
    evaluation = check(Evaluation, read_yaml(table), str(table))
    for name, dataset in datasets.items():
        if dataset.metrics and name in evaluation.datasets:
            raise StpError(
                f"{folder / 'datasets' / name}.yaml: metrics",
                expected=f"none: {table} says what is scored on {name}",
                remedy="take them out, or give your own data another name",
            )
    for dimension, cells in wanted.dimensions.items():
        suite = "atlas" if dimension.startswith("atlas_") else "predbench"
        if suite != wanted.suite:
            raise StpError(
                f"{where}: {dimension} is a dimension of the suite {suite}",
                expected=f"dimensions of the suite {wanted.suite}",
                remedy=f"write `suite: {suite}`, and other suites into scale files of their own",
            )
        _check_wanted(cells, datasets, models, evaluation, f"{where}: dimensions.{dimension}")
    return Config(
        scale=wanted,
        datasets=datasets,
        models=models,
        evaluation=evaluation,
        metrics=metrics,
        equivalent=_equivalent(folder / "equivalent.yaml"),
    )


def seal_of(entry: Mapping[str, Any]) -> str:
    """The digest that ends the evidence of an entry of config/equivalent.yaml.

    Raises:
        KeyError, TypeError, AttributeError: it is no entry.
    """
    evidence = {key: value for key, value in entry["evidence"].items() if key != "seal"}
    return digest({"old": entry["old"], "new": entry["new"], "evidence": evidence})


def _equivalent(path: Path) -> dict[str, str]:
    """Read which code was proven to be equivalent to which older code.

    Raises:
        StpError: an entry is not as `stp why --prove` wrote it; its reason alone is free.
    """
    entries = read_yaml(path) or []
    for number, entry in enumerate(entries, start=1):
        try:
            compared = entry["evidence"]["files"].values()
            is_written = entry["evidence"]["seal"] == seal_of(entry) and len(compared) > 0
            is_same = all(one["old"] == one["new"] for one in compared if one["how"] == "bytes")
        except (KeyError, TypeError, AttributeError):
            is_written = is_same = False
        if not is_written or not is_same:
            raise StpError(
                f"{path}, entry {number}: no evidence that a machine wrote",
                expected="an entry as `stp why --prove` prints it, with sample, digests and commit",
                remedy="`stp why WORDS --prove` makes a sample again, compares it, and writes the "
                "entry; or take this entry out: what it spares is computed again",
            )
    return {entry["new"]: entry["old"] for entry in entries}


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
