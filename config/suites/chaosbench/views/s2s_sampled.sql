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
--   unevenness: Sum over ranks of |share - 1 / ranks|, of rank_histogram.weighted averaged over the days, the mean over seeds, NULL if one has none; 0 is even, below 2 always.
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
        AND train_subset = 'all'
        AND convention = 'rank_histogram.weighted' AND variable IS NOT NULL
        AND threshold IS NOT NULL
    GROUP BY ALL
    HAVING count(value) = count(*) AND count(DISTINCT lead) = 7 -- all days of the week
),
even AS (
    SELECT
        *,
        1 / count(*) OVER (
            PARTITION BY model, variant, trained_on, tested_on, subset, seed, scale, variable, weeks
        ) AS flat
    FROM shares
),
of_seeds AS (
    SELECT
        * EXCLUDE (threshold, share, flat),
        sum(abs(share - flat) ORDER BY threshold) AS unevenness, count(*) - 1 AS members
    FROM even
    GROUP BY ALL
),
uneven AS (
    -- Trainings that are biased in opposite ways are not even together.
    SELECT
        * EXCLUDE (seed, unevenness, members), avg(unevenness ORDER BY seed) AS unevenness,
        min(members) AS members, count(*) AS seeds
    FROM of_seeds
    GROUP BY ALL
),
weekly AS (
    -- Seeds together, as in s2s_leads.
    SELECT
        model, variant, trained_on, tested_on, subset, scale, variable,
        CASE leads WHEN '1-7' THEN '1' ELSE '2' END AS weeks,
        CASE WHEN count(value) = count(*) THEN avg(value ORDER BY seed) END AS crpss,
        CASE WHEN count(*) = 1 THEN min(ci95_low) END AS crpss_low,
        CASE WHEN count(*) = 1 THEN min(ci95_high) END AS crpss_high,
        count(*) AS seeds, min(n) AS n, min(reason) FILTER (value IS NULL) AS remark,
        min(CASE WHEN bytes_known_by = 'stated' THEN 'unverified ' ELSE '' END || source
            || ' data' || CASE WHEN bytes_known_by = 'counts' THEN ', known by counts' ELSE '' END
            || ', ' || protocol || ' protocol') AS bytes,
        bool_and(comparable) AS comparable
    FROM overall
    WHERE suite = 'chaosbench' AND dimension = 's2s_ensemble' AND train_subset = 'all'
        AND convention = 'crpss.climatology' AND variable IS NOT NULL
        AND leads IN ('1-7', '8-14')
    GROUP BY
        model, variant, trained_on, tested_on, subset, setting, scale, variable, leads
)
SELECT
    regexp_replace(c.model, '_ensemble$', '') AS forecast, c.variant, c.trained_on, c.tested_on,
    c.subset, c.variable, u.members, c.weeks, c.crpss, c.crpss_low, c.crpss_high, u.unevenness,
    c.n, c.remark, c.bytes, c.comparable
FROM weekly c
LEFT JOIN uneven u
    USING (model, variant, trained_on, tested_on, subset, scale, variable, weeks, seeds);
