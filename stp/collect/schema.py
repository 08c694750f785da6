"""Tables of results.duckdb: one dataclass for each table, with the columns as fields.

SQL types, Arrow schemas, checks of files, comments in the database and docs/results_store.md are
made from these classes. Code that prints or exports rows uses their objects; JSON keeps the order
of the fields.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated

from stp.collect.table import Json, SettingColumns, Table, columns_of
from stp.plan.cell_key import CellKey

Suite = Annotated[str, "Suite of experiments, named after its paper; see suites."]
Dimension = Annotated[str, "Dimension of the evaluation; see dimensions."]
Model = Annotated[str, "Model: name of its module and configuration file, and part of every path."]
Variant = Annotated[str, "Named variant of the model's options."]
TrainedOn = Annotated[str, "Training dataset (the test dataset where nothing is trained)."]
TrainSubset = Annotated[str, "Part of the training dataset that was used: all, or a name."]
TestedOn = Annotated[str, "Test dataset."]
Subset = Annotated[str, "Part of the test dataset: test for its test split, or a name."]
Setting = Annotated[str, "Other keys of the evaluation, e.g. horizon-30+interval-2; see settings."]
Seed = Annotated[int | None, "Seed of the training; NULL for deterministic models."]

Source = Annotated[str, "Origin of the raw files: official, sample, synthetic or own."]
Release = Annotated[str, "Release of the dataset, as named in its configuration."]
Scale = Annotated[str, "Scale of the run: configuration such as demo or paper."]
Protocol = Annotated[str, "Protocol of training and test, e.g. paper or demo."]
Leaky = Annotated[bool, "True if test samples overlap with training data."]
BestOf = Annotated[
    int,
    "Number of forecasts of each test clip of which the best is scored: 1 unless the statistic is "
    "best_of_members. Scores improve with this number.",
]

Metric = Annotated[str, "Metric: the part of the convention before the dot."]
Convention = Annotated[str, "Exact definition, <metric>.<choice>; see table conventions."]
Variable = Annotated[str | None, "Physical variable; NULL for all channels together."]
Level = Annotated[float | None, "Pressure level in hPa; NULL if there is none."]
Threshold = Annotated[float | None, "Threshold of an event metric; NULL if there is none."]
Leads = Annotated[
    str | None,
    "Lead times of a value that a table shows in a column of its own: 44, or 1-7 for a range; "
    "else NULL.",
]
ScoresFingerprint = Annotated[str, "Fingerprint of the score artefact; see artefacts."]
Reason = Annotated[str | None, "Why value is NULL."]


@dataclass(frozen=True, kw_only=True)
class KeyRow:
    """Columns that identify a result (cell): model, its training, test, setting and seed."""

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
        """The values of these columns as a `CellKey`."""
        return CellKey(**{field.name: getattr(self, field.name) for field in fields(CellKey)})


@dataclass(frozen=True, kw_only=True)
class About:
    """Columns about a result (cell) besides its key: origin of the data, scale and protocol.

    Two columns say how far a value may be compared with that of a paper. An example is a paper
    whose numbers were made from an unofficial copy of a dataset. Values with this copy, under the
    paper's protocol, are ``comparable``. They are not ``official_paper_protocol``, which also asks
    for official files.
    """

    source: Source
    release: Release
    bytes_known_by: Annotated[
        str | None,
        "Evidence that the files of test and training are the official ones: checksums (they match "
        "registered or published ones), counts (all published counts of clips and declared sizes "
        "match) or stated (a user says so). NULL where nobody says that they are official.",
    ]
    lacking: Annotated[
        str | None,
        "Raw files that are missing, where a user accepted this; NULL if none are.",
    ]
    accepted: Annotated[
        str | None,
        "Artefacts made by older code, who accepted them as current, and why (stp store accept); "
        "NULL if there are none.",
    ]
    scale: Scale
    protocol: Protocol
    official_paper_protocol: Annotated[
        bool,
        "True only if the recipe is the paper's and the files are known to be the official ones.",
    ]
    comparable: Annotated[
        bool,
        "True if values can be compared with published ones: official_paper_protocol, or the "
        "recipe is the paper's and its numbers were made from these same files, which are not "
        "official.",
    ]
    leaky: Leaky
    best_of: BestOf


@dataclass(frozen=True, kw_only=True)
class _Number:
    """Column with the number of a cell."""

    number: Annotated[int, "Number of the cell in this store, from 1; see score_rows."]


@dataclass(frozen=True, kw_only=True)
class _Named:
    """Columns with the names of a cell."""

    tested: Annotated[str, "Readable name of what was tested, e.g. KITTI -> Caltech."]
    case_name: Annotated[str, "The same name as figures and stp compare --cell have it."]


@dataclass(frozen=True, kw_only=True)
class CellRow(About, _Named, _Number, KeyRow):
    """One row per cell, which is one model on one dataset in one setting with one seed: key, origin
    of the data, protocol, and folders of its artefacts.
    """

    subset_note: Annotated[
        str | None,
        "Note on the subset, or on imported predictions; empty if there is none.",
    ]
    external: Annotated[bool, "True if the predictions were made elsewhere and imported."]
    samples: Annotated[
        int | None, "Forecasts of each test clip; 1 unless the model draws several samples."
    ]
    statistic: Annotated[
        str | None,
        "What is scored of several forecasts: mean_of_members, ensemble_mean or best_of_members.",
    ]
    kept: Annotated[
        int | None,
        "Number of predictions stored with the scores, where predictions are scored while they are "
        "made; NULL where all are stored.",
    ]
    data_fingerprint: Annotated[str, "Fingerprint of the prepared data; see artefacts."]
    model_fingerprints: Annotated[
        list[str],
        "Fingerprints of the trained models: one, unless each lead time or member has its own; "
        "empty if nothing is trained.",
    ]
    predictions_fingerprint: Annotated[
        str | None,
        "Fingerprint of the predictions; see artefacts. NULL if they are not stored.",
    ]
    feature_fingerprints: Annotated[
        list[str],
        "Fingerprints of the network features of its observed and predicted clips; empty if there "
        "are none.",
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
    """One row per kind of score: convention, variable, level, lead times, threshold and statistic.
    Cells of the task tracks have the statistic sd beside the mean, and cells of the task opinions
    have median and sd over splits in place of the mean. Cells of the task frames have sd only where
    a column of a table shows it. Query the view scores, which includes these columns.
    """

    number: Annotated[int, "Number of the kind in this store, from 1; see score_rows."]
    metric: Metric
    convention: Convention
    variable: Variable
    level: Level
    lead: Annotated[int | None, "Lead time in steps, from 1; NULL for all lead times together."]
    threshold: Threshold
    leads: Leads
    statistic: Annotated[
        str,
        "mean over samples; ci95_low or ci95_high, ends of its 95 % interval (studentised "
        "bootstrap over clusters); for tracks of people, and for columns that show it, also sd, "
        "the standard deviation over samples (ddof 0); for opinions, median and sd over splits "
        "instead of the mean.",
    ]


@dataclass(frozen=True, kw_only=True)
class ScoreValueRow:
    """One row per value. Cell and kind of score are numbers of rows in the tables cells and
    score_kinds, because this halves the time to build the store. Query the view scores instead,
    which joins the three tables.
    """

    cell: Annotated[int, "Number of the cell; see cells."]
    kind: Annotated[int, "Number of the kind of score; see score_kinds."]
    value: Annotated[float | None, "Value; where it is NULL, reason says why."]
    n: Annotated[int | None, "Number of samples of a mean, or of clusters of an interval."]
    reason: Reason
    scores_fingerprint: ScoresFingerprint


@dataclass(frozen=True, kw_only=True)
class _ToBeTested:
    """Columns with the names of a missing cell."""

    tested: Annotated[str, "Readable name of what is to be tested, e.g. KITTI -> Caltech."]
    case_name: Annotated[str, "The same name as figures and stp compare --cell have it."]


@dataclass(frozen=True, kw_only=True)
class MissingRow(About, _ToBeTested, KeyRow):
    """One row per planned cell (a model on a dataset in a setting) without scores in this store:
    the stage at which it stopped, and the reason. Empty if no cell is missing.
    """

    stage: Annotated[str, "Where it stopped: prepare, train, predict, score or collect."]
    how: Annotated[
        str,
        "not run, running, failed, killed, out of memory, time limit, requeued, saved, not "
        "usable (damaged scores) or not collected.",
    ]
    detail: Annotated[str | None, "Reason, as far as it is known."]
    path: Annotated[str, "Folder of the artefact that the cell waits for, relative to the store."]
    attempts: Annotated[int, "Attempts at that artefact; see table attempts."]
    log: Annotated[str | None, "Log of the job; NULL if there is none."]
    ended: Annotated[datetime | None, "End of the last attempt (UTC); NULL if it was not recorded."]


@dataclass(frozen=True, kw_only=True)
class ArtefactRow:
    """One row per artefact (a folder that a job wrote) that scored or missing cells depend on, from
    its receipt: how, where and when it was made.
    """

    stage: Annotated[str, "Stage that made it: prepare, train, predict, features or score."]
    path: Annotated[str, "Folder, relative to the store."]
    fingerprint: Annotated[str, "Hash of code, recipe, seed and inputs."]
    code_fingerprint: Annotated[str | None, "Hash of the code of the stage."]
    commit: Annotated[str | None, "Commit of the checkout; ends in -dirty if files had changed."]
    recipe: Annotated[Json, "All settings of the stage."]
    extras: Annotated[Json, "Results that the stage reported; they differ between stages."]
    inputs: Annotated[Json, "Artefacts that it was made from: name -> path in the store."]
    host: Annotated[str | None, "Machine that made it."]
    device: Annotated[str | None, "Processor or accelerator that made it."]
    person: Annotated[str | None, "Account that made it."]
    slurm_job: Annotated[str | None, "Slurm job that made it; NULL outside Slurm."]
    started: Annotated[datetime | None, "Start (UTC)."]
    finished: Annotated[datetime | None, "End (UTC)."]
    seconds: Annotated[float | None, "Duration in seconds."]
    python: Annotated[str | None, "Version of Python."]
    packages: Annotated[Json, "Versions of packages: name -> version."]
    bytes: Annotated[int, "Size of its files together, bytes."]
    files: Annotated[int, "Number of its files."]


@dataclass(frozen=True, kw_only=True)
class StepColumn:
    """Column that says what an artefact is for a cell: its data, its trained model, ..."""

    step: Annotated[
        int,
        "1 data, 2 trained models, 3 predictions, 4 network features, 5 scores, 6 perceptual "
        "scores.",
    ]


@dataclass(frozen=True, kw_only=True)
class LineageRow(ArtefactRow, StepColumn):
    """A row of the view lineage, an artefact behind a cell, without the key of the cell."""

    raw_lock: Annotated[
        str | None,
        "Lock file of the raw files, relative to the store; NULL if made from artefacts alone.",
    ]


@dataclass(frozen=True, kw_only=True)
class AttemptRow:
    """One row per attempt to make an artefact, including those that missing cells wait for: where,
    when, how long, and how it ended.
    """

    path: Annotated[str, "Folder of the artefact, relative to the store."]
    stage: Annotated[str, "Stage that makes it."]
    attempt: Annotated[
        int, "Number of the attempt, from 1; the last one made the artefact, if it was made."
    ]
    how: Annotated[
        str | None,
        "done, failed, killed, out of memory, time limit, requeued or saved; NULL if its end was "
        "not recorded.",
    ]
    detail: Annotated[str | None, "Reason, as far as it is known."]
    host: Annotated[str | None, "Machine."]
    slurm_job: Annotated[str | None, "Slurm job; NULL outside Slurm."]
    gpus: Annotated[int | None, "Number of GPUs."]
    started: Annotated[datetime | None, "Start (UTC)."]
    ended: Annotated[datetime | None, "End (UTC); NULL if it was not recorded."]
    seconds: Annotated[float | None, "Duration in seconds; NULL if its end was not recorded."]
    peak_mb: Annotated[float | None, "Peak memory, MB."]
    memory_mb: Annotated[float | None, "Memory limit, MB; NULL if there was none."]


@dataclass(frozen=True, kw_only=True)
class RawFileRow:
    """One row per raw file from which data were prepared, with its checksum when first read."""

    lock: Annotated[str, "Lock file, relative to the store: raw_lock in lineage."]
    dataset: Annotated[str | None, "Dataset."]
    release: Annotated[str | None, "Release, as named in its configuration."]
    source: Annotated[str | None, "Origin of the file: official, sample, synthetic or own."]
    file: Annotated[str, "Path in the raw folder."]
    bytes: Annotated[int | None, "Size, bytes."]
    sha256: Annotated[str | None, "SHA-256."]


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """One row per model that was evaluated."""

    model: Annotated[str, "Model, as in cells."]
    title: Annotated[str, "Title."]
    reference: Annotated[str | None, "Paper or other source."] = None
    fit: Annotated[
        str | None,
        "Training: none (it learns nothing), closed_form, sgd, calibrate, read (from files) or "
        "external.",
    ] = None
    training: Annotated[str | None, "How others trained it; NULL if nobody did."] = None
    is_archived: Annotated[bool | None, "Whether its forecasts are read from an archive."] = None
    role: Annotated[
        str | None,
        "Kind of a measure of quality: baseline, full_reference or no_reference; else NULL.",
    ] = None
    network: Annotated[str | None, "Network of a measure of quality; NULL if none."] = None
    parts: Annotated[
        Sequence[str] | None,
        "Features that a measure of quality takes from its network, such as mcs; else NULL.",
    ] = None
    learns: Annotated[bool | None, "Whether a measure of quality learns from opinions."] = None


@dataclass(frozen=True, kw_only=True)
class DatasetRow:
    """One row per dataset that models were trained or tested on."""

    dataset: Annotated[str, "Dataset, as in cells."]
    title: Annotated[str, "Title."]
    published_name: Annotated[
        str | None,
        "Its name in the paper; NULL if it is not in the paper.",
    ] = None
    kind: Annotated[str | None, "Kind of its samples: frames, tracks or opinions."] = None
    domain: Annotated[str | None, "motion, robot, driving, traffic, weather, people or own."] = None
    shape: Annotated[
        tuple[int, int, int] | None, "Channels, height and width of a prepared frame."
    ] = None
    units: Annotated[str | None, "Unit of the values."] = None
    context: Annotated[int | None, "Number of context frames."] = None
    horizon: Annotated[
        int | None, "Number of frames to predict in training and in the short-term table."
    ] = None
    citation: Annotated[str | None, "What to cite."] = None
    licence: Annotated[str | None, "Licence, if it is known."] = None
    homepage: Annotated[str | None, "Web page of the data."] = None


@dataclass(frozen=True, kw_only=True)
class SettingRow:
    """One row per setting (what an evaluation changes of a dataset's protocol), with a column for
    each key that occurs. Join it with other tables USING (setting).
    """

    setting: Annotated[str, "As in cells, e.g. horizon-30+interval-2."]
    keys: SettingColumns


@dataclass(frozen=True, kw_only=True)
class SuiteRow:
    """One row per suite (benchmark) with collected results."""

    suite: Annotated[str, "Suite, as in cells."]
    title: Annotated[str, "Title."]


@dataclass(frozen=True, kw_only=True)
class DimensionRow:
    """One row per dimension (a question with its own table) of the suites in table suites,
    evaluated or not.
    """

    suite: Annotated[str, "Suite, as in cells."]
    dimension: Annotated[str, "Dimension, as in cells: the name of its table."]
    place: Annotated[int, "Position in the suite, from 1."]
    title: Annotated[str, "Title."]
    question: Annotated[str, "Question that its table answers."]
    about: Annotated[str, "Content of its table."]
    printed: Annotated[str, "Tables of the paper that have it; empty if there are none."]
    by_lead: Annotated[bool, "Whether scores at each lead time have a table of their own."]
    changes_from: Annotated[
        str | None,
        "Dimension with other tests of the same trained models, with which its own tests are "
        "compared, e.g. short_term for generalization; the dimension itself if its own tests are "
        "compared with each other, e.g. robustness; NULL if none are.",
    ]


@dataclass(frozen=True, kw_only=True)
class PublishedRow:
    """One row per value printed in a paper; see config/suites/README.md. A key of a setting is NULL
    if the paper does not state it: the dataset's own value applies.
    """

    suite: Annotated[str, "Suite of the paper."]
    dimension: Annotated[
        str, "Dimension of the evaluation, or another subject of the paper's table."
    ]
    model: Annotated[str | None, "Our name of the model; NULL if the plan has no such model."]
    variants: Annotated[
        list[str] | None,
        "Variants that the paper's value applies to; NULL if there is no model.",
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
        "Distinguishes values with otherwise equal keys, such as run1 or std; empty for a result.",
    ]
    metric: Annotated[str, "Column heading of the paper."]
    value: Annotated[float, "The number."]
    raw: Annotated[str, "The number as printed."]
    note: Annotated[str, "Why the number is doubtful; empty if it is not doubtful."]
    table: Annotated[str, "Table of the paper, or a group of its tables."]
    printed_model: Annotated[str, "Model as printed."]
    printed_trained_on: Annotated[str, "Training dataset as printed."]
    printed_tested_on: Annotated[str, "Test dataset as printed."]


@dataclass(frozen=True, kw_only=True)
class ConventionRow:
    """One row per convention (one exact definition of a metric): formula, unit and direction."""

    metric: Annotated[str, "The part before the dot."]
    convention: Annotated[str, "<metric>.<choice>, as in scores."]
    title: Annotated[str | None, "Title."]
    description: Annotated[str | None, "Definition."]
    unit: Annotated[str | None, "Unit of the value."]
    higher_is_better: Annotated[
        bool | None,
        "Direction; NULL if neither higher nor lower is better; see best_at.",
    ]
    best_at: Annotated[
        float | None,
        "Best value, such as 1 for a ratio; NULL if there is none.",
    ]
    success: Annotated[
        str | None,
        "strict if it says of each sample whether the prediction is right, graded if it says how "
        "much of it is right; NULL for other conventions.",
    ]
    compares_sets: Annotated[
        bool | None,
        "True for distances between sets of clips, whose values depend on the number n of clips: "
        "only values of equal n are ranked together.",
    ]
    available: Annotated[
        bool | None, "False if it cannot be computed here, for instance without weights."
    ]
    reason: Annotated[str | None, "Why it is not available."]


@dataclass(frozen=True, kw_only=True)
class _Comparison:
    """Columns of the comparison to which a row belongs."""

    comparison: Annotated[
        str,
        "Dimension whose tests of a model are compared with each other, and with the test on the "
        "training dataset in the dimension of dimensions.changes_from.",
    ]


@dataclass(frozen=True, kw_only=True)
class MatchedRow(KeyRow, _Comparison):
    """Distances between sets of clips at equal numbers n of clips: one row per comparison, cell and
    convention. A comparison consists of the cells of one trained model in one dimension, with the
    cell of its test on the training dataset. All their distances are computed from the same number
    n of clips.
    """

    metric: Annotated[str, "Metric, such as fvd."]
    convention: Convention
    n: Annotated[
        int | None, "Number of clips of every value: that of the smallest cell of the comparison."
    ]
    clips: Annotated[int | None, "Number of clips of this cell."]
    value: Annotated[
        float | None,
        "Mean over draws of n clips without replacement; the score itself where n is all clips.",
    ]
    sd: Annotated[float | None, "Standard deviation over draws; NULL where nothing was drawn."]
    repeats: Annotated[int, "Number of draws, with seeds 0, 1, ...; 0 where all clips are used."]
    reason: Reason
    scores_fingerprint: Annotated[str | None, "Fingerprint of the score artefact; see artefacts."]


@dataclass(frozen=True, kw_only=True)
class PaperColumnRow:
    """One row per table column and dataset: the convention (exact definition of a metric) that the
    column shows.
    """

    dimension: Annotated[str, "Dimension of the evaluation, after which the table is named."]
    dataset: Annotated[str, "Test dataset."]
    metric: Annotated[str, "Column heading of the paper."]
    variable: Annotated[str | None, "Variable of the column; NULL if it names none."]
    threshold: Annotated[float | None, "Threshold of the column; NULL if it names none."]
    leads: Annotated[
        str | None, "Lead times of the column, 44 or 1-7; NULL for all of them together."
    ]
    statistic: Annotated[str, "mean, median, or sd: the standard deviation over samples."]
    convention: Annotated[str, "Exact definition, <metric>.<choice>, as in scores."]


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Columns that say what a value measures."""

    metric: Metric
    convention: Convention
    variable: Variable
    level: Level
    threshold: Threshold
    leads: Leads


@dataclass(frozen=True, kw_only=True)
class Stated:
    """Columns of a stored value and its 95 % interval, which several tables share."""

    value: Annotated[
        float | None,
        "Mean over test samples, or median over splits; where it is NULL, reason says why.",
    ]
    ci95_low: Annotated[
        float | None,
        "Lower end of the 95 % interval, from a studentised bootstrap over clusters.",
    ]
    ci95_high: Annotated[float | None, "Upper end of the 95 % interval."]
    n: Annotated[int | None, "Number of test samples."]
    clusters: Annotated[int | None, "Number of independent clusters."]
    reason: Annotated[str | None, "Why there is no value, or no interval."]


@dataclass(frozen=True, kw_only=True)
class OverallRow(About, Stated, _Place, KeyRow):
    """A row of the view overall: a value over all lead times, or over the lead times that a column
    of a table asks for.
    """

    scores_fingerprint: ScoresFingerprint


@dataclass(frozen=True, kw_only=True)
class _Evaluation:
    """Columns of the evaluation."""

    suite: Suite
    dimension: Dimension
    trained_on: TrainedOn
    train_subset: TrainSubset
    tested_on: TestedOn
    subset: Subset
    setting: Setting


@dataclass(frozen=True, kw_only=True)
class _Alike:
    """Further columns that models ranked together have in common."""

    source: Source
    scale: Scale
    leaky: Leaky
    best_of: BestOf


@dataclass(frozen=True, kw_only=True)
class EvaluationRow(_Alike, _Evaluation):
    """Columns that identify an evaluation: models that agree in all of them are compared."""


@dataclass(frozen=True, kw_only=True)
class _Entrant:
    """Columns of the model that is ranked or compared."""

    model: Annotated[str, "Model."]
    variant: Annotated[str, "Named variant of the model's options."]


@dataclass(frozen=True, kw_only=True)
class RankRow(_Alike, _Place, _Entrant, _Evaluation):
    """Ranks with confidence sets: one row per evaluation, model, variant and convention (all lead
    times together, or the lead times of a table's column; mean over seeds). The confidence set of a
    rank follows from the table comparisons: it excludes as many first places as models are
    significantly better, and as many last places as models are significantly worse. All sets of an
    evaluation and convention hold simultaneously (Mogstad, Romano, Shaikh and Wilhelm 2024, Review
    of Economic Studies 91, 476-518). They account for the choice of clips, not for the variance
    between training runs, which the view seed_variance shows.
    """

    rank: Annotated[
        int | None,
        "Rank, 1 is best; ties share the smallest rank. NULL without a value or a direction.",
    ]
    rank_low: Annotated[
        int | None,
        "Best rank of the 95 % confidence set: 1 plus the number of models that are significantly "
        "better.",
    ]
    rank_high: Annotated[
        int | None,
        "Worst rank of the 95 % confidence set: the number of models less the number of those that "
        "are significantly worse.",
    ]
    models: Annotated[int | None, "Number of models that are ranked together."]
    clusters: Annotated[
        int | None,
        "Number of independent clusters (videos, months) of the tests; the smallest if they "
        "differ.",
    ]
    reason: Annotated[str | None, "Why there is no rank, or no confidence set."]


@dataclass(frozen=True, kw_only=True)
class _Other:
    """Columns of the second model of a comparison."""

    other: Annotated[str, "Model that it is compared with."]
    other_variant: Annotated[str, "Variant of the other model."]


@dataclass(frozen=True, kw_only=True)
class ComparisonRow(_Alike, _Place, _Other, _Entrant, _Evaluation):
    """Tests of differences between models: one row per evaluation, convention and pair of models
    (each pair once, the first by name as model). The tests are a paired t test over clusters of
    clips, with the standard error of the cluster jackknife and Satterthwaite's degrees of freedom,
    and a sign test. docs/statistics.md describes the method and its error rates.
    """

    difference: Annotated[
        float | None,
        "Value of other minus value of model over the clips that both have; means over seeds.",
    ]
    ci95_low: Annotated[
        float | None,
        "Lower end of the 95 % interval of the difference, for this pair alone; NULL where all "
        "clusters have the same difference.",
    ]
    ci95_high: Annotated[float | None, "Upper end of the 95 % interval."]
    p: Annotated[
        float | None,
        "Two-sided p value of the t test of this pair alone; where all clusters have the same "
        "difference, that of the sign test.",
    ]
    p_corrected: Annotated[
        float | None,
        "p, corrected for all pairs of this evaluation and convention (Holm 1979).",
    ]
    p_sign: Annotated[
        float | None,
        "Two-sided p value of the exact sign test over clusters, for this pair alone.",
    ]
    won: Annotated[
        float | None,
        "Share of clusters in which other is better than model; a tie counts half. NULL for "
        "conventions without a direction.",
    ]
    skewed: Annotated[
        bool | None,
        "Whether the differences of clusters are so skewed that the t test may be wrong: one of "
        "the models may fail rarely but badly.",
    ]
    better: Annotated[
        str | None,
        "Model that is significantly better (p_corrected < 0.05 and p_sign < 0.05); NULL if "
        "neither is.",
    ]
    detectable: Annotated[
        float | None,
        "Smallest difference that the t test detects with a power of 80 % at the level 0.05 / "
        "pairs, that of Holm's first step.",
    ]
    clusters: Annotated[int | None, "Number of independent clusters (videos, months)."]
    n: Annotated[int | None, "Number of clips that both models have."]
    reason: Annotated[str | None, "Why there is no test."]


@dataclass(frozen=True, kw_only=True)
class RuntimeRow(KeyRow):
    """Run times of predictors of people for one scenario: one row per cell and number of people.
    They are measured during the predictions, one scenario at a time, after a warm-up run, and
    differ between runs.
    """

    source: Source
    release: Release
    protocol: Protocol
    people: Annotated[int, "Number of people in the scenario."]
    milliseconds: Annotated[float, "Median time for one scenario, all people and lead times."]
    low: Annotated[float, "Lower quartile, milliseconds."]
    high: Annotated[float, "Upper quartile, milliseconds."]
    least: Annotated[
        float, "Minimum, milliseconds: the value that other jobs on the machine affect least."
    ]
    scenarios: Annotated[int, "Number of scenarios that were measured."]
    measurements: Annotated[int, "Number of measurements of all scenarios together."]
    samples: Annotated[int, "Number of samples of each prediction."]
    threads: Annotated[int, "Number of CPU threads."]
    host: Annotated[str | None, "Machine."]
    processor: Annotated[str | None, "Processor of the machine."]
    device: Annotated[str | None, "cpu, or the name of the GPU."]
    predictions_fingerprint: Annotated[
        str, "Fingerprint of the predictions during which it was measured."
    ]


@dataclass(frozen=True, kw_only=True)
class AgreementRow:
    """Agreement of metrics with people on the better of two videos: one row per scenario, metric
    and way of counting answers. A scenario is a group of models, chosen for a column of Table 1 of
    the paper on FVD or for a point of its Figure 5 (docs/human_study.md); all bases +10 joins such
    points as base200 +10 and base400 +10. Empty unless `stp study preferences` has evaluated
    answers about pairs of videos.
    """

    source: Annotated[str, "Origin of the data that models were tested on; own for a file."]
    scale: Annotated[
        str, "Scale of the results store that models were selected from; empty for a file."
    ]
    protocol: Annotated[str, "Protocol of the models' training and test."]
    comparable: Annotated[bool, "Always false: the paper had other models and raters."]
    study: Annotated[str, "Checksum of the questionnaire."]
    scenario: Annotated[
        str,
        "Group of models, as printed in the paper: eq. FVD (about equal FVD), spr. FVD (evenly "
        "spread FVD), base200 +10 (a model of FVD 200 and models that are 10 worse), ...; or all "
        "bases +10, which joins the bases.",
    ]
    kind: Annotated[
        str,
        "How models were selected: equal, spread or gap (a base, and models worse by a given "
        "step).",
    ]
    metric: Annotated[
        str, "Heading of the paper's table; Among raters is the agreement of the first two raters."
    ]
    convention: Annotated[str, "Exact definition; empty for raters."]
    counting: Annotated[
        str,
        "decided: answers that choose a video; all: also answers of no difference, as "
        "disagreement; majority: the answer that two raters give about a pair of videos.",
    ]
    value: Annotated[float | None, "Agreement, percent; where it is NULL, reason says why."]
    ci95_low: Annotated[
        float | None,
        "Lower end of the 95 % interval, over pairs of models and raters.",
    ]
    ci95_high: Annotated[float | None, "Upper end of the 95 % interval."]
    reason: Annotated[str | None, "Why there is no value, or else no interval."]
    pairs: Annotated[int, "Number of pairs of models."]
    comparisons: Annotated[int, "Number of pairs of videos."]
    answers: Annotated[
        int, "Number of answers; of a majority, and among raters, the number of comparisons."
    ]
    raters: Annotated[int, "Number of raters."]
    ties: Annotated[int, "Number of pairs of videos that the metric does not distinguish."]
    simulated: Annotated[bool, "True if the raters were programs."]
    published: Annotated[float | None, "Printed value, percent; NULL if none is printed."]


@dataclass(frozen=True, kw_only=True)
class PersonErrorRow(KeyRow):
    """One row per cell of tracks, scenario, person, lead time and sample: the distance between the
    predicted and the true position. A view of Parquet files in the store, which must stay where
    they are; docs/human_motion.md has queries.
    """

    scenario: Annotated[int, "Number of the scenario, from 0."]
    start_frame: Annotated[int, "First observed frame of the scenario."]
    episode: Annotated[int, "Cluster: scenarios that overlap in time share one."]
    person: Annotated[int, "Number of the person."]
    person_name: Annotated[str, "Identifier of the person in the raw data."]
    lead: Annotated[int, "Lead time in steps, from 1."]
    lead_seconds: Annotated[float, "Lead time in seconds."]
    sample: Annotated[int, "Sample of the prediction, from 0."]
    error: Annotated[float, "Distance, metres."]


@dataclass(frozen=True, kw_only=True)
class PredictedOpinionRow(KeyRow):
    """One row per cell of a measure of quality, split and test video: the predicted and the
    observed mean opinion score. A view of Parquet files in the store, which must stay where they
    are; all numbers of the suite follow from it (docs/pvqa.md).
    """

    video: Annotated[str, "Name of the video."]
    split: Annotated[int, "Number of the split, from 1; subset names the family of splits."]
    predicted: Annotated[float, "Predicted mean opinion score, mostly from 0 to 100."]
    observed: Annotated[float, "Mean opinion score of the video, from 0 to 100."]
    source_dataset: Annotated[str, "Dataset that the video comes from."]
    tags: Annotated[str | None, "Words for visible distortions; NULL where they are unknown."]
    family: Annotated[
        str | None, "Family of the model, stochastic or deterministic; NULL where it is unknown."
    ]
    generator: Annotated[str | None, "Model that made the video; NULL where it is unknown."]
    strength: Annotated[float | None, "Strength of the distortion of a generated video; else NULL."]
    height: Annotated[int, "Height, pixels."]
    width: Annotated[int, "Width, pixels."]


@dataclass(frozen=True, kw_only=True)
class OpinionRatingRow:
    """One row per rating that a rater gave to a video, for datasets of opinions that publish the
    rating of each rater, not only means over raters. A view of Parquet files in the store, which
    must stay where they are.
    """

    data_fingerprint: Annotated[str, "Fingerprint of the prepared data, as in cells."]
    rater: Annotated[str, "Name of the rater."]
    session: Annotated[str, "Session of the rater."]
    video: Annotated[str, "Name of the video."]
    rating: Annotated[float, "Rating, from 0 to 100."]
    is_rejected: Annotated[bool, "True if the rater does not count in mean opinion scores."]


@dataclass(frozen=True, kw_only=True)
class SampleRow(KeyRow):
    """One row per cell, test sample and variable. Each convention has a column with a list of
    values over lead times, NULL for variables without values; components, such as hits at a
    threshold, have columns of their own. A view of Parquet files in the store, which must stay
    where they are.
    """

    sample: Annotated[int, "Number of the test sample, from 0: its row in predictions.zarr."]
    clip: Annotated[str, "Name of the clip, unique in the split."]
    cluster: Annotated[
        str,
        "Independent unit that the sample belongs to, such as a video, trajectory or month: the "
        "unit of intervals and tests.",
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
"""Views of files in the store; sample scores also have a column for each convention."""

EVALUATION = tuple(column.name for column in columns_of(_Evaluation))
"""Key columns that identify the test: models of one evaluation are compared with each other."""
ALIKE = tuple(column.name for column in columns_of(_Alike))
"""Columns, besides the evaluation, with equal values for models that are ranked together."""
ABOUT = tuple(column.name for column in columns_of(About))
"""Columns about the cell in rows of scores, besides its key."""
