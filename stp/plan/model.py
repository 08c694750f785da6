"""What is known about a model: config/models/<name>.yaml."""

import re
from collections.abc import Mapping
from itertools import product
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from stp.core.errors import StpError
from stp.core.json_files import Json
from stp.plan.checked_config import Module, Name, Strict
from stp.plan.dataset import RawFile, Release
from stp.plan.setting import current_name
from stp.tasks import task as tasks


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
            predicts as many frames at once as it was shown; ``lead``: one evaluation gives the
            next frame, and none is spent on the context; ``told``: likewise one lead time that the
            network is told, and a training step takes one of each clip.
        activations_mb: memory of what is kept for the backward pass.
        gpu_gmacs_per_s: 10^9 multiply-adds per second that one GPU achieves with it.
    """

    parameters: int | None = Field(default=None, ge=0)
    gmacs: float | None = Field(default=None, ge=0)
    evaluations: int | None = Field(default=None, ge=1)
    once_gmacs: float | None = Field(default=None, ge=0)
    steps: Literal["frame", "pass", "lead", "told"] | None = None
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
        instructions: what a person does to get it, where it is not open.
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


class OwnForecasts(Strict):
    """Forecasts of your own, in files below the raw folder, for a dataset of global fields.

    Attributes:
        title: what tables call them; their name unless given.
        files: of one pattern: ``mine/*.nc``, or ``mine/forecasts.zarr/**/*``.
        variables: channel of the data -> name in the files, or ``{name, level, units}``; all
            channels whose names the files have unless given.
        names: of dimensions, where they are unusual (stp/predict/forecast_files.py).
        members: forecasts of each start.
        raw_gb: size of the files in 10^9 bytes, for estimates.
    """

    title: str = ""
    files: str
    variables: dict[str, Any] | None = None
    names: dict[str, str] = {}
    members: int = Field(default=1, ge=1)
    raw_gb: float = Field(default=1.0, gt=0)

    def model(self, name: str, releases: Mapping[str, str]) -> "Model":
        """The model that they are.

        Args:
            name: of the forecasts.
            releases: of each dataset that they may be of, the one that is used.
        """
        files = RawFile(
            path=self.files,
            many=True,
            access="manual",
            instructions="put them below the raw folder (STP_RAW_DIR, or paths.raw)",
        )
        archive = Release(source="own", files=(files,), raw_gb=self.raw_gb)
        several = self.members > 1
        return Model(
            title=self.title or name,
            reference="forecasts of one's own",
            fit="read",
            source="own_files",
            is_sampled=several,
            predict={"samples": self.members} if several else {},
            statistic="ensemble_mean" if several else None,
            options={key: given for key in ("variables", "names") if (given := getattr(self, key))},
            archives={dataset: {release: archive} for dataset, release in releases.items()},
        )


Statistic = Literal["mean_of_members", "ensemble_mean", "best_of_members"]
"""What is scored of several forecasts of a clip; see `stp.score.members`."""


class Submission(Strict):
    """Predictions that were made elsewhere, of one cell (written by `stp external import`).

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
        note: what tables say of them: agreement with the truth, members that were equal.
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
    imported: str = ""
    note: str = ""

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
            instructions="import the predictions again: stp external import",
        )
        return Release(source="own", files=(file,))


class PerDataset(Strict):
    """Settings of a model, for one dataset or for all.

    Attributes:
        options: keyword arguments of the model's class.
        train: settings of its training.
        predict: settings of its prediction.
        statistic: of several forecasts of a clip (``predict: {samples: 10}``) that is scored;
            mean_of_members unless set.
        size: of the network with these options, for estimates.
        weights: that a training starts from, or that replace it.
    """

    options: Json = {}
    train: Json = {}
    predict: Json = {}
    statistic: Statistic | None = None
    size: Size = Size()
    weights: Weights | None = None


Lead = Annotated[int, Field(ge=1)]


class Leads(Strict):
    """Which lead times a model forecasts; all from 1 to the horizon unless set.

    Attributes:
        lead_times: these alone; a cell has those that are not beyond its horizon.
        per_lead: a network is trained for each of them, which forecasts it directly; else one
            forecasts all.
        interpolated: forecasts of the lead times between them are interpolated, linearly.
    """

    lead_times: tuple[Lead, ...] = ()
    per_lead: bool = False
    interpolated: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if list(self.lead_times) != sorted(set(self.lead_times)):
            raise ValueError("lead_times ascend, and none is named twice")
        if self.per_lead and not self.lead_times:
            raise ValueError("per_lead needs lead_times: those that a network is trained for")
        if self.interpolated and not self.lead_times:
            raise ValueError("interpolated needs lead_times: those between which it is done")
        return self


class ModelSettings(PerDataset, Leads):
    """What a scale may override in a model.

    Attributes:
        datasets: settings for single datasets, by dataset; they win over those beside them.
    """

    datasets: dict[str, PerDataset] = {}


