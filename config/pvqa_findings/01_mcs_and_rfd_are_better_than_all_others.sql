-- title: MCS and RFD are better than all other measures
-- paper: >
--   Section 5.1.5: our model based on MCS and RFD features performs significantly better than
--   all other measures.
-- criterion: >
--   The median SROCC over the published splits of MCS and RFD is larger (a) than that of every
--   other measure: of all 20 others of Table 3, or here of the 7 that look through the same
--   network or through none; (b) than that of each of the three baselines that see no network, 3
--   of 3.
-- reading: >
--   Of the paper, MCS and RFD are those on ResNet-50, its best; its rows on other networks are
--   not among the others. Here they are those on SqueezeNet. Splits overlap, so there is no test
--   of significance. The paper prints no baselines.

WITH ours AS (
    FROM pvqa_scores WHERE dimension = 'quality_measures' AND components = 240 AND training = 100
),
wanted AS (
    SELECT
        part, needed, 'squeezenet_mcs_rfd' AS model, 100 AS training, 'SROCC' AS metric, against
    FROM (VALUES
        ('a. than every other measure', 7, 'video_mse'),
        ('a. than every other measure', 7, 'video_ssim'),
        ('a. than every other measure', 7, 'gradient_difference'),
        ('a. than every other measure', 7, 'squeezenet_lpips'),
        ('a. than every other measure', 7, 'squeezenet_cosine'),
        ('a. than every other measure', 7, 'squeezenet_mse'),
        ('a. than every other measure', 7, 'squeezenet_ssa'),
        ('b. than baselines', 3, 'source_dataset'),
        ('b. than baselines', 3, 'resolution'),
        ('b. than baselines', 3, 'sharpness')
    ) AS w(part, needed, against)
)
SELECT
    'ours' AS side, w.part, w.needed, w.model, 'pvqa' AS tested, w.metric, m.value, w.against,
    o.value AS other, m.value > o.value AS outcome, true AS fair,
    CASE
        WHEN m.model IS NULL OR o.model IS NULL THEN 'not evaluated'
        WHEN m.value IS NULL THEN m.reason
        WHEN o.value IS NULL THEN o.reason
    END AS remark,
    m.bytes, m.comparable
FROM wanted w
LEFT JOIN ours m ON m.model = w.model AND m.training = w.training
LEFT JOIN ours o ON o.model = w.against
UNION ALL
SELECT
    'published', 'a. than every other measure', 20, m.printed_model, 'pvqa', 'SROCC', m.value,
    o.printed_model, o.value, m.value > o.value, true, NULL, NULL, NULL
FROM published m
JOIN published o USING (suite, dimension, metric)
WHERE suite = 'pvqa' AND dimension = 'quality_measures' AND metric = 'SROCC'
    AND m.printed_model = 'Our Model - ResNet-50' AND NOT starts_with(o.printed_model, 'Our ');
