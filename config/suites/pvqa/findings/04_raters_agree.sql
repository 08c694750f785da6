-- title: Raters agree
-- paper: >
--   Section 3.3.1: the median PLCC of the opinions of random halves of the raters is 0.94; the
--   subjects are fairly consistent in assessing the quality of the videos.
-- criterion: >
--   The median PLCC of the opinion scores of random halves of the raters, over 100 halvings, is at
--   least 0.9, 1 of 1.
-- reading: >
--   "Fairly consistent" is read as 0.9 or more. Single ratings are needed, which the official
--   release may lack.

WITH ours AS (
    SELECT
        median(h.plcc) AS value, min(s.bytes) AS bytes, bool_and(s.comparable) AS comparable
    FROM pvqa_halves h
    CROSS JOIN pvqa_scores s
    WHERE h.data_fingerprint IN (SELECT data_fingerprint FROM cells WHERE suite = 'pvqa')
)
SELECT
    'ours' AS side, 'halves agree' AS part, 1 AS needed, 'raters' AS model, 'pvqa' AS tested,
    'PLCC of halves' AS metric, value, '0.9' AS against, 0.9 AS other,
    value >= 0.9 AS outcome, true AS fair,
    CASE WHEN value IS NULL THEN 'single ratings are not known' END AS remark, bytes, comparable
FROM ours
UNION ALL
SELECT
    'published', 'halves agree', 1, 'raters', 'pvqa', 'PLCC of halves', value, '0.9', 0.9,
    value >= 0.9, true, NULL, NULL, NULL
FROM published
WHERE suite = 'pvqa' AND printed_model = 'inter-subject split-half PLCC median';
