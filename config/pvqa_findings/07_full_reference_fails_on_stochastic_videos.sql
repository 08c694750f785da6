-- title: Full-reference measures fail on stochastic videos
-- paper: >
--   Section 5.2.2: the performance of the full reference measures is much poorer than that of the no
--   reference measures on stochastically predicted videos (Table 4).
-- criterion: >
--   The median SROCC over the published splits, in their stochastically predicted videos, of each
--   full-reference measure is below that of each measure that learns from features: 8 of 8 printed
--   pairs, or here 6 of 6 with MCS and RFD.
-- reading: >
--   Here the features are those of SqueezeNet. The number of such videos in the test of a split
--   stands behind the dataset: of 60 test videos about 15 are stochastic, so a correlation of one
--   split says little. The model that made each video is needed, which the official release may
--   lack.

WITH ours AS (
    FROM pvqa_families WHERE family = 'stochastic'
),
pairs AS (
    SELECT 'squeezenet_mcs_rfd' AS model, unnest([
        'video_mse', 'video_ssim', 'gradient_difference', 'squeezenet_lpips', 'squeezenet_cosine',
        'squeezenet_mse'
    ]) AS against
),
about AS (
    SELECT min(bytes) AS bytes, bool_and(comparable) AS comparable FROM pvqa_scores
),
printed AS (
    SELECT
        printed_model AS model, value,
        printed_model IN ('VGG-19 cosine similarity', 'VMAF') AS is_full_reference
    FROM published
    WHERE suite = 'pvqa' AND dimension = 'stochastic_videos' AND metric = 'SROCC'
)
SELECT
    'ours' AS side, 'better than full reference' AS part, 6 AS needed, p.model,
    'pvqa' || coalesce(', ' || m.videos::INTEGER || ' stochastic videos a split', '') AS tested,
    'SROCC' AS metric, m.srocc AS value, p.against, o.srocc AS other, m.srocc > o.srocc AS outcome,
    true AS fair,
    CASE
        WHEN m.model IS NULL OR o.model IS NULL
            THEN 'not evaluated, or the models of the videos are not known'
    END AS remark,
    bytes, comparable
FROM pairs p
LEFT JOIN ours m ON m.model = p.model
LEFT JOIN ours o ON o.model = p.against
CROSS JOIN about
UNION ALL
SELECT
    'published', 'better than full reference', 8, m.model, 'pvqa', 'SROCC', m.value, o.model,
    o.value, m.value > o.value, true, NULL, NULL, NULL
FROM printed m
JOIN printed o ON o.is_full_reference AND NOT m.is_full_reference;
