-- title: Learned forecasts lose detail, most centres do not
-- paper: >
--   Section 5, Figure 6: data-driven models perform worse than their physics-based counterpart
--   (barring NCEP) on spectral divergence.
-- criterion: >
--   SpecDiv at day 44 of each of PanguWeather, GraphCast and FourCastNetV2 is larger than that of
--   each of UKMO, CMA and ECMWF, in t850, z500 and q700 where both have a value, 24 of 24.
-- reading: >
--   Printed are values at day 44 (Tables 2 and S7), and not the means over lead times of Figure 6.
--   The released code averages fields over 32 starts before the transform for centres, and over none
--   for learned forecasts, which alone changes the value: of the published numbers the comparison
--   says what is printed, and not more.

WITH learned AS (
    SELECT * FROM (VALUES ('panguweather'), ('graphcast'), ('fourcastnetv2')) AS f(forecast)
    CROSS JOIN (VALUES ('t850'), ('z500'), ('q700')) AS v(variable)
    WHERE NOT (forecast = 'fourcastnetv2' AND variable = 'q700')
),
values_of AS (
    FROM s2s_day_44
    WHERE score = 'SpecDiv' AND variant = 'default' AND subset = 'test'
)
SELECT
    s.side, 'less detail than centres at day 44' AS part, 24 AS needed, l.forecast AS model,
    'ChaosBench' AS tested, l.variable || ' SpecDiv' AS metric, a.value, o.forecast AS against,
    b.value AS other, a.value > b.value AS outcome, true AS fair,
    CASE
        WHEN a.forecast IS NULL OR b.forecast IS NULL
            THEN CASE s.side WHEN 'ours' THEN 'not evaluated' ELSE 'not printed' END
        WHEN outcome IS NULL THEN coalesce(a.reason, b.reason)
    END AS remark,
    coalesce(a.bytes, b.bytes) AS bytes,
    coalesce(a.comparable AND b.comparable, a.comparable, b.comparable) AS comparable
FROM (VALUES ('ours'), ('published')) AS s(side)
CROSS JOIN learned l
CROSS JOIN (VALUES ('ukmo'), ('cma'), ('ecmwf')) AS o(forecast)
LEFT JOIN values_of a
    ON a.side = s.side AND a.forecast = l.forecast AND a.variable = l.variable
LEFT JOIN values_of b
    ON b.side = s.side AND b.forecast = o.forecast AND b.variable = l.variable;
