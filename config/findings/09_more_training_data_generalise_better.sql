-- title: Trained on nuScenes, models do better on Caltech than trained on KITTI
-- paper: >
--   Observation 9: when evaluating models on Caltech, models trained on nuScenes universally
--   outperform those trained on KITTI. The training set of nuScenes is three times larger.
--   Finding 9: expanding the scale of the training dataset does improve the generalization of
--   the model.
-- criterion: >
--   On Caltech, in each of SSIM, PSNR, LPIPS and FVD, all twelve models are better when trained
--   on nuScenes than when trained on KITTI.
-- reading: >
--   "Universally" is read as: all twelve, in every column. The test clips are the same, so FVD
--   is at equal N. The datasets differ in more than their size (cities, cameras, frame rates),
--   so that even if this holds it does not show what Finding 9 concludes from it.

WITH evidence AS (
    SELECT
        n.side, 'better when trained on nuscenes, ' || n.metric AS part, n.models AS needed,
        n.model, n.tested, n.metric, n.value, k.tested AS against, k.value AS other,
        n.metric <> 'FVD' OR n.value IS NULL OR k.value IS NULL OR n.n IS NOT DISTINCT FROM k.n
            AS same_n,
        same_n AS fair,
        CASE WHEN same_n THEN
            CASE WHEN n.higher_is_better THEN n.value > k.value ELSE n.value < k.value END
        END AS outcome,
        CASE
            WHEN NOT same_n THEN 'not comparable: FVD of ' || n.n || ' and ' || k.n || ' clips'
            WHEN n.value IS NULL THEN n.tested || ': ' || n.remark
            WHEN k.value IS NULL THEN k.tested || ': ' || k.remark
            ELSE coalesce(n.remark, k.remark)
        END AS remark,
        coalesce(n.bytes, k.bytes) AS bytes, n.comparable AND k.comparable AS comparable
    FROM paper_values n
    JOIN paper_values k USING (side, dimension, model, tested_on, subset, metric)
    WHERE dimension = 'generalization' AND tested_on = 'caltech'
        AND n.trained_on = 'nuscenes' AND k.trained_on = 'kitti'
),
-- The verdict, in the same words for every finding.
parts AS (
    SELECT
        side, part, max(needed) AS wanted, count(*) AS comparisons,
        count(*) FILTER (outcome) AS yes, count(*) FILTER (NOT outcome) AS no,
        CASE
            WHEN yes >= wanted THEN 'holds'
            WHEN comparisons - no < wanted THEN 'does not hold'
            WHEN bool_or(outcome IS NULL AND fair) THEN 'not enough data'
            ELSE 'not comparable'
        END AS part_verdict
    FROM evidence
    GROUP BY side, part
),
verdicts AS (
    SELECT
        side,
        CASE
            WHEN bool_or(part_verdict = 'does not hold') THEN 'does not hold'
            WHEN bool_or(part_verdict = 'not enough data') THEN 'not enough data'
            WHEN bool_or(part_verdict = 'holds') THEN 'holds'
            ELSE 'not comparable'
        END AS verdict
    FROM parts
    GROUP BY side
),
sources AS (
    SELECT
        side,
        CASE
            WHEN side = 'published' THEN 'published numbers'
            WHEN count(bytes) = 0 THEN 'nothing of it was evaluated'
            ELSE CASE WHEN bool_and(comparable) THEN '' ELSE 'NOT COMPARABLE WITH THE PAPER: ' END
                || string_agg(DISTINCT bytes, '; ' ORDER BY bytes)
        END AS about
    FROM evidence
    GROUP BY side
)
SELECT
    side, verdict, about, part, part_verdict, yes, no, wanted, comparisons,
    model, tested, metric, value, against, other, outcome, remark
FROM evidence
JOIN parts USING (side, part)
JOIN verdicts USING (side)
JOIN sources USING (side)
ORDER BY side, part, tested, metric, model;
