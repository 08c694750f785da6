-- title: The best ensemble has skill to 15-20 days
-- paper: >
--   Section 5, Figures 8 and S6: the ensemble of ECMWF still has the best performance in terms of
--   CRPSS, with a predictability range of around 15-20 days ahead before its skill collapses to
--   climatology (CRPSS to 0).
-- criterion: >
--   (a) CRPSS of the ensemble of ECMWF is above 0 at every lead time to day 15, for t850, z500 and
--   q700, 3 of 3. (b) It is 0 or below at some lead time to day 20, 3 of 3. (c) For each of the
--   three other centres it is so at an earlier lead time, 9 of 9.
-- reading: >
--   The value is the first lead time at which CRPSS is not above 0. Best performance is read as:
--   skill that lasts longest. Ours is of the fair CRPS, against a climatology of training years
--   alone.

WITH wanted AS (
    SELECT side, variable
    FROM (VALUES ('ours'), ('published')) AS s(side)
    CROSS JOIN (VALUES ('t850'), ('z500'), ('q700')) AS v(variable)
),
curves AS (
    SELECT * FROM s2s_curves
    WHERE dimension = 's2s_ensemble' AND subset = 'test' AND curve = 'CRPSS'
),
best AS (
    SELECT
        w.side, w.variable || ' CRPSS' AS metric, count(c.lead) AS found,
        count(c.value) = 44 AS complete,
        CAST(min(c.lead) FILTER (c.value <= 0) AS DOUBLE) AS value,
        CASE
            WHEN bool_or(c.value <= 0) FILTER (c.lead <= 15) THEN false
            WHEN count(c.value) FILTER (c.lead <= 15) = 15 THEN true
        END AS skilful,
        CASE
            WHEN bool_or(c.value <= 0) FILTER (c.lead <= 20) THEN true
            WHEN count(c.value) FILTER (c.lead <= 20) = 20 THEN false
        END AS ends,
        min(c.reason) AS reason, min(c.bytes) AS bytes, bool_and(c.comparable) AS comparable
    FROM wanted w
    LEFT JOIN curves c ON c.side = w.side AND c.variable = w.variable AND c.forecast = 'ecmwf'
    GROUP BY w.side, w.variable
),
others AS (
    SELECT
        w.side, o.forecast, w.variable || ' CRPSS' AS metric, b.value,
        CAST(min(c.lead) FILTER (c.value <= 0) AS DOUBLE) AS other,
        CASE
            WHEN other IS NOT NULL AND b.value IS NOT NULL THEN other < b.value
            WHEN other IS NOT NULL AND b.complete THEN true
            WHEN b.value IS NOT NULL AND count(c.value) = 44 THEN false
        END AS outcome,
        CASE WHEN count(c.lead) = 0 THEN 'not evaluated' ELSE min(c.reason) END AS reason,
        b.bytes, b.comparable AND coalesce(bool_and(c.comparable), true) AS comparable
    FROM wanted w
    CROSS JOIN (VALUES ('ukmo'), ('ncep'), ('cma')) AS o(forecast)
    JOIN best b ON b.side = w.side AND b.metric = w.variable || ' CRPSS'
    LEFT JOIN curves c
        ON c.side = w.side AND c.variable = w.variable AND c.forecast = o.forecast
    GROUP BY w.side, o.forecast, w.variable, b.value, b.complete, b.bytes, b.comparable
)
SELECT
    side, 'a. skill at every lead time to day 15' AS part, 3 AS needed, 'ecmwf' AS model,
    'ChaosBench' AS tested, metric, value, 'day' AS against, 15.0 AS other, skilful AS outcome,
    true AS fair,
    CASE WHEN found = 0 THEN 'not evaluated' WHEN skilful IS NULL THEN reason END AS remark,
    bytes, comparable
FROM best
UNION ALL
SELECT
    side, 'b. no skill at some lead time to day 20', 3, 'ecmwf', 'ChaosBench', metric, value,
    'day', 20.0, ends, true,
    CASE WHEN found = 0 THEN 'not evaluated' WHEN ends IS NULL THEN reason END,
    bytes, comparable
FROM best
UNION ALL
SELECT
    side, 'c. longer skill than the other centres', 9, 'ecmwf', 'ChaosBench', metric,
    value, forecast, other, outcome, true, CASE WHEN outcome IS NULL THEN reason END,
    bytes, comparable
FROM others;
