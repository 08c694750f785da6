"""Tables and columns of results.duckdb: SQL types, and the comments that explain them."""

from typing import NamedTuple


class Table(NamedTuple):
    """A table: name, comment, and columns as (name, SQL type, comment)."""

    name: str
    comment: str
    columns: tuple[tuple[str, str, str], ...]


KEY_COLUMNS = (
    ("suite", "VARCHAR", "Suite of experiments, named after its paper; see suites."),
    ("dimension", "VARCHAR", "Dimension of the evaluation; see dimensions."),
    ("model", "VARCHAR", "Model: module, configuration file and word in every path."),
    ("variant", "VARCHAR", "Named variant of the model's options."),
    ("trained_on", "VARCHAR", "Dataset of training (that of the test where nothing is trained)."),
    ("train_subset", "VARCHAR", "Part of the training dataset that was used: all, or a name."),
    ("tested_on", "VARCHAR", "Dataset of the test."),
    ("subset", "VARCHAR", "Part of the test dataset: test for its test split, or a name."),
    ("setting", "VARCHAR", "What else distinguishes the evaluation, e.g. horizon-30+interval-2."),
    ("seed", "BIGINT", "Seed of the training; NULL for deterministic models."),
)

EVALUATION = tuple(name for name, *_ in KEY_COLUMNS if name not in ("model", "variant", "seed"))
"""Key columns that say what was tested: models of one evaluation are compared with each other."""

BYTES_KNOWN_BY = (
    "How surely the bytes of test and training are the official ones: checksums (registered or "
    "published ones match), counts (all published counts of clips and declared sizes match) or "
    "stated (somebody put them there). NULL where nobody says that they are official."
)
_LEADS = (
    "leads",
    "VARCHAR",
    "Lead times of a value that a column of a table shows: 44, or 1-7 for a range of them; else "
    "NULL.",
)
_SOURCE = (
    ("source", "VARCHAR", "Origin of the raw bytes: official, sample or synthetic."),
    ("release", "VARCHAR", "Release of the dataset, as named in its configuration."),
    ("bytes_known_by", "VARCHAR", BYTES_KNOWN_BY),
    (
        "lacking",
        "VARCHAR",
        "Raw files that are missing, where somebody accepted that; NULL if none are.",
    ),
    (
        "accepted",
        "VARCHAR",
        "Artefacts of older code behind it, with who declared them current and why (stp accept); "
        "NULL if there are none.",
    ),
    ("scale", "VARCHAR", "Scale of the run: configuration such as demo or paper."),
    ("protocol", "VARCHAR", "Protocol of training and test, e.g. paper or demo."),
    (
        "official_paper_protocol",
        "BOOLEAN",
        "True only if the recipe is the paper's, and the bytes are known to be the official ones.",
    ),
    (
        "comparable",
        "BOOLEAN",
        "True if values stand beside published ones: official_paper_protocol, or the recipe is the "
        "paper's and these very files, though not official, are what its numbers were made from.",
    ),
    ("leaky", "BOOLEAN", "True if test samples overlap with training data."),
    (
        "best_of",
        "BIGINT",
        "Forecasts of each test clip of which the best is scored: 1 unless the statistic is "
        "best_of_members. It gets better with their number.",
    ),
)

ABOUT = tuple(name for name, *_ in _SOURCE)
"""What rows of scores say of the cell besides its key."""

ALIKE = ("source", "scale", "leaky", "best_of")
"""What models that are ranked together share besides the evaluation."""

SCORES_COMMENT = (
    "One row per cell, convention, variable, level, threshold, lead time and statistic."
)
SCORE_KINDS = Table(
    "score_kinds",
    "One row per kind of score that any cell has: convention, variable, level, lead times, "
    "threshold and statistic. A part of view scores: ask that.",
    (
        ("number", "BIGINT", "Number of the kind in this store, from 1; see score_rows."),
        ("metric", "VARCHAR", "Metric: the part of the convention before the dot."),
        ("convention", "VARCHAR", "Exact definition, <metric>.<choice>; see table conventions."),
        ("variable", "VARCHAR", "Physical variable; NULL for all channels together."),
        ("level", "DOUBLE", "Pressure level in hPa; NULL if there is none."),
        ("lead", "BIGINT", "Lead time in steps, from 1; NULL for all leads together."),
        ("threshold", "DOUBLE", "Threshold of an event metric; NULL if there is none."),
        _LEADS,
        (
            "statistic",
            "VARCHAR",
            "mean over samples, or ci95_low, ci95_high: studentised bootstrap over clusters; of "
            "people, and where a column shows it, also sd, the standard deviation over samples "
            "(ddof 0).",
        ),
    ),
)

