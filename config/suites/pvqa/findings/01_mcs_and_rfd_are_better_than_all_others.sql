-- title: MCS and RFD are better than all other measures
-- paper: >
--   Section 5.1.5: our model based on MCS and RFD features performs significantly better than
--   all other measures.
-- criterion: >
--   For each network that MCS and RFD are computed with, the median SROCC over the published splits
--   of both together is larger (a) than that of every other measure, whichever network it looks
--   through: of all 20 others of Table 3, or here of all that are in the plan; (b) than that of each
--   baseline that can rank videos.
-- reading: >
--   Other measures are those that are not MCS and RFD, or one of them alone. The paper's rows on
--   other networks are not among the others. Splits overlap, so there is no test of significance. The
--   paper prints no baselines. The mean opinion ranks nothing.

WITH ours AS (
    FROM pvqa_scores WHERE dimension = 'quality_measures' AND components = 240 AND training = 100
),
others AS (
    SELECT 'a. than every other measure' AS part, model AS against
    FROM pvqa_measures
    WHERE role <> 'baseline' AND proposed IS NULL
    UNION ALL
    SELECT 'b. than baselines', model
    FROM pvqa_measures
    WHERE role = 'baseline' AND model <> 'mean_opinion'
),
-- Where there are no such measures, or no others, a row says so.
pairs AS (
    SELECT p.part, coalesce(m.network, 'no network') AS network, m.model, o.against
    FROM (VALUES ('a. than every other measure'), ('b. than baselines')) AS p(part)
    LEFT JOIN (FROM pvqa_measures WHERE proposed = 'both') m ON true
    LEFT JOIN others o USING (part)
),
printed AS (
    SELECT p.network, m.printed_model, m.value, o.printed_model AS against, o.value AS other
    FROM (
        VALUES
            ('vgg19', 'Our Model - VGG-19'), ('inception', 'Our Model - Inception-v3'),
            ('resnet50', 'Our Model - ResNet-50')
    ) AS p(network, printed_model)
    JOIN published m USING (printed_model)
    JOIN published o USING (suite, dimension, metric)
    WHERE suite = 'pvqa' AND dimension = 'quality_measures' AND metric = 'SROCC'
        AND NOT starts_with(o.printed_model, 'Our ')
)
SELECT
    'ours' AS side, p.part || ', ' || p.network AS part,
    count(*) OVER (PARTITION BY p.part, p.network) AS needed,
    coalesce(p.model, 'MCS and RFD') AS model, 'pvqa' AS tested, 'SROCC' AS metric, m.value,
    p.against, o.value AS other, m.value > o.value AS outcome, true AS fair,
    CASE
        WHEN m.model IS NULL OR o.model IS NULL THEN 'not evaluated'
        WHEN m.value IS NULL THEN m.reason
        WHEN o.value IS NULL THEN o.reason
    END AS remark,
    m.bytes, m.comparable
FROM pairs p
LEFT JOIN ours m ON m.model = p.model
LEFT JOIN ours o ON o.model = p.against
UNION ALL
SELECT
    'published', 'a. than every other measure, ' || network,
    count(*) OVER (PARTITION BY network), printed_model, 'pvqa', 'SROCC', value, against, other,
    value > other, true, NULL, NULL, NULL
FROM printed;
