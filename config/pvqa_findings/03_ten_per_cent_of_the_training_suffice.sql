-- title: Ten per cent of the videos suffice to learn from
-- paper: >
--   Section 5.2.5: our model trained with just 10% of videos in our database outperforms all
--   existing measures of quality.
-- criterion: >
--   The median SROCC over the published splits of MCS and RFD, learnt from 10 % of all videos,
--   is larger than that of each measure that learns nothing, 6 of 6.
-- reading: >
--   Existing measures are those that learn nothing from opinions; here the features are those of
--   SqueezeNet. Figure 10 has no printed numbers.

WITH ours AS (
    FROM pvqa_scores WHERE dimension = 'quality_training' AND components = 240
),
untrained AS (
    FROM pvqa_scores WHERE dimension = 'quality_measures' AND components = 240 AND training = 100
),
wanted AS (
    SELECT
        'better than measures that learn nothing' AS part, 6 AS needed,
        'squeezenet_mcs_rfd' AS model, 10 AS training, 'SROCC, 10 %' AS metric, against
    FROM (VALUES
        ('video_mse'), ('video_ssim'), ('gradient_difference'), ('squeezenet_lpips'),
        ('squeezenet_cosine'), ('squeezenet_mse')
    ) AS w(against)
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
LEFT JOIN untrained o ON o.model = w.against
UNION ALL
SELECT
    'published', part, needed, 'Our Model - ResNet-50', 'pvqa', metric, NULL, against, NULL,
    NULL, true, 'Figure 10 has no printed numbers', NULL, NULL
FROM wanted;
