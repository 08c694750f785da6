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

SELECT
    'trained on ' || trained_on || ': better on caltech, ' || metric AS part, 10 AS needed,
    base AS against, base_value AS other, decline < 0 AS outcome, *
FROM paper_changes
WHERE comparison = 'generalization' AND tested_on = 'caltech';
