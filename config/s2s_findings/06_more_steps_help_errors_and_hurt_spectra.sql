-- title: More steps in training make errors smaller and spectra worse
-- paper: >
--   Appendix G.1, Figure S7: with 5 instead of 1 autoregressive steps in training, UNet has lower
--   RMSE and higher MS-SSIM at long lead times, and is worse off in some physics-based scores.
-- criterion: >
--   At day 44, in t850, z500 and q700, of every network that is trained with 5 steps and with 1: (a)
--   RMSE is smaller with 5, in all; (b) MS-SSIM is larger, in all; (c) SpecDiv is larger in one or
--   more variables.
-- reading: >
--   The figure has no numbers, so only data at hand are judged. "Some physics-based scores" is read
--   as: at least one variable for each network.

WITH twice AS (
    SELECT DISTINCT forecast FROM s2s_day_44 WHERE side = 'ours' AND variant = 'steps5'
    UNION ALL
    SELECT 'unet'
    WHERE NOT EXISTS (FROM s2s_day_44 WHERE side = 'ours' AND variant = 'steps5')
),
wanted AS (
    SELECT
        forecast, variable, score, part,
        CASE score
            WHEN 'SpecDiv' THEN count(*) OVER (PARTITION BY score) // 3
            ELSE count(*) OVER (PARTITION BY score)
        END AS needed
    FROM twice
    CROSS JOIN (VALUES ('t850'), ('z500'), ('q700')) AS v(variable)
    CROSS JOIN (
        VALUES ('RMSE', 'a. smaller RMSE'), ('MS-SSIM', 'b. larger MS-SSIM'),
            ('SpecDiv', 'c. larger SpecDiv')
    ) AS m(score, part)
)
SELECT
    'ours' AS side, w.part, w.needed, w.forecast || ', 5 steps' AS model,
    'ChaosBench' AS tested, w.variable || ' ' || w.score AS metric, a.value, '1 step' AS against,
    b.value AS other,
    CASE w.score WHEN 'RMSE' THEN a.value < b.value ELSE a.value > b.value END AS outcome,
    true AS fair,
    CASE
        WHEN a.forecast IS NULL OR b.forecast IS NULL THEN 'not evaluated'
        WHEN outcome IS NULL THEN coalesce(a.reason, b.reason)
    END AS remark,
    coalesce(a.bytes, b.bytes) AS bytes,
    coalesce(a.comparable AND b.comparable, a.comparable, b.comparable) AS comparable
FROM wanted w
LEFT JOIN s2s_day_44 a
    ON a.side = 'ours' AND a.forecast = w.forecast AND a.variant = 'steps5'
    AND a.variable = w.variable AND a.score = w.score AND a.subset = 'test'
LEFT JOIN s2s_day_44 b
    ON b.side = 'ours' AND b.forecast = w.forecast AND b.variant = 'default'
    AND b.variable = w.variable AND b.score = w.score AND b.subset = 'test';
