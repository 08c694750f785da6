"""Tables of results.duckdb: a dataclass for each, whose fields are the columns.

SQL types, Arrow schemas, checks of files, comments in the database and docs/results_store.md follow
from them. Rows travel as these objects, to pages for terminals, JSON, bundles and citations; JSON
keeps the order of the fields.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated

from stp.collect.table import Json, SettingColumns, Table, columns_of
from stp.plan.cell_key import CellKey

Suite = Annotated[str, "Suite of experiments, named after its paper; see suites."]
Dimension = Annotated[str, "Dimension of the evaluation; see dimensions."]
Model = Annotated[str, "Model: module, configuration file and word in every path."]
Variant = Annotated[str, "Named variant of the model's options."]
TrainedOn = Annotated[str, "Dataset of training (that of the test where nothing is trained)."]
TrainSubset = Annotated[str, "Part of the training dataset that was used: all, or a name."]
TestedOn = Annotated[str, "Dataset of the test."]
Subset = Annotated[str, "Part of the test dataset: test for its test split, or a name."]
Setting = Annotated[str, "What else distinguishes the evaluation, e.g. horizon-30+interval-2."]
Seed = Annotated[int | None, "Seed of the training; NULL for deterministic models."]

Source = Annotated[str, "Origin of the raw bytes: official, sample or synthetic."]
Release = Annotated[str, "Release of the dataset, as named in its configuration."]
Scale = Annotated[str, "Scale of the run: configuration such as demo or paper."]
Protocol = Annotated[str, "Protocol of training and test, e.g. paper or demo."]
Leaky = Annotated[bool, "True if test samples overlap with training data."]
BestOf = Annotated[
    int,
    "Forecasts of each test clip of which the best is scored: 1 unless the statistic is "
    "best_of_members. It gets better with their number.",
]

Metric = Annotated[str, "Metric: the part of the convention before the dot."]
Convention = Annotated[str, "Exact definition, <metric>.<choice>; see table conventions."]
Variable = Annotated[str | None, "Physical variable; NULL for all channels together."]
Level = Annotated[float | None, "Pressure level in hPa; NULL if there is none."]
Threshold = Annotated[float | None, "Threshold of an event metric; NULL if there is none."]
Leads = Annotated[
    str | None,
    "Lead times of a value that a column of a table shows: 44, or 1-7 for a range of them; else "
    "NULL.",
]
ScoresFingerprint = Annotated[str, "Fingerprint of the score artefact; see artefacts."]
Reason = Annotated[str | None, "Why value is NULL."]


@dataclass(frozen=True, kw_only=True)
class KeyRow:
    """What identifies a cell."""

    suite: Suite
    dimension: Dimension
    model: Model
    variant: Variant
    trained_on: TrainedOn
    train_subset: TrainSubset
    tested_on: TestedOn
    subset: Subset
    setting: Setting
    seed: Seed

    @property
    def key(self) -> CellKey:
        """The same as the plan has it."""
        return CellKey(**{field.name: getattr(self, field.name) for field in fields(CellKey)})


@dataclass(frozen=True, kw_only=True)
class About:
    """What a row says of its cell besides the key: origin, scale and protocol."""

    source: Source
    release: Release
    bytes_known_by: Annotated[
        str | None,
        "How surely the bytes of test and training are the official ones: checksums (registered "
        "or published ones match), counts (all published counts of clips and declared sizes "
        "match) or stated (somebody put them there). NULL where nobody says that they are "
        "official.",
    ]
    lacking: Annotated[
        str | None,
        "Raw files that are missing, where somebody accepted that; NULL if none are.",
    ]
    accepted: Annotated[
        str | None,
        "Artefacts of older code behind it, with who declared them current and why (stp accept); "
        "NULL if there are none.",
    ]
    scale: Scale
    protocol: Protocol
    official_paper_protocol: Annotated[
        bool,
        "True only if the recipe is the paper's, and the bytes are known to be the official ones.",
    ]
    comparable: Annotated[
        bool,
        "True if values stand beside published ones: official_paper_protocol, or the recipe is "
        "the paper's and these very files, though not official, are what its numbers were made "
        "from.",
    ]
    leaky: Leaky
    best_of: BestOf


@dataclass(frozen=True, kw_only=True)
class _Number:
    """The number of a cell."""

    number: Annotated[int, "Number of the cell in this store, from 1; see score_rows."]


@dataclass(frozen=True, kw_only=True)
class _Named:
    """What a cell is called."""

    tested: Annotated[str, "What was tested, for people, e.g. KITTI -> Caltech."]
    case_name: Annotated[str, "The same in names of figures and for stp compare --cell."]


@dataclass(frozen=True, kw_only=True)
class CellRow(About, _Named, _Number, KeyRow):
    """One row per cell: what was evaluated, on which bytes, and from which artefacts."""

    subset_note: Annotated[
        str | None,
        "What is special about the subset, or about imported predictions; empty if nothing is.",
    ]
    external: Annotated[bool, "True if the predictions were made elsewhere, and imported."]
    samples: Annotated[int | None, "Forecasts of each test clip; 1 unless the model draws several."]
    statistic: Annotated[
        str | None,
        "What is scored of several: mean_of_members, ensemble_mean or best_of_members.",
    ]
    kept: Annotated[
        int | None,
        "Predictions that lie beside the scores, where all are scored while they are made and "
        "not stored; else NULL.",
    ]
    data_fingerprint: Annotated[str, "Fingerprint of the prepared data; see artefacts."]
    model_fingerprints: Annotated[
        list[str],
        "Fingerprints of the trained models: one, unless each lead time has its own; empty if "
        "nothing is trained.",
    ]
    predictions_fingerprint: Annotated[
        str | None,
        "Fingerprint of the predictions; see artefacts. NULL if they are not stored.",
    ]
    feature_fingerprints: Annotated[
        list[str],
        "Fingerprints of what networks saw of its observed and predicted clips; empty if nothing "
        "is kept of it.",
    ]
    scores_fingerprint: Annotated[str, "Fingerprint of the scores; see artefacts."]
    perceptual_fingerprint: Annotated[
        str | None,
        "Fingerprint of the scores of metrics that use networks; NULL if none.",
    ]
    data_folder: Annotated[str, "Folder of the prepared data."]
    model_folders: Annotated[list[str], "Folders of the trained models, in the same order."]
    predictions_folder: Annotated[str | None, "Folder of the predictions; NULL if not stored."]
    feature_folders: Annotated[list[str], "Folders of network features, in the same order."]
    scores_folder: Annotated[str, "Folder of the scores."]
    perceptual_folder: Annotated[str | None, "Folder of the perceptual scores; NULL if none."]


@dataclass(frozen=True, kw_only=True)
class ScoreKindRow:
    """One row per kind of score that any cell has: convention, variable, level, lead times,
    threshold and statistic. A part of view scores: ask that.
    """

    number: Annotated[int, "Number of the kind in this store, from 1; see score_rows."]
    metric: Metric
    convention: Convention
    variable: Variable
    level: Level
    lead: Annotated[int | None, "Lead time in steps, from 1; NULL for all leads together."]
    threshold: Threshold
    leads: Leads
    statistic: Annotated[
        str,
        "mean over samples, or ci95_low, ci95_high: studentised bootstrap over clusters; of "
        "people, and where a column shows it, also sd, the standard deviation over samples (ddof "
        "0).",
    ]


@dataclass(frozen=True, kw_only=True)
class ScoreValueRow:
    """What view scores is made of: its rows, with a number for all that they share with their cell,
    and one for what they are a value of. (Twenty columns less in a million rows are half of the
    time of a rebuild.) Ask scores.
    """

    cell: Annotated[int, "Number of the cell; see cells."]
    kind: Annotated[int, "Number of the kind of score; see score_kinds."]
    value: Annotated[float | None, "The value; NULL always has a reason."]
    n: Annotated[int | None, "Samples behind a mean; clusters behind an interval."]
    reason: Reason
    scores_fingerprint: ScoresFingerprint


@dataclass(frozen=True, kw_only=True)
class _ToBeTested:
    """What a missing cell is called."""

    tested: Annotated[str, "What is to be tested, for people, e.g. KITTI -> Caltech."]
    case_name: Annotated[str, "The same in names of figures and for stp compare --cell."]


@dataclass(frozen=True, kw_only=True)
class MissingRow(About, _ToBeTested, KeyRow):
    """One row per cell that is planned and has no scores in this store: where it stopped, and why.
    Empty if everything is there.
    """

    stage: Annotated[str, "Where it stopped: prepare, train, predict, score or collect."]
    how: Annotated[
        str,
        "not run, running, failed, killed, out of memory, time limit, requeued, saved, not "
        "usable (damaged scores) or not collected.",
    ]
    detail: Annotated[str | None, "What is known of why; empty if nothing is."]
    path: Annotated[str, "Folder of the artefact that it waits for, relative to the store."]
    attempts: Annotated[int, "Attempts at that artefact; see table attempts."]
    log: Annotated[str | None, "Log of the job; NULL if there is none."]
    ended: Annotated[datetime | None, "End of the last attempt (UTC); NULL if nobody saw it."]


@dataclass(frozen=True, kw_only=True)
class ArtefactRow:
    """One row per artefact behind the cells, scored or missing, from its receipt: how it was made,
    where and when.
    """

    stage: Annotated[str, "Stage that made it: prepare, train, predict, features or score."]
    path: Annotated[str, "Folder, relative to the store."]
    fingerprint: Annotated[str, "Hash of code, recipe, seed and inputs."]
    code_fingerprint: Annotated[str | None, "Hash of the meaning of the stage's code."]
    commit: Annotated[str | None, "Commit of the checkout; ends in -dirty if files were changed."]
    recipe: Annotated[Json, "Everything that was set for this piece of work."]
    extras: Annotated[Json, "Results that its stage reported; they differ from stage to stage."]
    inputs: Annotated[Json, "Artefacts it was made from: name -> path in the store."]
    host: Annotated[str | None, "Machine that made it."]
    device: Annotated[str | None, "Processor or accelerator that made it."]
    person: Annotated[str | None, "Account that made it."]
    slurm_job: Annotated[str | None, "Slurm job that made it; NULL outside Slurm."]
    started: Annotated[datetime | None, "Start (UTC)."]
    finished: Annotated[datetime | None, "End (UTC)."]
    seconds: Annotated[float | None, "Duration in seconds."]
    python: Annotated[str | None, "Version of Python."]
    packages: Annotated[Json, "Versions of packages: name -> version."]
    bytes: Annotated[int, "Size of all its files."]
    files: Annotated[int, "Number of its files."]


@dataclass(frozen=True, kw_only=True)
class StepColumn:
    """The place of an artefact among those behind a cell."""

    step: Annotated[
        int,
        "1 data, 2 trained models, 3 predictions, 4 network features, 5 scores, 6 perceptual "
        "scores.",
    ]


@dataclass(frozen=True, kw_only=True)
class LineageRow(ArtefactRow, StepColumn):
    """An artefact behind a cell, of view lineage, without the key of the cell."""

    raw_lock: Annotated[
        str | None,
        "Lock file of the raw files, relative to the store; NULL if made of artefacts.",
    ]


@dataclass(frozen=True, kw_only=True)
class AttemptRow:
    """One row per attempt at an artefact, also at those that a missing cell waits for: where and
    when, for how long, how it ended.
    """

    path: Annotated[str, "Folder of the artefact, relative to the store."]
    stage: Annotated[str, "Stage that makes it."]
    attempt: Annotated[int, "From 1; the last one made it, if it was made."]
    how: Annotated[
        str | None,
        "done, failed, killed, out of memory, time limit, requeued or saved; NULL if nobody saw "
        "its end.",
    ]
    detail: Annotated[str | None, "What is known of why it ended so."]
    host: Annotated[str | None, "Machine."]
    slurm_job: Annotated[str | None, "Slurm job; NULL outside Slurm."]
    gpus: Annotated[int | None, "GPUs that it had."]
    started: Annotated[datetime | None, "Start (UTC)."]
    ended: Annotated[datetime | None, "End (UTC); NULL if nobody saw it."]
    seconds: Annotated[float | None, "Duration in seconds; NULL if nobody saw its end."]
    peak_mb: Annotated[float | None, "The most memory that it held, in MB."]
    memory_mb: Annotated[float | None, "What it was allowed, in MB; NULL if nothing limited it."]


@dataclass(frozen=True, kw_only=True)
class RawFileRow:
    """One row per raw file that data were prepared from, as its release was locked at first
    sight.
    """

    lock: Annotated[str, "Lock file, relative to the store; raw_lock in lineage."]
    dataset: Annotated[str | None, "Dataset."]
    release: Annotated[str | None, "Release, as named in its configuration."]
    source: Annotated[str | None, "Origin of the bytes: official, sample, synthetic or own."]
    file: Annotated[str, "Path below the raw folder."]
    bytes: Annotated[int | None, "Size."]
    sha256: Annotated[str | None, "Checksum."]


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """One row per model that was evaluated."""

    model: Annotated[str, "Model, as in cells."]
    title: Annotated[str, "Its name for people."]
    reference: Annotated[str | None, "Where it comes from."] = None
    fit: Annotated[
        str | None,
        "none (nothing to learn here), closed_form, sgd, calibrate, or external (made elsewhere).",
    ] = None
    training: Annotated[str | None, "How others trained it, if they did; else NULL."] = None
    is_archived: Annotated[
        bool | None, "Whether its forecasts are read from somebody's archive."
    ] = None
    role: Annotated[
        str | None,
        "Of a measure of opinions: baseline, full_reference or no_reference.",
    ] = None
    network: Annotated[str | None, "That a measure of opinions looks through; NULL if none."] = None
    parts: Annotated[
        Sequence[str] | None,
        "What a measure of opinions takes of its network, such as mcs.",
    ] = None
    learns: Annotated[bool | None, "Whether a measure of opinions learns from opinions."] = None


@dataclass(frozen=True, kw_only=True)
class DatasetRow:
    """One row per dataset of a training or a test."""

    dataset: Annotated[str, "Dataset, as in cells."]
    title: Annotated[str, "Its name for people."]
    published_name: Annotated[
        str | None,
        "What the paper calls it; NULL if it is not in the paper.",
    ] = None
    kind: Annotated[str | None, "Kind of its samples: frames, or tracks of people."] = None
    domain: Annotated[str | None, "motion, robot, driving, traffic, weather, people or own."] = None
    shape: Annotated[
        tuple[int, int, int] | None, "Channels, height and width of a prepared frame."
    ] = None
    units: Annotated[str | None, "Unit of its values."] = None
    context: Annotated[int | None, "Context frames."] = None
    horizon: Annotated[int | None, "Frames to predict in training and in the short-term table."] = (
        None
    )
    citation: Annotated[str | None, "What to cite."] = None
    licence: Annotated[str | None, "Licence, as far as it is known."] = None
    homepage: Annotated[str | None, "Where the data come from."] = None


@dataclass(frozen=True, kw_only=True)
class SettingRow:
    """One row per setting of an evaluation, with a column for each key that occurs: join it with
    USING (setting).
    """

    setting: Annotated[str, "As in cells, e.g. horizon-30+interval-2."]
    keys: SettingColumns


@dataclass(frozen=True, kw_only=True)
class SuiteRow:
    """One row per suite that was collected."""

    suite: Annotated[str, "Suite, as in cells."]
    title: Annotated[str, "Its name for people."]


@dataclass(frozen=True, kw_only=True)
class DimensionRow:
    """One row per dimension of these suites, whether it was evaluated or not."""

    suite: Annotated[str, "Suite, as in cells."]
    dimension: Annotated[str, "Dimension, as in cells: the name of its table."]
    place: Annotated[int, "Its place among those of the suite, from 1."]
    title: Annotated[str, "Its name for people."]
    question: Annotated[str, "What its table answers."]
    about: Annotated[str, "What is in its table."]
    printed: Annotated[str, "Where the paper has it; empty if nowhere."]
    by_lead: Annotated[bool, "Whether scores at each lead time have a table of their own."]
    changes_from: Annotated[
        str | None,
        "Dimension whose tests of the same trainings are what its own are compared with; itself, "
        "where its own tests are compared; NULL where nothing is.",
    ]


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """Values printed in the papers, to compare with; see config/suites/README.md. Keys of a
    setting are NULL where the paper says nothing: as the dataset has it.
    """

    suite: Annotated[str, "Suite of the paper."]
    dimension: Annotated[str, "Dimension of the evaluation; or what else the table is of."]
    model: Annotated[str | None, "Our name of the model; NULL if the plan has none for it."]
    variants: Annotated[
        list[str] | None,
        "Its variants that the paper means; NULL if there is no model.",
    ]
    trained_on: Annotated[str | None, "Our name of the training dataset; NULL if none."]
    tested_on: Annotated[str | None, "Our name of the test dataset; NULL if none."]
    subset: Annotated[str, "Part of the test dataset: test for its test split, or a name."]
    setting: SettingColumns
    variable: Annotated[str | None, "Variable; NULL if the paper names none."]
    threshold: Annotated[float | None, "Threshold; NULL if the paper names none."]
    leads: Annotated[str | None, "Lead times, 44 or 1-7; NULL if the paper names none."]
    run: Annotated[
        str,
        "Which of several numbers that nothing else tells apart; empty for a result.",
    ]
    metric: Annotated[str, "Column heading of the paper."]
    value: Annotated[float, "The number."]
    raw: Annotated[str, "The number as printed."]
    note: Annotated[str, "Why the number is doubtful; empty if it is not."]
    table: Annotated[str, "Group of the paper's table."]
    printed_model: Annotated[str, "Model as printed."]
    printed_trained_on: Annotated[str, "Training dataset as printed."]
    printed_tested_on: Annotated[str, "Test dataset as printed."]


@dataclass(frozen=True, kw_only=True)
class ConventionRow:
    """What each convention means: its definition, unit and direction."""

    metric: Annotated[str, "The part before the dot."]
    convention: Annotated[str, "<metric>.<choice>, as in scores."]
    title: Annotated[str | None, "Short name for people."]
    description: Annotated[str | None, "Definition."]
    unit: Annotated[str | None, "Unit of the value."]
    higher_is_better: Annotated[
        bool | None,
        "Direction; NULL if neither is better, or best_at says what is best.",
    ]
    best_at: Annotated[
        float | None,
        "The best value, such as 1 for a ratio; NULL if there is none.",
    ]
    success: Annotated[
        str | None,
        "'strict' if it says of each sample whether what is predicted happens, 'graded' if it "
        "says how much of it does; NULL if it does not say so.",
    ]
    compares_sets: Annotated[
        bool | None,
        "True if values depend on the number of clips n, as distances between sets of clips do: "
        "only those of equal n are ranked together.",
    ]
    available: Annotated[bool | None, "False if it cannot be computed yet."]
    reason: Annotated[str | None, "Why it is not available."]


@dataclass(frozen=True, kw_only=True)
class _Comparison:
    """What a cell is compared with itself on."""

    comparison: Annotated[
        str,
        "What a model is compared with itself on: all that is tested in the dimension of this "
        "name, and the test on the training's dataset in the one that it changes from.",
    ]


@dataclass(frozen=True, kw_only=True)
class MatchedRow(KeyRow, _Comparison):
    """Distances between sets at equal N: one row per comparison, cell and convention."""

    metric: Annotated[str, "Metric, such as fvd."]
    convention: Convention
    n: Annotated[int | None, "Clips of the smallest cell of the comparison; of all its values."]
    clips: Annotated[int | None, "Clips of this cell."]
    value: Annotated[
        float | None,
        "Mean over drawings of n clips without replacement; that of scores where n is all.",
    ]
    sd: Annotated[float | None, "Standard deviation over drawings; NULL where nothing was drawn."]
    repeats: Annotated[int, "Drawings; their seeds are 0, 1, ...; 0 where all clips are taken."]
    reason: Reason
    scores_fingerprint: Annotated[str | None, "Fingerprint of the score artefact; see artefacts."]


@dataclass(frozen=True, kw_only=True)
class PaperColumnRow:
    """Which convention stands in which column of the paper's tables."""

    dimension: Annotated[str, "Dimension of the evaluation: the table."]
    dataset: Annotated[str, "Dataset of the test."]
    metric: Annotated[str, "Column heading of the paper."]
    variable: Annotated[str | None, "Variable of the column; NULL if it names none."]
    threshold: Annotated[float | None, "Threshold of the column; NULL if it names none."]
    leads: Annotated[str | None, "Its lead times, 44 or 1-7; NULL for all of them together."]
    statistic: Annotated[str, "mean, or sd: the standard deviation over samples."]
    convention: Annotated[str, "Exact definition, <metric>.<choice>, as in scores."]


