-- comment: >
--   One row per ensemble, variable and week (1, 2): its CRPSS, and how uneven its rank histogram is.
-- columns:
--   forecast: Model, without `_ensemble`.
--   variant: Variant of the model; the members of trainings5 are five trainings of a network.
--   trained_on: Dataset of training.
--   tested_on: Dataset of the test.
--   subset: Part of the test dataset.
--   members: Forecasts of each start.
--   weeks: 1 (days 1 to 7) or 2 (8 to 14).
--   crpss: crpss.climatology of the days of the week, a column of the table s2s_ensemble.
--   crpss_low: Lower end of its 95 % interval; NULL where blocks of starts are too few.
--   crpss_high: Upper end of it.
--   unevenness: Sum over ranks of |share - 1 / ranks|, of rank_histogram.weighted averaged over the days; 0 is even, below 2 always.
--   n: Starts behind the values.
--   remark: Why there is no CRPSS.
--   bytes: Origin of the bytes and protocol of the values.
--   comparable: True only if bytes and recipe are the paper's.

WITH shares AS (
    SELECT
        model, variant, trained_on, tested_on, subset, seed, scale, variable,
        CASE WHEN lead <= 7 THEN '1' ELSE '2' END AS weeks, threshold,
        avg(value ORDER BY lead) AS share
    FROM by_lead
    WHERE suite = 'chaosbench' AND dimension = 's2s_ensemble' AND lead <= 14
        AND convention = 'rank_histogram.weighted' AND variable IS NOT NULL
        AND threshold IS NOT NULL AND value IS NOT NULL
    GROUP BY ALL
),
even AS (
    SELECT
        *,
        1 / count(*) OVER (
            PARTITION BY model, variant, trained_on, tested_on, subset, seed, scale, variable, weeks
        ) AS flat
    FROM shares
),
uneven AS (
    SELECT
        * EXCLUDE (threshold, share, flat),
        sum(abs(share - flat) ORDER BY threshold) AS unevenness, count(*) - 1 AS members
    FROM even
    GROUP BY ALL
)
SELECT
    regexp_replace(c.model, '_ensemble$', '') AS forecast, c.variant, c.trained_on, c.tested_on,
    c.subset, c.variable, u.members, CASE c.leads WHEN '1-7' THEN '1' ELSE '2' END AS weeks,
    c.value AS crpss, c.ci95_low AS crpss_low, c.ci95_high AS crpss_high, u.unevenness, c.n,
    CASE WHEN c.value IS NULL THEN c.reason END AS remark,
    c.source || ' bytes, ' || c.protocol || ' protocol' AS bytes, c.comparable
FROM overall c
LEFT JOIN uneven u
    ON u.model = c.model AND u.variant = c.variant AND u.trained_on = c.trained_on
    AND u.tested_on = c.tested_on AND u.subset = c.subset AND u.scale = c.scale
    AND u.seed IS NOT DISTINCT FROM c.seed AND u.variable = c.variable
    AND u.weeks = CASE c.leads WHEN '1-7' THEN '1' ELSE '2' END
WHERE c.suite = 'chaosbench' AND c.dimension = 's2s_ensemble'
    AND c.convention = 'crpss.climatology' AND c.variable IS NOT NULL
    AND c.leads IN ('1-7', '8-14');