class Variant(Leads):
    """A named layer of settings of a model, over all others: trained anew, or given.

    One that changes forecasts alone (`predict`, `lead_times`) has trainings of the model itself.

    Attributes:
        title: what tables call it.
        published_name: what the paper calls it. Of given parameters that is the model's name; a
            trained variant without one has no printed values.
        reference: whose it is, and where it is printed.
        options, train, predict: what it sets; the model is trained with it.
        channels: patterns of the names of those that it sees and forecasts; none for all.
        datasets: instead of a training: dataset that options were found on -> these options.
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
        """Are its parameters given, so that nothing is trained?"""
        return bool(self.datasets)

    @property
    def has_trainings(self) -> bool:
        """Is it trained, or given, in another way than the model itself?"""
        return bool(self.options or self.train or self.channels or self.datasets)


Varied = Annotated[str, Field(pattern=r"^(options|train)\.[a-z0-9_]+$")]


class VariantGrid(Strict):
    """Trainings with all combinations of some values: each of them is a variant of the model.

    Variants are named after what they set: ``lr_0_001_kl_weight_1e_05``.

    Attributes:
        reference: whose it is, and where it is printed.
        values: of options of the model (``options.kl_weight``) and of settings of its training
            (``train.lr``), several of each.
    """

    reference: str = ""
    values: dict[Varied, tuple[Any, ...]] = Field(min_length=1)

    def variants(self) -> dict[str, Variant]:
        """All points of the grid by name; the last key varies fastest."""
        found = {}
        for chosen in product(*self.values.values()):
            point: dict[str, Json] = {"options": {}, "train": {}}
            said = []
            for place, value in zip(self.values, chosen, strict=True):
                part, _, key = place.partition(".")
                point[part][key] = value
                said.append(f"{key} {value}")
            name = re.sub("[^a-z0-9]+", "_", " ".join(said).lower())
            found[name] = Variant(
                title=", ".join(said),
                reference=self.reference,
                options=point["options"],
                train=point["train"],
            )
        return found


NamedClass = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.\w+)*:[A-Za-z_]\w*$")]
"""``package.module:Class``."""
Role = Literal["baseline", "full_reference", "no_reference"]
"""Of a measure of opinions."""


class Model(ModelSettings):
    """What is known about a model (config/models/<name>.yaml).

    Attributes:
        title: what tables call it.
        reference: where it is published.
        published_name: what tables of the suite's paper call it; null where they do not have it.
        fit: none (nothing to learn), closed_form (one pass over the training data), sgd
            (gradient descent; has seeds), calibrate (a search over parameters), read (nothing is
            computed: its forecasts are read, and scored while they are) or external (it lives
            elsewhere, and joins by its predictions).
        is_sampled: it draws its forecasts, so that there can be several of a clip
            (``predict: {samples: 10}``).
        density: it says where people may be by densities (`stp.tracks.densities`): always, or
            where its option of this name is set.
        datasets: what the paper set for each dataset.
        variants: of its settings, by name.
        grids: of variants, by name; in `cells`, the name stands for all of its variants.
        reads: files and folders that its code reads or imports, besides what its imports name:
            paths in the checkout. Their content is part of its fingerprints.
        environment: variables of the environment that its code reads; their values are part of
            every fingerprint, and no other ones are there but those of the machine.
        source: of forecasts that are read: the module that reads them (stp/predict/sources); of a
            measure of opinions: the module that computes it (stp/opinions/measures), where it is
            not named like the measure.
        network: of config/weights.yaml: a measure of opinions is made from what it sees of videos.
        role: of a measure of opinions. ``baseline``: says how much can be known without a measure;
            ``full_reference``: needs the true future; ``no_reference``: any other, and the default.
        archives: that they are read from: dataset -> name of a release of the dataset -> archive.
            None where they are made of the prepared data.
        kind: of what it predicts: frames, or tracks of people.
        class: of a model of frames whose class is no ``Model`` of the module of stp/models that has
            its name: ``package.module:Class``, any torch.nn.Module (docs/own_models.md).
        training: of an external model, or one whose weights are released: what it was trained on,
            in the words of who did it.
        submissions: of an external model: its predictions.
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
        """The model with all points of its grids among its variants.

        Raises:
            StpError: two of them have one name.
        """
        every = dict(self.variants)
        for grid, of in self.grids.items():
            points = of.variants()
            if taken := {"default", *every} & {grid, *points}:
                raise StpError(
                    f"{self.title}: the grid {grid} has a variant {min(taken)}, and there is one",
                    expected="names of variants and grids that are different from each other",
                    remedy="rename the grid, or leave out the values that two grids share",
                )
            every |= points
        return self.model_copy(update={"variants": every})

    def named(self, variant: str) -> tuple[str, ...]:
        """The variants that a name in `cells` stands for: itself, or all of a grid."""
        return tuple(self.grids[variant].variants()) if variant in self.grids else (variant,)

    @model_validator(mode="after")
    def _source_is_for_what_is_read(self) -> Self:
        task = tasks.find(self.kind)
        shared = task.cores.read is None and self.fit == "none"
        if (self.fit == "read") != (self.source is not None) and not shared:
            raise ValueError("source: where forecasts are read (fit: read), and only there")
        if self.network is not None and task.cores.video_features is None:
            raise ValueError(f"network: of no use to a model of {self.kind}")
        if self.class_ is not None and not task.takes_class(self.fit):
            raise ValueError("class: of models of frames with fit: none or sgd, and no others")
        if self.role is not None and not task.has_opinions:
            raise ValueError(f"role: of no use to a model of {self.kind}")
        return self
