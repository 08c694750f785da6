-- title: Ensembles improve on single forecasts, the more the longer the lead time
-- paper: >
--   Section 5, Figures 7 and S5: the performance of ensembles across physics-based models improves
--   relative to their deterministic counterparts; the ratio of RMSE decreases with lead time, while
--   the ratio of MS-SSIM improves over time with little significant changes in SpecDiv.
-- criterion: >
--   For each of the four centres and each of t850, z500 and q700: (a) the RMSE of the ensemble mean
--   is below that of the control forecast at every lead time from 15 to 44 days, 12 of 12; (b) their
--   ratio at day 44 is below that at day 1, 12 of 12; (c) the ratio of MS-SSIM at day 44 is above
--   that at day 1, 12 of 12; (d) the ratio of SpecDiv at day 44 is less than twofold that at day 1,
--   and more than half of it, 12 of 12.
-- reading: >
--   The value is the ratio at day 44. Little is read as less than twofold. Ours are of the starts
--   that the ensemble and the control forecast both have. Of MS-SSIM and SpecDiv of ensembles the
--   paper has figures and no numbers, so only data at hand are judged by (c) and (d).

WITH wanted AS (
    SELECT side, forecast, variable
    FROM (VALUES ('ours'), ('published')) AS s(side)
    CROSS JOIN (VALUES ('ukmo'), ('ncep'), ('cma'), ('ecmwf')) AS f(forecast)
    CROSS JOIN (VALUES ('t850'), ('z500'), ('q700')) AS v(variable)
),
ratios AS (
    SELECT
        w.side, w.forecast, w.variable || ' RMSE' AS metric, min(p.n) AS in_common,
        max(p.value / p.other) FILTER (p.lead = 44) AS last,
        max(p.value / p.other) FILTER (p.lead = 1) AS first,
        CASE
            WHEN bool_or(p.value >= p.other) FILTER (p.lead >= 15) THEN false
            WHEN count(p.value - p.other) FILTER (p.lead >= 15) = 30 THEN true
        END AS is_better,
        CASE
            WHEN count(e.lead) = 0 OR count(c.lead) = 0 THEN 'not evaluated'
            ELSE coalesce(
                min(e.reason) FILTER (e.value IS NULL), min(c.reason) FILTER (c.value IS NULL),
                'no scores of starts that both have'
            )
        END AS reason,
        min(e.bytes) AS bytes, bool_and(e.comparable AND c.comparable) AS comparable
    FROM wanted w
    LEFT JOIN s2s_curves e
        ON e.side = w.side AND e.forecast = w.forecast AND e.variable = w.variable
        AND e.dimension = 's2s_ensemble' AND e.subset = 'test' AND e.curve = 'RMSE'
    LEFT JOIN s2s_curves c
        ON c.side = e.side AND c.forecast = e.forecast AND c.variable = e.variable
        AND c.dimension = 's2s_control' AND c.subset = e.subset AND c.curve = e.curve
        AND c.trained_on = e.trained_on AND c.tested_on = e.tested_on AND c.lead = e.lead
    LEFT JOIN s2s_in_common p
        ON p.side = c.side AND p.dimension = 's2s_ensemble' AND p.forecast = c.forecast
        AND p.variant = 'default' AND p.against = c.forecast AND p.curve = 'RMSE'
        AND p.subset = 'test' AND p.variable IN ('t850', 'z500', 'q700')
        AND p.trained_on = c.trained_on AND p.tested_on = c.tested_on
        AND p.variable = c.variable AND p.lead = c.lead
    GROUP BY w.side, w.forecast, w.variable
),
pairs AS (
    SELECT
        e.forecast, e.variable, e.seed, c.seed AS other_seed, e.start,
        unnest(['MS-SSIM', 'MS-SSIM of three scales', 'SpecDiv']) AS score,
        unnest([e.similarity[1], e.similarity_of_three[1], e.divergence[1]]) AS own_first,
        unnest([c.similarity[1], c.similarity_of_three[1], c.divergence[1]]) AS other_first,
        unnest([e.similarity[44], e.similarity_of_three[44], e.divergence[44]]) AS own_last,
        unnest([c.similarity[44], c.similarity_of_three[44], c.divergence[44]]) AS other_last
    FROM s2s_starts e
    JOIN s2s_starts c
        ON c.forecast = e.forecast AND c.trained_on = e.trained_on AND c.tested_on = e.tested_on
        AND c.subset = e.subset AND c.setting = e.setting AND c.variable = e.variable
        AND c.start = e.start
    WHERE e.dimension = 's2s_ensemble' AND c.dimension = 's2s_control' AND e.subset = 'test'
        AND e.variant = 'default' AND c.variant = 'default'
        AND e.forecast IN ('ukmo', 'ncep', 'cma', 'ecmwf')
        AND e.variable IN ('t850', 'z500', 'q700')
),
runs AS (
    SELECT
        forecast, variable, score, seed, other_seed, count(*) AS n,
        CASE WHEN count(*) FILTER (isfinite(own_first) AND isfinite(other_first)) = count(*)
            THEN avg(own_first ORDER BY start) / nullif(avg(other_first ORDER BY start), 0)
        END AS first,
        CASE WHEN count(*) FILTER (isfinite(own_last) AND isfinite(other_last)) = count(*)
            THEN avg(own_last ORDER BY start) / nullif(avg(other_last ORDER BY start), 0)
        END AS last
    FROM pairs
    WHERE own_first IS NOT NULL AND other_first IS NOT NULL AND own_last IS NOT NULL
        AND other_last IS NOT NULL
    GROUP BY ALL
),
structure AS (
    SELECT
        forecast, variable, score, min(n) AS in_common,
        CASE WHEN count(first) = count(*) THEN avg(first ORDER BY seed, other_seed) END AS first,
        CASE WHEN count(last) = count(*) THEN avg(last ORDER BY seed, other_seed) END AS last
    FROM runs
    GROUP BY forecast, variable, score
    -- Three scales only where no forecast has a value of five.
    QUALIFY score <> 'MS-SSIM of three scales' OR NOT bool_or(score = 'MS-SSIM') OVER ()
)
SELECT
    side, 'a. better from day 15 on' AS part, 12 AS needed, forecast AS model,
    'ChaosBench' AS tested, metric, last AS value, 'single forecast' AS against, 1.0 AS other,
    in_common, is_better AS outcome, true AS fair,
    CASE WHEN is_better IS NULL THEN reason END AS remark, bytes, comparable