SCORE_ROWS = Table(
    "score_rows",
    "What view scores is made of: its rows, with a number for all that they share with their cell, "
    "and one for what they are a value of. (Twenty columns less in a million rows are half of the "
    "time of a rebuild.) Ask scores.",
    (
        ("cell", "BIGINT", "Number of the cell; see cells."),
        ("kind", "BIGINT", "Number of the kind of score; see score_kinds."),
        ("value", "DOUBLE", "The value; NULL always has a reason."),
        ("n", "BIGINT", "Samples behind a mean; clusters behind an interval."),
        ("reason", "VARCHAR", "Why value is NULL."),
        ("scores_fingerprint", "VARCHAR", "Fingerprint of the score artefact; see artefacts."),
    ),
)

CELLS = Table(
    "cells",
    "One row per cell: what was evaluated, on which bytes, and from which artefacts.",
    (
        *KEY_COLUMNS,
        ("number", "BIGINT", "Number of the cell in this store, from 1; see score_rows."),
        ("tested", "VARCHAR", "What was tested, for people, e.g. KITTI -> Caltech."),
        ("case_name", "VARCHAR", "The same in names of figures and for stp compare --cell."),
        *_SOURCE,
        (
            "subset_note",
            "VARCHAR",
            "What is special about the subset, or about imported predictions; empty if nothing is.",
        ),
        ("external", "BOOLEAN", "True if the predictions were made elsewhere, and imported."),
        ("samples", "BIGINT", "Forecasts of each test clip; 1 unless the model draws several."),
        (
            "statistic",
            "VARCHAR",
            "What is scored of several: mean_of_members, ensemble_mean or best_of_members.",
        ),
        (
            "kept",
            "BIGINT",
            "Predictions that lie beside the scores, where all are scored while they are made "
            "and not stored; else NULL.",
        ),
        ("data_fingerprint", "VARCHAR", "Fingerprint of the prepared data; see artefacts."),
        (
            "model_fingerprints",
            "VARCHAR[]",
            "Fingerprints of the trained models: one, unless each lead time has its own; empty if "
            "nothing is trained.",
        ),
        (
            "predictions_fingerprint",
            "VARCHAR",
            "Fingerprint of the predictions; see artefacts. NULL if they are not stored.",
        ),
        (
            "feature_fingerprints",
            "VARCHAR[]",
            "Fingerprints of what networks saw of its observed and predicted clips; empty if "
            "nothing is kept of it.",
        ),
        ("scores_fingerprint", "VARCHAR", "Fingerprint of the scores; see artefacts."),
        (
            "perceptual_fingerprint",
            "VARCHAR",
            "Fingerprint of the scores of metrics that use networks; NULL if none.",
        ),
        ("data_folder", "VARCHAR", "Folder of the prepared data."),
        ("model_folders", "VARCHAR[]", "Folders of the trained models, in the same order."),
        ("predictions_folder", "VARCHAR", "Folder of the predictions; NULL if not stored."),
        ("feature_folders", "VARCHAR[]", "Folders of network features, in the same order."),
        ("scores_folder", "VARCHAR", "Folder of the scores."),
        ("perceptual_folder", "VARCHAR", "Folder of the perceptual scores; NULL if none."),
    ),
)

