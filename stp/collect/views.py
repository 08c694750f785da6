"""Views of results.duckdb for everyday questions, over the tables in schema.py.

A view consists of SQL, a comment, and comments of its columns; columns of tables keep the table's
comments. Floating-point numbers are added in a fixed order (ORDER BY within the aggregate), and
`any_value` is not used, so that results do not depend on the number of threads.
"""

from collections.abc import Iterable
from typing import NamedTuple

from stp.collect import schema
from stp.collect.published import OWN
from stp.collect.schema import EVALUATION
from stp.collect.table import SETTING_KEYS, comments_of
from stp.options.score import CELL_KEYS
from stp.plan.data_origin import BYTES_TEXT


class View(NamedTuple):
    """A view: name, comment, SQL query, and comments of columns that no table has."""

    name: str
    comment: str
    sql: str
    columns: dict[str, str]


_KEYS = ", ".join(CELL_KEYS)
_CASE = ", ".join(EVALUATION)
_PART = "convention, variable, level, threshold"
_PLACE = f"{_PART}, leads"
_ALIKE = ", ".join(schema.ALIKE)
Z95 = 1.96
"""Number of standard errors between a mean and either end of its 95 % interval."""
_STATED = comments_of(schema.Stated)


EVERY_SCORE = f"""
SELECT
    {", ".join(f"c.{name}" for name in CELL_KEYS)},
    k.metric, k.convention, k.variable, k.level, k.lead, k.threshold, k.leads, k.statistic,
    s.value, s.n, s.reason,
    {", ".join(f"c.{name}" for name in schema.ABOUT)}, s.scores_fingerprint
FROM score_rows s JOIN cells c ON c.number = s.cell JOIN score_kinds k ON k.number = s.kind"""
"""All rows, including lead times that are only in columns of tables."""


def _mean_rows_sql(scores: str, where: str, more: str) -> str:
    """Make the SQL query with a row for each mean, including the ends of its interval."""
    return f"""
SELECT
    {_KEYS}, metric, {_PART}, {more},
    max(value) FILTER (WHERE statistic IN ('mean', 'median')) AS value,
    max(value) FILTER (WHERE statistic = 'ci95_low') AS ci95_low,
    max(value) FILTER (WHERE statistic = 'ci95_high') AS ci95_high,
    max(n) FILTER (WHERE statistic IN ('mean', 'median')) AS n,
    max(n) FILTER (WHERE statistic = 'ci95_low') AS clusters,
    coalesce(
        max(reason) FILTER (WHERE statistic IN ('mean', 'median')), max(reason)
    ) AS reason,
    {", ".join(schema.ABOUT)}, scores_fingerprint
FROM {scores}
WHERE lead IS {where}
GROUP BY ALL
HAVING bool_or(statistic IN ('mean', 'median'))"""


SCORES = View(
    "scores",
    "One row per cell, convention, variable, level, threshold, lead time and statistic.",
    f"{EVERY_SCORE.replace('k.leads, ', '')}\nWHERE k.leads IS NULL",
    {
        name: comment
        for table in (schema.SCORE_KINDS, schema.SCORE_ROWS)
        for name, comment in table.comments.items()
        if name not in ("number", "cell", "kind", "leads")
    },
)

OVERALL = View(
    "overall",
    "One row per cell, convention, variable, level and threshold, for all lead times together "
    "(leads is NULL) and for those that columns of tables show.",
    _mean_rows_sql(f"({EVERY_SCORE})", "NULL", "leads"),
    _STATED,
)

BY_LEAD = View(
    "by_lead",
    "One row per cell, convention, variable, level, threshold and lead time.",
    _mean_rows_sql("scores", "NOT NULL", "lead"),
    _STATED,
)

_SAME_PLACE = " AND ".join(
    f"k.{name} IS NOT DISTINCT FROM r.{name}"
    for name in (
        *(*EVALUATION, *schema.ALIKE, "model", "variant"),
        *("convention", "variable", "level", "threshold", "leads"),
    )
)

