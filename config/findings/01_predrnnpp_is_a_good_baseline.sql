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
),
evidence AS (
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
    WHERE tested NOT IN ('moving_mnist', 'kth', 'human36m', 'bair', 'traffic4cast')
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
