-- comment: >
--   Two videos of stochastic models that full-reference measures rank the other way than people, as
--   Figure 9 shows them: one row per side and measure. Ours are two test videos of a published split,
--   which people rate 10 points apart or more: those that most full-reference measures rank the other
--   way, and of these the pair that people rate most differently.
-- columns:
--   side: ours, or published.
--   measure: Model, or its name as printed; MOS for what people say.
--   worse_video: Name of the video that people find worse; NULL where it is not printed.
--   better_video: Name of the other one.
--   worse: >
--     What the measure says of the first one: ours is the opinion that it predicts, in points; what is
--     printed is in units of the measure.
--   better: The same of the other one.
--   reversed: Whether the measure finds the first one better.

WITH pairs AS (
    SELECT
        a.split, a.video AS worse_video, b.video AS better_video, a.model, a.predicted AS worse,
        b.predicted AS better, a.observed AS worse_mos, b.observed AS better_mos
    FROM predicted_opinions a
    JOIN predicted_opinions b
        USING (suite, dimension, model, variant, subset, setting, split, family)
    WHERE a.suite = 'pvqa' AND a.dimension = 'quality_measures' AND a.variant = 'default'
        AND a.subset = 'published' AND a.family = 'stochastic'
        AND b.observed >= a.observed + 10
),
chosen AS (
    SELECT p.split, p.worse_video, p.better_video
    FROM pairs p
    JOIN pvqa_measures m ON m.model = p.model
    WHERE m.role = 'full_reference'
    GROUP BY p.split, p.worse_video, p.better_video
    HAVING bool_or(p.worse > p.better)
    ORDER BY
        count(*) FILTER (p.worse > p.better) DESC, max(p.better_mos - p.worse_mos) DESC, p.split,
        p.worse_video, p.better_video
    LIMIT 1
),
printed AS (
    SELECT
        printed_model AS measure,
        max(value) FILTER (run = 'Predicted Video 1') AS worse,
        max(value) FILTER (run = 'Predicted Video 2') AS better
    FROM published
    WHERE suite = 'pvqa' AND dimension = 'reversed_pair'
    GROUP BY printed_model
)
SELECT
    'ours' AS side, p.model AS measure, p.worse_video, p.better_video, p.worse, p.better,
    p.worse > p.better AS reversed
FROM pairs p
JOIN chosen USING (split, worse_video, better_video)
UNION ALL
SELECT DISTINCT 'ours', 'MOS', p.worse_video, p.better_video, p.worse_mos, p.better_mos, false
FROM pairs p
JOIN chosen USING (split, worse_video, better_video)
UNION ALL
-- A small error is good, all else is better the larger it is.
SELECT
    'published', measure, NULL, NULL, worse, better,
    CASE measure WHEN 'MSE' THEN worse < better ELSE worse > better END
FROM printed;