ARTEFACTS = Table(
    "artefacts",
    "One row per artefact behind the cells, scored or missing, from its receipt: how it was made, "
    "where and when.",
    (
        ("stage", "VARCHAR", "Stage that made it: prepare, train, predict, features or score."),
        ("path", "VARCHAR", "Folder, relative to the store."),
        ("fingerprint", "VARCHAR", "Hash of code, recipe, seed and inputs."),
        ("code_fingerprint", "VARCHAR", "Hash of the meaning of the stage's code."),
        ("commit", "VARCHAR", "Commit of the checkout; ends in -dirty if files were changed."),
        ("recipe", "JSON", "Everything that was set for this piece of work."),
        ("extras", "JSON", "Results that its stage reported; they differ from stage to stage."),
        ("inputs", "JSON", "Artefacts it was made from: name -> path in the store."),
        ("host", "VARCHAR", "Machine that made it."),
        ("device", "VARCHAR", "Processor or accelerator that made it."),
        ("person", "VARCHAR", "Account that made it."),
        ("slurm_job", "VARCHAR", "Slurm job that made it; NULL outside Slurm."),
        ("started", "TIMESTAMP", "Start (UTC)."),
        ("finished", "TIMESTAMP", "End (UTC)."),
        ("seconds", "DOUBLE", "Duration in seconds."),
        ("python", "VARCHAR", "Version of Python."),
        ("packages", "JSON", "Versions of packages: name -> version."),
        ("bytes", "BIGINT", "Size of all its files."),
        ("files", "BIGINT", "Number of its files."),
    ),
)

ATTEMPTS = Table(
    "attempts",
    "One row per attempt at an artefact, also at those that a missing cell waits for: where and "
    "when, for how long, how it ended.",
    (
        ("path", "VARCHAR", "Folder of the artefact, relative to the store."),
        ("stage", "VARCHAR", "Stage that makes it."),
        ("attempt", "BIGINT", "From 1; the last one made it, if it was made."),
        (
            "how",
            "VARCHAR",
            "done, failed, killed, out of memory, time limit, requeued or saved; NULL if nobody "
            "saw its end.",
        ),
        ("detail", "VARCHAR", "What is known of why it ended so."),
        ("host", "VARCHAR", "Machine."),
        ("slurm_job", "VARCHAR", "Slurm job; NULL outside Slurm."),
        ("gpus", "BIGINT", "GPUs that it had."),
        ("started", "TIMESTAMP", "Start (UTC)."),
        ("ended", "TIMESTAMP", "End (UTC); NULL if nobody saw it."),
        ("seconds", "DOUBLE", "Duration in seconds; NULL if nobody saw its end."),
        ("peak_mb", "DOUBLE", "The most memory that it held, in MB."),
        ("memory_mb", "DOUBLE", "What it was allowed, in MB; NULL if nothing limited it."),
    ),
)

MISSING = Table(
    "missing",
    "One row per cell that is planned and has no scores in this store: where it stopped, and why. "
    "Empty if everything is there.",
    (
        *KEY_COLUMNS,
        ("tested", "VARCHAR", "What is to be tested, for people, e.g. KITTI -> Caltech."),
        ("case_name", "VARCHAR", "The same in names of figures and for stp compare --cell."),
        *_SOURCE,
        ("stage", "VARCHAR", "Where it stopped: prepare, train, predict, score or collect."),
        (
            "how",
            "VARCHAR",
            "not run, running, failed, killed, out of memory, time limit, requeued, saved, "
            "not usable (damaged scores) or not collected.",
        ),
        ("detail", "VARCHAR", "What is known of why; empty if nothing is."),
        ("path", "VARCHAR", "Folder of the artefact that it waits for, relative to the store."),
        ("attempts", "BIGINT", "Attempts at that artefact; see table attempts."),
        ("log", "VARCHAR", "Log of the job; NULL if there is none."),
        ("ended", "TIMESTAMP", "End of the last attempt (UTC); NULL if nobody saw it."),
    ),
)

RAW_FILES = Table(
    "raw_files",
    "One row per raw file that data were prepared from, as its release was locked at first sight.",
    (
        ("lock", "VARCHAR", "Lock file, relative to the store; raw_lock in lineage."),
        ("dataset", "VARCHAR", "Dataset."),
        ("release", "VARCHAR", "Release, as named in its configuration."),
        ("source", "VARCHAR", "Origin of the bytes: official, sample, synthetic or own."),
        ("file", "VARCHAR", "Path below the raw folder."),
        ("bytes", "BIGINT", "Size."),
        ("sha256", "VARCHAR", "Checksum."),
    ),
)

