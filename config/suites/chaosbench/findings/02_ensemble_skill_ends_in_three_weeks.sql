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
--   alone, which is scored on the starts of each ensemble; (c) is of the starts that both have.

WITH wanted AS (
    SELECT side, variable
    FROM (VALUES ('ours'), ('published')) AS s(side)
    CROSS JOIN (VALUES ('t850'), ('z500'), ('q700')) AS v(variable)
),
curves AS (
    SELECT * FROM s2s_curves
    WHERE dimension = 's2s_ensemble' AND subset = 'test' AND curve = 'CRPSS'
),
both_curves AS (
    SELECT * FROM s2s_in_common
    WHERE dimension = 's2s_ensemble' AND subset = 'test' AND curve = 'CRPSS' AND weeks IS NULL
        AND forecast = 'ecmwf' AND variant = 'default' AND variable IN ('t850', 'z500', 'q700')
),
best AS (
    SELECT
        w.side, w.variable || ' CRPSS' AS metric, count(c.lead) AS found,
        CAST(min(c.lead) FILTER (c.value <= 0) AS DOUBLE) AS value, min(c.n) AS in_common,
        CASE
            WHEN bool_or(c.value <= 0) FILTER (c.lead <= 15) THEN false
            WHEN count(c.value) FILTER (c.lead <= 15) = 15 THEN true
        END AS skilful,
        CASE
            WHEN bool_or(c.value <= 0) FILTER (c.lead <= 20) THEN true
            WHEN count(c.value) FILTER (c.lead <= 20) = 20 THEN false
        END AS ends,
        min(c.reason) FILTER (c.value IS NULL) AS reason,
        min(c.bytes) AS bytes, bool_and(c.comparable) AS comparable
    FROM wanted w
    LEFT JOIN curves c ON c.side = w.side AND c.variable = w.variable AND c.forecast = 'ecmwf'
    GROUP BY w.side, w.variable
),
others AS (
    SELECT
        w.side, o.forecast, w.variable || ' CRPSS' AS metric,
        CAST(min(p.lead) FILTER (p.value <= 0) AS DOUBLE) AS its_end,
        CAST(min(p.lead) FILTER (p.other <= 0) AS DOUBLE) AS other_end, min(p.n) AS in_common,
        CASE
            WHEN other_end IS NOT NULL AND its_end IS NOT NULL THEN other_end < its_end
            WHEN other_end IS NOT NULL AND count(p.value) = 44 THEN true
            WHEN its_end IS NOT NULL AND count(p.other) = 44 THEN false
        END AS outcome,
        CASE
            WHEN b.found = 0 OR count(c.lead) = 0 THEN 'not evaluated'
            WHEN count(p.value) = 44 AND count(p.other) = 44
                THEN 'skill of both lasts for all lead times'
            ELSE coalesce(
                min(c.reason) FILTER (c.value IS NULL), b.reason,
                'no scores of starts that both have'
            )
        END AS reason,
        b.bytes, b.comparable AND coalesce(bool_and(c.comparable), true) AS comparable
    FROM wanted w
    CROSS JOIN (VALUES ('ukmo'), ('ncep'), ('cma')) AS o(forecast)
    JOIN best b ON b.side = w.side AND b.metric = w.variable || ' CRPSS'
    LEFT JOIN curves c
        ON c.side = w.side AND c.variable = w.variable AND c.forecast = o.forecast
    LEFT JOIN both_curves p
        ON p.side = c.side AND p.variable = c.variable AND p.against = c.forecast
        AND p.lead = c.lead AND p.trained_on = c.trained_on AND p.tested_on = c.tested_on
    GROUP BY w.side, o.forecast, w.variable, b.found, b.reason, b.bytes, b.comparable
)
SELECT
    side, 'a. skill at every lead time to day 15' AS part, 3 AS needed, 'ecmwf' AS model,
    'ChaosBench' AS tested, metric, value, 'day' AS against, 15.0 AS other, in_common,
    skilful AS outcome, true AS fair,
    CASE WHEN found = 0 THEN 'not evaluated' WHEN skilful IS NULL THEN reason END AS remark,
    bytes, comparable
FROM best
UNION ALL
SELECT
    side, 'b. no skill at some lead time to day 20', 3, 'ecmwf', 'ChaosBench', metric, value,
    'day', 20.0, in_common, ends, true,
    CASE WHEN found = 0 THEN 'not evaluated' WHEN ends IS NULL THEN reason END,
    bytes, comparable
FROM best
UNION ALL
SELECT
    side, 'c. longer skill than the other centres', 9, 'ecmwf', 'ChaosBench', metric,
    its_end, forecast, other_end, in_common, outcome, true,
    CASE WHEN outcome IS NULL THEN reason END, bytes, comparable
FROM others;