@dataclass(frozen=True, kw_only=True)
class _Place:
    """What a value is of."""

    metric: Metric
    convention: Convention
    variable: Variable
    level: Level
    threshold: Threshold
    leads: Leads


@dataclass(frozen=True, kw_only=True)
class Stated:
    """A value and its interval."""

    value: Annotated[
        float | None,
        "Mean over test samples, or median over splits; NULL always has a reason.",
    ]
    ci95_low: Annotated[
        float | None,
        "Lower end of the 95 % interval, from a studentised bootstrap over clusters.",
    ]
    ci95_high: Annotated[float | None, "Upper end of it."]
    n: Annotated[int | None, "Test samples behind the value."]
    clusters: Annotated[int | None, "Independent clusters behind the interval."]
    reason: Annotated[str | None, "Why there is no value, or else why there is no interval."]


@dataclass(frozen=True, kw_only=True)
class OverallRow(About, Stated, _Place, KeyRow):
    """A value of a cell over all lead times, or those of a column, of view overall."""

    scores_fingerprint: ScoresFingerprint


@dataclass(frozen=True, kw_only=True)
class _Evaluation:
    """What was tested."""

    suite: Suite
    dimension: Dimension
    trained_on: TrainedOn
    train_subset: TrainSubset
    tested_on: TestedOn
    subset: Subset
    setting: Setting