MODELS = Table(
    "models",
    "One row per model that was evaluated.",
    (
        ("model", "VARCHAR", "Model, as in cells."),
        ("title", "VARCHAR", "Its name for people."),
        ("reference", "VARCHAR", "Where it comes from."),
        (
            "fit",
            "VARCHAR",
            "none (nothing to learn here), closed_form, sgd, calibrate, or external (made "
            "elsewhere).",
        ),
        ("training", "VARCHAR", "How others trained it, if they did; else NULL."),
        ("is_archived", "BOOLEAN", "Whether its forecasts are read from somebody's archive."),
        ("role", "VARCHAR", "Of a measure of opinions: baseline, full_reference or no_reference."),
        ("network", "VARCHAR", "That a measure of opinions looks through; NULL if none."),
        ("parts", "VARCHAR[]", "What a measure of opinions takes of its network, such as mcs."),
        ("learns", "BOOLEAN", "Whether a measure of opinions learns from opinions."),
    ),
)

DATASETS = Table(
    "datasets",
    "One row per dataset of a training or a test.",
    (
        ("dataset", "VARCHAR", "Dataset, as in cells."),
        ("title", "VARCHAR", "Its name for people."),
        ("published_name", "VARCHAR", "What the paper calls it; NULL if it is not in the paper."),
        ("kind", "VARCHAR", "Kind of its samples: frames, or tracks of people."),
        ("domain", "VARCHAR", "motion, robot, driving, traffic, weather, people or own."),
        ("shape", "BIGINT[]", "Channels, height and width of a prepared frame."),
        ("units", "VARCHAR", "Unit of its values."),
        ("context", "BIGINT", "Context frames."),
        ("horizon", "BIGINT", "Frames to predict in training and in the short-term table."),
        ("citation", "VARCHAR", "What to cite."),
        ("licence", "VARCHAR", "Licence, as far as it is known."),
        ("homepage", "VARCHAR", "Where the data come from."),
    ),
)

SETTING_KEYS = {
    "horizon": "Lead times: frames or steps that are predicted.",
    "interval": "Frame interval, in those of the training; NULL where it is not varied.",
    "observe": "Observed positions; NULL: as many as the dataset has for context.",
    "noise": "Standard deviation of noise on observed positions, in millimetres; NULL if none.",
    "people": "The fewest people in a scenario; NULL for all scenarios.",
    "intensity": "Number of the intensity of a distortion, from 1; NULL of what is not distorted.",
    "components": "Most principal components of a regression; NULL for 240.",
    "training": "Per cent of all videos that a regression learns from; NULL for all of training.",
}
"""Keys of settings that tables have columns for whether they occur or not; others where they do."""

_SETTING_COLUMNS = tuple((key, "BIGINT", about) for key, about in SETTING_KEYS.items())

SETTINGS = Table(
    "settings",
    "One row per setting of an evaluation, with a column for each key that occurs: join it with "
    "USING (setting).",
    (("setting", "VARCHAR", "As in cells, e.g. horizon-30+interval-2."), *_SETTING_COLUMNS),
)

SUITES = Table(
    "suites",
    "One row per suite that was collected.",
    (
        ("suite", "VARCHAR", "Suite, as in cells."),
        ("title", "VARCHAR", "Its name for people."),
    ),
)

DIMENSIONS = Table(
    "dimensions",
    "One row per dimension of these suites, whether it was evaluated or not.",
    (
        ("suite", "VARCHAR", "Suite, as in cells."),
        ("dimension", "VARCHAR", "Dimension, as in cells: the name of its table."),
        ("place", "BIGINT", "Its place among those of the suite, from 1."),
        ("title", "VARCHAR", "Its name for people."),
        ("question", "VARCHAR", "What its table answers."),
        ("about", "VARCHAR", "What is in its table."),
        ("printed", "VARCHAR", "Where the paper has it; empty if nowhere."),
        ("by_lead", "BOOLEAN", "Whether scores at each lead time have a table of their own."),
        (
            "changes_from",
            "VARCHAR",
            "Dimension whose tests of the same trainings are what its own are compared with; "
            "itself, where its own tests are compared; NULL where nothing is.",
        ),
    ),
)

