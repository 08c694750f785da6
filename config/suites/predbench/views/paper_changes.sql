-- comment: >
--   One row per side, model of the paper, metric and pair of test sets: short-term test and
--   generalization, or two frame intervals; distances between sets of clips at equal N only.
-- columns:
--   side: ours, or published.
--   model: Model.
--   trained_on: Dataset of training.
--   tested_on: Dataset of the test.
--   subset: Part of the test dataset.
--   frame_interval: Frame interval, in those of the training; NULL if it is none of the key.
--   tested: What was tested, for people.
--   metric: Column heading of the paper, behind a variable where it names one.
--   higher_is_better: Direction.
--   value: Mean over seeds, or the printed value; NULL always has a remark.
--   n: Samples behind the value; NULL for published ones.
--   fair: False where values of this place cannot be compared; the remark says why.
--   remark: Why there is no value or no comparison; what is doubtful about a printed one.
--   bytes: Origin of the bytes and protocol of our values at this place.
--   comparable: True only if bytes and recipe of all our values at this place are the paper's.
--   comparison: Dimension of the evaluation that is compared.
--   base_interval: Frame interval of what it is compared with.
--   base: What it is compared with, for people.
--   base_value: Value there.
--   base_n: Samples behind it.
--   decline: How much worse the value is than base_value, as a part of it; NULL if unfair.

WITH at_n AS (
    -- Distances at equal N, seeds together.
    SELECT
        m.comparison, m.dimension, m.model, m.trained_on, m.tested_on, m.subset,
        k."interval" AS frame_interval,
        m.convention, min(m.n) AS n,
        CASE WHEN count(m.value) = count(*) AND min(m.n) = max(m.n)
            THEN avg(m.value ORDER BY m.seed) END AS value,
        CASE WHEN min(m.n) < max(m.n)
            THEN 'seeds have ' || min(m.n) || ' to ' || max(m.n) || ' clips in common'
            ELSE min(m.reason) END AS reason
    FROM matched_distances m
    JOIN settings k ON k.setting = m.setting
    JOIN paper_columns c
        ON c.dimension = m.dimension AND c.dataset = m.tested_on AND c.convention = m.convention
    WHERE m.suite = 'predbench' AND m.variant = 'default' AND m.train_subset = 'all'
    GROUP BY ALL
),
known AS (
    -- The published value at interval 1 is that of the short-term test, on other windows.
    SELECT p.* REPLACE (coalesce(p.value, s.value) AS value)
    FROM paper_values p
    LEFT JOIN paper_values s
        ON p.side = 'published' AND p.frame_interval = 1 AND s.side = 'published'
        AND s.dimension = 'short_term' AND s.model = p.model AND s.tested_on = p.tested_on
        AND s.metric = p.metric
),
pairs AS (
    SELECT
        o.side, o.dimension AS comparison, o.model, o.trained_on, o.tested_on, o.subset,
        b.frame_interval AS base_interval, o.frame_interval,
        b.tested AS base, o.tested, o.metric, o.higher_is_better,
        b.value AS base_value, o.value, b.n AS base_n, o.n,
        b.dimension AS base_dimension, b.subset AS base_subset,
        b.convention AS base_convention, o.convention,
        CASE WHEN b.value IS NULL THEN b.tested || ': ' || b.remark
             WHEN o.value IS NULL THEN o.tested || ': ' || o.remark
             ELSE coalesce(o.remark, b.remark) END AS remark,
        coalesce(o.bytes, b.bytes) AS bytes,
        b.comparable AND o.comparable AS comparable
    FROM known o
    JOIN known b
        ON b.side = o.side AND b.model = o.model AND b.metric = o.metric
        AND b.trained_on = o.trained_on AND CASE o.dimension
            WHEN 'generalization' THEN b.dimension = 'short_term'
            WHEN 'robustness' THEN
                b.dimension = 'robustness' AND b.frame_interval < o.frame_interval
            ELSE false
        END
),
matched AS (
    SELECT
        p.* EXCLUDE (base_value, value, base_n, n),
        p.metric = 'FVD' AND p.side = 'ours' AND p.base_n <> p.n
            AND p.value IS NOT NULL AND p.base_value IS NOT NULL AS unequal,
        CASE WHEN unequal THEN mb.value ELSE p.base_value END AS base_value,
        CASE WHEN unequal THEN mo.value ELSE p.value END AS value,
        CASE WHEN unequal THEN mb.n ELSE p.base_n END AS base_n,
        CASE WHEN unequal THEN mo.n ELSE p.n END AS n,
        CASE
            WHEN unequal AND (mb.value IS NULL OR mo.value IS NULL) THEN
                'FVD of ' || p.base_n || ' and ' || p.n || ' clips'
                || coalesce(' (' || coalesce(mb.reason, mo.reason) || ')', '')
            WHEN p.metric = 'FVD' AND p.base_convention <> p.convention THEN
                'FVD of two conventions'
            WHEN p.side = 'published' AND p.base_interval = 1 AND p.trained_on <> 'weatherbench'
                THEN 'the paper has interval 1 of other windows'
            WHEN p.side = 'published' AND p.metric = 'FVD'
                AND (p.comparison = 'generalization' OR p.trained_on = 'nuscenes')
                THEN 'FVD of unequal numbers of clips'
        END AS unfair
    FROM pairs p
    LEFT JOIN at_n mb
        ON mb.comparison = p.comparison AND mb.dimension = p.base_dimension
        AND mb.model = p.model AND mb.trained_on = p.trained_on AND mb.subset = p.base_subset
        AND mb.frame_interval IS NOT DISTINCT FROM p.base_interval
        AND mb.convention = p.base_convention
        AND (p.comparison = 'robustness' OR mb.tested_on = p.trained_on)
    LEFT JOIN at_n mo
        ON mo.comparison = p.comparison AND mo.dimension = p.comparison
        AND mo.model = p.model AND mo.trained_on = p.trained_on AND mo.tested_on = p.tested_on
        AND mo.subset = p.subset AND mo.frame_interval IS NOT DISTINCT FROM p.frame_interval
        AND mo.convention = p.convention
)
SELECT
    side, comparison, model, trained_on, tested_on, subset, base_interval, frame_interval,
    base, tested, metric, higher_is_better, base_value, value, base_n, n,
    CASE WHEN unfair IS NULL THEN
        CASE WHEN higher_is_better THEN base_value - value ELSE value - base_value END
        / abs(base_value)
    END AS decline,
    unfair IS NULL AS fair,
    coalesce('not comparable: ' || unfair, remark) AS remark, bytes, comparable
FROM matched;
