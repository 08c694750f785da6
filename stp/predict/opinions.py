"""Predict opinions about videos by a measure of quality, in all splits of a family.

A family of splits is one way to divide the videos into training and test, such as ``random``.
"""

import json
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.core.errors import StpError
from stp.core.job import Extras, Job
from stp.data.raw_files import RawFiles
from stp.opinions import logistic, network_features, regression
from stp.opinions.measures import Unavailable
from stp.opinions.measures.own_values import read as read_own
from stp.opinions.prepared import FAMILIES, Database, open_database
from stp.opinions.quality import QUALITY, QUALITY_COLUMNS
from stp.opinions.splits import share_of_training
from stp.options.quality import FITTED, QualityOptions


def run(job: Job) -> Extras:
    """Predict people's opinions of videos by a measure of quality, in all splits of a family.

    ``quality.parquet`` then has video, split, predicted and observed opinion.

    Args:
        job: the job. Its inputs are ``data`` and, depending on the measure, ``features`` and
            ``archive``. Its recipe has:

            - ``model``: name of the measure of quality;
            - ``source``: name of the module of stp.opinions.measures; by default, ``model``;
            - ``context``: number of observed frames of a video;
            - ``split``: the family of splits, such as ``random``;
            - ``predict``: the regression from values of the measure to opinions
              (`QualityOptions`);
            - ``components``: maximum number of principal components of these values in the
              regression; by default, that of ``predict``;
            - ``training``: percentage of the training videos that is used; by default, 100.

    Returns:
        facts for the receipt: numbers of videos, splits and features, and seconds per video if the
        measure is computed here; or the reason why nothing is predicted.

    Raises:
        StpError: a bad recipe or damaged inputs.
    """
    recipe = job.recipe
    options = QualityOptions.from_recipe(recipe["predict"])
    database = open_database(job.inputs["data"], recipe["context"])
    numbers, splits = database.splits(recipe["split"])
    began = time.perf_counter()
    values = (
        _values(job, database, options)
        if len(numbers)
        else Unavailable(f"no splits {recipe['split']!r}: {FAMILIES[recipe['split']]}")
    )
    if isinstance(values, Unavailable):
        _write(job.out, [], values.reason)
        counts = {"videos": len(database), "splits": len(numbers), "features": 0}
        return {**counts, "reason": values.reason}
    spent = (time.perf_counter() - began) / len(database)
    regression.check_features(values, database.names, recipe["model"])
    if options.regression in FITTED and values.shape[1] != 1:
        raise StpError(
            f"{recipe['model']}: a logistic function of {values.shape[1]} values",
            expected="one value of each video",
            remedy="choose another regression for this measure",
        )
    percent = recipe.get("training", 100)
    count = recipe.get("components", options.components)
    gram = regression.products(values)
    rows = []
    for done, (number, is_test) in enumerate(zip(numbers, splits, strict=True), start=1):
        test = np.flatnonzero(is_test)
        training = share_of_training(is_test, percent, options.seed)
        if len(training) < 2 * regression.FOLDS or not len(test):
            raise StpError(
                f"{recipe['split']}, split {number}: {len(training)} training and {len(test)} "
                "test videos",
                expected=f"at least {2 * regression.FOLDS} training videos and 1 test video",
                remedy="use a larger share of the training, or another family of splits",
            )
        predicted = _predict(options, values, gram, database.mos, training, test, count)
        rows.append((number, test, predicted))
        job.report("splits predicted", done, len(numbers))
    names = np.array(database.names)
    _write(
        job.out,
        [
            pa.table(
                {
                    "video": names[test],
                    "split": np.full(len(test), number),
                    "predicted": predicted,
                    "observed": database.mos[test],
                }
            ).cast(QUALITY_COLUMNS)
            for number, test, predicted in rows
        ],
        "",
    )
    counts = {"videos": len(database), "splits": len(numbers), "features": values.shape[1]}
    if {"features", "archive"} & set(job.inputs):  # computed before
        return counts
    return {**counts, "seconds_per_video": float(f"{spent:.3g}")}


def _values(job: Job, database: Database, options: QualityOptions) -> np.ndarray | Unavailable:
    recipe = job.recipe
    if "archive" in job.inputs:
        raw = RawFiles(job.inputs["archive"], job.runtime["raw_roots"])
        (name,) = raw.names
        return read_own(raw.find(name), database)
    measure = recipe.get("source", recipe["model"])
    module = import_module(f"stp.opinions.measures.{measure}")
    folder = job.inputs.get("features")
    features = (
        None if folder is None else network_features.read(folder, database.names, options.parts)
    )
    values: np.ndarray | Unavailable = module.values(database, features)
    return values


def _predict(
    options: QualityOptions,
    values: np.ndarray,
    gram: np.ndarray,
    observed: np.ndarray,
    training: np.ndarray,
    test: np.ndarray,
    count: int,
) -> np.ndarray:
    """Predicted opinions of the test videos."""
    if options.regression in FITTED:
        fitted = test if options.regression == "logistic_on_test" else training
        parameters = logistic.fit(values[fitted, 0], observed[fitted])
        return logistic.apply(parameters, values[test, 0])
    opinions = observed[training]
    return regression.predict(options.regression, gram, training, opinions, test, count)


def _write(folder: Path, tables: list[pa.Table], reason: str) -> None:
    table = pa.concat_tables([QUALITY_COLUMNS.empty_table(), *tables])
    about = {"about": json.dumps({"reason": reason})}
    pq.write_table(
        table.replace_schema_metadata(about),
        folder / QUALITY,
        compression="zstd",
        write_page_checksum=True,
    )
