"""Score predicted opinions: agreement in each split, its median and deviation over splits.

A sample is a split. Splits overlap, so they are no independent sample, and no interval is made of
them. Intervals are of a bootstrap over videos: a resample draws as many videos as there are, and
takes each split as it is, with the videos of its test as often as they were drawn. What was learnt
stays as it is: no video of a test gets into its training, and no interval says what other training
videos would change.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stp.core.errors import ArtefactError, StpError
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
"""Columns of `stp.opinions.prepared.OPINION_COLUMNS` that groups of videos are made from."""


def run(job: Job) -> Extras:
    """Write scores, and ``quality.parquet`` with the keys of the cell and facts of each video.

    Scores are ``scores.parquet`` and ``sample_scores.parquet``; values are no means over clusters.

    Args:
        job: the recipe is a `ScoreOptions`; inputs are ``data`` and ``predictions``.

    Returns:
        Numbers of splits, and the median of each convention.

    Raises:
        StpError: a bad recipe, an unknown convention or damaged inputs.
    """
    options = ScoreOptions.from_recipe(job.recipe)
    table, reason = quality.read(job.inputs["predictions"])
    splits = sorted(pc.unique(table["split"]).to_pylist())
    parts = [table.filter(pc.equal(table["split"], split)) for split in splits]
    pairs = [(part["observed"].to_numpy(), part["predicted"].to_numpy()) for part in parts]
    drawn = _drawn(parts, options.bootstrap)
    rows: dict[str, list[Row]] = {}
    columns: dict[str, tables.BySample] = {}
    medians: dict[str, float | None] = {}
    for name, definition in options.conventions.items():
        metric = conventions.build(name, definition)
        if not isinstance(metric, Agreement):
            raise StpError(
                f"{name} compares frames, not opinions",
                expected="conventions of agreement, such as srocc.magnitude",
                remedy="correct the columns of the suite",
            )
        values = np.array([metric.value(*pair) for pair in pairs])
        rows[name] = _rows(values, reason)
        if rows[name][0].value is not None:
            rows[name] += interval(metric, pairs, drawn, len(pc.unique(table["video"])))
        columns[name] = {None: np.ma.masked_invalid(values)[:, None]}
        medians[name] = rows[name][0].value
    named = [f"split {split}" for split in splits]
    tables.write_scores(job.out / "scores.parquet", options.cell, rows)
    tables.write_samples(
        job.out / "sample_scores.parquet", options.cell, None, named, named, columns
    )
    videos = open_database(job.inputs["data"], 0).table
    _write_quality(job, options, table, videos)
    return {"samples": len(splits), "values": medians}


def _drawn(parts: list[pa.Table], options: Bootstrap) -> list[np.ndarray]:
    """How often each test video of each split is in each resample, (B, N) for a split."""
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
    """Ends of the 95 % interval of the median over splits.

    They are percentiles over resamples; of sizes of correlations, those of `magnitude_ends`.

    Args:
        metric: it has a value in each split.
        pairs: observed and predicted opinions of the N test videos of each split, (N,) each.
        drawn: how often resamples have each of these videos, (B, N) for a split.
        videos: number of videos of all tests.

    Returns:
        rows of both ends; without a value, for a reason, if there are too few videos or no resample
        has a value.
    """
    weighted = metric.weighted
    if videos < FEWEST_CLUSTERS:
        why = f"{videos} videos; an interval needs {FEWEST_CLUSTERS}"
        return [Row(None, end, None, videos, why) for end in ENDS]
    found = np.array([weighted(*pair, counts) for pair, counts in zip(pairs, drawn, strict=True)])
    # A small test may have no value in a resample; the median is then over the other splits.
    some = found[:, np.isfinite(found).any(axis=0)]
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


def magnitude_ends(values: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Ends of the 95 % interval of the median over splits of sizes of correlations.

    A size has a kink at 0, where no bootstrap of it holds (Fang and Santos 2019, Review of Economic
    Studies 86, 377-412): errors of either sign make a small size larger. Percentiles of the sizes
    of resamples lie too high there, may exclude the value, and never hold 0. As in their remedy,
    errors of resamples count by the derivative of a size, which differs away from 0 and at 0:

    - Away from 0, each split keeps the sign that it has with all videos. The interval consists of
      percentiles of the medians of such resamples, folded at 0.
    - At 0, it is the size of an error, resample less value. If the value is at most the 95 %
      quantile of median sizes of errors, there may be no correlation, and the lower end is 0.

    Of one split, this is nearly the interval of the signed correlation, folded at 0. Of several,
    the median of signed correlations would not do. The training turns a measure that is unrelated
    to opinions now this way, now that way, and real correlations of both signs would have a median
    near 0. Where resamples change no sign that matters, ends are percentiles of sizes.

    Args:
        values: correlations of S splits, with their signs, (S,).
        found: the same of B resamples, (S, B); NaN where a test has none, but not in all splits.

    Returns:
        lower and upper end, from 0 to 1, float64 (2,).
    """
    kept = np.where(values < 0, -1.0, 1.0)[:, None] * found
    low, high = np.quantile(np.nanmedian(kept, axis=0), TAILS)
    errors = np.nanmedian(np.abs(found - values[:, None]), axis=0)
    may_be_none = np.median(np.abs(values)) <= np.quantile(errors, TAILS[1] - TAILS[0])
    return np.array([0.0 if may_be_none else max(low, 0.0), max(high, -low)])


def _rows(values: np.ndarray, reason: str) -> list[Row]:
    """The median over splits, and the standard deviation (ddof 0), as the published code has it.

    A split without a value, such as a correlation of equal predictions, leaves both without.
    """
    why = reason or ("" if len(values) and np.isfinite(values).all() else NO_VALUE)
    found = (None, None) if why else (float(np.median(values)), float(values.std()))
    return [
        Row(None, statistic, value, len(values), why or None)
        for statistic, value in zip(STATISTICS, found, strict=True)
    ]


def _write_quality(job: Job, options: ScoreOptions, table: pa.Table, videos: pa.Table) -> None:
    place = {name: number for number, name in enumerate(videos["video"].to_pylist())}
    lost = sorted(set(table["video"].to_pylist()) - set(place))
    if lost:
        raise ArtefactError(
            job.inputs["predictions"],
            f"{lost[0]} is no video of the prepared data",
            expected=f"some of its {len(place)} videos",
        )
    # Typed, since there may be none: a measure without values.
    rows = videos.take(pa.array([place[name] for name in table["video"].to_pylist()], pa.int64()))
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
