-- title: Differences of FVD under 50 cannot be seen
-- paper: >
--   Section 4.3.1, Figure 5: when the difference in FVD is smaller than 50, the agreement with
--   human raters is close to random (but never worse), and increases rapidly once two models are
--   more than 50 FVD points apart.
-- criterion: >
--   For models of FVD 200 and 400: (a) agreement with models that are 10 and 20 worse is from 50
--   to 60 %, 4 of 4; (b) with models that are 100 to 500 worse it is above 60 %, 10 of 10.
-- reading: >
--   Close to random is read as: within ten percent of one half. Answers of raters that two videos
--   are alike count as disagreement. A difference of exactly 50 is not judged. Figure 5 has no
--   printed numbers, and results stores hold no answers of raters to such pairs: whoever has read
--   the figure adds rows to the published values (dimension resolution, model base200 or base400,
--   run +10 ...).

WITH gaps AS (
    SELECT side, base, gap
    FROM (VALUES ('ours'), ('published')) AS s(side)
    CROSS JOIN (VALUES ('base200'), ('base400')) AS b(base)
    CROSS JOIN (VALUES (10), (20), (100), (200), (300), (400), (500)) AS g(gap)
)
SELECT
    g.side,
    CASE
        WHEN g.gap < 50 THEN 'a. under 50: close to random' ELSE 'b. over 50: seen'
    END AS part,
    CASE WHEN g.gap < 50 THEN 4 ELSE 10 END AS needed, g.base AS model, 'BAIR' AS tested,
    'agreement at +' || g.gap AS metric, p.value,
    CASE WHEN g.gap < 50 THEN 'at most' ELSE 'above' END AS against, 60.0 AS other,
    CASE WHEN g.gap < 50 THEN p.value BETWEEN 50 AND 60 ELSE p.value > 60 END AS outcome,
    true AS fair,
    CASE
        WHEN g.side = 'ours' THEN 'no raters compared such pairs'
        WHEN p.value IS NULL THEN 'Figure 5 has no printed numbers'
    END AS remark,
    NULL::VARCHAR AS bytes, NULL::BOOLEAN AS comparable
FROM gaps g
LEFT JOIN published p
    ON g.side = 'published' AND p.suite = 'fvd_study' AND p.dimension = 'resolution'
    AND p.printed_model = g.base AND p.run = '+' || g.gap;
