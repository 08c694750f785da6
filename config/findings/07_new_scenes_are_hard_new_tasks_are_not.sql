-- title: Models decline in new scenes, but not at new tasks in known scenes
-- paper: >
--   Observation 7: for robot action prediction, a significant decline in the performance of
--   models when encountering previously unseen scenes, while this phenomenon does not occur in
--   new tasks within seen scenes. Finding 7: models often capture the scene context but struggle
--   to learn the task dynamics.
-- criterion: >
--   Each model on BridgeData's subsets, against itself on the short-term test: (a) in both
--   subsets of new scenes and each of SSIM, PSNR, LPIPS and FVD, at least 10 of the twelve
--   models are worse; (b) on new tasks in known scenes, in each of these, fewer than 10 are: at
--   least 3 are not worse.
-- reading: >
--   "Significant" is read as: of twelve models, ten are the fewest that a sign test finds
--   (one-sided p = 0.019). FVD depends on the number of clips, so it is compared at the number
--   of the smallest subset, by drawing (`matched_distances`); the published FVDs, of 250 to
--   about 3,970 clips, are not comparable. Part of the decline may be the split: of 3,501 test
--   trajectories, 3,336 are in the training list too, seen from another camera; new scenes are
--   in neither.

WITH v AS (
    SELECT *, base AS against, base_value AS other
    FROM paper_changes
    WHERE comparison = 'generalization' AND trained_on = 'bridge' AND tested_on = 'bridge'
),
evidence AS (
    SELECT
        'a. worse: ' || tested || ', ' || metric AS part, 10 AS needed, decline > 0 AS outcome, *
    FROM v
    WHERE subset IN ('new_scene_original_task', 'new_scene_new_task')
    UNION ALL
    SELECT 'b. not worse: ' || tested || ', ' || metric, 3, decline <= 0, *
    FROM v
    WHERE subset = 'original_scene_new_task'
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
