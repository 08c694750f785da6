-- title: Sampled networks are behind the ensembles of centres
-- paper: >
--   Section 5, Figures 8 and S6: CRPSS of the ensembles of four centres. The release has ensembles
--   of five trainings as well; no scores of theirs are printed.
-- criterion: >
--   In weeks 1 and 2, in t850, z500 and q700, of the VAE (draws) and of every network that is
--   trained several times (variant trainings5), against the ensemble of each of the four centres:
--   (a) CRPSS is smaller, in all; (b) the rank histogram is less even, in all.
-- reading: >
--   Only data at hand are judged. The unevenness of a histogram is the sum over ranks of the
--   distance of its share from that of an even one. CRPSS is of the fair CRPS, which does not
--   depend on the number of members; a histogram of more members has more ranks to be uneven in.
--   CRPSS is of the starts that both have. Ranks of single starts are not kept, so that histograms
--   are compared only where both have the same starts.

WITH networks AS (
    SELECT 'vae' AS forecast, 'default' AS variant
    UNION
    SELECT forecast, variant FROM s2s_sampled WHERE variant = 'trainings5' AND subset = 'test'
),
both_weeks AS (
    SELECT * FROM s2s_in_common
    WHERE side = 'ours' AND dimension = 's2s_ensemble' AND subset = 'test' AND curve = 'CRPSS'
        AND weeks IS NOT NULL AND variable IN ('t850', 'z500', 'q700')
),
compared AS (
    SELECT
        n.forecast || CASE n.variant WHEN 'default' THEN '' ELSE ', 5 trainings' END AS model,
        v.variable, w.weeks, c.forecast AS against, p.value AS crpss, p.other AS other_crpss,
        p.n = a.n AND p.n = b.n AS has_same_starts, p.n AS in_common,
        CASE WHEN has_same_starts THEN a.unevenness END AS unevenness,
        CASE WHEN has_same_starts THEN b.unevenness END AS other_unevenness,
        CASE
            WHEN a.forecast IS NULL OR b.forecast IS NULL THEN 'not evaluated'
            WHEN a.crpss IS NULL OR b.crpss IS NULL THEN coalesce(a.remark, b.remark)
            WHEN p.n IS NULL THEN 'no scores of starts that both have'
        END AS remark,
        coalesce(a.bytes, b.bytes) AS bytes,
        coalesce(a.comparable AND b.comparable, a.comparable, b.comparable) AS comparable
    FROM networks n
    CROSS JOIN (VALUES ('t850'), ('z500'), ('q700')) AS v(variable)
    CROSS JOIN (VALUES ('1'), ('2')) AS w(weeks)
    CROSS JOIN (VALUES ('ukmo'), ('ncep'), ('cma'), ('ecmwf')) AS c(forecast)
    LEFT JOIN s2s_sampled a
        ON a.forecast = n.forecast AND a.variant = n.variant AND a.subset = 'test'
        AND a.variable = v.variable AND a.weeks = w.weeks
    LEFT JOIN s2s_sampled b
        ON b.forecast = c.forecast AND b.variant = 'default' AND b.subset = 'test'
        AND b.variable = v.variable AND b.weeks = w.weeks
        AND (a.forecast IS NULL OR (b.trained_on = a.trained_on AND b.tested_on = a.tested_on))
    LEFT JOIN both_weeks p
        ON p.forecast = a.forecast AND p.variant = a.variant AND p.against = b.forecast
        AND p.trained_on = a.trained_on AND p.tested_on = a.tested_on
        AND p.variable = a.variable AND p.weeks = a.weeks
)
SELECT
    'ours' AS side, 'a. smaller CRPSS' AS part, count(*) OVER () AS needed, model,
    'ChaosBench' AS tested, variable || ' CRPSS week ' || weeks AS metric, crpss AS value, against,
    other_crpss AS other, in_common, crpss < other_crpss AS outcome, true AS fair, remark, bytes,
    comparable
FROM compared
UNION ALL
SELECT
    'ours', 'b. less even ranks', count(*) OVER (), model, 'ChaosBench',
    variable || ' unevenness week ' || weeks, unevenness, against, other_unevenness, in_common,
    unevenness > other_unevenness, true,
    CASE
        WHEN remark IS NULL AND NOT has_same_starts
            THEN 'they have different starts, and ranks of single starts are not kept'
        ELSE remark
    END, bytes, comparable
FROM compared;