LEADERBOARD = View(
    "leaderboard",
    "One row per model, evaluation and convention: the mean over seeds, and the rank (from table "
    "ranks) among the models that were evaluated in the same way (same files and scale, all or "
    "none on a leaky split, best of the same number of forecasts, distances between sets of the "
    "same number of clips).",
    f"""
WITH runs AS (
    SELECT
        {_CASE}, model, variant, metric, {_PLACE}, {_ALIKE},
        CASE WHEN count(value) = count(*) THEN avg(value ORDER BY seed) END AS value,
        CASE WHEN count(value) = count(*) THEN stddev_samp(value ORDER BY seed) END AS seed_sd,
        count(seed) AS seeds, min(n) AS n, min(reason) AS reason,
        bool_and(official_paper_protocol) AS official_paper_protocol,
        bool_and(comparable) AS comparable
    FROM overall
    GROUP BY ALL
)
SELECT
    r.*, k.rank, coalesce(max(k.models) OVER (alike), 0) AS ranked,
    CASE WHEN k.rank IS NOT NULL THEN first_value(r.model) OVER (
        alike ORDER BY k.rank NULLS LAST, r.model
    ) END AS best_model,
    CASE WHEN k.rank IS NOT NULL THEN first_value(r.value) OVER (
        alike ORDER BY k.rank NULLS LAST, r.model
    ) END AS best_value
FROM runs r
LEFT JOIN ranks k ON {_SAME_PLACE}
LEFT JOIN conventions c ON c.convention = r.convention
WINDOW alike AS (
    PARTITION BY {", ".join(f"r.{name}" for name in (*EVALUATION, *schema.ALIKE))},
        r.convention, r.variable, r.level, r.threshold, r.leads,
        CASE WHEN c.compares_sets THEN r.n END
)""",
    {
        **_STATED,
        "value": "Mean over seeds; NULL if a seed has no value.",
        "seed_sd": "Standard deviation over seeds; NULL for fewer than two.",
        "seeds": "Number of trainings with a seed; 0 for deterministic models.",
        "rank": "Rank, 1 is best; ties share the smallest rank. NULL without a value or a "
        "direction.",
        "ranked": "Number of models with a rank.",
        "best_model": "Model at rank 1; the first by name if there are several.",
        "best_value": "Value of the best model.",
    },
)

SEED_VARIANCE = View(
    "seed_variance",
    "Variation of a value between seeds, beside its variation with the choice of test clips: one "
    "row per evaluation, model and convention.",
    f"""
WITH runs AS (
    SELECT
        {_CASE}, model, variant, metric, {_PLACE}, {_ALIKE},
        count(DISTINCT seed) AS seeds,
        avg(value ORDER BY seed) AS mean, stddev_samp(value ORDER BY seed) AS sd,
        min(value) AS min, max(value) AS max,
        CASE WHEN count(ci95_low) = count(*) THEN avg(ci95_high - ci95_low ORDER BY seed) END
            AS interval_width
    FROM overall
    WHERE value IS NOT NULL
    GROUP BY ALL
)
SELECT
    * EXCLUDE (sd, interval_width),
    CASE WHEN seeds > 1 THEN sd END AS sd,
    CASE WHEN seeds > 1 THEN sd / nullif(abs(mean), 0) END AS coefficient_of_variation,
    interval_width,
    CASE WHEN seeds > 1 THEN sd / nullif(interval_width, 0) END AS sd_per_width,
    CASE WHEN seeds > 1 THEN sd ** 2 / nullif(sd ** 2 + (interval_width / {2 * Z95}) ** 2, 0) END
        AS seed_share
FROM runs""",
    {
        "seeds": "Number of trainings with a seed and a value; 0 for deterministic models.",
        "mean": "Mean over seeds.",
        "sd": "Standard deviation over seeds; NULL with fewer than two.",
        "min": "Smallest value of a seed.",
        "max": "Largest value of a seed.",
        "coefficient_of_variation": "sd / |mean|; NULL with fewer than two seeds.",
        "interval_width": "Width of the 95 % interval over clusters of clips, mean over seeds; "
        "NULL if a seed has no interval.",
        "sd_per_width": "sd / interval_width: variation between seeds relative to that with clips.",
        "seed_share": "Share of the seed in the variance of a single run's value: "
        "sd^2 / (sd^2 + se^2), with se = interval_width / 3.92 (normal distribution), from 0 "
        "(clips alone) to 1 (seeds alone); NULL with fewer than two seeds or without an interval.",
    },
)

