-- title: FVD agrees best with people
-- paper: >
--   Section 4.3: FVD is the superior choice compared to all other metrics tested. No other metric
--   improves upon the ranking induced by FVD, none reliably distinguishes between good models that
--   are equal in FVD, and FVD consistently improves on the ranking induced by other metrics.
-- criterion: >
--   (a) Where models are spread in FVD, it agrees more with people than each other metric, 4 of 4.
--   (b) Each of SSIM, PSNR and KVD agrees less with people where FVD is equal than FVD does where
--   that metric is equal, 3 of 3. (c) Where models are spread in SSIM, PSNR or KVD, FVD agrees
--   more than that metric itself, 3 of 3. (d) In each column of Table 1 but its own, FVD agrees
--   most of all metrics, 7 of 7.
-- reading: >
--   Superior to all is read as: in every column. Agreement is that of Table 1, in percent; ours is
--   of the answers that name a video (docs/human_study.md). Simulated raters and networks with
--   random weights are not judged.

WITH printed AS (
    SELECT
        printed_model AS metric, split_part(run, ' ', 1) AS scenario, split_part(run, ' ', 2) AS by,
        run, value
    FROM published
    WHERE suite = 'fvd_study' AND dimension = 'agreement' AND printed_model <> 'Among raters'
),
-- Of several studies, the one with people and most answers.
asked AS (
    SELECT study FROM agreement_with_people
    GROUP BY study ORDER BY bool_or(simulated), sum(answers) DESC, study LIMIT 1
),
known AS (
    SELECT
        'published' AS side, metric, run, value, NULL AS remark, NULL AS bytes,
        NULL::BOOLEAN AS comparable, true AS is_judged
    FROM printed
    UNION ALL
    SELECT
        'ours', metric, scenario, value,
        CASE
            WHEN value IS NULL THEN reason
            WHEN simulated THEN 'raters are simulated'
            WHEN contains(convention, 'random') THEN 'a network with random weights'
        END,
        nullif(
            concat_ws(', ', nullif(source, '') || ' data', nullif(protocol, '') || ' protocol'), ''
        ), comparable,
        NOT simulated AND NOT contains(convention, 'random')
    FROM agreement_with_people JOIN asked USING (study)
    WHERE counting = 'decided'
),
-- Which values are compared, as the paper has them: those of FVD, and those of another metric.
wanted AS (
    SELECT 'a. spread in FVD: most of all' AS part, 4 AS needed, f.run AS metric, f.run,
        o.metric AS against, o.metric AS other_metric, o.run AS other_run
    FROM printed f JOIN printed o USING (run)
    WHERE f.metric = 'FVD' AND o.metric <> 'FVD' AND run = 'spr. FVD'
    UNION ALL
    SELECT 'b. no metric tells apart what is equal in FVD', 3, f.run, f.run,
        o.metric || ', ' || o.run, o.metric, o.run
    FROM printed f JOIN printed o ON o.metric = f.by AND o.run = 'eq. FVD'
    WHERE f.metric = 'FVD' AND f.scenario = 'eq.'
    UNION ALL
    SELECT 'c. spread in another metric: more than that metric', 3, f.run, f.run, o.metric,
        o.metric, o.run
    FROM printed f JOIN printed o ON o.metric = f.by AND o.run = f.run
    WHERE f.metric = 'FVD' AND f.scenario = 'spr.' AND f.by <> 'FVD'
    UNION ALL
    SELECT 'd. most of all in every column', 7, f.run, f.run, NULL, o.metric, o.run
    FROM printed f JOIN printed o USING (run)
    WHERE f.metric = 'FVD' AND o.metric <> 'FVD'
),
compared AS (
    SELECT
        s.side, w.part, w.needed, w.metric,
        any_value(f.value) AS value,
        coalesce(w.against, arg_max(w.other_metric, o.value)) AS against,
        -- The best of the others is known where all are.
        CASE WHEN count(o.value) = count(*) THEN max(o.value) END AS other,
        bool_and(f.is_judged AND o.is_judged) AS is_judged,
        coalesce(
            any_value(f.remark), min(o.remark), 'no raters compared such pairs'
        ) AS remark,
        any_value(f.bytes) AS bytes, any_value(f.comparable) AS comparable
    FROM wanted w
    CROSS JOIN (VALUES ('ours'), ('published')) AS s(side)
    LEFT JOIN known f ON f.side = s.side AND f.metric = 'FVD' AND f.run = w.run
    LEFT JOIN known o ON o.side = s.side AND o.metric = w.other_metric AND o.run = w.other_run
    GROUP BY s.side, w.part, w.needed, w.metric, w.against
)
SELECT
    side, part, needed, 'FVD' AS model, 'BAIR' AS tested, metric, value, against, other,
    CASE WHEN is_judged THEN value > other END AS outcome, true AS fair,
    CASE WHEN NOT is_judged OR (value > other) IS NULL THEN remark END AS remark, bytes,
    comparable
FROM compared;
