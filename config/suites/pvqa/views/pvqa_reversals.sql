-- comment: >
--   One row per measure and family of videos: how often it ranks two videos the other way than people
--   do, who see a difference of 10 points or more (Figure 9 shows such a pair). Pairs are of test
--   videos of a published split, of one family.
-- columns:
--   family: stochastic or deterministic, by the model that made the videos.
--   pairs: Number of pairs, over all splits.
--   reversed: Share of these that the measure ranks the other way.

SELECT
    a.model, a.family, count(*) AS pairs,
    count(*) FILTER (a.predicted < b.predicted) / count(*) AS reversed
FROM predicted_opinions a
JOIN predicted_opinions b USING (suite, dimension, model, variant, subset, setting, split, family)
WHERE a.suite = 'pvqa' AND a.dimension = 'quality_measures' AND a.variant = 'default'
    AND a.subset = 'published' AND a.observed >= b.observed + 10
GROUP BY a.model, a.family;