_RUNS = f"{_CASE}, model, variant"
_KEYS_OF_O = ", ".join(f"o.{key}" for key in CELL_KEYS)
_BYTES = f"{BYTES_TEXT} || ', ' || protocol || ' protocol'"


def _deltas(keys: Iterable[str]) -> str:
    """Make the SQL query of the view `DELTAS`.

    Args:
        keys: keys of settings; they are columns of the tables settings and published.
    """

    def stated(table: str, key: str) -> str:
        """SQL expression for a setting's key, with the dataset's default in place of NULL."""
        return f"coalesce({table}.{key}, d.{OWN[key]})" if key in OWN else f'{table}."{key}"'

    columns = [f'"{key}"' for key in keys]
    alike = "\n        AND ".join(
        f"{stated('p', key)} IS NOT DISTINCT FROM {stated('k', key)}" for key in keys
    )
    return f"""
WITH whose AS (
    SELECT
        {_RUNS}, min(tested) AS tested, bool_and(comparable) AS comparable,
        -- The weakest evidence: of checksums, counts and stated, the last in the alphabet.
        max(bytes_known_by) AS bytes_known_by,
        string_agg(DISTINCT {_BYTES}, '; ' ORDER BY {_BYTES}) AS bytes
    FROM cells
    GROUP BY ALL
),
shown AS (
    -- One row for all lead times: that of the column's variable and threshold, that of all
    -- variables and thresholds together, or the only one.
    SELECT
        o.* EXCLUDE (metric, variable, threshold), c.metric, c.variable, c.threshold,
        count(*) OVER (
            PARTITION BY {_KEYS_OF_O}, o.convention, c.metric, c.variable, c.leads
        ) AS alike
    FROM overall o
    JOIN paper_columns c
        ON c.dimension = o.dimension AND c.dataset = o.tested_on AND c.convention = o.convention
        AND (c.variable IS NULL OR c.variable = o.variable)
        AND (c.threshold IS NULL OR c.threshold = o.threshold)
        AND c.leads IS NOT DISTINCT FROM o.leads AND c.statistic IN ('mean', 'median')
    QUALIFY alike = 1 OR (
        o.level IS NULL
        AND o.threshold IS NOT DISTINCT FROM c.threshold
        AND o.variable IS NOT DISTINCT FROM c.variable
    )
),
ours AS (
    -- Mean over seeds; without a value if a seed has none.
    SELECT
        {_RUNS}, metric, variable, threshold, leads, min(convention) AS convention, min(n) AS n,
        CASE WHEN count(value) = count(*) THEN avg(value ORDER BY seed) END AS value
    FROM shown
    GROUP BY ALL
    HAVING count(value) = count(*)
),
printed AS (
    -- Where several numbers are printed for the same key, none is shown.
    SELECT
        dimension, model, variants, trained_on, tested_on, subset, {", ".join(columns)}, variable,
        threshold, leads, metric, min(value) AS published, nullif(min(note), '') AS remark
    FROM published
    GROUP BY ALL HAVING count(*) = 1
)
SELECT
    {", ".join(f"o.{name}" for name in (*EVALUATION, "model", "variant"))}, w.tested,
    concat_ws(' ', o.variable, o.metric) AS metric, o.convention, o.variable, o.threshold,
    o.leads, o.value, p.published,
    CASE WHEN w.comparable AND p.remark IS NULL THEN o.value - p.published END AS difference,
    CASE WHEN NOT w.comparable THEN 'not comparable: ' || w.bytes ELSE p.remark END AS why_none,
    o.n, w.bytes, w.bytes_known_by
FROM ours o
JOIN whose w USING ({_RUNS})
JOIN settings k USING (setting)
LEFT JOIN datasets d ON d.dataset = o.tested_on
JOIN printed p
    ON p.dimension = o.dimension AND p.model = o.model AND list_contains(p.variants, o.variant)
        AND p.trained_on = o.trained_on AND p.tested_on = o.tested_on AND p.subset = o.subset
        AND p.metric = o.metric
        AND p.variable IS NOT DISTINCT FROM o.variable
        AND p.threshold IS NOT DISTINCT FROM o.threshold
        AND p.leads IS NOT DISTINCT FROM o.leads
        AND {alike}"""


