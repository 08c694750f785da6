"""Schema of the configuration of models, config/models/<name>.yaml."""

import re
from collections.abc import Mapping
from itertools import product
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from stp.core.errors import ConfigurationError
from stp.core.json_files import Json
from stp.options.score import Statistic
from stp.plan.checked_config import Module, Name, Strict
from stp.plan.dataset import RawFile, Release
from stp.plan.setting import current_name
from stp.tasks import task as tasks


class Size(Strict):
    """Costs of a network, used for estimates of time, memory and storage only.

    All numbers are for Moving-MNIST (10 -> 10 frames of 1 x 64 x 64) with the options of the same
    entry; they are converted for other datasets (stp/run/costs/work.py).

    Attributes:
        parameters: number of parameters.
        gmacs: 10^9 multiply-adds of a forward pass that computes all 10 frames.
        evaluations: number of such passes in a forecast, as in a diffusion model; 1 in training.
        once_gmacs: part of gmacs that all passes of a forecast share.
        steps: what gmacs are proportional to if numbers of frames differ. ``frame``: number of
            frames of context and horizon together, less one, as for ConvLSTM. ``lead``: number of
            predicted frames, as for U-Net. ``told``: the same, but a training step predicts one
            frame only, since the network is told the lead time as an input, as for ClimaX.
            ``pass``: number of passes, each of which predicts as many frames as the context has, as
            for SimVP; a longer context also makes a pass longer: half of the work of a pass is
            proportional to the number of context frames.
        activations_mb: memory of activations for the backward pass, in MB.
        gpu_gmacs_per_s: 10^9 multiply-adds per second that one GPU achieves with the network.
    """

    parameters: int | None = Field(default=None, ge=0)
    gmacs: float | None = Field(default=None, ge=0)
    evaluations: int | None = Field(default=None, ge=1)
    once_gmacs: float | None = Field(default=None, ge=0)
    steps: Literal["frame", "pass", "lead", "told"] | None = None
    activations_mb: float | None = Field(default=None, ge=0)
    gpu_gmacs_per_s: float | None = Field(default=None, gt=0)


