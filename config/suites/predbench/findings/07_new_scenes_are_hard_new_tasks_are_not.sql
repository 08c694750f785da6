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
)
SELECT
    'a. worse: ' || tested || ', ' || metric AS part, 10 AS needed, decline > 0 AS outcome, *
FROM v
WHERE subset IN ('new_scene_original_task', 'new_scene_new_task')
UNION ALL
SELECT 'b. not worse: ' || tested || ', ' || metric, 3, decline <= 0, *
FROM v
WHERE subset = 'original_scene_new_task';
