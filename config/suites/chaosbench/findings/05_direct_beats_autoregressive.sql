-- title: Direct forecasts are better than autoregressive ones
-- paper: >
--   Section 5, Table 2: models trained directly (ViT/ClimaX) have better performance than those
--   used autoregressively (PanguWeather, GraphCast, FourCastNetV2).
-- criterion: >
--   At day 44, in t850, z500 and q700 where both have a value: (a) the RMSE of ClimaX is below that
--   of each of PanguWeather, GraphCast and FourCastNetV2, 8 of 8; (b) its MS-SSIM is above theirs, 8
--   of 8. (c) Of every network that is trained in both ways, RMSE is smaller directly.
-- reading: >
--   Performance is read as RMSE and MS-SSIM; in SpecDiv, GraphCast is printed with smaller values
--   than ClimaX. ClimaX differs from the others in more than its scheme; part c, which the paper
--   prints no numbers of, compares networks that differ in nothing else. Ours are of the starts that
--   both have.

WITH others AS (
    SELECT * FROM (VALUES ('panguweather'), ('graphcast'), ('fourcastnetv2')) AS f(forecast)
    CROSS JOIN (VALUES ('t850'), ('z500'), ('q700')) AS v(variable)
    WHERE NOT (forecast = 'fourcastnetv2' AND variable = 'q700')
),
twice AS (
    SELECT DISTINCT forecast FROM s2s_day_44 WHERE side = 'ours' AND variant = 'direct'
    UNION ALL
    SELECT 'unet'
    WHERE NOT EXISTS (FROM s2s_day_44 WHERE side = 'ours' AND variant = 'direct')
),
wanted AS (
    SELECT
        side, CASE score WHEN 'RMSE' THEN 'a. ' ELSE 'b. ' END || score || ' of ClimaX' AS part,
        8 AS needed, 'climax' AS forecast, 'default' AS variant, variable, score,
        forecast AS against, 'default' AS other_variant
    FROM others
    CROSS JOIN (VALUES ('ours'), ('published')) AS s(side)
    CROSS JOIN (VALUES ('RMSE'), ('MS-SSIM')) AS m(score)
    UNION ALL
    SELECT
        'ours', 'c. RMSE of a network in both schemes', count(*) OVER (), forecast, 'direct',
        variable, 'RMSE', forecast, 'default'
    FROM twice
    CROSS JOIN (VALUES ('t850'), ('z500'), ('q700')) AS v(variable)
)
SELECT
    w.side, w.part, w.needed,
    w.forecast || CASE w.variant WHEN 'default' THEN '' ELSE ', ' || w.variant END AS model,
    'ChaosBench' AS tested, w.variable || ' ' || coalesce(c.measured, w.score) AS metric, c.value,
    w.against || CASE w.variant WHEN 'direct' THEN ', autoregressive' ELSE '' END AS against,
    c.other, c.n AS in_common,
    CASE w.score WHEN 'RMSE' THEN c.value < c.other ELSE c.value > c.other END AS outcome,
    true AS fair,
    CASE
        WHEN c.forecast IS NOT NULL THEN c.remark
        WHEN w.side = 'ours' THEN 'not evaluated'
        ELSE 'not printed'
    END AS remark,
    c.bytes, c.comparable
FROM wanted w
LEFT JOIN s2s_compared c
    ON c.side = w.side AND c.forecast = w.forecast AND c.variant = w.variant
    AND c.against = w.against AND c.other_variant = w.other_variant
    AND c.variable = w.variable AND c.score = w.score;
