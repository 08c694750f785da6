-- title: PredRNN++ is a good baseline
-- paper: >
--   Observation 1: across all datasets within the motion trajectory prediction domain and BAIR,
--   PredRNN++ achieves optimal outcomes in SSIM and PSNR. It also excels in SSIM, RMSE and WMAPE
--   on Traffic4Cast2021, and shows comparable results on other datasets. Finding 1: it still
--   demonstrates remarkable performance across multiple datasets, a good baseline.
-- criterion: >
--   (a) Of the twelve models, PredRNN++ is the best in SSIM and PSNR on Moving-MNIST, KTH,
--   Human3.6M and BAIR: 8 of 8. (b) It is the best in SSIM, RMSE and WMAPE on Traffic4Cast2021:
--   3 of 3. (c) On the nine other datasets, it is among the best six in at least half of all
--   columns: 18 of 35.
-- reading: >
--   "Comparable" is read as: in the better half. Equal printed values share a rank.

WITH v AS (
    SELECT *, leader AS against, leader_value AS other
    FROM paper_values
    WHERE dimension = 'short_term' AND model = 'predrnnpp'
)
SELECT
    'a. best SSIM and PSNR on motion trajectories and BAIR' AS part, 8 AS needed,
    is_best AS outcome, * REPLACE (coalesce(gap, remark) AS remark)
FROM v
WHERE tested IN ('moving_mnist', 'kth', 'human36m', 'bair') AND metric IN ('SSIM', 'PSNR')
UNION ALL
SELECT
    'b. best SSIM, RMSE and WMAPE on Traffic4Cast2021', 3,
    is_best, * REPLACE (coalesce(gap, remark) AS remark)
FROM v
WHERE tested = 'traffic4cast' AND metric IN ('SSIM', 'RMSE', 'WMAPE')
UNION ALL
SELECT
    'c. among the best six on the other datasets', 18,
    CASE WHEN rank_at_worst <= 6 THEN true WHEN rank_at_best > 6 THEN false END,
    * REPLACE (coalesce(gap, remark) AS remark)
FROM v
WHERE tested NOT IN ('moving_mnist', 'kth', 'human36m', 'bair', 'traffic4cast');