PUBLISHED = Table(
    "published",
    "Values printed in the papers, to compare with; see config/suites/README.md. Keys of a "
    "setting are NULL where the paper says nothing: as the dataset has it.",
    (
        ("suite", "VARCHAR", "Suite of the paper."),
        ("dimension", "VARCHAR", "Dimension of the evaluation; or what else the table is of."),
        ("model", "VARCHAR", "Our name of the model; NULL if the plan has none for it."),
        ("variants", "VARCHAR[]", "Its variants that the paper means; NULL if there is no model."),
        ("trained_on", "VARCHAR", "Our name of the training dataset; NULL if none."),
        ("tested_on", "VARCHAR", "Our name of the test dataset; NULL if none."),
        ("subset", "VARCHAR", "Part of the test dataset: test for its test split, or a name."),
        *_SETTING_COLUMNS,
        ("variable", "VARCHAR", "Variable; NULL if the paper names none."),
        ("threshold", "DOUBLE", "Threshold; NULL if the paper names none."),
        ("leads", "VARCHAR", "Lead times, 44 or 1-7; NULL if the paper names none."),
        (
            "run",
            "VARCHAR",
            "Which of several numbers that nothing else tells apart; empty for a result.",
        ),
        ("metric", "VARCHAR", "Column heading of the paper."),
        ("value", "DOUBLE", "The number."),
        ("raw", "VARCHAR", "The number as printed."),
        ("note", "VARCHAR", "Why the number is doubtful; empty if it is not."),
        ("table", "VARCHAR", "Group of the paper's table."),
        ("printed_model", "VARCHAR", "Model as printed."),
        ("printed_trained_on", "VARCHAR", "Training dataset as printed."),
        ("printed_tested_on", "VARCHAR", "Test dataset as printed."),
    ),
)

CONVENTIONS = Table(
    "conventions",
    "What each convention means: its definition, unit and direction.",
    (
        ("metric", "VARCHAR", "The part before the dot."),
        ("convention", "VARCHAR", "<metric>.<choice>, as in scores."),
        ("title", "VARCHAR", "Short name for people."),
        ("description", "VARCHAR", "Definition."),
        ("unit", "VARCHAR", "Unit of the value."),
        (
            "higher_is_better",
            "BOOLEAN",
            "Direction; NULL if neither is better, or best_at says what is best.",
        ),
        ("best_at", "DOUBLE", "The best value, such as 1 for a ratio; NULL if there is none."),
        (
            "success",
            "VARCHAR",
            "'strict' if it says of each sample whether what is predicted happens, 'graded' if it "
            "says how much of it does; NULL if it does not say so.",
        ),
        (
            "compares_sets",
            "BOOLEAN",
            "True if values depend on the number of clips n, as distances between sets of clips "
            "do: only those of equal n are ranked together.",
        ),
        ("available", "BOOLEAN", "False if it cannot be computed yet."),
        ("reason", "VARCHAR", "Why it is not available."),
    ),
)

MATCHED_DISTANCES = Table(
    "matched_distances",
    "Frechet distances at equal N: one row per comparison, cell and convention.",
    (
        (
            "comparison",
            "VARCHAR",
            "What a model is compared with itself on: all that is tested in the dimension of this "
            "name, and the test on the training's dataset in the one that it changes from.",
        ),
        *KEY_COLUMNS,
        ("metric", "VARCHAR", "Metric: fvd."),
        ("convention", "VARCHAR", "Exact definition, <metric>.<choice>; see table conventions."),
        ("n", "BIGINT", "Clips of the smallest cell of the comparison; of all its values."),
        ("clips", "BIGINT", "Clips of this cell."),
        (
            "value",
            "DOUBLE",
            "Mean over drawings of n clips without replacement; that of scores where n is all.",
        ),
        ("sd", "DOUBLE", "Standard deviation over drawings; NULL where nothing was drawn."),
        ("repeats", "BIGINT", "Drawings; their seeds are 0, 1, ...; 0 where all clips are taken."),
        ("reason", "VARCHAR", "Why value is NULL."),
        ("scores_fingerprint", "VARCHAR", "Fingerprint of the score artefact; see artefacts."),
    ),
)

