-- comment: >
--   Table 4: one row per measure, agreement with opinions in videos of stochastic models alone. Beside
--   ours is what the paper prints; a measure of the paper that is not computed has only that.
-- columns:
--   printed_model: What Table 4 calls the measure; NULL where it does not have it.
--   splits: Published splits that count, as in pvqa_families.
--   videos: Median number of such videos in the test of a split.
--   srocc: Median over splits of the size of Spearman's correlation.
--   srocc_sd: Standard deviation over splits (ddof 0).
--   printed: The paper's median.

WITH printed AS (
    SELECT
        printed_model, value AS printed,
        -- Table 4 has another name than Table 3 for one of them.
        CASE printed_model WHEN 'Baseline (SSA) - ResNet-50' THEN 'Baseline - SSA features - ResNet-50'
            ELSE printed_model END AS table_3
    FROM published
    WHERE suite = 'pvqa' AND dimension = 'stochastic_videos' AND metric = 'SROCC'
),
named AS (
    SELECT printed_model AS table_3, any_value(model) AS model
    FROM published
    WHERE suite = 'pvqa' AND dimension = 'quality_measures'
    GROUP BY printed_model
)
SELECT
    coalesce(f.model, n.model) AS model, p.printed_model, f.splits, f.videos, f.srocc, f.srocc_sd,
    p.printed
FROM printed p
LEFT JOIN named n USING (table_3)
FULL JOIN (FROM pvqa_families WHERE family = 'stochastic') f ON f.model = n.model;