FROM ratios
UNION ALL
SELECT
    side, 'b. the ratio decreases from day 1 to day 44', 12, forecast, 'ChaosBench', metric,
    last, 'ratio at day 1', first, in_common, last < first, true,
    CASE WHEN last < first IS NULL THEN reason END, bytes, comparable
FROM ratios
UNION ALL
SELECT
    r.side, p.part, 12, r.forecast, 'ChaosBench',
    replace(r.metric, 'RMSE', coalesce(s.score, p.score)), s.last, 'ratio at day 1', s.first,
    s.in_common,
    CASE p.score
        WHEN 'MS-SSIM' THEN s.last > s.first
        ELSE s.last < 2 * s.first AND 2 * s.last > s.first
    END AS outcome,
    true,
    CASE
        WHEN outcome IS NULL AND s.forecast IS NULL THEN r.reason
        WHEN outcome IS NULL THEN s.score || ' has no finite ratio'
    END,
    r.bytes, r.comparable
FROM ratios r
CROSS JOIN (
    VALUES ('MS-SSIM', 'c. the ratio of MS-SSIM increases from day 1 to day 44'),
        ('SpecDiv', 'd. the ratio of SpecDiv changes less than twofold')
) AS p(score, part)
LEFT JOIN structure s
    ON s.forecast = r.forecast AND starts_with(r.metric, s.variable) AND starts_with(s.score, p.score)
WHERE r.side = 'ours';