DELTAS = View(
    "deltas",
    "Our values beside the printed ones, for every entry of a paper's tables that has both: the "
    "same model, training, test and setting. A key of the setting that the paper does not state "
    "has the dataset's own value.",
    _deltas(SETTING_KEYS),
    {
        "tested": "Readable name of what was tested.",
        "metric": "Column heading of the paper, after the variable if the column names one.",
        "variable": "Variable of the column; NULL if it names none.",
        "threshold": "Threshold of the column; NULL if it names none.",
        "leads": "Lead times of the column; NULL if it names none.",
        "value": "Our value, mean over seeds.",
        "published": "Printed value.",
        "difference": "Our value minus the printed one; NULL unless our value is comparable (see "
        "cells.comparable) and the printed value has no note.",
        "why_none": "Why there is no difference.",
        "n": "Number of test samples of our value.",
        "bytes": "Origin of the files, and protocol.",
        "bytes_known_by": schema.CELLS.comments["bytes_known_by"],
    },
)


def with_keys(keys: Iterable[str]) -> tuple[View, ...]:
    """Make the views `VIEWS` for a store whose settings have certain keys.

    The view of differences from published values compares settings key by key.

    Args:
        keys: names of the keys, such as ``horizon`` and ``interval``.
    """
    deltas = DELTAS._replace(sql=_deltas(tuple(keys)))
    return tuple(deltas if view is DELTAS else view for view in VIEWS)


COVERAGE = View(
    "coverage",
    "One row per planned model and evaluation: numbers of scored and missing cells, origin of the "
    "data, and conventions without a value.",
    f"""
WITH valued AS (
    SELECT
        {_CASE}, model, variant,
        count(DISTINCT convention) FILTER (WHERE value IS NOT NULL) AS conventions,
        list(DISTINCT convention ORDER BY convention) FILTER (WHERE value IS NULL) AS without_value
    FROM overall
    GROUP BY ALL
),
planned AS (
    SELECT
        {_CASE}, model, variant, seed, source, scale, protocol, official_paper_protocol,
        comparable, true AS scored, NULL AS why
    FROM cells
    UNION ALL
    SELECT
        {_CASE}, model, variant, seed, source, scale, protocol, official_paper_protocol,
        comparable, false, stage || ': ' || how
    FROM missing
)
SELECT
    c.* EXCLUDE (why_missing), coalesce(v.conventions, 0) AS conventions,
    coalesce(v.without_value, []) AS without_value, coalesce(c.why_missing, []) AS why_missing
FROM (
    SELECT
        {_CASE}, model, variant,
        count(*) FILTER (WHERE scored) AS cells,
        count(*) FILTER (WHERE NOT scored) AS missing,
        count(seed) FILTER (WHERE scored) AS seeds,
        min(source) AS source, min(scale) AS scale, min(protocol) AS protocol,
        bool_and(official_paper_protocol) AS official_paper_protocol,
        bool_and(comparable) AS comparable,
        list(DISTINCT why ORDER BY why) FILTER (WHERE NOT scored) AS why_missing
    FROM planned
    GROUP BY ALL
) c
LEFT JOIN valued v USING ({_CASE}, model, variant)""",
    {
        "cells": "Number of scored cells: one for each seed, or one.",
        "missing": "Number of planned cells without scores; see table missing.",
        "seeds": "Number of trainings with a seed; 0 for deterministic models.",
        "conventions": "Number of conventions with a value.",
        "without_value": "Conventions without a value; `overall` has the reasons.",
        "why_missing": "Where and why the missing cells stopped.",
    },
)

