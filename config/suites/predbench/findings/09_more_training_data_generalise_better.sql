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
    AND n.trained_on = 'nuscenes' AND k.trained_on = 'kitti';
