-- title: Caltech is easier than the test sets that models were trained for
-- paper: >
--   Observation 8: almost all models exhibit better performance on Caltech than on their testing
--   set of KITTI or nuScenes. Finding 8: Caltech is relatively simplistic; evaluation with
--   Caltech alone is inadequate.
-- criterion: >
--   Trained on KITTI and trained on nuScenes, in each of SSIM, PSNR, LPIPS and FVD: at least 10
--   of the twelve models are better on Caltech than on the test set of their training.
-- reading: >
--   "Almost all" is read as: 10 of 12. FVD depends on the number of clips, so it is compared at
--   the number of the smallest test set, by drawing (`matched_distances`); the published FVDs,
--   of 1,980 clips against 2,198 (KITTI) and 4,518 (nuScenes), are not comparable.

WITH evidence AS (
    SELECT
        'trained on ' || trained_on || ': better on caltech, ' || metric AS part, 10 AS needed,
        base AS against, base_value AS other, decline < 0 AS outcome, *
    FROM paper_changes
    WHERE comparison = 'generalization' AND tested_on = 'caltech'
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