COST = View(
    "cost",
    "One row per cell: seconds of each stage, and the machines. Training is the sum over all of "
    "its trained models, network features that over all of its clips. Several cells share data, "
    "trained models and features of observed clips, so do not add seconds over cells: the table "
    "artefacts has each piece of work once.",
    f"""
WITH trained AS (
    SELECT
        m.number, sum(a.seconds ORDER BY a.path) AS seconds, sum(a.bytes) AS bytes,
        string_agg(DISTINCT a.device, ', ' ORDER BY a.device) AS device,
        string_agg(DISTINCT a.host, ', ' ORDER BY a.host) AS host
    FROM (SELECT number, unnest(model_folders) AS folder FROM cells) m
    JOIN artefacts a
        ON a.fingerprint = split_part(m.folder, '/', -1) AND ends_with(m.folder, '/' || a.path)
    GROUP BY m.number
),
seen AS (
    SELECT f.number, sum(a.seconds ORDER BY a.path) AS seconds
    FROM (SELECT number, unnest(feature_folders) AS folder FROM cells) f
    JOIN artefacts a
        ON a.fingerprint = split_part(f.folder, '/', -1) AND ends_with(f.folder, '/' || a.path)
    GROUP BY f.number
)
SELECT
    {", ".join(f"c.{key}" for key in CELL_KEYS)},
    d.seconds AS prepare_seconds, t.seconds AS train_seconds, p.seconds AS predict_seconds,
    f.seconds AS features_seconds, s.seconds AS score_seconds, v.seconds AS perceptual_seconds,
    t.device AS train_device, t.host AS train_host,
    p.device AS predict_device, p.host AS predict_host,
    coalesce(t.bytes, 0)::BIGINT AS model_bytes, coalesce(p.bytes, 0) AS predictions_bytes
FROM cells c
LEFT JOIN artefacts d
    ON d.fingerprint = c.data_fingerprint AND ends_with(c.data_folder, '/' || d.path)
LEFT JOIN trained t USING (number)
LEFT JOIN seen f USING (number)
LEFT JOIN artefacts p
    ON p.fingerprint = c.predictions_fingerprint AND ends_with(c.predictions_folder, '/' || p.path)
LEFT JOIN artefacts s
    ON s.fingerprint = c.scores_fingerprint AND ends_with(c.scores_folder, '/' || s.path)
LEFT JOIN artefacts v
    ON v.fingerprint = c.perceptual_fingerprint
    AND ends_with(c.perceptual_folder, '/' || v.path)""",
    {
        "prepare_seconds": "Preparation of the test data, seconds.",
        "train_seconds": "Training of all models of the cell, seconds; NULL where nothing is "
        "trained.",
        "predict_seconds": "Prediction, seconds; NULL where forecasts are scored while they are "
        "made.",
        "features_seconds": "Network features of its clips, seconds; NULL where there are none.",
        "score_seconds": "Scores (and forecasts, where they are not stored), seconds.",
        "perceptual_seconds": "Scores of metrics that use networks, seconds; NULL if there are "
        "none.",
        "train_device": "Processor or accelerator of the training; several are separated by "
        "commas.",
        "train_host": "Machine of the training; several are separated by commas.",
        "predict_device": "Processor or accelerator of the prediction.",
        "predict_host": "Machine of the prediction.",
        "model_bytes": "Size of all its trained models, bytes; 0 if there are none.",
        "predictions_bytes": "Size of the predictions, bytes; 0 where they are not stored.",
    },
)

