-- title: The best short-term models need not be the best long-term ones
-- paper: >
--   Observation 5: while TAU excels in short-term prediction, PredRNN++ outperforms in long-term
--   performance on BridgeData. MCVD shows remarkable results for both on nuScenes. Finding 5:
--   models performing the best in the short-term prediction may not yield the best results in
--   the long-term evaluation.
-- criterion: >
--   (a) TAU is the best of the twelve models in at least half of the short-term columns of
--   BridgeData, (b) PredRNN++ in at least half of the long-term ones, (c) MCVD in at least half
--   of both on nuScenes. (d) In at least one column of BridgeData, nuScenes or WeatherBench, the
--   best short-term model is not the best long-term one.
-- reading: >
--   "Excels", "outperforms" and "remarkable" are read as: best in half of the columns. Long-term
--   values are means over all lead times. FVD is compared within one test set only. The paper's
--   long-term results are a figure, without numbers.

WITH said AS (
    SELECT * FROM (VALUES
        ('a. TAU leads BridgeData in the short term', 1, 'tau', 'bridge', 'short_term'),
        ('b. PredRNN++ leads BridgeData in the long term', 1, 'predrnnpp', 'bridge', 'long_term'),
        ('c. MCVD leads nuScenes in both', 2, 'mcvd', 'nuscenes', 'short_term'),
        ('c. MCVD leads nuScenes in both', 2, 'mcvd', 'nuscenes', 'long_term')
    ) AS said(part, needed, model, dataset, dimension)
)
SELECT
    l.side, s.part, s.needed, l.model, l.tested, l.metric, l.value, l.against, l.other,
    l.outcome, l.fair, CASE WHEN l.outcome IS NULL THEN l.gap END AS remark,
    l.bytes, l.comparable
FROM said s
JOIN paper_leads l ON l.model = s.model AND l.dimension = s.dimension
    AND l.tested = CASE l.dimension
        WHEN 'long_term' THEN s.dataset || ' extrapolation' ELSE s.dataset
    END
UNION ALL
SELECT
    side, 'd. somewhere the best short-term model is not the best long-term one', 1,
    model, tested_on, metric, value, against, other, outcome,
    fair, CASE WHEN outcome IS NULL THEN gap END, bytes, comparable
FROM paper_overtaken
WHERE dimension = 'long_term';