class Weights(Strict):
    """Weights of a network from which a training run starts, or which replace the training.

    Attributes:
        file: a URL, or a path: absolute, or below a raw folder.
        url: address of the download of a file below a raw folder.
        sha256: SHA-256 of the file, which identifies the trained model.
        use: ``initialise`` a training run, or ``replace`` the training.
        access: open files are downloaded; for others, a person follows the instructions.
        instructions: how a person gets the file, if it is not open.
        licence: licence of the weights.
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
        """The weights file as a release of raw files."""
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


class OwnForecasts(Strict):
    """Your own forecasts, in files below the raw folder, for a dataset of global fields.

    Attributes:
        title: name in tables; the name in the scale file unless set.
        files: pattern of the files: ``mine/*.nc``, or ``mine/forecasts.zarr/**/*``.
        variables: for each channel of the data, its name in the files, or ``{name, level, units}``;
            unless set, all channels whose names are in the files.
        names: unusual names of dimensions and coordinates in the files, by what they are:
            ``{lead: forecast_hour}`` if the files call the lead time forecast_hour. Keys are start,
            lead, valid, time, member, level, latitude and longitude; usual names are known
            (stp/predict/forecast_files.py).
        members: number of forecasts of each start.
        raw_gb: size of the files in 10^9 bytes, for estimates.
    """

    title: str = ""
    files: str
    variables: Json | None = None
    names: dict[str, str] = {}
    members: int = Field(default=1, ge=1)
    raw_gb: float = Field(default=1.0, gt=0)

    def model(self, name: str, releases: Mapping[str, str]) -> "Model":
        """Make the configuration of a model that reads these forecasts.

        Args:
            name: name of the forecasts in the scale file, which is the name of the model.
            releases: for each dataset of the suite, the name of the release (version of its raw
                files) that is used. The forecasts count as forecasts for this release.
        """
        files = RawFile(
            path=self.files,
            many=True,
            access="manual",
            instructions="put them below the raw folder (STP_RAW_DIR, or paths.raw)",
        )
        archive = Release(source="own", files=(files,), raw_gb=self.raw_gb)
        is_ensemble = self.members > 1
        return Model(
            title=self.title or name,
            reference="own forecasts",
            fit="read",
            source="own_files",
            is_sampled=is_ensemble,
            predict={"samples": self.members} if is_ensemble else {},
            statistic="ensemble_mean" if is_ensemble else None,
            options={key: value for key in ("variables", "names") if (value := getattr(self, key))},
            archives={dataset: {release: archive} for dataset, release in releases.items()},
        )


class Submission(Strict):
    """Imported predictions of one model in one test (a cell), written by `stp external import`.

    Attributes:
        dimension, trained_on, train_subset, tested_on, subset, setting: key of the cell; the
            submitter states the training data.
        data: hash of the recipe of the prepared data, which depends on the release and the clips.
        windows: checksum of the predicted windows (stp/predict/windows.py).
        bytes: size of the file.
        sha256: SHA-256 of the file, which is also the file's name.
        members: number of forecasts of each sample.
        statistic: how scores of several forecasts of a sample become one: mean_of_members,
            ensemble_mean (score of the mean forecast) or best_of_members (stp/score/members.py).
        note: footnote of tables, such as a warning that predictions agree with the truth, or that
            members are equal.
    """

    dimension: str
    trained_on: str
    train_subset: str = "all"
    tested_on: str
    subset: str = "test"
    setting: Annotated[str, AfterValidator(current_name)]
    data: str = Field(pattern="^[0-9a-f]{16}$")
    windows: str = Field(pattern="^[0-9a-f]{64}$")
    bytes: int = Field(ge=1)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    members: int = Field(default=1, ge=1)
    statistic: Statistic | None = None
    note: str = ""

    @property
    def cell(self) -> tuple[str, ...]:
        """Key that distinguishes the submission from other submissions of the same model."""
        datasets = (self.dimension, self.trained_on, self.train_subset, self.tested_on)
        return (*datasets, self.subset, self.setting, self.data)

    @property
    def release(self) -> Release:
        """The file of predictions, in the form of a release of raw files.

        It is a .npy file, float32 (sample, [member,] lead, channel, y, x).
        """
        file = RawFile(
            path=f"external/{self.sha256[:16]}.npy",
            bytes=self.bytes,
            sha256=self.sha256,
            access="manual",
            instructions="import the predictions again: stp external import",
        )
        return Release(source="own", files=(file,))


class PerDataset(Strict):
    """Settings of a model, for one dataset or for all.

    Attributes:
        options: keyword arguments of the model's class.
        train: settings of the training.
        predict: settings of the prediction.
        statistic: how scores of several forecasts of a clip (``predict: {samples: 10}``) become
            one: mean_of_members, ensemble_mean (score of the mean forecast) or best_of_members;
            mean_of_members unless set.
        size: size of the network with these options, for estimates.
        weights: weights from which a training run starts, or which replace the training.
    """

    options: Json = {}
    train: Json = {}
    predict: Json = {}
    statistic: Statistic | None = None
    size: Size = Size()
    weights: Weights | None = None


Lead = Annotated[int, Field(ge=1)]


class Leads(Strict):
    """Lead times that a model forecasts; all from 1 to the horizon unless set.

    Attributes:
        lead_times: the only lead times that the model forecasts; a cell uses those within its
            horizon.
        per_lead: whether a separate network is trained for each lead time; if not, one network
            forecasts all lead times.
        interpolated: whether forecasts between the declared lead times are interpolated linearly.
    """

    lead_times: tuple[Lead, ...] = ()
    per_lead: bool = False
    interpolated: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if list(self.lead_times) != sorted(set(self.lead_times)):
            raise ValueError("lead_times in ascending order, each once")
        if self.per_lead and not self.lead_times:
            raise ValueError("lead_times beside per_lead: a network is trained for each")
        if self.interpolated and not self.lead_times:
            raise ValueError("lead_times beside interpolated: the others are interpolated")
        return self


class ModelSettings(PerDataset, Leads):
    """Settings of a model; a scale file (the configuration of a run) may override each of them.

    Attributes:
        datasets: settings for single datasets, by dataset; they override those for all datasets.
    """

    datasets: dict[str, PerDataset] = {}


class Variant(Leads):
    """A variant of a model: settings that override all others, or released parameters.

    Settings of a variant override those of the model's entry and of the scale file. A variant that
    only changes forecasts (`predict`, `lead_times`) uses the training runs of the model itself.

    Attributes:
        title: name in tables.
        published_name: name of the variant in the paper, by which its published values are found.
            Unless set, a variant with released parameters has the model's name in the paper; any
            other variant has no published values.
        reference: where the variant is from, as text, such as a section of the paper or a file of
            the released code.
        options: keyword arguments of the model's class.
        train: settings of the training.
        predict: settings of the prediction.
        channels: name patterns of the channels that the variant gets as input and forecasts; all
            unless set.
        datasets: released parameters that replace a training run: options of the model, by the
            dataset to which they were fitted.
    """

    title: str
    published_name: str | None = None
    reference: str = ""
    options: Json = {}
    train: Json = {}
    predict: Json = {}
    channels: tuple[str, ...] = ()
    datasets: dict[str, Json] = {}

    @property
    def is_given(self) -> bool:
        """Whether the variant has released parameters, so that nothing is trained."""
        return bool(self.datasets)

    @property
    def has_trainings(self) -> bool:
        """Whether training runs or parameters of the variant differ from those of the default."""
        return bool(self.options or self.train or self.channels or self.datasets)


Varied = Annotated[str, Field(pattern=r"^(options|train)\.[a-z0-9_]+$")]


class VariantGrid(Strict):
    """Variants of a model for all combinations of listed option values; each is trained.

    They are named after their values: ``lr_0_001_kl_weight_1e_05``.

    Attributes:
        reference: where the listed values are from, as text, such as a section of the paper.
        values: list of values for each option of the model (``options.kl_weight``) or setting of
            its training (``train.lr``).
    """

    reference: str = ""
    values: dict[Varied, tuple[Any, ...]] = Field(min_length=1)

    def variants(self) -> dict[str, Variant]:
        """The variants of all points of the grid, by name; the last key varies fastest."""
        variants = {}
        for values in product(*self.values.values()):
            point: dict[str, Json] = {"options": {}, "train": {}}
            texts = []
            for path, value in zip(self.values, values, strict=True):
                part, _, key = path.partition(".")
                point[part][key] = value
                texts.append(f"{key} {value}")
            name = re.sub("[^a-z0-9]+", "_", " ".join(texts).lower())
            variants[name] = Variant(
                title=", ".join(texts),
                reference=self.reference,
                options=point["options"],
                train=point["train"],
            )
        return variants


NamedClass = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.\w+)*:[A-Za-z_]\w*$")]
"""Path of a class, ``package.module:Class``."""
Role = Literal["baseline", "full_reference", "no_reference"]
"""Role of a measure of quality, see `Model`."""


class Model(ModelSettings):
    """A model (config/models/<name>.yaml).

    It also has the keys of `ModelSettings`, of which `datasets` is explained again here.

    Attributes:
        title: name in tables.
        reference: publication of the model.
        published_name: name in tables of the suite's paper, by which published values are found;
            the title unless set.
        fit: none (nothing to learn), closed_form (one pass over the training data), sgd
            (gradient descent; has seeds), calibrate (a search over parameters), read (forecasts are
            read from files and scored without storing them) or external (its predictions are
            imported).
        is_sampled: whether forecasts are random draws, so that a clip can have several (``predict:
            {samples: 10}``).
        density: whether the model predicts densities of positions (`stp.tracks.densities`): true,
            or the name of the option that switches them on.
        datasets: the paper's settings for single datasets, by dataset.
        variants: variants of the model, by name.
        grids: grids of variants, for several values of an option, by name. Where a scale file names
            a variant in `cells`, the name of a grid stands for all of its variants.
        reads: paths in the checkout of files and folders that the model's code reads or imports,
            besides its static imports. Their content is part of the fingerprints.
        environment: environment variables that the model's code reads; their values are part of the
            fingerprints. Jobs get these and the variables of the machine, and no others.
        source: module that reads forecasts (stp/predict/sources), for `fit: read`; or module that
            computes a measure of quality (stp/opinions/measures), if its name differs from the
            model's.
        network: entry of config/weights.yaml of the network whose features a measure of quality
            uses.
        role: role of a measure of quality. ``baseline``: a trivial predictor, such as the mean
            opinion or the resolution; ``full_reference``: compares predicted with observed frames;
            ``no_reference``: any other measure, the default.
        archives: archives from which forecasts are read, by dataset and then by the dataset's
            release. Empty if forecasts are computed from the prepared data.
        kind: the task: frames, tracks of people, or opinions.
        class: ``package.module:Class``, any torch.nn.Module (docs/own_models.md), for a model of
            frames; by default ``Model`` in the module of stp/models with the model's name.
        training: training data of an external model or of released weights, in the words of the
            authors.
        submissions: predictions of an external model.
    """

    title: str
    reference: str
    published_name: str | None = None
    fit: Literal["none", "closed_form", "sgd", "calibrate", "read", "external"]
    kind: str = "frames"
    class_: NamedClass | None = Field(default=None, alias="class")
    is_sampled: bool = False
    density: bool | str = False
    variants: dict[Name, Variant] = {}
    grids: dict[Name, VariantGrid] = {}
    reads: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    source: Module | None = None
    network: Name | None = None
    role: Role | None = None
    archives: dict[str, dict[str, Release]] = {}
    training: str = ""
    submissions: tuple[Submission, ...] = ()

    def with_grids(self) -> "Model":
        """Copy the model, and add the variants that its grids stand for.

        A grid (`VariantGrid`) lists several values of some options. It stands for one variant for
        each combination of these values.

        Raises:
            ConfigurationError: two variants have the same name.
        """
        variants = dict(self.variants)
        for name, grid in self.grids.items():
            points = grid.variants()
            if repeated := {"default", *variants} & {name, *points}:
                raise ConfigurationError(
                    f"{self.title}: the grid {name} repeats the variant {min(repeated)}",
                    remedy="rename the grid, or remove the values that two grids share",
                )
            variants |= points
        return self.model_copy(update={"variants": variants})

    def expand_variant(self, variant: str) -> tuple[str, ...]:
        """List the variants that a name in a scale file stands for: one variant, or all of a grid.

        Args:
            variant: name of a variant, ``default``, or name of a grid of variants.
        """
        return tuple(self.grids[variant].variants()) if variant in self.grids else (variant,)

    @model_validator(mode="after")
    def _keys_fit_the_task(self) -> Self:
        task = tasks.find(self.kind)
        may_have_source = task.cores.read is None and self.fit == "none"
        if (self.fit == "read") != (self.source is not None) and not may_have_source:
            raise ValueError("source with fit: read, and only there")
        if self.network is not None and task.cores.video_features is None:
            raise ValueError(f"no network of a model of {self.kind}")
        if self.class_ is not None and not task.takes_class(self.fit):
            raise ValueError("class of models of frames with fit: none or sgd only")
        if self.role is not None and not task.has_opinions:
            raise ValueError(f"no role of a model of {self.kind}")
        return self
