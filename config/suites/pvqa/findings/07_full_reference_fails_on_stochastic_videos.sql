-- title: Full-reference measures fail on stochastic videos
-- paper: >
--   Section 5.2.2: the performance of the full reference measures is much poorer than that of the no
--   reference measures on stochastically predicted videos (Table 4).
-- criterion: >
--   The median SROCC over the published splits, in their stochastically predicted videos, of each
--   full-reference measure is below that of each measure that learns from features: 8 of 8 printed
--   pairs, or here, for each network that MCS and RFD are computed with, below that of both together,
--   for all full-reference measures in the plan.
-- reading: >
--   The number of stochastic videos in the test of a split stands behind the dataset: of 60 test
--   videos about 15 are stochastic, so a correlation of one split says little. The model that made
--   each video is needed, which the official release may lack.

WITH ours AS (
    FROM pvqa_families WHERE family = 'stochastic'
),
-- Where there are no such measures, or no others, a row says so.
pairs AS (
    SELECT coalesce(m.network, 'no network') AS network, m.model, o.model AS against
    FROM (SELECT 1) AS one
    LEFT JOIN (FROM pvqa_measures WHERE proposed = 'both') m ON true
    LEFT JOIN (FROM pvqa_measures WHERE role = 'full_reference') o ON true
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
    'ours' AS side, 'better than full reference, ' || p.network AS part,
    count(*) OVER (PARTITION BY p.network) AS needed, coalesce(p.model, 'MCS and RFD') AS model,
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