@dataclass(frozen=True, kw_only=True)
class _Alike:
    """What models that are ranked together share besides the evaluation."""

    source: Source
    scale: Scale
    leaky: Leaky
    best_of: BestOf


@dataclass(frozen=True, kw_only=True)
class EvaluationRow(_Alike, _Evaluation):
    """What was tested, and on which data: models of one evaluation are compared with each other."""


@dataclass(frozen=True, kw_only=True)
class _Entrant:
    """A model among others."""

    model: Annotated[str, "Model."]
    variant: Annotated[str, "Named variant of the model's options."]


@dataclass(frozen=True, kw_only=True)
class RankRow(_Alike, _Place, _Entrant, _Evaluation):
    """Ranks, and how sure they are: one row per evaluation, model, variant and convention (all lead
    times together, or those that a column shows; mean over seeds). The confidence set of a rank
    comes from table comparisons: as many models as are significantly better stand before it, as
    many as are significantly worse behind it; all sets of an evaluation and convention hold at once
    (Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91, 476-518). The clips
    vary, the trained models do not: seeds are in view seed_variance.
    """

    rank: Annotated[
        int | None,
        "1 is best, ties share the smallest; NULL without a value or a direction.",
    ]
    rank_low: Annotated[int | None, "1 plus the number of models that are significantly better."]
    rank_high: Annotated[
        int | None,
        "Number of models less that of models that are significantly worse: with 95 % confidence "
        "all ranks are from rank_low to rank_high.",
    ]
    models: Annotated[int | None, "Models that are ranked together."]
    clusters: Annotated[
        int | None,
        "Independent clusters (videos, months) behind the tests, the fewest of them.",
    ]
    reason: Annotated[str | None, "Why there is no rank, or else no confidence set."]


