-- comment: >
--   One row per side (ours, published), two single forecasts or variants, variable and score: their
--   values at lead time 44 beside each other, ours on the starts of the test that both have.
--   Findings ask it.
-- columns:
--   side: ours, or published.
--   forecast: Model.
--   variant: Variant of the model.
--   against: The other model, or the same.
--   other_variant: Variant of the other.
--   score: RMSE, MS-SSIM or SpecDiv, as of s2s_day_44.
--   measured: The score, and of how many scales MS-SSIM is where they are not the five that are printed.
--   value: Of the model, on these starts, the mean over seeds.
--   other: Of the other model, likewise.
--   n: Starts that both have, the fewest of a seed; NULL for published values, whose starts are not known.
--   remark: Why one of the two has no value.
--   bytes: Origin of the bytes and protocol of our values.
--   comparable: True only if bytes and recipe of both are the paper's; NULL for published values.

WITH last_day AS (
    SELECT
        forecast, variant, trained_on, tested_on, subset, setting, seed, variable, start,
        unnest([
            'wrmse.pooled', 'ms_ssim.own_range', 'ms_ssim.own_range_three_scales',
            'spectral_divergence.high_wavenumbers'
        ]) AS convention,
        unnest([squares[44], similarity[44], similarity_of_three[44], divergence[44]]) AS score
    FROM s2s_starts
    WHERE dimension = 's2s_control' AND subset = 'test'
),
runs AS (
    SELECT
        a.forecast, a.variant, a.seed, b.forecast AS against, b.variant AS other_variant,
        b.seed AS other_seed, a.trained_on, a.tested_on, a.setting, a.variable, a.convention,
        CASE WHEN count(*) FILTER (isfinite(a.score)) = count(*)
            THEN avg(a.score ORDER BY a.start) END AS mean,
        CASE WHEN count(*) FILTER (isfinite(b.score)) = count(*)
            THEN avg(b.score ORDER BY a.start) END AS other_mean,
        count(*) AS n
    FROM last_day a
    JOIN last_day b
        ON b.trained_on = a.trained_on AND b.tested_on = a.tested_on AND b.setting = a.setting
        AND b.variable = a.variable AND b.convention = a.convention AND b.start = a.start
    WHERE a.score IS NOT NULL AND b.score IS NOT NULL
        AND (b.forecast <> a.forecast OR b.variant <> a.variant)
    GROUP BY ALL
),
values_of_runs AS (
    SELECT
        *,
        CASE convention WHEN 'wrmse.pooled' THEN sqrt(mean) ELSE mean END AS value,
        CASE convention WHEN 'wrmse.pooled' THEN sqrt(other_mean) ELSE other_mean END AS other
    FROM runs
),
common AS (
    SELECT
        forecast, variant, against, other_variant, trained_on, tested_on, setting, variable,
        convention,
        CASE WHEN count(value) = count(*) THEN avg(value ORDER BY seed, other_seed) END AS value,
        CASE WHEN count(other) = count(*) THEN avg(other ORDER BY seed, other_seed) END AS other,
        min(n) AS n
    FROM values_of_runs
    GROUP BY ALL
),
pairs AS (
    SELECT
        a.side, a.forecast, a.variant, b.forecast AS against, b.variant AS other_variant,
        a.trained_on, a.tested_on, a.variable, a.score,
        a.score || CASE a.convention
            WHEN 'ms_ssim.own_range_three_scales' THEN ' of three scales'
            ELSE ''
        END AS measured,
        CASE a.side WHEN 'published' THEN a.value ELSE c.value END AS value,
        CASE a.side WHEN 'published' THEN b.value ELSE c.other END AS other,
        c.n,
        -- Where there is a value, the reason is why it has no interval.
        CASE
            WHEN a.value IS NULL THEN a.reason
            WHEN b.value IS NULL THEN b.reason
            ELSE 'no scores of starts that both have'
        END AS why_none,
        coalesce(a.bytes, b.bytes) AS bytes,
        coalesce(a.comparable AND b.comparable, a.comparable, b.comparable) AS comparable
    FROM s2s_day_44 a
    JOIN s2s_day_44 b
        ON b.side = a.side AND b.trained_on = a.trained_on AND b.tested_on = a.tested_on
        AND b.subset = a.subset AND b.variable = a.variable AND b.score = a.score
        AND b.convention IS NOT DISTINCT FROM a.convention
        AND (b.forecast <> a.forecast OR b.variant <> a.variant)
    LEFT JOIN common c
        ON a.side = 'ours' AND c.forecast = a.forecast AND c.variant = a.variant
        AND c.against = b.forecast AND c.other_variant = b.variant
        AND c.trained_on = a.trained_on AND c.tested_on = a.tested_on
        AND c.variable = a.variable AND c.convention = a.convention
    WHERE a.subset = 'test'
)
SELECT
    * EXCLUDE (why_none, bytes, comparable),
    CASE WHEN value IS NULL OR other IS NULL THEN why_none END AS remark, bytes, comparable
FROM pairs;
