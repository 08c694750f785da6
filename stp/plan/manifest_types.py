"""Types that make up a manifest: the cells of one dimension, and the facts that its tables need.

A dimension is one question of a suite, with a table of its own. A cell is one model, trained on one
dataset, tested on one dataset, in one setting, with one seed.

The JSON text of a manifest omits fields that have their default.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stp.core.errors import StpError
from stp.plan.cell_key import CellKey
from stp.plan.column import Columns, ReproducedColumn


@dataclass(frozen=True, kw_only=True)
class StoredCell:
    """A cell (one model on one dataset in one setting): its key, origin of the data, and folders.

    Both manifests and the results store have these facts. The last four fields are set when a
    manifest is loaded (`stp.plan.data_origin`).

    Attributes:
        key: key of the cell.
        kind: task of the test dataset: frames, tracks of people, or opinions.
        source: origin of the test data: official, sample, synthetic or own.
        release: release of the test dataset.
        protocol: ``paper``, or the name of another protocol.
        leaky: whether the training and test splits share a video, person or period.
        best_of: number of forecasts of each clip if the best one is scored; 1 otherwise.
        data: folder of the prepared test data.
        models: folders of the trained models: none, one, or one for each lead time or ensemble
            member.
        predictions: folder of the predictions; None if forecasts are not stored.
        scores: folder of the scores.
        perceptual: folder of the scores that compare network features; None if there are none.
        accepted: footnote on artefacts of older code that a user declared current; None if there
            are none.
        bytes_known_by: evidence that the raw files are the official ones, or those behind the
            paper's numbers: "checksums", "counts" or "stated"; None without evidence.
        lacking: missing raw files, in words; None if there are none.
        comparable: whether the scores can be compared with published values: recipes and raw files
            are the paper's, even if these files are not official.
        official_paper_protocol: whether the cell is comparable, and its test data are official.
    """

    key: CellKey
    kind: str
    source: str
    release: str
    protocol: str
    leaky: bool
    best_of: int
    data: str
    models: tuple[str, ...]
    predictions: str | None
    scores: str
    perceptual: str | None = None
    accepted: str | None = None
    bytes_known_by: str | None = None
    lacking: str | None = None
    comparable: bool = False
    official_paper_protocol: bool = False

    def folders(self, stages: Iterable[str]) -> list[Path]:
        """List the folders that stages wrote for this cell (one result), in the given order.

        Args:
            stages: names of fields of this class that contain folders, such as ``models`` and
                ``scores``.
        """
        folders: list[str] = []
        for stage in stages:
            value: str | tuple[str, ...] | None = getattr(self, stage)
            folders += [value] if isinstance(value, str) else value or ()
        return [Path(folder) for folder in folders if folder]

    def folder(self, stage: str) -> Path | None:
        """Folder of a stage that has at most one artefact, such as ``scores``; None without one."""
        return next(iter(self.folders([stage])), None)

    def demand_predictions(self) -> Path:
        """Folder of the predictions, which have to be stored.

        Raises:
            StpError: the predictions are not stored.
        """
        if self.predictions is None:
            raise StpError("its predictions are not kept")
        return Path(self.predictions)


@dataclass(frozen=True, kw_only=True)
class Cell(StoredCell):
    """A cell of a manifest: one model on one dataset in one setting, with what tables say of it.

    Attributes:
        follows_paper: whether the paper has this evaluation with the same recipes.
        bytes_of: names of the datasets whose raw files influence the scores, such as those of
            training and test.
        subset_note: footnote of tables about the release (e.g. that it is a part of the official
            data), imported predictions, unusual scores, or seeds with equal predictions; empty
            without one.
        samples: number of forecasts of each clip.
        statistic: how scores of several forecasts of a clip become one: ``mean_of_members``,
            ``ensemble_mean`` (score of the mean forecast) or ``best_of_members``; None for one
            forecast of each clip.
        kept: number of forecasts stored with the scores for pictures; None if all predictions are
            stored.
        features: folders of the network features of the clips.
        clusters: kind of clusters used by intervals and tests, if the data have several kinds.
        calibrated: data of the model's calibration, in words; empty for other models.
        external: whether the predictions were imported.
        reference: publication of an imported model.
        training: training data of an imported model, as its authors state them.
    """

    follows_paper: bool
    bytes_of: tuple[str, ...]
    subset_note: str
    samples: int = 1
    statistic: str | None = None
    kept: int | None = None
    features: tuple[str, ...] = ()
    clusters: str | None = None
    calibrated: str = ""
    external: bool = False
    reference: str | None = None
    training: str | None = None


@dataclass(frozen=True)
class DimensionFacts:
    """Facts about a dimension (one question of a benchmark), from `stp.plan.suite.Dimension`.

    Attributes:
        title: name in reports and cards.
        question: question that the table of the dimension answers.
        about: content of this table, in a few words.
        printed: place of the table in the paper; empty if the paper has no such table.
        by_lead: whether a further table shows scores at each lead time.
        changes_from: dimension with the tests that this dimension's tests are compared with, for
            the same trained models, e.g. ``short_term`` for ``generalization``. ``robustness``
            names itself: its tests at several frame intervals are compared with each other. None
            without a comparison.
        place: position of the dimension in the order of the suite, from 1.
    """

    title: str
    question: str
    about: str
    printed: str
    by_lead: bool
    changes_from: str | None
    place: int


@dataclass(frozen=True)
class SuiteFacts:
    """Facts about a suite, the benchmark of one paper, from `stp.plan.suite.Suite`.

    Attributes:
        name: name of the suite in paths.
        title: title of the suite on pages.
        protocol: name of the scale file with the paper's protocol; None without one.
        findings: name of the table of findings, the paper's statements with a verdict; None without
            findings.
        dimensions: facts about the dimensions, by name.
        views: SQL of the suite's own views of the results store, by name.
    """

    name: str
    title: str
    protocol: str | None
    findings: str | None
    dimensions: dict[str, DimensionFacts]
    views: dict[str, str]


@dataclass(frozen=True)
class RawFacts:
    """Facts about the declared raw files of a dataset.

    Attributes:
        release: name of the release.
        source: origin of the files: official, sample, synthetic or own.
        is_papers: whether the files are declared official, or the paper's numbers were made from
            them.
        lock: path of the lock file.
        data: folder of the prepared data.
        files: records of the declared files: ``path`` and, if declared, ``bytes``, ``sha256``,
            ``md5_uncompressed``, ``many`` and ``min_files``.
        registered: path of the lock file that the project has of this official release, in
            ``config/locks``; None without one.
        registered_sha256: SHA-256 of the file at `registered`; None without one.
        clips: number of clips of the complete official release, by split.
    """

    release: str
    source: str
    is_papers: bool
    lock: str
    data: str
    files: tuple[Mapping[str, Any], ...]
    registered: str | None
    registered_sha256: str | None
    clips: dict[str, int]


@dataclass(frozen=True)
class ConventionFacts:
    """Facts about a convention, one exact definition of a metric, such as ``ssim.range2``.

    Attributes:
        title: heading in tables.
        unit: unit of the values.
        higher_is_better: whether higher values are better; None if neither higher nor lower is.
        best_at: the best value, such as 1 for a ratio; None without one.
        success: for metrics that rate what happens in a prediction, e.g. whether people collide:
            ``strict`` if each sample as a whole is right or wrong, ``graded`` if a part of a sample
            can be right; None for other metrics.
        compares_sets: whether the value depends on the number of clips, as distances between sets
            of clips do.
        available: whether the convention can be computed on this machine.
        reason: reason why it cannot be computed; empty if it can.
        description: definition in words, with its source.
    """

    title: str
    unit: str
    higher_is_better: bool | None
    best_at: float | None
    success: str | None
    compares_sets: bool
    available: bool
    reason: str
    description: str


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table of results, by dataset.

    Attributes:
        columns: columns of the table, by test dataset.
        sampled: columns for models that draw several forecasts of a clip, by test dataset. They
            are added to ``columns``, in place of those that show the same values. Headings may
            contain {K}, {members} and {seen} (`stp.plan.manifest.names_of_members`).
        curves: columns that are drawn over lead time, each in a panel of a figure, by test dataset;
            empty if the figure has a panel for each column of the table.
        unscored: names of conventions that should be computed although no column shows them, but
            cannot be computed on this machine, by test dataset.
    """

    columns: dict[str, Columns]
    sampled: dict[str, Columns] = field(default_factory=dict)
    curves: dict[str, Columns] = field(default_factory=dict)
    unscored: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Names:
    """Titles of models and datasets.

    Attributes:
        models: titles of models, by name.
        datasets: titles of datasets, by name.
        variants: titles of variants (named sets of options of a model), by ``<model>:<variant>``.
    """

    models: dict[str, str]
    datasets: dict[str, str]
    variants: dict[str, str] = field(default_factory=dict)

    def of_model(self, key: CellKey) -> str | None:
        """Find the title of the model of a cell (one result), or of the model's variant.

        Returns:
            the title; None if there is none. Among the names in a paper, for example, there is none
            for an imported model, and for a variant that the paper does not have.
        """
        if key.variant == "default":
            return self.models.get(key.model)
        return self.variants.get(f"{key.model}:{key.variant}")


