-- title: Control forecasts are worse than climatology beyond 15 days
-- paper: >
--   Section 5, Figures 4 and S2: control forecasts from various operational centers perform worse
--   than climatology at the S2S scale beyond 15 days.
-- criterion: >
--   For each of the four centres and each of t850, z500 and q700: the RMSE of the control forecast
--   is at least that of climatology at every lead time from 16 to 44 days, 12 of 12.
-- reading: >
--   The value is the first lead time at which the RMSE is not below that of climatology. Published
--   climatology is of 1994-2023, with the test year in it; ours of training years. Of ours, both are
--   of the starts that the centre has.

WITH wanted AS (
    SELECT side, forecast, variable
    FROM (VALUES ('ours'), ('published')) AS s(side)
    CROSS JOIN (VALUES ('ukmo'), ('ncep'), ('cma'), ('ecmwf')) AS f(forecast)
    CROSS JOIN (VALUES ('t850'), ('z500'), ('q700')) AS v(variable)
)
SELECT
    w.side, 'no better than climatology from day 16 on' AS part, 12 AS needed,
    w.forecast AS model, 'ChaosBench' AS tested, w.variable || ' RMSE' AS metric,
    CAST(min(r.lead) FILTER (r.value >= r.other) AS DOUBLE) AS value,
    'day' AS against, 16.0 AS other, min(r.n) AS in_common,
    CASE
        WHEN bool_or(r.value < r.other) FILTER (r.lead > 15) THEN false
        WHEN count(r.value - r.other) FILTER (r.lead > 15) = 29 THEN true
    END AS outcome,
    true AS fair,
    CASE
        WHEN count(c.lead) = 0 THEN 'not evaluated'
        WHEN outcome IS NULL THEN coalesce(
            min(c.reason) FILTER (c.value IS NULL), 'no scores of climatology on the same starts'
        )
    END AS remark,
    min(c.bytes) AS bytes, bool_and(c.comparable) AS comparable
FROM wanted w
LEFT JOIN s2s_curves c
    ON c.side = w.side AND c.forecast = w.forecast AND c.variable = w.variable
    AND c.dimension = 's2s_control' AND c.subset = 'test' AND c.curve = 'RMSE'
LEFT JOIN s2s_in_common r
    ON r.side = c.side AND r.dimension = c.dimension AND r.forecast = c.forecast
    AND r.variant = 'default' AND r.against = 'daily_climatology' AND r.subset = c.subset
    AND r.trained_on = c.trained_on AND r.tested_on = c.tested_on
    AND r.curve = c.curve AND r.variable = c.variable AND r.lead = c.lead
    AND r.curve = 'RMSE' AND r.subset = 'test' AND r.variable IN ('t850', 'z500', 'q700')
GROUP BY w.side, w.forecast, w.variable;
