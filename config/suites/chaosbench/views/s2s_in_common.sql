-- comment: >
--   One row per side (ours, published), forecast, forecast that it is compared with, variable, score
--   and lead time: the values of both on the starts that both have. RMSE is compared with that of
--   climatology and, of an ensemble, of the single forecasts of the same model; CRPSS with that of
--   the ensembles of centres.
-- columns:
--   side: ours, or published.
--   dimension: s2s_control (single forecasts) or s2s_ensemble.
--   forecast: Model; of an ensemble without `_ensemble`, as the paper names both alike.
--   variant: Variant of the model.
--   against: What it is compared with, a model of the same name being its single forecasts.
--   trained_on: Dataset of training.
--   tested_on: Dataset of the test.
--   subset: Part of the test dataset.
--   curve: RMSE (wrmse.pooled) or CRPSS (crpss.climatology).
--   weeks: 1 (days 1 to 7) or 2 (8 to 14), of CRPSS over all days of the week; NULL for single days.
--   lead: Lead time in days; NULL for weeks.
--   value: Of the forecast, on these starts, the mean over seeds; NULL where one of them has no value.
--   other: Of what it is compared with, likewise.
--   n: Starts that both have, the fewest of a seed; NULL for published values, whose starts are not known.

WITH squares AS (
    SELECT
        f.dimension, f.forecast, f.variant, f.seed, o.forecast AS against, o.seed AS other_seed,
        f.trained_on, f.tested_on, f.subset, f.setting, f.variable, f.start,
        unnest(range(1, len(f.squares) + 1)) AS lead,
        unnest(f.squares) AS square, unnest(o.squares) AS other_square
    FROM s2s_starts f
    JOIN s2s_starts o
        ON o.trained_on = f.trained_on AND o.tested_on = f.tested_on AND o.subset = f.subset
        AND o.setting = f.setting AND o.variable = f.variable AND o.start = f.start
    WHERE o.dimension = 's2s_control' AND o.variant = 'default'
        AND f.squares IS NOT NULL AND o.squares IS NOT NULL
        AND CASE f.dimension
            WHEN 's2s_ensemble' THEN o.forecast = 'daily_climatology' OR o.forecast = f.forecast
            ELSE o.forecast = 'daily_climatology'
                AND (f.forecast <> 'daily_climatology' OR f.variant <> 'default')
        END
),
windows AS (
    SELECT CAST(NULL AS VARCHAR) AS weeks, number AS lead, number AS first_day, number AS last_day
    FROM range(1, 45) AS d(number)
    UNION ALL
    SELECT * FROM (VALUES ('1', NULL, 1, 7), ('2', NULL, 8, 14)) AS w(weeks, lead, first_day, last_day)
),
days AS (
    SELECT
        f.forecast, f.variant, f.seed, o.forecast AS against, o.seed AS other_seed,
        f.trained_on, f.tested_on, f.subset, f.setting, f.variable, f.start, w.weeks, w.lead,
        f.crps[w.first_day:w.last_day] AS crps,
        f.crps_of_climatology[w.first_day:w.last_day] AS climatology,
        o.crps[w.first_day:w.last_day] AS other_crps,
        o.crps_of_climatology[w.first_day:w.last_day] AS other_climatology
    FROM s2s_starts f
    JOIN s2s_starts o
        ON o.trained_on = f.trained_on AND o.tested_on = f.tested_on AND o.subset = f.subset
        AND o.setting = f.setting AND o.variable = f.variable AND o.start = f.start
    JOIN windows w ON w.last_day <= least(len(f.crps), len(o.crps))
    WHERE f.dimension = 's2s_ensemble' AND o.dimension = 's2s_ensemble' AND o.variant = 'default'
        AND o.forecast IN ('ukmo', 'ncep', 'cma', 'ecmwf')
        AND (f.forecast <> o.forecast OR f.variant <> 'default')
        AND f.crps IS NOT NULL AND o.crps IS NOT NULL
),
probabilities AS (
    -- A mean of some days of a week is no score of the week: list_avg leaves days without one out.
    SELECT
        * REPLACE (
            CASE WHEN list_count(crps) = len(crps) THEN list_avg(crps) END AS crps,
            CASE WHEN list_count(climatology) = len(climatology)
                THEN list_avg(climatology) END AS climatology,
            CASE WHEN list_count(other_crps) = len(other_crps)
                THEN list_avg(other_crps) END AS other_crps,
            CASE WHEN list_count(other_climatology) = len(other_climatology)
                THEN list_avg(other_climatology) END AS other_climatology
        )
    FROM days
),
runs AS (
    SELECT
        dimension, forecast, variant, seed, against, other_seed, trained_on, tested_on, subset,
        setting, variable, 'RMSE' AS curve, CAST(NULL AS VARCHAR) AS weeks, lead,
        CASE WHEN count(*) FILTER (isfinite(square)) = count(*)
            THEN sqrt(avg(square ORDER BY start)) END AS value,
        CASE WHEN count(*) FILTER (isfinite(other_square)) = count(*)
            THEN sqrt(avg(other_square ORDER BY start)) END AS other,
        count(*) AS n
    FROM squares
    GROUP BY
        dimension, forecast, variant, seed, against, other_seed, trained_on, tested_on, subset,
        setting, variable, lead
    UNION ALL
    SELECT
        's2s_ensemble', forecast, variant, seed, against, other_seed, trained_on, tested_on, subset,
        setting, variable, 'CRPSS', weeks, lead,
        CASE WHEN count(*) FILTER (isfinite(crps) AND isfinite(climatology)) = count(*)
            THEN 1 - avg(crps ORDER BY start) / nullif(avg(climatology ORDER BY start), 0) END,
        CASE WHEN count(*) FILTER (isfinite(other_crps) AND isfinite(other_climatology)) = count(*)
            THEN 1 - avg(other_crps ORDER BY start)
                / nullif(avg(other_climatology ORDER BY start), 0)
            END,
        count(*)
    FROM probabilities
    GROUP BY
        forecast, variant, seed, against, other_seed, trained_on, tested_on, subset, setting,
        variable, weeks, lead
)
SELECT
    'ours' AS side, dimension, forecast, variant, against, trained_on, tested_on, subset, variable,
    curve, weeks, lead,
    CASE WHEN count(value) = count(*) THEN avg(value ORDER BY seed, other_seed) END AS value,
    CASE WHEN count(other) = count(*) THEN avg(other ORDER BY seed, other_seed) END AS other,
    min(n) AS n
FROM runs
GROUP BY
    dimension, forecast, variant, against, trained_on, tested_on, subset, setting, variable, curve,
    weeks, lead
UNION ALL
SELECT
    f.side, f.dimension, f.forecast, 'default', o.forecast, f.trained_on, f.tested_on, f.subset,
    f.variable, f.curve, NULL, f.lead, f.value, o.value, NULL
FROM s2s_curves f
JOIN s2s_curves o
    ON o.side = f.side AND o.trained_on = f.trained_on AND o.tested_on = f.tested_on
    AND o.subset = f.subset AND o.variable = f.variable AND o.curve = f.curve AND o.lead = f.lead
WHERE f.side = 'published'
    AND CASE f.curve
        WHEN 'RMSE' THEN o.dimension = 's2s_control'
            AND (o.dimension <> f.dimension OR o.forecast <> f.forecast)
            AND (o.forecast = 'daily_climatology'
                OR (f.dimension = 's2s_ensemble' AND o.forecast = f.forecast))
        WHEN 'CRPSS' THEN o.dimension = f.dimension AND o.forecast <> f.forecast
        ELSE false
    END;
