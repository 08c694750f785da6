-- title: More steps in training make errors smaller and spectra worse
-- paper: >
--   Appendix G.1, Figure S7: with 5 instead of 1 autoregressive steps in training, UNet has lower
--   RMSE and higher MS-SSIM at long lead times, and is worse off in some physics-based scores.
-- criterion: >
--   At day 44, in t850, z500 and q700, of every network that is trained with 5 steps and with 1: (a)
--   RMSE is smaller with 5, in all; (b) MS-SSIM is larger, in all; (c) of each of these networks,
--   SpecDiv is larger in one or more variables.
-- reading: >
--   The figure has no numbers, so only data at hand are judged. "Some physics-based scores" is read
--   as: at least one variable for each network, so each has a part of its own.

WITH twice AS (
    SELECT DISTINCT forecast FROM s2s_day_44 WHERE side = 'ours' AND variant = 'steps5'
    UNION ALL
    SELECT 'unet'
    WHERE NOT EXISTS (FROM s2s_day_44 WHERE side = 'ours' AND variant = 'steps5')
),
wanted AS (
    SELECT
        forecast, variable, score,
        heading || CASE score WHEN 'SpecDiv' THEN ', ' || forecast ELSE '' END AS part,
        CASE score WHEN 'SpecDiv' THEN 1 ELSE count(*) OVER (PARTITION BY score) END AS needed
    FROM twice
    CROSS JOIN (VALUES ('t850'), ('z500'), ('q700')) AS v(variable)
    CROSS JOIN (
        VALUES ('RMSE', 'a. smaller RMSE'), ('MS-SSIM', 'b. larger MS-SSIM'),
            ('SpecDiv', 'c. larger SpecDiv')
    ) AS m(score, heading)
)
SELECT
    'ours' AS side, w.part, w.needed, w.forecast || ', 5 steps' AS model,
    'ChaosBench' AS tested, w.variable || ' ' || coalesce(c.measured, w.score) AS metric,
    c.value, '1 step' AS against, c.other, c.n AS in_common,
    CASE w.score WHEN 'RMSE' THEN c.value < c.other ELSE c.value > c.other END AS outcome,
    true AS fair,
    CASE WHEN c.forecast IS NULL THEN 'not evaluated' ELSE c.remark END AS remark,
    c.bytes, c.comparable
FROM wanted w
LEFT JOIN s2s_compared c
    ON c.side = 'ours' AND c.forecast = w.forecast AND c.variant = 'steps5'
    AND c.against = w.forecast AND c.other_variant = 'default'
    AND c.variable = w.variable AND c.score = w.score;
