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
--   Superior to all is read as: in every column. Agreement is that of Table 1, in percent. Results
--   stores hold no answers of raters to such pairs, so ours cannot be judged.

WITH printed AS (
    SELECT
        printed_model AS metric, split_part(run, ' ', 1) AS scenario, split_part(run, ' ', 2) AS by,
        run, value
    FROM published
    WHERE suite = 'fvd_study' AND dimension = 'agreement' AND printed_model <> 'Among raters'
),
compared AS (
    SELECT 'a. spread in FVD: most of all' AS part, 4 AS needed, f.run AS metric, f.value,
        o.metric AS against, o.value AS other
    FROM printed f JOIN printed o USING (run)
    WHERE f.metric = 'FVD' AND o.metric <> 'FVD' AND run = 'spr. FVD'
    UNION ALL
    SELECT 'b. no metric tells apart what is equal in FVD', 3, f.run, f.value,
        o.metric || ', ' || o.run, o.value
    FROM printed f JOIN printed o ON o.metric = f.by AND o.run = 'eq. FVD'
    WHERE f.metric = 'FVD' AND f.scenario = 'eq.'
    UNION ALL
    SELECT
        'c. spread in another metric: more than that metric', 3, f.run, f.value, o.metric, o.value
    FROM printed f JOIN printed o ON o.metric = f.by AND o.run = f.run
    WHERE f.metric = 'FVD' AND f.scenario = 'spr.' AND f.by <> 'FVD'
    UNION ALL
    SELECT 'd. most of all in every column', 7, f.run, any_value(f.value),
        arg_max(o.metric, o.value), max(o.value)
    FROM printed f JOIN printed o USING (run)
    WHERE f.metric = 'FVD' AND o.metric <> 'FVD'
    GROUP BY f.run
)
SELECT
    side, part, needed, 'FVD' AS model, 'BAIR' AS tested, metric,
    CASE side WHEN 'published' THEN value END AS value, against,
    CASE side WHEN 'published' THEN other END AS other,
    CASE side WHEN 'published' THEN value > other END AS outcome, true AS fair,
    CASE side WHEN 'ours' THEN 'no raters compared such pairs' END AS remark,
    NULL::VARCHAR AS bytes, NULL::BOOLEAN AS comparable
FROM compared
CROSS JOIN (VALUES ('ours'), ('published')) AS s(side);
