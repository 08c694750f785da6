-- comment: >
--   One row per side, forecast, variable and threshold: the first lead time at which a forecast has
--   no skill, by RMSE (not below that of climatology on the same starts), ACC (below 0.6) and CRPSS
--   (not above 0). Headline variables have published rows, too.
-- columns:
--   side: ours, or published.
--   dimension: s2s_control (single forecasts) or s2s_ensemble.
--   forecast: Model; of an ensemble without `_ensemble`, as the paper names both alike.
--   trained_on: Dataset of training.
--   tested_on: Dataset of the test.
--   subset: Part of the test dataset.
--   threshold: What ends the skill, in words.
--   first_lead: First lead time past the threshold; NULL if there is none, or not all have values.
--   skilful_leads: Lead times before it; all there are if skill never ends.
--   earliest: First lead time at which the end of the 95 % interval that is nearer to the threshold is past it.
--   latest: The same of the other end; NULL if that is past it at no lead time with an interval.
--   n: Starts behind the values, the fewest; of RMSE those that climatology has as well.
--   remark: Why there is no first lead time, or no interval.

WITH lines AS (
    SELECT
        c.* EXCLUDE (n),
        CASE c.curve WHEN 'RMSE' THEN r.n ELSE c.n END AS n,
        CASE c.curve
            WHEN 'RMSE' THEN 'RMSE >= climatology'
            WHEN 'ACC' THEN 'ACC < 0.6'
            ELSE 'CRPSS <= 0'
        END AS threshold,
        -- The interval of a forecast is of all its starts, which climatology may lack some of.
        c.curve = 'RMSE' AND c.ci95_low IS NOT NULL AND r.n < c.n AS has_more,
        -- Positive where there is skill, and its ends.
        CASE c.curve WHEN 'RMSE' THEN r.other - r.value WHEN 'ACC' THEN c.value - 0.6
            ELSE c.value END AS margin,
        CASE c.curve
            WHEN 'RMSE' THEN CASE WHEN r.n = c.n THEN r.other - c.ci95_high END
            WHEN 'ACC' THEN c.ci95_low - 0.6
            ELSE c.ci95_low
        END AS least,
        CASE c.curve
            WHEN 'RMSE' THEN CASE WHEN r.n = c.n THEN r.other - c.ci95_low END
            WHEN 'ACC' THEN c.ci95_high - 0.6
            ELSE c.ci95_high
        END AS most
    FROM s2s_curves c
    LEFT JOIN s2s_in_common r
        ON c.curve = 'RMSE' AND r.curve = 'RMSE' AND r.against = 'daily_climatology'
        AND r.variant = 'default' AND r.side = c.side AND r.dimension = c.dimension
        AND r.forecast = c.forecast AND r.subset = c.subset AND r.trained_on = c.trained_on
        AND r.tested_on = c.tested_on AND r.variable = c.variable AND r.lead = c.lead
    WHERE c.forecast <> 'daily_climatology'
),
crossed AS (
    SELECT
        side, dimension, forecast, trained_on, tested_on, subset, variable, threshold,
        count(*) AS leads, count(margin) AS known, max(lead) AS last,
        -- ACC of exactly 0.6 is skill, a CRPSS of 0 and an RMSE as climatology's are none.
        min(lead) FILTER (margin < 0 OR (margin = 0 AND curve <> 'ACC')) AS crossing,
        min(lead) FILTER (margin IS NULL) AS unknown,
        min(lead) FILTER (least < 0 OR (least = 0 AND curve <> 'ACC')) AS earliest,
        min(lead) FILTER (most < 0 OR (most = 0 AND curve <> 'ACC')) AS latest,
        count(least) AS intervals, bool_or(has_more) AS has_more, min(n) AS n,
        min(reason) FILTER (value IS NULL) AS reason
    FROM lines
    GROUP BY ALL
)
SELECT
    side, dimension, forecast, trained_on, tested_on, subset, variable, threshold,
    CASE WHEN unknown IS NULL OR crossing < unknown THEN crossing END AS first_lead,
    CASE WHEN first_lead IS NOT NULL THEN first_lead - 1 WHEN known = leads THEN last END
        AS skilful_leads,
    earliest, latest, n,
    CASE
        WHEN first_lead IS NULL AND known < leads
            THEN coalesce(reason, 'no scores of climatology on the same starts')
        WHEN first_lead IS NULL THEN 'skill does not end within ' || last || ' lead times'
        WHEN side = 'published' THEN 'printed without intervals'
        WHEN has_more THEN 'intervals are of more starts than climatology has'
        WHEN intervals = 0 THEN 'no lead time has an interval'
        WHEN latest IS NULL THEN 'no upper end within the ' || intervals || ' lead times with intervals'
    END AS remark
FROM crossed;
