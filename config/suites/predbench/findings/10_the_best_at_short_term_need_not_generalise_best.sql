-- title: The best short-term model need not generalise best; Earthformer does
-- paper: >
--   Observation 10: Earthformer maintains a significant lead over other methods on BridgeData
--   and Traffic4Cast2021, despite not having the best short-term prediction performance. Finding
--   10: the model with the best short-term prediction capability need not have the best
--   generalization ability.
-- criterion: >
--   (a) Earthformer is the best of the twelve models in at least half of the columns of each:
--   BridgeData's three subsets and Traffic4Cast2021's Moscow, 4 of 4. (b) It is the best in
--   fewer than half of the short-term columns of BridgeData and of Traffic4Cast2021, 2 of 2. (c)
--   In at least one column of these, the best short-term model is not the best in
--   generalization.
-- reading: >
--   A "lead" is read as: best in half of the columns, however small the distance. Models are
--   compared within one test set only, so FVD is at equal N.

SELECT
    side, 'a. Earthformer leads in generalization' AS part, 4 AS needed, model, tested, metric,
    value, against, other, outcome, fair, CASE WHEN outcome IS NULL THEN gap END AS remark,
    bytes, comparable
FROM paper_leads
WHERE model = 'earthformer' AND dimension = 'generalization'
    AND (tested LIKE 'bridge %' OR tested LIKE 'traffic4cast %')
UNION ALL
SELECT
    side, 'b. Earthformer does not lead in the short term', 2, model, tested, metric,
    value, against, other, NOT outcome, fair, CASE WHEN outcome IS NULL THEN gap END,
    bytes, comparable
FROM paper_leads
WHERE model = 'earthformer' AND dimension = 'short_term'
    AND tested IN ('bridge', 'traffic4cast')
UNION ALL
SELECT
    side, 'c. somewhere the best short-term model does not generalise best', 1, model, tested,
    metric, value, against, other, outcome, fair, CASE WHEN outcome IS NULL THEN gap END,
    bytes, comparable
FROM paper_overtaken
WHERE dimension = 'generalization' AND tested_on IN ('bridge', 'traffic4cast');
