-- comment: >
--   One row per control forecast and variable: how many days of skill by RMSE the correction of its
--   mean error buys (variant corrected: of each lead time and grid point, over 2016-2021).
-- columns:
--   forecast: Model, of the dimension s2s_control.
--   trained_on: Dataset of training.
--   tested_on: Dataset of the test.
--   subset: Part of the test dataset.
--   skilful_leads: Lead times before RMSE is no longer below that of climatology on the same starts, as it is.
--   skilful_leads_corrected: The same of the corrected forecast.
--   days_bought: Their difference.
--   fewest: Lower end of the difference, from the ends of both horizons taken apart; NULL without ends.
--   most: Upper end of it; NULL where one of the horizons has no end that it needs.
--   n: Starts behind the values, the fewest; climatology has them as well.
--   remark: Why there is no difference, or no interval.

WITH errors AS (
    SELECT
        e.model, e.variant, e.trained_on, e.tested_on, e.subset, e.variable, e.lead,
        c.value, c.other, c.n,
        -- The interval of a forecast is of all its starts.
        CASE WHEN c.n = e.n THEN e.ci95_low END AS ci95_low,
        CASE WHEN c.n = e.n THEN e.ci95_high END AS ci95_high
    FROM s2s_leads e
    LEFT JOIN s2s_in_common c
        ON c.side = 'ours' AND c.curve = 'RMSE' AND c.against = 'daily_climatology'
        AND c.dimension = e.dimension AND c.forecast = e.model AND c.variant = e.variant
        AND c.trained_on = e.trained_on AND c.tested_on = e.tested_on AND c.subset = e.subset
        AND c.variable = e.variable AND c.lead = e.lead
    WHERE e.dimension = 's2s_control' AND e.convention = 'wrmse.pooled'
        AND e.variant IN ('default', 'corrected')
),
horizons AS (
    SELECT
        model, variant, trained_on, tested_on, subset, variable, max(lead) AS last, min(n) AS n,
        min(lead) FILTER (value >= other) - 1 AS crossing,
        min(lead) FILTER (value IS NULL OR other IS NULL) - 1 AS unknown,
        min(lead) FILTER (ci95_high >= other) - 1 AS earliest,
        min(lead) FILTER (ci95_low >= other) - 1 AS latest,
        CASE
            WHEN unknown IS NULL THEN coalesce(crossing, last)
            WHEN crossing < unknown THEN crossing
        END AS skilful
    FROM errors
    GROUP BY ALL
)
SELECT
    o.model AS forecast, o.trained_on, o.tested_on, o.subset, o.variable,
    o.skilful AS skilful_leads, w.skilful AS skilful_leads_corrected,
    CASE WHEN w.n = o.n THEN w.skilful - o.skilful END AS days_bought,
    CASE WHEN w.n = o.n THEN w.earliest - o.latest END AS fewest,
    CASE WHEN w.n = o.n THEN w.latest - o.earliest END AS most, least(o.n, w.n) AS n,
    CASE
        WHEN o.skilful IS NULL OR w.skilful IS NULL
            THEN 'no value at some lead time before skill ends'
        WHEN days_bought IS NULL THEN 'the corrected forecast has other starts'
        WHEN w.skilful = w.last THEN 'skill of the corrected forecast does not end'
        WHEN fewest IS NULL OR most IS NULL
            THEN 'too few lead times with an interval for both ends'
    END AS remark
FROM horizons w
JOIN horizons o USING (model, trained_on, tested_on, subset, variable)
WHERE w.variant = 'corrected' AND o.variant = 'default';
