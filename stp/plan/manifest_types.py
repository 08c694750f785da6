"""What a manifest consists of: the cells of one dimension, and what their tables say of them.

Fields with a default are left out of the text of a manifest where they have it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stp.core.errors import StpError
from stp.plan.cell_key import CellKey


@dataclass(frozen=True, kw_only=True)
class StoredCell:
    """What manifests and the results store know of a cell: whose bytes it has, and its folders.

    Attributes:
        key: what tells it from other cells.
        source: of the bytes that it was tested on: official, sample, synthetic or own.
        release: of the dataset that it was tested on.
        protocol: ``paper``, or the name of another one.
        leaky: whether the training and test splits share a video, person or period.
        best_of: of how many forecasts the best one is scored.
        data: folder of the prepared data that it was tested on.
        model: folder of the trained model; None if there is none.
        predictions: folder of the predictions; None where they are scored while they are made.
        scores: folder of the scores.
        perceptual: folder of the scores that compare what networks see, if it has them.
        bytes_known_by: how surely the bytes are the official ones; see `stp.plan.raw_bytes`. This
            and what follows is found out when a manifest is loaded.
        lacking: files that the bytes are without, in words; None if there are none.
        comparable: whether differences from published values are shown.
        official_paper_protocol: whether it is comparable, on official bytes.
    """

    key: CellKey
    source: str
    release: str
    protocol: str
    leaky: bool
    best_of: int
    data: str
    model: str | None
    predictions: str | None
    scores: str
    perceptual: str | None = None
    bytes_known_by: str | None = None
    lacking: str | None = None
    comparable: bool = False
    official_paper_protocol: bool = False

    def folder(self, stage: str) -> Path | None:
        """The folder of one artefact: data, model, predictions, scores or perceptual."""
        folders = {
            "data": self.data,
            "model": self.model,
            "predictions": self.predictions,
            "scores": self.scores,
            "perceptual": self.perceptual,
        }
        found = folders[stage]
        return Path(found) if found else None

    def folders(self, stages: Iterable[str]) -> list[Path]:
        """The folders of those artefacts that it has."""
        return [folder for stage in stages if (folder := self.folder(stage)) is not None]

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
        bytes_of: the datasets whose raw bytes its scores depend on.
        subset_note: what has to be said of the release.
        samples: forecasts of each clip.
        statistic: how several forecasts are scored by metrics of one.
        kept: number of predictions that lie beside the scores, if they are scored while made.
        behind: stage and folder of every further artefact: other trained models, features.
        clusters: kind of the clusters that intervals and tests are made over, if the data have
            several.
        calibrated: on what a predictor of people was calibrated, in words; empty if it needs no
            calibration, None if it does not predict people.
        external: whether the predictions were made elsewhere.
        reference: whose model made these.
        training: what that was trained on, as stated there.
    """

    follows_paper: bool
    bytes_of: tuple[str, ...]
    subset_note: str
    samples: int = 1
    statistic: str | None = None
    kept: int | None = None
    behind: tuple[tuple[str, str], ...] = ()
    clusters: str | None = None
    calibrated: str | None = None
    external: bool = False
    reference: str | None = None
    training: str | None = None

    @property
    def is_of_people(self) -> bool:
        """Are people predicted, and not frames?"""
        return self.calibrated is not None


@dataclass(frozen=True)
class DimensionFacts:
    """What is said of a dimension; see `stp.plan.suite.Dimension`.

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
    """What is said of a suite; see `stp.plan.suite.Suite`.

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
    """What is declared of a dataset's raw bytes.

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
    """What is said of a convention; see `stp.plan.metric.Metric`."""

    title: str
    unit: str
    higher_is_better: bool | None
    best_at: float | None
    available: bool
    reason: str
    description: str


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table.

    Attributes:
        columns: dataset -> heading -> what it shows: ``<convention>`` or
            ``<convention>@<threshold>``.
        sampled: as `columns`, of models that draw several forecasts; {K} in a heading stands for
            their number.
    """

    columns: dict[str, dict[str, str]]
    sampled: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Names:
    """What models and datasets are called, by our own name."""

    models: dict[str, str]
    datasets: dict[str, str]


@dataclass(frozen=True)
class ModelFacts:
    """What is said of a model besides its name; see `stp.plan.model.Model`."""

    reference: str
    fit: str
    training: str | None


@dataclass(frozen=True)
class DatasetFacts:
    """What is said of a dataset besides its name; see `stp.plan.dataset.Dataset`."""

    published_name: str | None
    domain: str
    shape: tuple[int, int, int]
    context: int
    horizon: int
    units: str
    homepage: str
    citation: str
    licence: str


@dataclass(frozen=True)
class ReproducedColumnFacts:
    """A column of a reproduction table; see `stp.plan.suite.ReproducedColumn`."""

    convention: str
    factor: float
    unit: str
    doubt: str


@dataclass(frozen=True)
class ReproductionFacts:
    """A table of what the paper reproduced on one dataset; see `stp.plan.suite.Reproduction`."""

    table: str
    columns: dict[str, ReproducedColumnFacts]


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
        raw: by dataset, of those whose bytes scores depend on.
        unavailable: convention -> why it has no values.
        conventions: by name.
        tables: by name.
        steps: seconds between two positions, by dataset of people.
        absent: method of the paper that there are no values of -> why.
        deviations: where the paper and its code differ.
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
    raw: dict[str, RawFacts]
    unavailable: dict[str, str]
    conventions: dict[str, ConventionFacts]
    tables: dict[str, TableColumns]
    steps: dict[str, float] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    deviations: tuple[DeviationFacts, ...] = ()
    reproduction: dict[str, ReproductionFacts]
    names: Names
    models: dict[str, ModelFacts]
    datasets: dict[str, DatasetFacts]
    published: str | None
    published_sha256: str | None
    published_clips: dict[str, int]
    published_names: Names
