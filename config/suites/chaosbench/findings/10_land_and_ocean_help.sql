-- title: Land and ocean as further inputs help
-- paper: >
--   Section 1: prediction at this scale is doubly sensitive to initial and to boundary conditions;
--   appendix B.2: variables of land and ocean are used as additional inputs and targets.
-- criterion: >
--   Of every network that is trained with and without variables of land and ocean, RMSE of t850,
--   z500 and q700 is smaller with them, in most comparisons, (a) one day ahead, (b) at day 14, (c)
--   at day 44.
-- reading: >
--   The paper prints no numbers of that, so only data at hand are judged. Networks without are the
--   variant levels: they are shown variables on pressure levels, and forecast these. A difference of
--   one training each is not tested for its size. All of them forecast every start.

WITH twice AS (
    SELECT DISTINCT model FROM s2s_leads WHERE variant = 'levels'
    UNION ALL
    SELECT 'unet'
    WHERE NOT EXISTS (FROM s2s_leads WHERE variant = 'levels')
),
rmse AS (
    FROM s2s_leads
    WHERE dimension = 's2s_control' AND convention = 'wrmse.pooled' AND subset = 'test'
)
SELECT
    'ours' AS side, l.part, count(*) OVER (PARTITION BY l.lead) // 2 + 1 AS needed,
    t.model || ', land and ocean' AS model, 'ChaosBench' AS tested,
    v.variable || ' RMSE day ' || l.lead AS metric, a.value, 'levels alone' AS against,
    b.value AS other, a.n AS in_common,
    CASE WHEN a.n IS NOT DISTINCT FROM b.n THEN a.value < b.value END AS outcome, true AS fair,
    CASE
        WHEN a.model IS NULL OR b.model IS NULL THEN 'not evaluated'
        WHEN a.n IS DISTINCT FROM b.n THEN 'they have different starts'
        WHEN outcome IS NULL THEN coalesce(a.reason, b.reason)
    END AS remark,
    b.bytes, a.comparable AND b.comparable AS comparable
FROM twice t
CROSS JOIN (VALUES ('t850'), ('z500'), ('q700')) AS v(variable)
CROSS JOIN (VALUES (1, 'a. one day ahead'), (14, 'b. at day 14'), (44, 'c. at day 44')) AS l(lead, part)
LEFT JOIN rmse b
    ON b.model = t.model AND b.variable = v.variable AND b.lead = l.lead AND b.variant = 'levels'
LEFT JOIN rmse a
    ON a.model = b.model AND a.variable = b.variable AND a.lead = b.lead
    AND a.variant = 'default' AND a.trained_on = b.trained_on AND a.tested_on = b.tested_on
    AND a.scale = b.scale;