@dataclass(frozen=True, kw_only=True)
class _Other:
    """The model that it is compared with."""

    other: Annotated[str, "The model that it is compared with."]
    other_variant: Annotated[str, "Its variant."]


@dataclass(frozen=True, kw_only=True)
class ComparisonRow(_Alike, _Place, _Other, _Entrant, _Evaluation):
    """Which models can be told apart: one row per evaluation, convention and pair of models (each
    pair once, the first by name as model). A paired t test over clusters of clips, with the
    standard error of the cluster jackknife and Satterthwaite's degrees of freedom, and beside it a
    sign test; docs/statistics.md has the method, and how often it errs.
    """

    difference: Annotated[
        float | None,
        "Value of other minus value of model, of the clips that both have; means over seeds.",
    ]
    ci95_low: Annotated[
        float | None,
        "Lower end of its 95 % interval, for this pair alone; NULL where all clusters have the "
        "same difference.",
    ]
    ci95_high: Annotated[float | None, "Upper end of it."]
    p: Annotated[
        float | None,
        "Two-sided p value of the t test of this pair alone; where all clusters have the same "
        "difference, that of the sign test.",
    ]
    p_corrected: Annotated[
        float | None,
        "The same, by Holm (1979) over all pairs of this evaluation and convention.",
    ]
    p_sign: Annotated[
        float | None,
        "Two-sided p value of the exact sign test over clusters, for this pair alone.",
    ]
    won: Annotated[
        float | None,
        "Share of the clusters in which other is better than model, ties by half; NULL where "
        "neither is better.",
    ]
    skewed: Annotated[
        bool | None,
        "Whether the differences of clusters are so skewed that the t test may be wrong: one of "
        "the two may fail rarely and badly.",
    ]
    better: Annotated[
        str | None,
        "The model that is significantly better (p_corrected < 0.05 and p_sign < 0.05); NULL if "
        "neither is.",
    ]
    detectable: Annotated[
        float | None,
        "The smallest difference that four of five such t tests find at the level that better "
        "asks for: 0.05 / pairs, that of Holm's first step.",
    ]
    clusters: Annotated[int | None, "Independent clusters (videos, months) behind the test."]
    n: Annotated[int | None, "Clips in these; where models have different ones, those of both."]
    reason: Annotated[str | None, "Why there is no test."]