LINEAGE = View(
    "lineage",
    "One row per cell and artefact that it depends on, in the order of the stages: code, recipe, "
    "machine and versions. The first artefacts name the lock file of their raw files (table "
    "raw_files).",
    f"""
WITH behind AS (
    SELECT
        {_KEYS}, unnest([1, 3, 5, 6]) AS step,
        unnest([data_folder, predictions_folder, scores_folder, perceptual_folder]) AS folder
    FROM cells
    UNION ALL
    SELECT {_KEYS}, 2, unnest(model_folders) FROM cells
    UNION ALL
    SELECT {_KEYS}, 4, unnest(feature_folders) FROM cells
)
SELECT
    b.* EXCLUDE (folder),
    a.*, a.inputs->>'$.raw' AS raw_lock
FROM behind b
JOIN artefacts a
    ON a.fingerprint = split_part(b.folder, '/', -1) AND ends_with(b.folder, '/' || a.path)""",
    comments_of(schema.StepColumn) | comments_of(schema.LineageRow),
)

RUNS = View(
    "runs",
    "One row per attempt to make an artefact: who, when, on which hardware, how long, and how it "
    "ended.",
    """
WITH tried AS (
    SELECT stage, path, attempt, how, detail, host, gpus, slurm_job, started, ended, seconds,
        peak_mb, memory_mb
    FROM attempts
    UNION ALL
    -- Receipts from elsewhere may lack attempts.
    SELECT stage, path, 1, 'done', '', host, NULL, slurm_job, started, finished, seconds,
        NULL, NULL
    FROM artefacts a
    WHERE NOT EXISTS (FROM attempts t WHERE t.path = a.path)
)
SELECT
    t.stage, t.path, t.attempt, t.how, t.detail,
    CASE WHEN t.how = 'done' THEN a.person END AS person, t.host,
    CASE WHEN t.how = 'done' THEN a.device END AS device, t.gpus, t.slurm_job,
    t.started, t.ended, t.seconds, t.seconds * t.gpus / 3600 AS gpu_hours,
    t.peak_mb, t.memory_mb,
    CASE WHEN t.how = 'done' THEN a.commit END AS commit,
    CASE WHEN t.how = 'done' THEN a.fingerprint END AS fingerprint
FROM tried t LEFT JOIN artefacts a USING (path)""",
    {
        "stage": "Stage: prepare, train, predict, features or score.",
        "path": "Folder of the artefact, relative to the store.",
        "attempt": "Number of the attempt, from 1; the last one made the artefact, if it was made.",
        "person": "Account; only of attempts that made an artefact.",
        "host": "Machine.",
        "device": "Processor or accelerator; only of attempts that made an artefact.",
        "slurm_job": "Slurm job; NULL outside Slurm.",
        "gpu_hours": "GPUs times hours; 0 without GPUs, NULL if either is unknown.",
        "ended": "End (UTC); NULL if it was not recorded.",
        "seconds": "Duration in seconds; NULL if its end was not recorded.",
        "fingerprint": "Fingerprint of the artefact, if this attempt made it.",
    },
)

FAILURES = View(
    "failures",
    "One row per unsuccessful attempt, even if a later one succeeded, with its resources.",
    """
SELECT
    r.stage, r.path, r.attempt, r.how, r.detail, r.host, r.slurm_job, r.started, r.ended,
    r.seconds, r.peak_mb, r.memory_mb,
    EXISTS (FROM artefacts a WHERE a.path = r.path) AS made_later,
    (SELECT count(*) FROM missing m WHERE m.path = r.path) AS cells_missing
FROM runs r
WHERE r.how IN ('failed', 'killed', 'out of memory', 'time limit')""",
    {
        "stage": RUNS.columns["stage"],
        "path": RUNS.columns["path"],
        "attempt": "Number of the attempt, from 1.",
        "how": "failed, killed, out of memory or time limit.",
        "made_later": "Whether a later attempt made the artefact.",
        "cells_missing": "Number of cells that wait for the artefact.",
        "host": "Machine.",
        "slurm_job": "Slurm job; NULL outside Slurm.",
        "ended": "End (UTC); NULL if it was not recorded.",
        "seconds": "Duration in seconds; NULL if its end was not recorded.",
    },
)

