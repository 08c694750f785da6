-- comment: >
--   One row per control forecast and variable: how many days of skill by RMSE the correction of its
--   mean error buys (variant corrected: of each lead time and grid point, over 2016-2021).
-- columns:
--   forecast: Model, of the dimension s2s_control.
--   trained_on: Dataset of training.
--   tested_on: Dataset of the test.
--   subset: Part of the test dataset.
--   skilful_leads: Lead times before RMSE is no longer below that of climatology, as it is.
--   skilful_leads_corrected: The same of the corrected forecast.
--   days_bought: Their difference.
--   fewest: Lower end of the difference, from the ends of both horizons taken apart; NULL without ends.
--   most: Upper end of it; NULL where one of the horizons has no end that it needs.
--   n: Starts behind the values, the fewest.
--   remark: Why there is no difference, or no interval.

WITH errors AS (
    SELECT
        model, variant, trained_on, tested_on, subset, variable, lead, value, ci95_low, ci95_high, n
    FROM by_lead
    WHERE suite = 'chaosbench' AND dimension = 's2s_control' AND convention = 'wrmse.pooled'
        AND variant IN ('default', 'corrected')
),
horizons AS (
    SELECT
        e.model, e.variant, e.trained_on, e.tested_on, e.subset, e.variable, max(e.lead) AS last,
        count(*) AS leads, count(e.value - c.value) AS known, min(e.n) AS n,
        min(e.lead) FILTER (e.value >= c.value) - 1 AS crossing,
        min(e.lead) FILTER (e.value IS NULL OR c.value IS NULL) - 1 AS unknown,
        min(e.lead) FILTER (e.ci95_high >= c.value) - 1 AS earliest,
        min(e.lead) FILTER (e.ci95_low >= c.value) - 1 AS latest,
        CASE
            WHEN unknown IS NULL THEN coalesce(crossing, last)
            WHEN crossing < unknown THEN crossing
        END AS skilful
    FROM errors e
    LEFT JOIN errors c
        ON c.model = 'daily_climatology' AND c.variant = 'default' AND c.trained_on = e.trained_on
        AND c.tested_on = e.tested_on AND c.subset = e.subset AND c.variable = e.variable
        AND c.lead = e.lead
    GROUP BY ALL
)
SELECT
    o.model AS forecast, o.trained_on, o.tested_on, o.subset, o.variable,
    o.skilful AS skilful_leads, w.skilful AS skilful_leads_corrected,
    w.skilful - o.skilful AS days_bought,
    w.earliest - o.latest AS fewest, w.latest - o.earliest AS most, least(o.n, w.n) AS n,
    CASE
        WHEN days_bought IS NULL THEN 'no value at some lead time before skill ends'
        WHEN w.skilful = w.last THEN 'skill of the corrected forecast does not end'
        WHEN fewest IS NULL OR most IS NULL
            THEN 'too few lead times with an interval for both ends'
    END AS remark
FROM horizons w
JOIN horizons o USING (model, trained_on, tested_on, subset, variable)
WHERE w.variant = 'corrected' AND o.variant = 'default';
