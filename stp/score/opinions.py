"""Scores of predicted opinions: agreement in each split, its median and standard deviation.

A sample is a split of the videos into training and test. Splits overlap and are not independent, so
intervals come from a bootstrap over videos: a resample draws as many videos as there are, with
replacement, and in each split the test videos count as often as they were drawn. Trained measures
stay unchanged: no test video enters a training run, and intervals do not account for the choice of
training videos.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stp.core.errors import ArtefactError, ConfigurationError
from stp.core.job import Extras, Job
from stp.metrics.agreement import Agreement
from stp.opinions import quality
from stp.opinions.prepared import open_database
from stp.options.score import CELL_KEYS, Bootstrap, ScoreOptions
from stp.score import conventions, tables
from stp.score.aggregate import Row
from stp.score.bootstrap import TAILS
from stp.score.jackknife import FEWEST_CLUSTERS

STATISTICS = ("median", "sd")
ENDS = ("ci95_low", "ci95_high")
NO_VALUE = "all predictions of a split are equal, or all opinions"
FACTS = ("dataset", "tags", "family", "generator", "strength", "height", "width")
"""Facts about a video that are written beside its opinions, to group videos by them: columns of
`stp.opinions.prepared.OPINION_COLUMNS`."""


def run(job: Job) -> Extras:
    """Write scores of predicted opinions, and the opinions of each video.

    The scores are in ``scores.parquet`` and ``sample_scores.parquet``. Sums over clusters are not
    written, because the values are not means. ``quality.parquet`` has a row for each test video of
    each split: predicted and observed opinion, facts about the video, and the model, dataset and
    setting of the scores.

    Args:
        job: the recipe is a `ScoreOptions`; inputs are ``data`` and ``predictions``.

    Returns:
        ``samples``, the number of splits; and ``values``, the median of each convention over splits
        by name of the convention, None where it is missing.

    Raises:
        StpError: the recipe is wrong, a convention is unknown, or an input is damaged.
    """
    options = ScoreOptions.from_recipe(job.recipe)
    table, reason = quality.read(job.inputs["predictions"])
    splits = sorted(pc.unique(table["split"]).to_pylist())
    parts = [table.filter(pc.equal(table["split"], split)) for split in splits]
    pairs = [(part["observed"].to_numpy(), part["predicted"].to_numpy()) for part in parts]
    drawn = _resample_counts(parts, options.bootstrap)
    rows: dict[str, list[Row]] = {}
    columns: dict[str, tables.BySample] = {}
    medians: dict[str, float | None] = {}
    for name, definition in options.conventions.items():
        metric = conventions.build(name, definition)
        if not isinstance(metric, Agreement):
            raise ConfigurationError(
                f"{name} compares frames, not opinions",
                expected="conventions of agreement, such as srocc.magnitude",
            )
        values = np.array([metric.value(*pair) for pair in pairs])
        rows[name] = _rows(values, reason)
        if rows[name][0].value is not None:
            rows[name] += interval(metric, pairs, drawn, len(pc.unique(table["video"])))
        columns[name] = {None: np.ma.masked_invalid(values)[:, None]}
        medians[name] = rows[name][0].value
    names = [f"split {split}" for split in splits]
    tables.write_scores(job.out / "scores.parquet", options.cell, rows)
    tables.write_samples(
        job.out / "sample_scores.parquet", options.cell, None, names, names, columns
    )
    videos = open_database(job.inputs["data"], 0).table
    _write_quality(job, options, table, videos)
    return {"samples": len(splits), "values": medians}


def _resample_counts(parts: list[pa.Table], options: Bootstrap) -> list[np.ndarray]:
    """Counts of each test video in each resample, an array (B, N) for each split."""
    if not parts:
        return []
    names = np.unique(np.concatenate([part["video"].to_numpy(False) for part in parts]))
    share = np.full(len(names), 1 / len(names))
    rng = np.random.default_rng(options.seed)
    counts = rng.multinomial(len(names), share, options.resamples)
    return [counts[:, np.searchsorted(names, part["video"].to_numpy(False))] for part in parts]


def interval(
    metric: Agreement,
    pairs: list[tuple[np.ndarray, np.ndarray]],
    drawn: list[np.ndarray],
    videos: int,
) -> list[Row]:
    """Compute the 95 % interval of the median of a metric's values over splits.

    A split divides the videos into training and test videos, and the metric has a value for the
    test videos of each split. The ends of the interval are percentiles, over resamples of the
    videos, of the median over splits. Absolute correlations need other ends (`magnitude_ends`),
    because errors of either sign increase a small absolute value, so that percentiles would be too
    high.

    Args:
        metric: the metric.
        pairs: observed and predicted opinions of the N test videos of each split, (N,) each.
        drawn: for each split, how often each of these videos is drawn in B resamples, (B, N).
        videos: number of different test videos of all splits.

    Returns:
        rows of the lower and the upper end; with a reason instead of a value if there are too few
        videos, or the metric is undefined in all resamples of all splits.
    """
    weighted = metric.weighted
    if videos < FEWEST_CLUSTERS:
        why = f"{videos} videos; an interval needs {FEWEST_CLUSTERS}"
        return [Row(None, end, None, videos, why) for end in ENDS]
    resampled = np.array(
        [weighted(*both, counts) for both, counts in zip(pairs, drawn, strict=True)]
    )
    # A small test may have no value in a resample; the median is then over the other splits.
    some = resampled[:, np.isfinite(resampled).any(axis=0)]
    if not some.size:
        why = "no resample of the videos has a value"
        return [Row(None, end, None, videos, why) for end in ENDS]
    if metric.signless:
        once = [np.ones((1, len(observed)), np.int64) for observed, _ in pairs]
        signed = [weighted(*pair, counts)[0] for pair, counts in zip(pairs, once, strict=True)]
        ends = magnitude_ends(np.array(signed), some)
    else:
        ends = np.quantile(np.nanmedian(some, axis=0), TAILS)
    return [Row(None, name, float(end), videos, None) for name, end in zip(ENDS, ends, strict=True)]


def magnitude_ends(values: np.ndarray, resampled: np.ndarray) -> np.ndarray:
    """Compute the 95 % interval of the median, over splits, of absolute correlations.

    The steps follow Fang and Santos (2019, Review of Economic Studies 86, 377-412). Let r(s) be the
    correlation in split s, and r(s, b) that of resample b of its test videos.

    1. The median of resample b is m(b) = median over s of sign(r(s)) * r(s, b), so that the sign of
       each split stays that of r(s).
    2. Let q(2.5 %) and q(97.5 %) be quantiles of m(b) over resamples. The lower end is max(0,
       q(2.5 %)), the upper end max(q(97.5 %), -q(2.5 %)).
    3. Let e(b) = median over s of |r(s, b) - r(s)|. If median over s of |r(s)| is at most the 95 %
       quantile of e(b) over resamples, 0 cannot be excluded: the lower end is 0.

    Args:
        values: signed correlations r(s) of S splits, (S,).
        resampled: signed correlations r(s, b) in B resamples, (S, B). NaN where the drawn test
            videos of a split have equal predictions or equal opinions, or none is drawn. Medians
            are then over the other splits; each resample has a number in at least one split.

    Returns:
        lower and upper end, from 0 to 1, float64 (2,).
    """
    # Errors of either sign increase a small absolute value: at its kink at 0, the plain bootstrap
    # is invalid, and directional derivatives take its place.
    # Percentiles of resampled absolute values would be too high near 0, could exclude the value,
    # and never include 0. The median of signed correlations is unsuitable, too: a measure that is
    # unrelated to opinions may get either sign in training, and a median over both is near 0. For
    # one split, the result is nearly the interval of the signed correlation, folded at 0. If no
    # resample changes a relevant sign, the ends are percentiles of absolute values.
    kept = np.where(values < 0, -1.0, 1.0)[:, None] * resampled
    low, high = np.quantile(np.nanmedian(kept, axis=0), TAILS)
    errors = np.nanmedian(np.abs(resampled - values[:, None]), axis=0)
    may_be_none = np.median(np.abs(values)) <= np.quantile(errors, TAILS[1] - TAILS[0])
    return np.array([0.0 if may_be_none else max(low, 0.0), max(high, -low)])


def _rows(values: np.ndarray, reason: str) -> list[Row]:
    """Make rows of the median over splits, and of the standard deviation (ddof 0, as published).

    Both are missing if a split has no value, as a correlation with constant predictions.
    """
    why = reason or ("" if len(values) and np.isfinite(values).all() else NO_VALUE)
    both = (None, None) if why else (float(np.median(values)), float(values.std()))
    return [
        Row(None, statistic, value, len(values), why or None)
        for statistic, value in zip(STATISTICS, both, strict=True)
    ]


def _write_quality(job: Job, options: ScoreOptions, table: pa.Table, videos: pa.Table) -> None:
    row_of = {name: number for number, name in enumerate(videos["video"].to_pylist())}
    lost = sorted(set(table["video"].to_pylist()) - set(row_of))
    if lost:
        raise ArtefactError(
            job.inputs["predictions"],
            f"{lost[0]} is not a video of the prepared data",
            expected=f"some of its {len(row_of)} videos",
        )
    # Typed, since a measure without values has no rows.
    rows = videos.take(pa.array([row_of[name] for name in table["video"].to_pylist()], pa.int64()))
    kinds = {key: pa.int64() if key == "seed" else pa.string() for key in CELL_KEYS}
    columns = {
        **{
            key: pa.repeat(pa.scalar(options.cell[key], kinds[key]), len(table))
            for key in CELL_KEYS
        },
        **{name: table[name] for name in table.column_names},
        **{"source_dataset" if name == "dataset" else name: rows[name] for name in FACTS},
    }
    pq.write_table(
        pa.table(columns), job.out / quality.QUALITY, compression="zstd", write_page_checksum=True
    )
