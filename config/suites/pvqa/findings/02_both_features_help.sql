-- title: MCS and RFD together are better than either
-- paper: >
--   Section 5.2.1: the combination of the MCS and RFD features leads to a significant
--   improvement in the performance.
-- criterion: >
--   For each network that MCS alone or RFD alone is computed with, the median SROCC over the
--   published splits of both together is larger than that of each alone, 2 of 2.
-- reading: >
--   The paper's network is ResNet-50. Figure 7 has no printed numbers.

WITH ours AS (
    FROM pvqa_scores WHERE dimension = 'quality_measures' AND components = 240 AND training = 100
),
-- Where there are no such measures, rows say so.
wanted AS (
    SELECT coalesce(n.network, 'no network') AS network, b.model, s.model AS against, a.alone
    FROM (VALUES ('mcs'), ('rfd')) AS a(alone)
    LEFT JOIN (
        SELECT DISTINCT network FROM pvqa_measures WHERE proposed IN ('mcs', 'rfd')
    ) n ON true
    LEFT JOIN pvqa_measures b ON b.network = n.network AND b.proposed = 'both'
    LEFT JOIN pvqa_measures s ON s.network = n.network AND s.proposed = a.alone
)
SELECT
    'ours' AS side, 'better than either alone, ' || w.network AS part, 2 AS needed,
    coalesce(w.model, 'MCS and RFD') AS model, 'pvqa' AS tested, 'SROCC' AS metric, m.value,
    coalesce(w.against, upper(w.alone)) AS against, o.value AS other, m.value > o.value AS outcome,
    true AS fair,
    CASE
        WHEN m.model IS NULL OR o.model IS NULL THEN 'not evaluated'
        WHEN m.value IS NULL THEN m.reason
        WHEN o.value IS NULL THEN o.reason
    END AS remark,
    m.bytes, m.comparable
FROM wanted w
LEFT JOIN ours m ON m.model = w.model
LEFT JOIN ours o ON o.model = w.against
UNION ALL
SELECT
    'published', 'better than either alone, resnet50', 2, 'Our Model - ResNet-50', 'pvqa', 'SROCC',
    NULL, alone, NULL, NULL, true, 'Figure 7 has no printed numbers', NULL, NULL
FROM (VALUES ('MCS'), ('RFD')) AS a(alone);
