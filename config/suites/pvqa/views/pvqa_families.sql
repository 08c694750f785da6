-- comment: >
--   One row per measure and family of videos (stochastic or deterministic, by the model that made
--   them): agreement with opinions in the test videos of this family, over the published splits
--   (Table 4). Splits with fewer than three such videos, or without a correlation, are left out.
-- columns:
--   family: stochastic or deterministic, by the model that made the videos.
--   splits: Number of splits that count.
--   videos: Median number of such videos in the test of a split.
--   srocc: Median over splits of the size of Spearman's correlation.
--   srocc_sd: Standard deviation over splits (ddof 0).

WITH ranked AS (
    -- Equal values share the mean of their ranks.
    SELECT
        model, family, split,
        rank() OVER (one ORDER BY predicted)
            + (count(*) OVER (PARTITION BY model, family, split, predicted) - 1) / 2.0 AS x,
        rank() OVER (one ORDER BY observed)
            + (count(*) OVER (PARTITION BY model, family, split, observed) - 1) / 2.0 AS y
    FROM predicted_opinions
    WHERE suite = 'pvqa' AND dimension = 'quality_measures' AND variant = 'default'
        AND subset = 'published' AND family IS NOT NULL
    WINDOW one AS (PARTITION BY model, family, split)
),
correlated AS (
    SELECT
        model, family, split, count(*) AS videos,
        CASE
            WHEN count(DISTINCT x) > 1 AND count(DISTINCT y) > 1 THEN abs(corr(x, y ORDER BY x, y))
        END AS srocc
    FROM ranked
    GROUP BY model, family, split
    HAVING count(*) >= 3
)
SELECT
    model, family, count(*) AS splits, median(videos) AS videos, median(srocc) AS srocc,
    stddev_pop(srocc ORDER BY split) AS srocc_sd
FROM correlated
WHERE srocc IS NOT NULL
GROUP BY model, family;
