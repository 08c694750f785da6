-- title: No model excels everywhere, and motion datasets do not tell how others go
-- paper: >
--   Observation 4: PredRNN++ is superior in the motion trajectory domain, MCVD is the leading
--   choice on BAIR, RoboNet and driving scenes, TAU dominates on BridgeData, PredRNNv1 and
--   PredRNN++ on traffic flow, MAU on ICAR-ENSO, Earthformer on SEVIR and WeatherBench; PhyDNet
--   has the highest PSNR on Traffic4Cast2021. Finding 4: performance on motion datasets does not
--   reliably indicate performance on BridgeData, nuScenes, SEVIR and WeatherBench; no single
--   method excels in all tasks and metrics.
-- criterion: >
--   (a) Each of the twelve models is beaten in some column of the short-term tables. (b) The
--   mean rank of models on the motion datasets has a correlation below 0.7 with that on
--   BridgeData, nuScenes, SEVIR and WeatherBench: they share less than half of their variance, 4
--   of 4. (c) The named models (of two, one or the other) are the best in at least half of the
--   columns of their datasets, and PhyDNet in PSNR on Traffic4Cast2021: 15 of 15.
-- reading: >
--   "Not reliably" is read as: less than half of the variance; "leading" as: best in half of the
--   columns.

WITH v AS (
    SELECT * FROM paper_values WHERE dimension = 'short_term'
),
mean_ranks AS (
    SELECT
        side, model,
        CASE WHEN tested IN ('moving_mnist', 'kth', 'human36m') THEN 'motion' ELSE tested END
            AS tests,
        CASE WHEN bool_and(rank_at_best = rank_at_worst) THEN avg(rank_at_best) END AS mean_rank,
        bool_and(fair) AS fair,
        string_agg(DISTINCT tested || ': ' || gap, '; ' ORDER BY tested || ': ' || gap) AS gap,
        string_agg(DISTINCT bytes, '; ' ORDER BY bytes) AS bytes, bool_and(comparable) AS comparable
    FROM v
    GROUP BY ALL
),
shared AS (
    SELECT
        o.side, o.tests AS tested,
        CASE WHEN count(m.mean_rank) = count(*) AND count(o.mean_rank) = count(*)
             THEN corr(m.mean_rank, o.mean_rank) END AS value,
        bool_and(m.fair AND o.fair) AS fair,
        string_agg(DISTINCT coalesce(m.gap, o.gap), '; ' ORDER BY coalesce(m.gap, o.gap)) AS gap,
        string_agg(DISTINCT coalesce(o.bytes, m.bytes), '; ') AS bytes,
        bool_and(coalesce(o.comparable, m.comparable)) AS comparable
    FROM mean_ranks o
    JOIN mean_ranks m ON m.side = o.side AND m.model = o.model AND m.tests = 'motion'
    WHERE o.tests IN ('bridge', 'nuscenes', 'sevir', 'weatherbench')
    GROUP BY o.side, o.tests
),
named AS (
    SELECT unnest(datasets) AS tested, chosen FROM (VALUES
        (['moving_mnist', 'kth', 'human36m'], ['predrnnpp']),
        (['bair', 'robonet', 'cityscapes', 'kitti', 'nuscenes'], ['mcvd']),
        (['bridge'], ['tau']),
        (['taxibj', 'traffic4cast'], ['predrnn', 'predrnnpp']),
        (['enso'], ['mau']),
        (['sevir', 'weatherbench'], ['earthformer'])
    ) AS said(datasets, chosen)
),
places AS (
    SELECT
        v.side, n.tested, v.metric, array_to_string(n.chosen, ' or ') AS model,
        CASE
            WHEN bool_or(is_best) THEN true
            WHEN bool_and(coalesce(NOT is_best, false)) THEN false
        END AS is_best,
        bool_and(fair) AS fair, min(gap) AS gap, min(bytes) AS bytes,
        bool_and(comparable) AS comparable
    FROM named n
    JOIN v ON v.tested = n.tested AND list_contains(n.chosen, v.model)
    GROUP BY ALL
),
leads AS (
    SELECT
        side, tested, model, count(*) FILTER (is_best) AS value, count(*) AS other,
        CASE
            WHEN count(*) FILTER (is_best) >= count(*) / 2 THEN true
            WHEN count(*) FILTER (NOT is_best) > count(*) / 2 THEN false
        END AS outcome,
        coalesce(bool_or(fair) FILTER (is_best IS NULL), true) AS fair,
        string_agg(DISTINCT gap, '; ' ORDER BY gap) AS gap,
        string_agg(DISTINCT bytes, '; ' ORDER BY bytes) AS bytes, bool_and(comparable) AS comparable
    FROM places
    GROUP BY side, tested, model
)
SELECT
    side, 'a. each model is beaten in some column' AS part,
    count(*) OVER (PARTITION BY side) AS needed, model, 'all datasets' AS tested,
    'columns in which it is the best' AS metric, value, 'all columns' AS against, other,
    outcome, fair, CASE WHEN outcome IS NULL THEN gap END AS remark, bytes, comparable
FROM paper_beaten
WHERE dimension = 'short_term'
UNION ALL
SELECT
    side, 'b. ranks on motion datasets share less than half of the variance of ranks on others',
    4, 'all models', tested, 'correlation of mean ranks', value, 'less than', 0.7, value < 0.7,
    fair, CASE WHEN value IS NULL THEN gap END, bytes, comparable
FROM shared
UNION ALL
SELECT
    side, 'c. the named models lead their datasets', 15, model, tested,
    'columns in which it is the best', value, 'all columns', other, outcome,
    fair, CASE WHEN outcome IS NULL THEN gap END, bytes, comparable
FROM leads
UNION ALL
SELECT
    side, 'c. the named models lead their datasets', 15, model, tested, metric, value, leader,
    leader_value, is_best, fair, coalesce(gap, remark), bytes, comparable
FROM v
WHERE model = 'phydnet' AND tested = 'traffic4cast' AND metric = 'PSNR';
