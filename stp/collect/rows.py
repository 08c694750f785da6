"""Rows of the results store as they travel on: to pages for terminals, JSON, bundles and citations.

A class names the columns of a table in layout.py, or of a query; comments of columns are there.
Fields stand in the order of the columns, which JSON keeps: those of a later base come first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from stp.collect.settings import Value
from stp.plan.cell_key import CellKey


@dataclass(frozen=True, kw_only=True)
class KeyRow:
    """What identifies a cell."""

    suite: str
    dimension: str
    model: str
    variant: str
    trained_on: str
    train_subset: str
    tested_on: str
    subset: str
    setting: str
    seed: int | None

    @property
    def key(self) -> CellKey:
        """The same as the plan has it."""
        return CellKey(**{one.name: getattr(self, one.name) for one in fields(CellKey)})


@dataclass(frozen=True, kw_only=True)
class Whose:
    """Whose bytes, and which protocol; see `layout.ABOUT`."""

    source: str
    release: str
    bytes_known_by: str | None
    lacking: str | None
    accepted: str | None
    scale: str
    protocol: str
    official_paper_protocol: bool
    comparable: bool
    leaky: bool
    best_of: int


@dataclass(frozen=True, kw_only=True)
class _Numbered:
    number: int


@dataclass(frozen=True, kw_only=True)
class _Named:
    tested: str
    case_name: str


@dataclass(frozen=True, kw_only=True)
class CellRow(Whose, _Named, _Numbered, KeyRow):
    """A cell with scores, of table cells."""

    subset_note: str | None
    external: bool
    samples: int | None
    statistic: str | None
    kept: int | None
    data_fingerprint: str
    model_fingerprints: list[str]
    predictions_fingerprint: str | None
    feature_fingerprints: list[str]
    scores_fingerprint: str
    perceptual_fingerprint: str | None
    data_folder: str
    model_folders: list[str]
    predictions_folder: str | None
    feature_folders: list[str]
    scores_folder: str
    perceptual_folder: str | None


@dataclass(frozen=True, kw_only=True)
class MissingRow(Whose, _Named, KeyRow):
    """A cell without scores, of table missing."""

    stage: str
    how: str
    detail: str | None
    path: str
    attempts: int
    log: str | None
    ended: datetime | None


@dataclass(frozen=True, kw_only=True)
class ArtefactRow:
    """An artefact, of table artefacts."""

    stage: str
    path: str
    fingerprint: str
    code_fingerprint: str | None
    commit: str | None
    recipe: str
    extras: str
    inputs: str
    host: str | None
    device: str | None
    person: str | None
    slurm_job: str | None
    started: datetime | None
    finished: datetime | None
    seconds: float | None
    python: str | None
    packages: str
    bytes: int
    files: int


@dataclass(frozen=True, kw_only=True)
class _Step:
    step: int


@dataclass(frozen=True, kw_only=True)
class LineageRow(ArtefactRow, _Step):
    """An artefact behind a cell, of view lineage, without the key of the cell."""

    raw_lock: str | None


@dataclass(frozen=True, kw_only=True)
class AttemptRow:
    """An attempt at an artefact, of table attempts."""

    path: str
    stage: str
    attempt: int
    how: str | None
    detail: str | None
    host: str | None
    slurm_job: str | None
    gpus: int | None
    started: datetime | None
    ended: datetime | None
    seconds: float | None
    peak_mb: float | None
    memory_mb: float | None


@dataclass(frozen=True, kw_only=True)
class MatchedRow(KeyRow):
    """A distance between sets at equal N, of table matched_distances."""

    comparison: str
    metric: str
    convention: str
    n: int | None
    clips: int | None
    value: float | None
    sd: float | None
    repeats: int
    reason: str | None
    scores_fingerprint: str | None


@dataclass(frozen=True, kw_only=True)
class RawFileRow:
    """A raw file, of table raw_files."""

    lock: str
    dataset: str | None
    release: str | None
    source: str | None
    file: str
    bytes: int | None
    sha256: str | None


@dataclass(frozen=True, kw_only=True)
class _Stated:
    metric: str
    convention: str
    variable: str | None
    level: float | None
    threshold: float | None
    leads: str | None
    value: float | None
    ci95_low: float | None
    ci95_high: float | None
    n: int | None
    clusters: int | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class OverallRow(Whose, _Stated, KeyRow):
    """A value of a cell over all lead times, or those of a column, of view overall."""

    scores_fingerprint: str


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """A model, of table models."""

    model: str
    title: str
    reference: str | None = None
    fit: str | None = None
    training: str | None = None
    is_archived: bool | None = None
    role: str | None = None
    network: str | None = None
    parts: Sequence[str] | None = None
    learns: bool | None = None


@dataclass(frozen=True, kw_only=True)
class ConventionRow:
    """A convention, of table conventions."""

    metric: str
    convention: str
    title: str | None
    description: str | None
    unit: str | None
    higher_is_better: bool | None
    best_at: float | None
    success: str | None
    compares_sets: bool | None
    available: bool | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class EvaluationRow:
    """What was tested, and on whose bytes: models of one evaluation are compared with each other.

    The fields are `layout.EVALUATION` and `layout.ALIKE`.
    """

    suite: str
    dimension: str
    trained_on: str
    train_subset: str
    tested_on: str
    subset: str
    setting: str
    source: str
    scale: str
    leaky: bool
    best_of: int


@dataclass(frozen=True, kw_only=True)
class _Compared(EvaluationRow):
    model: str
    variant: str
    metric: str
    convention: str
    variable: str | None
    level: float | None
    threshold: float | None
    leads: str | None


@dataclass(frozen=True, kw_only=True)
class RankRow(_Compared):
    """A model among others, of table ranks."""

    rank: int | None
    rank_low: int | None
    rank_high: int | None
    models: int | None
    clusters: int | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class ComparisonRow(_Compared):
    """A paired test of two models, of table comparisons."""

    other: str
    other_variant: str
    difference: float | None
    ci95_low: float | None
    ci95_high: float | None
    p: float | None
    p_corrected: float | None
    p_sign: float | None
    won: float | None
    skewed: bool | None
    better: str | None
    detectable: float | None
    clusters: int | None
    n: int | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class RuntimeRow(KeyRow):
    """How long a scenario with so many people took, of table runtime."""

    source: str
    release: str
    protocol: str
    people: int
    milliseconds: float
    low: float
    high: float
    least: float
    scenarios: int
    measurements: int
    samples: int
    threads: int
    host: str | None
    processor: str | None
    device: str | None
    predictions_fingerprint: str


@dataclass(frozen=True, kw_only=True)
class SuiteRow:
    """A suite, of table suites."""

    suite: str
    title: str


@dataclass(frozen=True, kw_only=True)
class DimensionRow:
    """A dimension, of table dimensions."""

    suite: str
    dimension: str
    place: int
    title: str
    question: str
    about: str
    printed: str
    by_lead: bool
    changes_from: str | None


@dataclass(frozen=True, kw_only=True)
class DatasetRow:
    """A dataset, of table datasets."""

    dataset: str
    title: str
    published_name: str | None = None
    kind: str | None = None
    domain: str | None = None
    shape: tuple[int, int, int] | None = None
    units: str | None = None
    context: int | None = None
    horizon: int | None = None
    citation: str | None = None
    licence: str | None = None
    homepage: str | None = None


@dataclass(frozen=True, kw_only=True)
class PaperColumnRow:
    """A column of a result table, of table paper_columns."""

    dimension: str
    dataset: str
    metric: str
    variable: str | None
    threshold: float | None
    leads: str | None
    statistic: str
    convention: str


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """A printed value, of table published; each key of its setting is a column there."""

    suite: str
    dimension: str
    model: str | None
    variants: list[str] | None
    trained_on: str | None
    tested_on: str | None
    subset: str
    setting: Mapping[str, Value]
    variable: str | None
    threshold: float | None
    leads: str | None
    run: str
    metric: str
    value: float
    raw: str
    note: str
    table: str
    printed_model: str
    printed_trained_on: str
    printed_tested_on: str
