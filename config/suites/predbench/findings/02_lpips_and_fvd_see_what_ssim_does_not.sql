-- title: MCVD looks best, by LPIPS and FVD, despite poor SSIM and PSNR
-- paper: >
--   Observation 2: despite poor performance on SSIM and PSNR, MCVD has the best results of LPIPS
--   and FVD on motion trajectory prediction, robot action prediction and driving scenes
--   prediction, except on BridgeData. Finding 2: LPIPS and FVD are more aptly suited for visual
--   prediction.
-- criterion: >
--   (a) Of the twelve models, MCVD is the best in LPIPS and FVD on the eight video datasets
--   other than BridgeData: 16 of 16. (b) On BridgeData it is not the best in both. (c) It is
--   among the worse six in SSIM and PSNR on all nine: 18 of 18.
-- reading: >
--   "Poor" is read as: in the worse half. Models are compared on the same clips, so FVD is at
--   equal N; where it is not, it is not compared. What people see (Fig. 3, appendix F) is not
--   judged here.

WITH v AS (
    SELECT *, leader AS against, leader_value AS other
    FROM paper_values
    WHERE dimension = 'short_term' AND model = 'mcvd'
        AND tested IN ('moving_mnist', 'kth', 'human36m', 'bair', 'robonet', 'bridge',
                       'cityscapes', 'kitti', 'nuscenes')
)
SELECT
    'a. best LPIPS and FVD, except on BridgeData' AS part, 16 AS needed,
    is_best AS outcome, * REPLACE (coalesce(gap, remark) AS remark)
FROM v
WHERE tested <> 'bridge' AND metric IN ('LPIPS', 'FVD')
UNION ALL
SELECT
    'b. not best in both LPIPS and FVD on BridgeData', 1,
    NOT is_best, * REPLACE (coalesce(gap, remark) AS remark)
FROM v
WHERE tested = 'bridge' AND metric IN ('LPIPS', 'FVD')
UNION ALL
SELECT
    'c. SSIM and PSNR among the worse six', 18,
    CASE WHEN rank_at_best > 6 THEN true WHEN rank_at_worst <= 6 THEN false END,
    * REPLACE (coalesce(gap, remark) AS remark)
FROM v
WHERE metric IN ('SSIM', 'PSNR');