PAPER_COLUMNS = Table(
    "paper_columns",
    "Which convention stands in which column of the paper's tables.",
    (
        ("dimension", "VARCHAR", "Dimension of the evaluation: the table."),
        ("dataset", "VARCHAR", "Dataset of the test."),
        ("metric", "VARCHAR", "Column heading of the paper."),
        ("variable", "VARCHAR", "Variable of the column; NULL if it names none."),
        ("threshold", "DOUBLE", "Threshold of the column; NULL if it names none."),
        ("leads", "VARCHAR", "Its lead times, 44 or 1-7; NULL for all of them together."),
        ("statistic", "VARCHAR", "mean, or sd: the standard deviation over samples."),
        ("convention", "VARCHAR", "Exact definition, <metric>.<choice>, as in scores."),
    ),
)

_EVALUATION_COLUMNS = tuple(
    column for column in KEY_COLUMNS if column[0] not in ("model", "variant", "seed")
)
_CONVENTION_COLUMNS = (
    ("metric", "VARCHAR", "Metric: the part of the convention before the dot."),
    ("convention", "VARCHAR", "Exact definition, <metric>.<choice>; see table conventions."),
    ("variable", "VARCHAR", "Physical variable; NULL for all channels together."),
    ("level", "DOUBLE", "Pressure level in hPa; NULL if there is none."),
    ("threshold", "DOUBLE", "Threshold of an event metric; NULL if there is none."),
    _LEADS,
)
_ALIKE_COLUMNS = tuple(column for column in _SOURCE if column[0] in ALIKE)

RANKS = Table(
    "ranks",
    "Ranks, and how sure they are: one row per evaluation, model, variant and convention (all lead "
    "times together, or those that a column shows; mean over seeds). The confidence set of a rank "
    "comes from table comparisons: as many models as are significantly better stand before it, as "
    "many as are significantly worse behind it; all sets of an evaluation and convention hold at "
    "once (Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91, 476-518). The "
    "clips vary, the trained models do not: seeds are in view seed_variance.",
    (
        *_EVALUATION_COLUMNS,
        ("model", "VARCHAR", "Model."),
        ("variant", "VARCHAR", "Named variant of the model's options."),
        *_CONVENTION_COLUMNS,
        *_ALIKE_COLUMNS,
        (
            "rank",
            "BIGINT",
            "1 is best, ties share the smallest; NULL without a value or a direction.",
        ),
        ("rank_low", "BIGINT", "1 plus the number of models that are significantly better."),
        (
            "rank_high",
            "BIGINT",
            "Number of models less that of models that are significantly worse: with 95 % "
            "confidence all ranks are from rank_low to rank_high.",
        ),
        ("models", "BIGINT", "Models that are ranked together."),
        (
            "clusters",
            "BIGINT",
            "Independent clusters (videos, months) behind the tests, the fewest of them.",
        ),
        ("reason", "VARCHAR", "Why there is no rank, or else no confidence set."),
    ),
)

