-- title: The network that computes with spectra is the best of four
-- paper: >
--   Section 5, Table S7: models that explicitly incorporate physical knowledge, such as learning
--   spectral signals, have better performance across metrics: FNO.
-- criterion: >
--   At day 44, for Task 1, in t850, z500 and q700, FNO is better than each of Lagged AE, ResNet and
--   UNet: (a) RMSE, 9 of 9; (b) MS-SSIM, 9 of 9; (c) SpecDiv, 9 of 9.
-- reading: >
--   Equal printed values do not count as better. The output of the released FNO is scrambled, in all
--   of its versions; the printed values were most likely made with it (variant scrambled here).

WITH others AS (
    SELECT * FROM (VALUES ('lagged_ae'), ('resnet'), ('unet')) AS f(forecast)
    CROSS JOIN (VALUES ('t850'), ('z500'), ('q700')) AS v(variable)
    CROSS JOIN (VALUES ('RMSE', 'a. '), ('MS-SSIM', 'b. '), ('SpecDiv', 'c. ')) AS m(score, letter)
)
SELECT
    s.side, o.letter || o.score AS part, 9 AS needed, 'fno' AS model, 'ChaosBench' AS tested,
    o.variable || ' ' || o.score AS metric, a.value, o.forecast AS against, b.value AS other,
    CASE o.score WHEN 'MS-SSIM' THEN a.value > b.value ELSE a.value < b.value END AS outcome,
    true AS fair,
    CASE
        WHEN a.forecast IS NULL OR b.forecast IS NULL
            THEN CASE s.side WHEN 'ours' THEN 'not evaluated' ELSE 'not printed' END
        WHEN outcome IS NULL THEN coalesce(a.reason, b.reason)
    END AS remark,
    coalesce(a.bytes, b.bytes) AS bytes,
    coalesce(a.comparable AND b.comparable, a.comparable, b.comparable) AS comparable
FROM (VALUES ('ours'), ('published')) AS s(side)
CROSS JOIN others o
LEFT JOIN s2s_day_44 a
    ON a.side = s.side AND a.forecast = 'fno' AND a.variant = 'default'
    AND a.variable = o.variable AND a.score = o.score AND a.subset = 'test'
LEFT JOIN s2s_day_44 b
    ON b.side = s.side AND b.forecast = o.forecast AND b.variant = 'default'
    AND b.variable = o.variable AND b.score = o.score AND b.subset = 'test';
