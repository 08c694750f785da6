"""Tables and columns of results.duckdb: SQL types, and the comments that explain them."""

from typing import NamedTuple


class Table(NamedTuple):
    """A table: name, comment, and columns as (name, SQL type, comment)."""

    name: str
    comment: str
    columns: tuple[tuple[str, str, str], ...]


KEY_COLUMNS = (
    ("suite", "VARCHAR", "Suite of experiments, named after its paper, e.g. predbench."),
    ("dimension", "VARCHAR", "Dimension of the evaluation, e.g. short_term or robustness."),
    ("model", "VARCHAR", "Model: module, configuration file and word in every path."),
    ("variant", "VARCHAR", "Named variant of the model's options."),
    ("trained_on", "VARCHAR", "Dataset of training (that of the test where nothing is trained)."),
    ("train_subset", "VARCHAR", "Part of the training dataset that was used: all, or a name."),
    ("tested_on", "VARCHAR", "Dataset of the test."),
    ("subset", "VARCHAR", "Part of the test dataset: test for its test split, or a name."),
    ("setting", "VARCHAR", "What else distinguishes the evaluation, e.g. horizon-30,interval-2."),
    ("seed", "BIGINT", "Seed of the training; NULL for deterministic models."),
)

_SOURCE = (
    ("source", "VARCHAR", "Origin of the raw bytes: official, sample or synthetic."),
    ("release", "VARCHAR", "Release of the dataset, as named in its configuration."),
    ("scale", "VARCHAR", "Scale of the run: configuration such as demo or paper."),
    ("protocol", "VARCHAR", "Protocol of training and test, e.g. paper or demo."),
    (
        "official_paper_protocol",
        "BOOLEAN",
        "True only if bytes and recipe are the paper's: comparable with published values.",
    ),
    ("leaky", "BOOLEAN", "True if test samples overlap with training data."),
)

SCORES = Table(
    "scores",
    "One row per cell, convention, variable, level, threshold, lead time and statistic.",
    (
        *KEY_COLUMNS,
        ("metric", "VARCHAR", "Metric: the part of the convention before the dot."),
        ("convention", "VARCHAR", "Exact definition, <metric>.<choice>; see table conventions."),
        ("variable", "VARCHAR", "Physical variable; NULL for all channels together."),
        ("level", "DOUBLE", "Pressure level in hPa; NULL if there is none."),
        ("lead", "BIGINT", "Lead time in steps, from 1; NULL for all leads together."),
        ("threshold", "DOUBLE", "Threshold of an event metric; NULL if there is none."),
        (
            "statistic",
            "VARCHAR",
            "mean over samples, or ci95_low, ci95_high: bootstrap over clusters.",
        ),
        ("value", "DOUBLE", "The value; NULL always has a reason."),
        ("n", "BIGINT", "Samples behind a mean; clusters behind an interval."),
        ("reason", "VARCHAR", "Why value is NULL."),
        *_SOURCE,
        ("scores_fingerprint", "VARCHAR", "Fingerprint of the score artefact; see artefacts."),
    ),
)

CELLS = Table(
    "cells",
    "One row per cell: what was evaluated, on which bytes, and from which artefacts.",
    (
        *KEY_COLUMNS,
        *_SOURCE,
        ("subset_note", "VARCHAR", "What is special about the subset; empty if nothing is."),
        ("data_fingerprint", "VARCHAR", "Fingerprint of the prepared data; see artefacts."),
        ("model_fingerprint", "VARCHAR", "Fingerprint of the trained model; NULL if none."),
        ("predictions_fingerprint", "VARCHAR", "Fingerprint of the predictions; see artefacts."),
        ("scores_fingerprint", "VARCHAR", "Fingerprint of the scores; see artefacts."),
        (
            "perceptual_fingerprint",
            "VARCHAR",
            "Fingerprint of the scores that look through networks; NULL if none.",
        ),
        ("data_folder", "VARCHAR", "Folder of the prepared data."),
        ("model_folder", "VARCHAR", "Folder of the trained model; NULL if none."),
        ("predictions_folder", "VARCHAR", "Folder of the predictions."),
        ("scores_folder", "VARCHAR", "Folder of the scores."),
        ("perceptual_folder", "VARCHAR", "Folder of the perceptual scores; NULL if none."),
    ),
)

ARTEFACTS = Table(
    "artefacts",
    "One row per artefact behind the cells, from its receipt: how it was made, where and when.",
    (
        ("stage", "VARCHAR", "Stage that made it: prepare, train, predict or score."),
        ("path", "VARCHAR", "Folder, relative to the store."),
        ("fingerprint", "VARCHAR", "Hash of code, recipe, seed and inputs."),
        ("code_fingerprint", "VARCHAR", "Hash of the meaning of the stage's code."),
        ("commit", "VARCHAR", "Commit of the checkout; ends in -dirty if files were changed."),
        ("recipe", "JSON", "Everything that was set for this piece of work."),
        ("inputs", "JSON", "Artefacts it was made from: name -> path in the store."),
        ("host", "VARCHAR", "Machine that made it."),
        ("device", "VARCHAR", "Processor or accelerator that made it."),
        ("started", "TIMESTAMP", "Start (UTC)."),
        ("finished", "TIMESTAMP", "End (UTC)."),
        ("seconds", "DOUBLE", "Duration in seconds."),
        ("python", "VARCHAR", "Version of Python."),
        ("packages", "JSON", "Versions of packages: name -> version."),
        ("bytes", "BIGINT", "Size of all its files."),
        ("files", "BIGINT", "Number of its files."),
    ),
)

PUBLISHED = Table(
    "published",
    "Values printed in the papers, to compare with; see config/published/README.md.",
    (
        ("model", "VARCHAR", "Our name of the model; NULL if the plan has none for it."),
        ("trained_on", "VARCHAR", "Our name of the training dataset; NULL if none."),
        ("dataset", "VARCHAR", "Our name of the test dataset; NULL if none."),
        ("dimension", "VARCHAR", "Dimension of the evaluation."),
        ("table", "VARCHAR", "Group of the paper's table."),
        ("setting", "VARCHAR", "What splits the table further: variable, interval; else empty."),
        ("metric", "VARCHAR", "Column heading of the paper."),
        ("value", "DOUBLE", "The number."),
        ("raw", "VARCHAR", "The number as printed."),
        ("note", "VARCHAR", "Why the number is doubtful; empty if it is not."),
        ("method", "VARCHAR", "Model as printed."),
        ("train_dataset", "VARCHAR", "Training dataset as printed."),
        ("test_dataset", "VARCHAR", "Test dataset as printed."),
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
        ("available", "BOOLEAN", "False if it cannot be computed yet."),
        ("reason", "VARCHAR", "Why it is not available."),
    ),
)

SAMPLE_SCORES_COMMENT = (
    "One row per cell, test sample and variable; one list of values over lead times per "
    "convention. A view of the parquet files in the store, which must stay where they are."
)
SAMPLE_COLUMNS = {
    **{name: comment for name, _, comment in KEY_COLUMNS},
    "sample": "Number of the test sample, from 0: row of predictions.zarr.",
    "clip": "Readable name of the clip, unique in the split.",
    "cluster": "What the sample depends on: video, trajectory, month; unit of the bootstrap.",
    "variable": "Physical variable; NULL for all channels together.",
}
