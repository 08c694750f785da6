-- title: Ten per cent of the videos suffice to learn from
-- paper: >
--   Section 5.2.5: our model trained with just 10% of videos in our database outperforms all
--   existing measures of quality.
-- criterion: >
--   For each network with which MCS and RFD learn from shares of the training, the median SROCC over
--   the published splits of both, learnt from 10 % of all videos, is larger than that of each measure
--   in the plan that learns nothing.
-- reading: >
--   Existing measures are those that learn nothing from opinions, whichever network they look
--   through. The paper's network is ResNet-50. Figure 10 has no printed numbers.

WITH learnt AS (
    FROM pvqa_scores WHERE dimension = 'quality_training' AND components = 240
),
untrained AS (
    FROM pvqa_scores WHERE dimension = 'quality_measures' AND components = 240 AND training = 100
),
-- Where there are no such measures, or no others, a row says so.
pairs AS (
    SELECT coalesce(n.network, 'no network') AS network, n.model, o.model AS against
    FROM (SELECT 1) AS one
    LEFT JOIN (
        SELECT DISTINCT model, network FROM learnt JOIN pvqa_measures USING (model)
        WHERE proposed = 'both'
    ) n ON true
    LEFT JOIN (FROM pvqa_measures WHERE NOT learns AND role <> 'baseline') o ON true
)
SELECT
    'ours' AS side, 'better than measures that learn nothing, ' || p.network AS part,
    count(*) OVER (PARTITION BY p.network) AS needed, coalesce(p.model, 'MCS and RFD') AS model,
    'pvqa' AS tested, 'SROCC, 10 %' AS metric, m.value, p.against, o.value AS other,
    m.value > o.value AS outcome, true AS fair,
    CASE
        WHEN m.model IS NULL OR o.model IS NULL THEN 'not evaluated'
        WHEN m.value IS NULL THEN m.reason
        WHEN o.value IS NULL THEN o.reason
    END AS remark,
    m.bytes, m.comparable
FROM pairs p
LEFT JOIN learnt m ON m.model = p.model AND m.training = 10
LEFT JOIN untrained o ON o.model = p.against
UNION ALL
SELECT
    'published', 'better than measures that learn nothing, resnet50', 1, 'Our Model - ResNet-50',
    'pvqa', 'SROCC, 10 %', NULL, 'all existing measures', NULL, NULL, true,
    'Figure 10 has no printed numbers', NULL, NULL;