@dataclass(frozen=True, kw_only=True)
class RuntimeRow(KeyRow):
    """How long a predictor of people takes for one scenario: one row per cell and number of people.
    Measured where predictions were made, one scenario at a time, after a first time that does not
    count; it differs from run to run.
    """

    source: Source
    release: Release
    protocol: Protocol
    people: Annotated[int, "People in the scenario."]
    milliseconds: Annotated[float, "Of one scenario, all people and lead times; median."]
    low: Annotated[float, "Lower quartile."]
    high: Annotated[float, "Upper quartile."]
    least: Annotated[float, "The least of all: beside other jobs, the nearest to a quiet machine."]
    scenarios: Annotated[int, "Scenarios that were measured."]
    measurements: Annotated[int, "Measurements, of all of them together."]
    samples: Annotated[int, "Samples that are drawn of each prediction."]
    threads: Annotated[int, "CPU threads."]
    host: Annotated[str | None, "Machine."]
    processor: Annotated[str | None, "Its processor."]
    device: Annotated[str | None, "cpu, or the name of a GPU that was at hand."]
    predictions_fingerprint: Annotated[str, "Of the artefact that it was measured in."]


@dataclass(frozen=True, kw_only=True)
class AgreementRow:
    """How often metrics agree with people on which of two videos is better: one row per scenario,
    metric and way to count, of the table that `stp preferences` made of answers about pairs
    (docs/human_study.md). Empty if nobody was asked.
    """

    source: Annotated[str, "Origin of the bytes that models were tested on; own for a file."]
    scale: Annotated[str, "Scale of the store that models were chosen from; empty for a file."]
    protocol: Annotated[str, "Protocol of their training and test."]
    comparable: Annotated[bool, "Always false: models and raters of the paper were others."]
    study: Annotated[str, "Checksum of the questionnaire."]
    scenario: Annotated[str, "eq. FVD, spr. FVD, base200 +10, ... (printed); all bases +10."]
    kind: Annotated[str, "equal, spread or gap: how models were chosen."]
    metric: Annotated[str, "Heading of the paper's table; Among raters: of the first two."]
    convention: Annotated[str, "Exact definition; empty for raters."]
    counting: Annotated[
        str,
        "decided: answers that name a video; all: also those of no difference, as disagreement; "
        "majority: what two raters say of a pair of videos.",
    ]
    value: Annotated[float | None, "Percent; NULL with a reason."]
    ci95_low: Annotated[
        float | None,
        "Lower end of the 95 % interval, over pairs of models and raters.",
    ]
    ci95_high: Annotated[float | None, "Upper end of it."]
    reason: Annotated[str | None, "Why there is no value, or else no interval."]
    pairs: Annotated[int, "Pairs of models."]
    comparisons: Annotated[int, "Pairs of videos."]
    answers: Annotated[int, "Answers that count; of a majority, and among raters, comparisons."]
    raters: Annotated[int, "People who gave them."]
    ties: Annotated[int, "Pairs of videos between which the metric does not decide."]
    simulated: Annotated[bool, "True if raters were programs."]
    published: Annotated[float | None, "Percent, as printed; NULL if nothing is."]


