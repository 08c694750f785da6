-- title: Drift helps
-- paper: >
--   Rain that drifts on is forecast better than rain that stays.
-- criterion: >
--   Drift has a larger score than persistence, 1 of 1.
-- reading: >
--   The score is that of single pixels, over all lead times.

WITH scores AS (
    SELECT model, value, reason, source || ' data' AS bytes, comparable
    FROM overall
    WHERE suite = 'rain' AND convention = 'fss.scale1' AND threshold IS NULL AND leads IS NULL
)
SELECT
    side, 'drift' AS part, 1 AS needed, 'drift' AS model, 'rain_radar' AS tested, 'FSS' AS metric,
    d.value, 'persistence' AS against, p.value AS other, d.value > p.value AS outcome, true AS fair,
    CASE WHEN side = 'published' THEN 'nothing is printed of persistence' END AS remark,
    d.bytes, d.comparable
FROM (VALUES ('ours'), ('published')) AS s(side)
LEFT JOIN scores d ON side = 'ours' AND d.model = 'drift'
LEFT JOIN scores p ON side = 'ours' AND p.model = 'persistence'