_SET_SIZE = (
    "CASE WHEN l.convention IN (SELECT convention FROM conventions WHERE compares_sets) "
    "THEN l.n END AS set_size"
)
_SET_SIZE_COMMENT = (
    "Number of clips of each set for conventions that compare sets, which are ranked at equal n; "
    "else NULL."
)
_BOTH = f"{_CASE}, metric, convention, other, variable, level, threshold, leads, {_ALIKE}, set_size"


def _mean_rank_sql(by: str) -> str:
    """SQL expression for the rank among models that both conventions rank; ties get mean ranks."""
    return (
        f"rank() OVER (PARTITION BY {_BOTH} ORDER BY {by})"
        f" + (count(*) OVER (PARTITION BY {_BOTH}, {by}) - 1) / 2.0"
    )


CONVENTION_EFFECTS = View(
    "convention_effects",
    "How much a ranking depends on the convention: one row per evaluation and pair of conventions "
    "of a metric (for the same variable, threshold and lead times). Ranks are among the models "
    "that both conventions rank; distances between sets are compared at equal n.",
    f"""
WITH ranked AS (
    SELECT l.*, {_SET_SIZE} FROM leaderboard l WHERE rank IS NOT NULL
),
both_ranked AS (
    SELECT
        {", ".join(f"a.{key}" for key in EVALUATION)}, a.metric,
        a.convention, b.convention AS other, a.variable, a.level, a.threshold, a.leads,
        {", ".join(f"a.{name}" for name in schema.ALIKE)}, a.set_size,
        {{'model': a.model, 'variant': a.variant}} AS who,
        a.value, b.value AS other_value, a.rank AS full_rank, b.rank AS full_other_rank
    FROM ranked a
    JOIN ranked b
        ON a.metric = b.metric AND a.convention < b.convention
        AND a.model = b.model AND a.variant = b.variant
        AND {" AND ".join(f"a.{key} = b.{key}" for key in EVALUATION)}
        AND a.variable IS NOT DISTINCT FROM b.variable AND a.level IS NOT DISTINCT FROM b.level
        AND a.threshold IS NOT DISTINCT FROM b.threshold AND a.leads IS NOT DISTINCT FROM b.leads
        AND {" AND ".join(f"a.{name} = b.{name}" for name in schema.ALIKE)}
        AND a.set_size IS NOT DISTINCT FROM b.set_size
),
placed AS (
    SELECT
        * EXCLUDE (full_rank, full_other_rank),
        rank() OVER (PARTITION BY {_BOTH} ORDER BY full_rank) AS rank,
        rank() OVER (PARTITION BY {_BOTH} ORDER BY full_other_rank) AS other_rank,
        {_mean_rank_sql("full_rank")} AS x, {_mean_rank_sql("full_other_rank")} AS y
    FROM both_ranked
),
effects AS (
    SELECT
        {_BOTH}, count(*) AS models,
        CASE WHEN count(DISTINCT x) > 1 AND count(DISTINCT y) > 1 THEN corr(x, y ORDER BY who) END
            AS rank_correlation,
        max(abs(rank - other_rank)) AS largest_move,
        count(*) FILTER (WHERE rank <> other_rank) AS moved,
        min(who) FILTER (WHERE rank = 1 AND other_rank = 1) AS best_by_both,
        coalesce(best_by_both, min(who) FILTER (WHERE rank = 1)) AS best,
        coalesce(best_by_both, min(who) FILTER (WHERE other_rank = 1)) AS other_best,
        median(abs(other_value - value) / nullif(abs(value), 0)) AS relative_difference
    FROM placed
    GROUP BY {_BOTH}
)
SELECT
    {_BOTH}, models, rank_correlation, largest_move, moved,
    best.model AS best_model, best.variant AS best_variant,
    other_best.model AS other_best_model, other_best.variant AS other_best_variant,
    best_by_both IS NULL AS another_wins, relative_difference
FROM effects""",
    {
        "other": "Convention that it is compared with.",
        "set_size": _SET_SIZE_COMMENT,
        "models": "Number of models and variants that both rank.",
        "rank_correlation": "Spearman's correlation of the ranks; equal models share the mean of "
        "their ranks. NULL if all are equal by one convention.",
        "largest_move": "Largest difference of a model's ranks.",
        "moved": "Number of models with different ranks.",
        "best_model": "Best model by the convention; if several, one that is best by both, or the "
        "first by name.",
        "best_variant": "Variant of best_model.",
        "other_best_model": "Best model by the other convention, chosen in the same way.",
        "other_best_variant": "Variant of other_best_model.",
        "another_wins": "Whether no model is best by both.",
        "relative_difference": "Median over models of |other - value| / |value|.",
    },
)