@dataclass(frozen=True, kw_only=True)
class PersonErrorRow(KeyRow):
    """One row per cell of people, scenario, person, lead time and sample: the distance between
    predicted and true position. A view of the parquet files in the store, which must stay where
    they are; docs/person_errors.md has queries.
    """

    scenario: Annotated[int, "Number of the scenario, from 0."]
    start_frame: Annotated[int, "Its first observed frame."]
    episode: Annotated[int, "Scenarios that overlap in time share one: a cluster."]
    person: Annotated[int, "Number of the person."]
    person_name: Annotated[str, "Identifier of the person in the raw data."]
    lead: Annotated[int, "Lead time in steps, from 1."]
    lead_seconds: Annotated[float, "The same in seconds."]
    sample: Annotated[int, "Sample of the prediction, from 0."]
    error: Annotated[float, "Metres."]


@dataclass(frozen=True, kw_only=True)
class PredictedOpinionRow(KeyRow):
    """One row per cell of a measure of quality, split and test video: what the measure predicts and
    what people think. A view of the parquet files in the store, which must stay where they are;
    every number of the suite follows from it (docs/pvqa.md).
    """

    video: Annotated[str, "Name of the video."]
    split: Annotated[int, "Number of the split of the family that `subset` names, from 1."]
    predicted: Annotated[float, "Points; mostly from 0 to 100."]
    observed: Annotated[float, "Mean opinion score of the video, from 0 to 100."]
    source_dataset: Annotated[str, "Dataset that the video is from."]
    tags: Annotated[str, "What can be seen in it, words; NULL where it is not known."]
    family: Annotated[str, "stochastic or deterministic; NULL where it is not known."]
    generator: Annotated[str, "Model that made it; NULL where it is not known."]
    strength: Annotated[float, "Of the damage, of generated videos; else NULL."]
    height: Annotated[int, "Pixels."]
    width: Annotated[int, "Pixels."]


