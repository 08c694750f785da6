-- comment: >
--   One row per dataset, convention and convention of success of the benchmark of video models:
--   Spearman's correlation of the two over models, where success is known. Its intervals are in the
--   table success_correlations.
-- columns:
--   tested_on: Dataset; `all` for the mean over the datasets that have a correlation.
--   subset: Part of the test dataset; NULL for the mean.
--   horizon: Frames that are predicted; NULL for the mean.
--   success: Convention that says what happens; its metric for the mean.
--   models: Number of models with both values; variants, snapshots and seeds count.
--   correlation: Of the ranks, 1 if better values go with more success; NULL with a reason.
--   reason: Why there is no correlation; NULL if there is one.
--   bytes: Origin of the bytes and protocol.
--   comparable: True only if bytes and recipe are the paper's.

WITH scored AS (
    SELECT
        o.tested_on, o.subset, s.horizon, o.model, o.variant, o.trained_on, o.train_subset,
        o.setting, coalesce(o.seed, -1) AS seed, o.convention, o.reason,
        c.success IS NOT NULL AS is_success,
        CASE
            WHEN c.best_at IS NOT NULL THEN -abs(o.value - c.best_at)
            WHEN c.higher_is_better THEN o.value WHEN NOT c.higher_is_better THEN -o.value
        END AS value,
        c.best_at IS NULL AND c.higher_is_better IS NULL AS has_no_direction,
        CASE WHEN bytes_known_by = 'stated' THEN 'unverified ' ELSE '' END || source || ' data'
            || CASE WHEN bytes_known_by = 'counts' THEN ', known by counts' ELSE '' END
            || ', ' || protocol || ' protocol' AS bytes,
        o.comparable
    FROM overall o
    JOIN settings s USING (setting)
    JOIN conventions c USING (convention)
    WHERE o.suite = 'scv' AND o.dimension = 'scv_benchmark'
        AND o.leads IS NULL AND o.variable IS NULL AND o.threshold IS NULL
),
pairs AS (
    SELECT
        m.*, t.convention AS success, t.value AS succeeded,
        m.value + t.value IS NOT NULL AS is_there,
        CASE WHEN m.value IS NULL THEN m.reason WHEN t.value IS NULL THEN t.reason END AS why
    FROM scored m
    JOIN scored t
        USING (tested_on, subset, horizon, model, variant, trained_on, train_subset, setting, seed)
    WHERE t.is_success AND NOT m.is_success
),
ranked AS (
    -- Equal values share the mean of their ranks.
    SELECT
        *,
        rank() OVER (PARTITION BY one, is_there ORDER BY value)
            + (count(*) OVER (PARTITION BY one, is_there, value) - 1) / 2.0 AS x,
        rank() OVER (PARTITION BY one, is_there ORDER BY succeeded)
            + (count(*) OVER (PARTITION BY one, is_there, succeeded) - 1) / 2.0 AS y
    FROM (SELECT *, (tested_on, subset, horizon, success, convention) AS one FROM pairs)
),
of_dataset AS (
    SELECT
        tested_on, subset, horizon, success, convention,
        count(*) FILTER (is_there) AS models,
        CASE
            WHEN count(DISTINCT x) FILTER (is_there) > 1
                AND count(DISTINCT y) FILTER (is_there) > 1
                AND count(*) FILTER (is_there) >= 3
                THEN corr(x, y ORDER BY x, y) FILTER (is_there)
        END AS correlation,
        CASE
            WHEN correlation IS NOT NULL THEN NULL
            WHEN bool_and(has_no_direction) THEN 'neither value is better than the other'
            WHEN models < 3
                THEN models || ' models have both; ranks need 3' || coalesce('; ' || min(why), '')
            WHEN count(DISTINCT y) FILTER (is_there) = 1 THEN 'success is equal for all models'
            ELSE 'the metric is equal for all models'
        END AS reason,
        min(bytes) AS bytes, bool_and(comparable) AS comparable
    FROM ranked
    GROUP BY tested_on, subset, horizon, success, convention
)
SELECT tested_on, subset, horizon, success, convention, models, correlation, reason, bytes, comparable
FROM of_dataset
UNION ALL
SELECT
    'all', NULL, NULL, split_part(success, '.', 1), convention,
    coalesce(sum(models) FILTER (correlation IS NOT NULL), 0)::BIGINT,
    avg(correlation ORDER BY tested_on, subset, horizon),
    CASE WHEN count(correlation) = 0 THEN 'no dataset has a correlation' END,
    min(bytes), bool_and(comparable)
FROM of_dataset
GROUP BY split_part(success, '.', 1), convention;