@dataclass(frozen=True)
class ModelFacts:
    """Facts about a model, from its entry in config/models (`stp.plan.model.Model`).

    The last four fields are about measures of video quality; they are None for other models.

    Attributes:
        reference: publication of the model.
        fit: how the model gets its parameters, such as ``sgd`` or ``none``.
        training: training data of an external model or of released weights; None for others.
        is_archived: whether the model's forecasts are read from an archive.
        role: kind of a measure of video quality: ``baseline`` (trivial, such as the resolution),
            ``full_reference`` (compares predicted with observed frames) or ``no_reference`` (does
            not need observed frames).
        network: name of the network whose features the measure uses; None if it uses none.
        parts: kinds of network features that the measure uses, keys of
            `stp.opinions.network_features.PARTS`, such as ``cosine`` (cosine similarity of the
            feature maps of predicted and true frames); empty without a network.
        learns: whether the measure is a regression learnt from opinions; if not, a logistic
            function is fitted to its value.
    """

    reference: str
    fit: str
    training: str | None
    is_archived: bool = False
    role: str | None = None
    network: str | None = None
    parts: tuple[str, ...] | None = None
    learns: bool | None = None


@dataclass(frozen=True)
class DatasetFacts:
    """Facts about a dataset, from its entry in config/datasets (`stp.plan.dataset.Dataset`).

    Attributes:
        published_name: name in the paper; None if the paper does not have the dataset.
        kind: name of the task: ``frames``, ``tracks`` (of people) or ``opinions``.
        domain: subject of the data, by which datasets are grouped, such as ``traffic``.
        shape: channels, height and width of a prepared frame; for tracks, x and y of one person.
        context: number of context frames, or of observed positions.
        horizon: number of frames to predict in training, or of future positions.
        units: units of the values, as text; "1" for video in [0, 1].
        homepage: address of the publisher's page.
        citation: key of references.yaml, or the work to cite.
        licence: licence of the files, in the words of the publisher.
    """

    published_name: str | None
    kind: str
    domain: str
    shape: tuple[int, int, int]
    context: int
    horizon: int
    units: str
    homepage: str
    citation: str
    licence: str