@dataclass(frozen=True, kw_only=True)
class OpinionRatingRow:
    """One row per rating of a video, of prepared opinions that have single ratings. A view of the
    parquet files in the store, which must stay where they are.
    """

    data_fingerprint: Annotated[str, "Of the prepared data; as in cells."]
    rater: Annotated[str, "Name of the rater."]
    session: Annotated[str, "Of this rater."]
    video: Annotated[str, "Name of the video."]
    rating: Annotated[float, "From 0 to 100."]
    is_rejected: Annotated[bool, "True if opinion scores are made without this rater."]


@dataclass(frozen=True, kw_only=True)
class SampleRow(KeyRow):
    """One row per cell, test sample and variable; one list of values over lead times per convention
    (its components, such as hits at a threshold, are columns of their own), NULL in rows of
    variables that it has no values of. A view of the parquet files in the store, which must stay
    where they are.
    """

    sample: Annotated[int, "Number of the test sample, from 0: row of predictions.zarr."]
    clip: Annotated[str, "Readable name of the clip, unique in the split."]
    cluster: Annotated[
        str,
        "What the sample depends on: video, trajectory, month; unit of intervals and tests.",
    ]
    variable: Variable


CELLS = Table.of("cells", CellRow)
SCORE_KINDS = Table.of("score_kinds", ScoreKindRow)
SCORE_ROWS = Table.of("score_rows", ScoreValueRow)
MISSING = Table.of("missing", MissingRow)
ARTEFACTS = Table.of("artefacts", ArtefactRow)
ATTEMPTS = Table.of("attempts", AttemptRow)
RAW_FILES = Table.of("raw_files", RawFileRow)
MODELS = Table.of("models", ModelRow)
DATASETS = Table.of("datasets", DatasetRow)
SETTINGS = Table.of("settings", SettingRow)
SUITES = Table.of("suites", SuiteRow)
DIMENSIONS = Table.of("dimensions", DimensionRow)
PUBLISHED = Table.of("published", PublishedRow)
CONVENTIONS = Table.of("conventions", ConventionRow)
MATCHED_DISTANCES = Table.of("matched_distances", MatchedRow)
PAPER_COLUMNS = Table.of("paper_columns", PaperColumnRow)
RANKS = Table.of("ranks", RankRow)
COMPARISONS = Table.of("comparisons", ComparisonRow)
RUNTIME = Table.of("runtime", RuntimeRow)
AGREEMENT_WITH_PEOPLE = Table.of("agreement_with_people", AgreementRow)
TABLES = (
    SUITES,
    DIMENSIONS,
    CELLS,
    SETTINGS,
    SCORE_KINDS,
    SCORE_ROWS,
    MISSING,
    ARTEFACTS,
    ATTEMPTS,
    RAW_FILES,
    MODELS,
    DATASETS,
    CONVENTIONS,
    PUBLISHED,
    PAPER_COLUMNS,
    MATCHED_DISTANCES,
    RANKS,
    COMPARISONS,
    RUNTIME,
    AGREEMENT_WITH_PEOPLE,
)
"""All tables, in the order of the documentation."""

PERSON_ERRORS = Table.of("person_errors", PersonErrorRow)
PREDICTED_OPINIONS = Table.of("predicted_opinions", PredictedOpinionRow)
OPINION_RATINGS = Table.of("opinion_ratings", OpinionRatingRow)
SAMPLE_SCORES = Table.of("sample_scores", SampleRow)
"""Views of files that stay in the store; sample scores also have a column for each convention."""

EVALUATION = tuple(column.name for column in columns_of(_Evaluation))
"""Key columns that say what was tested: models of one evaluation are compared with each other."""
ALIKE = tuple(column.name for column in columns_of(_Alike))
"""What models that are ranked together share besides the evaluation."""
ABOUT = tuple(column.name for column in columns_of(About))
"""What rows of scores say of the cell besides its key."""
