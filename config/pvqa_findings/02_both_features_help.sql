-- title: MCS and RFD together are better than either
-- paper: >
--   Section 5.2.1: the combination of the MCS and RFD features leads to a significant
--   improvement in the performance.
-- criterion: >
--   The median SROCC over the published splits of both together is larger than that of each
--   alone, 2 of 2.
-- reading: >
--   Here the features are those of SqueezeNet. Figure 7 has no printed numbers.

WITH ours AS (
    FROM pvqa_scores WHERE dimension = 'quality_measures' AND components = 240 AND training = 100
),
wanted AS (
    SELECT
        'better than either alone' AS part, 2 AS needed, 'squeezenet_mcs_rfd' AS model,
        100 AS training, 'SROCC' AS metric, against
    FROM (VALUES ('squeezenet_mcs'), ('squeezenet_rfd')) AS w(against)
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
    'published', part, needed, 'Our Model - ResNet-50', 'pvqa', metric, NULL, against, NULL,
    NULL, true, 'Figure 7 has no printed numbers', NULL, NULL
FROM wanted;