COMPARISONS = Table(
    "comparisons",
    "Which models can be told apart: one row per evaluation, convention and pair of models (each "
    "pair once, the first by name as model). A paired t test over clusters of clips, with the "
    "standard error of the cluster jackknife and Satterthwaite's degrees of freedom, and beside it "
    "a sign test; "
    "docs/statistics.md has the method, and how often it errs.",
    (
        *_EVALUATION_COLUMNS,
        ("model", "VARCHAR", "Model."),
        ("variant", "VARCHAR", "Named variant of the model's options."),
        ("other", "VARCHAR", "The model that it is compared with."),
        ("other_variant", "VARCHAR", "Its variant."),
        *_CONVENTION_COLUMNS,
        *_ALIKE_COLUMNS,
        (
            "difference",
            "DOUBLE",
            "Value of other minus value of model, of the clips that both have; means over seeds.",
        ),
        (
            "ci95_low",
            "DOUBLE",
            "Lower end of its 95 % interval, for this pair alone; NULL where all clusters have the "
            "same difference.",
        ),
        ("ci95_high", "DOUBLE", "Upper end of it."),
        (
            "p",
            "DOUBLE",
            "Two-sided p value of the t test of this pair alone; where all clusters have the same "
            "difference, that of the sign test.",
        ),
        (
            "p_corrected",
            "DOUBLE",
            "The same, by Holm (1979) over all pairs of this evaluation and convention.",
        ),
        (
            "p_sign",
            "DOUBLE",
            "Two-sided p value of the exact sign test over clusters, for this pair alone.",
        ),
        (
            "won",
            "DOUBLE",
            "Share of the clusters in which other is better than model, ties by half; NULL where "
            "neither is better.",
        ),
        (
            "skewed",
            "BOOLEAN",
            "Whether the differences of clusters are so skewed that the t test may be wrong: one "
            "of the two may fail rarely and badly.",
        ),
        (
            "better",
            "VARCHAR",
            "The model that is significantly better (p_corrected < 0.05 and p_sign < 0.05); NULL "
            "if neither is.",
        ),
        (
            "detectable",
            "DOUBLE",
            "The smallest difference that four of five such t tests find at the level that better "
            "asks for: 0.05 / pairs, that of Holm's first step.",
        ),
        ("clusters", "BIGINT", "Independent clusters (videos, months) behind the test."),
        ("n", "BIGINT", "Clips in these; where models have different ones, those of both."),
        ("reason", "VARCHAR", "Why there is no test."),
    ),
)

RUNTIME = Table(
    "runtime",
    "How long a predictor of people takes for one scenario: one row per cell and number of people. "
    "Measured where predictions were made, one scenario at a time, after a first time that does "
    "not count; it differs from run to run.",
    (
        *KEY_COLUMNS,
        *(column for column in _SOURCE if column[0] in ("source", "release", "protocol")),
        ("people", "BIGINT", "People in the scenario."),
        ("milliseconds", "DOUBLE", "Of one scenario, all people and lead times; median."),
        ("low", "DOUBLE", "Lower quartile."),
        ("high", "DOUBLE", "Upper quartile."),
        ("least", "DOUBLE", "The least of all: beside other jobs, the nearest to a quiet machine."),
        ("scenarios", "BIGINT", "Scenarios that were measured."),
        ("measurements", "BIGINT", "Measurements, of all of them together."),
        ("samples", "BIGINT", "Samples that are drawn of each prediction."),
        ("threads", "BIGINT", "CPU threads."),
        ("host", "VARCHAR", "Machine."),
        ("processor", "VARCHAR", "Its processor."),
        ("device", "VARCHAR", "cpu, or the name of a GPU that was at hand."),
        ("predictions_fingerprint", "VARCHAR", "Of the artefact that it was measured in."),
    ),
)

AGREEMENT_WITH_PEOPLE = Table(
    "agreement_with_people",
    "How often metrics agree with people on which of two videos is better: one row per scenario, "
    "metric and way to count, of the table that `stp preferences` made of answers about pairs "
    "(docs/human_study.md). Empty if nobody was asked.",
    (
        ("source", "VARCHAR", "Origin of the bytes that models were tested on; own for a file."),
        ("scale", "VARCHAR", "Scale of the store that models were chosen from; empty for a file."),
        ("protocol", "VARCHAR", "Protocol of their training and test."),
        ("comparable", "BOOLEAN", "Always false: models and raters of the paper were others."),
        ("study", "VARCHAR", "Checksum of the questionnaire."),
        (
            "scenario",
            "VARCHAR",
            "eq. FVD, spr. FVD, base200 +10, ... (printed); all bases +10.",
        ),
        ("kind", "VARCHAR", "equal, spread or gap: how models were chosen."),
        ("metric", "VARCHAR", "Heading of the paper's table; Among raters: of the first two."),
        ("convention", "VARCHAR", "Exact definition; empty for raters."),
        (
            "counting",
            "VARCHAR",
            "decided: answers that name a video; all: also those of no difference, as "
            "disagreement; majority: what two raters say of a pair of videos.",
        ),
        ("value", "DOUBLE", "Percent; NULL with a reason."),
        ("ci95_low", "DOUBLE", "Lower end of the 95 % interval, over pairs of models and raters."),
        ("ci95_high", "DOUBLE", "Upper end of it."),
        ("reason", "VARCHAR", "Why there is no value, or else no interval."),
        ("pairs", "BIGINT", "Pairs of models."),
        ("comparisons", "BIGINT", "Pairs of videos."),
        ("answers", "BIGINT", "Answers that count; of a majority, and among raters, comparisons."),
        ("raters", "BIGINT", "People who gave them."),
        ("ties", "BIGINT", "Pairs of videos between which the metric does not decide."),
        ("simulated", "BOOLEAN", "True if raters were programs."),
        ("published", "DOUBLE", "Percent, as printed; NULL if nothing is."),
    ),
)

