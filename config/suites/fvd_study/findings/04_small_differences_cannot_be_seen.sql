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
--   are alike count as disagreement. A difference of exactly 50 is not judged, nor are simulated
--   raters and networks with random weights. Figure 5 has no printed numbers: whoever has read it
--   adds rows to the published values (dimension resolution, model base200 or base400, run +10 ...).

WITH gaps AS (
    SELECT side, base, gap
    FROM (VALUES ('ours'), ('published')) AS s(side)
    CROSS JOIN (VALUES ('base200'), ('base400')) AS b(base)
    CROSS JOIN (VALUES (10), (20), (100), (200), (300), (400), (500)) AS g(gap)
),
-- Of several studies, the one with people and most answers.
asked AS (
    SELECT study FROM agreement_with_people
    GROUP BY study ORDER BY bool_or(simulated), sum(answers) DESC, study LIMIT 1
),
known AS (
    SELECT
        'published' AS side, printed_model || ' ' || run AS point, value, NULL AS remark,
        true AS is_judged, NULL AS bytes, NULL::BOOLEAN AS comparable
    FROM published
    WHERE suite = 'fvd_study' AND dimension = 'resolution'
    UNION ALL
    SELECT
        'ours', scenario, value,
        CASE
            WHEN value IS NULL THEN reason
            WHEN simulated THEN 'raters are simulated'
            WHEN contains(convention, 'random') THEN 'a network with random weights'
        END,
        NOT simulated AND NOT contains(convention, 'random'),
        nullif(
            concat_ws(', ', nullif(source, '') || ' data', nullif(protocol, '') || ' protocol'), ''
        ), comparable
    FROM agreement_with_people JOIN asked USING (study)
    WHERE counting = 'all' AND kind = 'gap' AND metric = 'FVD'
)
SELECT
    g.side,
    CASE
        WHEN g.gap < 50 THEN 'a. under 50: close to random' ELSE 'b. over 50: seen'
    END AS part,
    CASE WHEN g.gap < 50 THEN 4 ELSE 10 END AS needed, g.base AS model, 'BAIR' AS tested,
    'agreement at +' || g.gap AS metric, p.value,
    CASE WHEN g.gap < 50 THEN 'at most' ELSE 'above' END AS against, 60.0 AS other,
    CASE
        WHEN NOT p.is_judged THEN NULL
        WHEN g.gap < 50 THEN p.value BETWEEN 50 AND 60
        ELSE p.value > 60
    END AS outcome,
    true AS fair,
    CASE
        WHEN p.remark IS NOT NULL THEN p.remark
        WHEN p.value IS NULL AND g.side = 'ours' THEN 'no raters compared such pairs'
        WHEN p.value IS NULL THEN 'Figure 5 has no printed numbers'
    END AS remark,
    p.bytes, p.comparable
FROM gaps g
LEFT JOIN known p ON p.side = g.side AND p.point = g.base || ' +' || g.gap;
