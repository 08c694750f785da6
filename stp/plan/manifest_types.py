"""What a manifest consists of: the cells of one dimension, and what their tables say of them.

Fields with a default are left out of the text of a manifest where they have it.
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
    """A cell as manifests and the results store know it: origin of its bytes, and its folders.

    Attributes:
        key: identifies the cell.
        kind: kind of sample of the test dataset, see `stp.tasks`.
        source: origin of the test bytes: official, sample, synthetic or own.
        release: release of the test dataset.
        protocol: ``paper``, or the name of another protocol.
        leaky: whether the training and test splits share a video, person or period.
        best_of: the best of this many forecasts is scored.
        data: folder of the prepared test data.
        models: folders of the trained models: one, unless each lead time has its own; none where
            nothing is trained.
        predictions: folder of the predictions; None where they are scored while they are made.
        scores: folder of the scores.
        perceptual: folder of the scores that need a network; None if there are none.
        accepted: which of its artefacts are of older code, and who declared them current; None if
            none are.
        bytes_known_by: how surely the bytes are the official ones, see `stp.plan.data_origin`. This
            field and the following ones are set when a manifest is loaded.
        lacking: missing raw files, in words; None if there are none.
        comparable: whether differences from published values are shown.
        official_paper_protocol: whether it is comparable, on official bytes.
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
        """The folders of its artefacts of some stages, in this order."""
        found: list[str] = []
        for stage in stages:
            value: str | tuple[str, ...] | None = getattr(self, stage)
            found += [value] if isinstance(value, str) else value or ()
        return [Path(folder) for folder in found if folder]

    def folder(self, stage: str) -> Path | None:
        """The folder of an artefact that a cell has at most once, such as ``scores``."""
        return next(iter(self.folders([stage])), None)

    def demand_predictions(self) -> Path:
        """The folder of the predictions.

        Raises:
            StpError: they are not kept.
        """
        if self.predictions is None:
            raise StpError("its predictions are not kept")
        return Path(self.predictions)


@dataclass(frozen=True, kw_only=True)
class Cell(StoredCell):
    """A cell of a manifest.

    Attributes:
        follows_paper: whether it is an evaluation of the paper, with its recipe.
        bytes_of: the datasets whose raw bytes influence its scores.
        subset_note: a note on the release, and on imported predictions, that tables print.
        samples: forecasts of each clip.
        statistic: how several forecasts are scored by metrics of one.
        kept: number of predictions stored with the scores, where forecasts are scored in memory.
        features: folders of network features of its clips.
        clusters: kind of the clusters that intervals and tests are made over, if the data have
            several.
        calibrated: what the model was calibrated on, in words; empty if it was not.
        external: whether the predictions were imported.
        reference: the reference of an imported model.
        training: what an imported model was trained on, as its authors state it.
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
    """Facts about a dimension; see `stp.plan.suite.Dimension`.

    Attributes:
        place: in the order of the suite, from 1.
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
    """Facts about a suite; see `stp.plan.suite.Suite`.

    Attributes:
        views: name -> SQL of the views of the results store that are the suite's own.
    """

    name: str
    title: str
    protocol: str | None
    findings: str | None
    dimensions: dict[str, DimensionFacts]
    views: dict[str, str]


@dataclass(frozen=True)
class RawFacts:
    """The declared raw bytes of a dataset.

    Attributes:
        release: its name.
        source: whose bytes these are.
        is_papers: whether they are said to be official, or those behind the paper's numbers.
        lock: path of the lock file.
        data: folder of the prepared data.
        files: declared files; ``path``, and of ``bytes``, ``sha256``, ``md5_uncompressed``,
            ``many`` and ``min_files`` what is declared.
        registered: path of the lock file that was registered for the release, if there is one.
        registered_sha256: of that file.
        clips: of each split that the complete official release gives.
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
    """Facts about a convention; see `stp.plan.metric.Metric`."""

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
    """The columns of a table.

    Attributes:
        columns: by dataset.
        sampled: as `columns`, of models that draw several forecasts; {K} in a heading stands for
            their number.
        curves: panels over lead time, by dataset.
        unscored: dataset -> conventions that would be scored besides, but are unavailable.
    """

    columns: dict[str, Columns]
    sampled: dict[str, Columns] = field(default_factory=dict)
    curves: dict[str, Columns] = field(default_factory=dict)
    unscored: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Names:
    """Titles of models and datasets, by their own names; of variants by ``<model>:<variant>``."""

    models: dict[str, str]
    datasets: dict[str, str]
    variants: dict[str, str] = field(default_factory=dict)

    def of_model(self, key: CellKey) -> str | None:
        """The title of a cell's model, or of its variant."""
        if key.variant == "default":
            return self.models.get(key.model)
        return self.variants.get(f"{key.model}:{key.variant}")


@dataclass(frozen=True)
class ModelFacts:
    """Facts about a model; see `stp.plan.model.Model`.

    Attributes:
        is_archived: whether its forecasts are read from somebody's archive.
        role: of a measure of opinions; None of other models, and so are the following ones.
        network: that it looks through; None if it looks through none.
        parts: of what the network sees that it is made from.
        learns: from opinions; else a logistic function is fitted to its single value.
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
    """Facts about a dataset; see `stp.plan.dataset.Dataset`."""

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
    """Facts about a kind of sample for tables and the results store; see `stp.tasks.task.Task`."""

    names_training: bool
    counts_people: bool
    has_person_errors: bool
    has_opinions: bool
    has_runtime: bool


@dataclass(frozen=True)
class ReproductionFacts:
    """A table of what the paper reproduced on one dataset; see `stp.plan.suite.Reproduction`."""

    table: str
    columns: tuple[ReproducedColumn, ...]


@dataclass(frozen=True)
class DeviationFacts:
    """Where a paper and its released code differ; see `stp.plan.suite.Deviation`."""

    about: str
    paper: str
    code: str
    strict: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """All that the tables of one dimension are made from.

    Attributes:
        dimension: its name.
        suite: that it belongs to.
        scale: of the plan.
        code: fingerprint of the code that collects and renders.
        store: folder that all artefacts lie in.
        cells: in the order of the tables' rows.
        kinds: of the samples that the cells were tested on, by name.
        raw: by dataset, of those whose bytes scores depend on.
        unavailable: convention -> why it has no values.
        conventions: by name.
        tables: by name.
        steps: seconds between two positions, by dataset that has such steps.
        absent: method of the paper without values here -> why.
        deviations: where the paper and its code differ.
        are_rivals: whether its rows compete to be the best.
        controls: the dimension of the single forecasts that ensembles are compared with.
        reproduction: dataset -> its table of what the paper reproduced.
        names: titles of the models and datasets of the cells.
        models: by name.
        datasets: by name.
        published: path of the file of the paper's values.
        published_sha256: of that file.
        published_clips: test clips that the paper states, by dataset.
        published_names: what the paper calls models and datasets.
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
        """Facts about the kind of sample of a cell's test dataset."""
        return self.kinds[cell.kind]