PERSON_ERRORS = Table(
    "person_errors",
    "One row per cell of people, scenario, person, lead time and sample: the distance between "
    "predicted and true position. A view of the parquet files in the store, which must stay where "
    "they are; docs/person_errors.md has queries.",
    (
        *KEY_COLUMNS,
        ("scenario", "BIGINT", "Number of the scenario, from 0."),
        ("start_frame", "BIGINT", "Its first observed frame."),
        ("episode", "BIGINT", "Scenarios that overlap in time share one: a cluster."),
        ("person", "BIGINT", "Person, as the raw data number them."),
        ("lead", "BIGINT", "Lead time in steps, from 1."),
        ("lead_seconds", "DOUBLE", "The same in seconds."),
        ("sample", "BIGINT", "Sample of the prediction, from 0."),
        ("error", "DOUBLE", "Metres."),
    ),
)
"""The layout of a view, not of a table."""

PREDICTED_OPINIONS = Table(
    "predicted_opinions",
    "One row per cell of a measure of quality, split and test video: what the measure predicts and "
    "what people think. A view of the parquet files in the store, which must stay "
    "where they are; every number of the suite follows from it (docs/pvqa.md).",
    (
        *KEY_COLUMNS,
        ("video", "VARCHAR", "Name of the video."),
        ("split", "BIGINT", "Number of the split of the family that `subset` names, from 1."),
        ("predicted", "DOUBLE", "Points; mostly from 0 to 100."),
        ("observed", "DOUBLE", "Mean opinion score of the video, from 0 to 100."),
        ("source_dataset", "VARCHAR", "Dataset that the video is from."),
        ("tags", "VARCHAR", "What can be seen in it, words; NULL where it is not known."),
        ("family", "VARCHAR", "stochastic or deterministic; NULL where it is not known."),
        ("generator", "VARCHAR", "Model that made it; NULL where it is not known."),
        ("strength", "DOUBLE", "Of the damage, of generated videos; else NULL."),
        ("height", "BIGINT", "Pixels."),
        ("width", "BIGINT", "Pixels."),
    ),
)
"""The layout of a view, not of a table."""

OPINION_RATINGS = Table(
    "opinion_ratings",
    "One row per rating of a video, of prepared opinions that have single ratings. A view of the "
    "parquet files in the store, which must stay where they are.",
    (
        ("data_fingerprint", "VARCHAR", "Of the prepared data; as in cells."),
        ("rater", "VARCHAR", "Name of the rater."),
        ("session", "VARCHAR", "Of this rater."),
        ("video", "VARCHAR", "Name of the video."),
        ("rating", "DOUBLE", "From 0 to 100."),
        ("is_rejected", "BOOLEAN", "True if opinion scores are made without this rater."),
    ),
)
"""The layout of a view, not of a table."""

SAMPLE_SCORES_COMMENT = (
    "One row per cell, test sample and variable; one list of values over lead times per "
    "convention (its components, such as hits at a threshold, are columns of their own), NULL in "
    "rows of variables that it has no values of. A view of the parquet files in the store, which "
    "must stay where they are."
)
SAMPLE_COLUMNS = {
    **{name: comment for name, _, comment in KEY_COLUMNS},
    "sample": "Number of the test sample, from 0: row of predictions.zarr.",
    "clip": "Readable name of the clip, unique in the split.",
    "cluster": "What the sample depends on: video, trajectory, month; unit of intervals and tests.",
    "variable": "Physical variable; NULL for all channels together.",
}
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