QUALITY_AGREEMENT = View(
    "quality_agreement",
    "Agreement of predicted quality with other metrics on the ranks of models: one row per "
    "evaluation, convention of predicted_quality and convention of another metric that both rank "
    "three or more models. For agreement with raters see the table agreement_with_people and "
    "docs/pvqa.md.",
    f"""
WITH both_ranked AS (
    SELECT
        {", ".join(f"q.{key}" for key in EVALUATION)}, q.convention, l.convention AS other,
        l.metric, l.variable, l.level, l.threshold, l.leads,
        {", ".join(f"q.{name}" for name in schema.ALIKE)}, {_SET_SIZE},
        q.rank AS by_quality, l.rank AS by_other
    FROM leaderboard q
    JOIN leaderboard l USING ({_CASE}, {_ALIKE}, model, variant)
    WHERE q.metric = 'predicted_quality' AND l.metric <> 'predicted_quality'
        AND q.rank IS NOT NULL AND l.rank IS NOT NULL
),
placed AS (
    SELECT {_BOTH}, {_mean_rank_sql("by_quality")} AS x, {_mean_rank_sql("by_other")} AS y
    FROM both_ranked
)
SELECT
    {_BOTH}, count(*) AS models,
    CASE WHEN count(DISTINCT x) > 1 AND count(DISTINCT y) > 1 THEN corr(x, y ORDER BY x, y) END
        AS rank_correlation
FROM placed
GROUP BY {_BOTH}
HAVING count(*) >= 3""",
    {
        "metric": "Metric of the other convention.",
        "other": "Convention that it is compared with.",
        "set_size": _SET_SIZE_COMMENT,
        "models": "Number of models that both rank.",
        "rank_correlation": "Spearman's correlation of the ranks, 1 for the same order; NULL if "
        "all models are equal by one convention.",
    },
)

VIEWS = (
    SCORES,
    OVERALL,
    BY_LEAD,
    LEADERBOARD,
    SEED_VARIANCE,
    DELTAS,
    COVERAGE,
    COST,
    LINEAGE,
    RUNS,
    FAILURES,
    CONVENTION_EFFECTS,
    QUALITY_AGREEMENT,
)
"""Views in the order of creation; a view may query earlier views."""


def comment_of(view: View, column: str) -> str:
    """The comment of a view's column, from the view or from the table of the column.

    Raises:
        KeyError: the column has no comment.
    """
    for comments in (view.columns, *(table.comments for table in schema.TABLES)):
        if column in comments:
            return comments[column]
    raise KeyError(f"{view.name}.{column}")