@dataclass(frozen=True)
class KindFacts:
    """Facts about a task (what a sample is, such as frames or tracks of people).

    Tables and the results store need them. They are attributes of `stp.tasks.task.Task`.

    Attributes:
        names_training: whether tables name the training data beside the model, and compare all
            models with the same test data; if not, only models with the same training data are
            compared.
        counts_people: whether receipts of predictions count scenarios, people and episodes (sets of
            scenarios that overlap in time).
        has_person_errors: whether scores have the error of each person at each lead time.
        has_opinions: whether scores have predicted and observed opinions of each video.
        has_runtime: whether predictions have a file with the run times of the model.
    """

    names_training: bool
    counts_people: bool
    has_person_errors: bool
    has_opinions: bool
    has_runtime: bool


@dataclass(frozen=True)
class ReproductionFacts:
    """A table in which a paper compares its own code with the code of each model's authors.

    It has the results of both on one dataset, such as Table 13 of PredBench on Moving-MNIST.

    Attributes:
        table: name of the table among the published values.
        columns: columns of the table, in the order of the paper.
    """

    table: str
    columns: tuple[ReproducedColumn, ...]


@dataclass(frozen=True)
class DeviationFacts:
    """A difference between a paper and its released code, which tables print.

    Attributes:
        about: subject, in a few words.
        paper: statement of the paper.
        code: behaviour of the released code.
        strict: behaviour of the protocol `strict`, or of stp.
    """

    about: str
    paper: str
    code: str
    strict: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """All information that the tables of one dimension (a question of a suite) are made from.

    Attributes:
        dimension: name of the dimension.
        suite: facts about the suite of the dimension.
        scale: name of the plan's scale.
        code: fingerprint of the code that collects scores.
        store: folder of the store of artefacts.
        cells: cells in the order of the tables' rows.
        kinds, models, datasets, conventions: facts about the tasks, models, datasets and
            conventions of the cells, by name.
        raw: raw files that influence scores, by dataset.
        unavailable: reason why a convention has no values, by convention.
        tables: columns of the tables, by the name of the table.
        steps: seconds between two positions, by dataset of tracks.
        absent: reason why a method of the paper has no values in stp, by method.
        deviations: differences between the paper and its code.
        are_rivals: whether the rows of a table compete to be the best.
        controls: name of the dimension with control forecasts (single forecasts) of the models
            that have ensembles in this dimension, e.g. ``s2s_control`` for ``s2s_ensemble``. The
            figure ``gain`` divides scores of the ensembles by those of the single forecasts. None
            without such a dimension.
        reproduction: table that compares the paper's code with that of the models' authors, by
            dataset.
        names: titles of models and datasets.
        published: path of the file with the paper's values; None without one.
        published_sha256: SHA-256 of this file; None without one.
        published_clips: number of test clips in the paper, by dataset.
        published_names: names of models and datasets in the paper.
    """

    dimension: str
    suite: SuiteFacts
    scale: str
    code: str
    store: str
    cells: tuple[Cell, ...]
    kinds: dict[str, KindFacts]
    raw: dict[str, RawFacts]
    unavailable: dict[str, str]
    conventions: dict[str, ConventionFacts]
    tables: dict[str, TableColumns]
    steps: dict[str, float] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    deviations: tuple[DeviationFacts, ...] = ()
    are_rivals: bool = True
    controls: str | None = None
    reproduction: dict[str, ReproductionFacts]
    names: Names
    models: dict[str, ModelFacts]
    datasets: dict[str, DatasetFacts]
    published: str | None
    published_sha256: str | None
    published_clips: dict[str, int]
    published_names: Names

    def kind_of(self, cell: StoredCell) -> KindFacts:
        """Facts about the task of a cell (one result): frames, tracks or opinions."""
        return self.kinds[cell.kind]
