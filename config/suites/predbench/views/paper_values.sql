-- comment: >
--   One row per side (ours, published), model of the paper and place of its results tables,
--   whether there is a value or not; ranks among the models of the paper.
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
--   dimension: Dimension of the evaluation.
--   convention: Exact definition of our value.
--   models: Models of the paper.
--   rank_at_best: Rank among them if every missing value were worse; 1 is best, ties share.
--   rank_at_worst: Rank among them if every missing value were better.
--   is_best: Is it the best of them? NULL where missing values could tell otherwise.
--   leader: The best of the models that have a value.
--   leader_value: Its value.
--   gap: Why it is not known whether it is the best.

WITH printed AS (
    -- The published values under our names.
    SELECT
        model, dimension, trained_on, tested_on, subset, "interval" AS frame_interval, variable,
        metric, value, note
    FROM published
    WHERE suite = 'predbench' AND dimension IN ('short_term', 'generalization', 'robustness')
        AND model IS NOT NULL
),
places AS (
    SELECT DISTINCT
        dimension, trained_on, tested_on, subset, frame_interval, variable, metric
    FROM printed
    UNION
    -- The paper prints its long-term results as a figure,
    SELECT 'long_term', trained_on, tested_on, 'extrapolation', NULL, variable, metric
    FROM printed
    WHERE dimension = 'short_term' AND tested_on IN ('bridge', 'nuscenes', 'weatherbench')
    UNION
    -- and nothing for the interval of training on the windows of the longer ones.
    SELECT dimension, trained_on, tested_on, subset, 1, variable, metric
    FROM printed
    WHERE dimension = 'robustness'
),
models AS (
    SELECT DISTINCT model FROM printed WHERE dimension = 'short_term'
),
overall AS (
    -- One row stands for all lead times: that of a variable or threshold; else that of all of
    -- them together, or the only one.
    SELECT
        s.*, c.metric AS heading, c.variable AS of_variable,
        count(*) OVER (
            PARTITION BY
                s.dimension, s.model, s.trained_on, s.tested_on, s.subset, s.setting, s.seed,
                s.convention, c.metric, c.variable
        ) AS alike
    FROM scores s
    JOIN paper_columns c
        ON c.dimension = s.dimension AND c.dataset = s.tested_on AND c.convention = s.convention
        AND (c.variable IS NULL OR c.variable = s.variable)
        AND (c.threshold IS NULL OR c.threshold = s.threshold)
    WHERE s.suite = 'predbench' AND s.lead IS NULL AND s.statistic = 'mean'
        AND s.variant = 'default' AND s.train_subset = 'all'
    QUALIFY alike = 1 OR (
        s.level IS NULL
        AND s.threshold IS NOT DISTINCT FROM c.threshold
        AND s.variable IS NOT DISTINCT FROM c.variable
    )
),
by_setting AS (
    -- Seeds together; a seed without a value leaves the whole without.
    SELECT
        model, dimension, trained_on, tested_on, subset,
        k."interval" AS frame_interval, k.horizon,
        of_variable AS variable, heading AS metric, min(convention) AS convention,
        CASE WHEN count(value) = count(*) THEN avg(value ORDER BY seed) END AS value,
        min(n) AS n, min(reason) AS reason,
        array_to_string(list_sort(list(DISTINCT CASE WHEN bytes_known_by = 'stated' THEN 'unverified ' ELSE '' END || source || ' data'
            || CASE WHEN bytes_known_by = 'counts' THEN ', known by counts' ELSE '' END
            || ', ' || protocol || ' protocol')), '; ') AS bytes,
        bool_and(comparable) AS comparable
    FROM overall JOIN settings k USING (setting)
    GROUP BY ALL
),
ours AS (
    -- The paper has one horizon for each place: that of the training, or beyond it the longest.
    SELECT * FROM by_setting
    QUALIFY row_number() OVER (
        PARTITION BY
            model, dimension, trained_on, tested_on, subset, frame_interval, variable, metric
        ORDER BY CASE WHEN dimension = 'long_term' THEN -horizon ELSE horizon END
    ) = 1
),
wanted AS (SELECT m.model, p.* FROM places p CROSS JOIN models m),
filled AS (
    SELECT
        'ours' AS side, p.*, o.convention, o.value, o.n,
        CASE
            WHEN o.model IS NULL THEN 'not evaluated'
            WHEN o.value IS NULL THEN coalesce(o.reason, 'no value')
        END AS remark,
        o.bytes, o.comparable
    FROM wanted p
    LEFT JOIN ours o ON o.model = p.model
        AND o.dimension = p.dimension AND o.trained_on = p.trained_on
        AND o.tested_on = p.tested_on AND o.subset = p.subset
        AND o.frame_interval IS NOT DISTINCT FROM p.frame_interval
        AND o.variable IS NOT DISTINCT FROM p.variable AND o.metric = p.metric
    UNION ALL
    SELECT
        'published', p.*, NULL, o.value, NULL,
        CASE
            WHEN p.dimension = 'long_term' THEN 'printed as a figure only'
            WHEN o.model IS NULL THEN 'not printed'
            ELSE nullif(o.note, '')
        END,
        NULL, NULL
    FROM wanted p
    LEFT JOIN printed o ON o.model = p.model
        AND o.dimension = p.dimension AND o.trained_on = p.trained_on
        AND o.tested_on = p.tested_on AND o.subset = p.subset
        AND o.frame_interval IS NOT DISTINCT FROM p.frame_interval
        AND o.variable IS NOT DISTINCT FROM p.variable AND o.metric = p.metric
),
directed AS (
    SELECT
        *,
        metric IN ('SSIM', 'PSNR', 'CSI', 'ACC', 'C-Nino3.4') AS higher_is_better,
        CASE WHEN value IS NOT NULL THEN n END AS counted
    FROM filled
),
ranked AS (
    SELECT
        *,
        count(*) OVER place AS models,
        count(*) OVER place - count(value) OVER place AS lacking,
        metric <> 'FVD' OR min(counted) OVER place IS NOT DISTINCT FROM max(counted) OVER place
            AS equal_n,
        rank() OVER (
            PARTITION BY
                side, dimension, trained_on, tested_on, subset, frame_interval, variable, metric
            ORDER BY CASE WHEN higher_is_better THEN -value ELSE value END NULLS LAST
        ) AS rank
    FROM directed
    WINDOW place AS (
        PARTITION BY
            side, dimension, trained_on, tested_on, subset, frame_interval, variable, metric
    )
)
SELECT
    side, dimension, model, trained_on, tested_on, subset, frame_interval,
    CASE WHEN trained_on = tested_on THEN tested_on ELSE trained_on || ' -> ' || tested_on END
        || CASE WHEN subset IN ('test', 'robustness') THEN '' ELSE ' ' || subset END
        || CASE WHEN frame_interval IS NULL THEN '' ELSE ' x' || frame_interval END AS tested,
    concat_ws(' ', variable, metric) AS metric, higher_is_better, convention, value, n, models,
    CASE WHEN equal_n AND value IS NOT NULL THEN rank ELSE 1 END AS rank_at_best,
    CASE WHEN equal_n AND value IS NOT NULL THEN rank + lacking ELSE models END AS rank_at_worst,
    CASE WHEN rank_at_worst = 1 THEN true WHEN rank_at_best > 1 THEN false END AS is_best,
    first_value(CASE WHEN value IS NOT NULL THEN model END) OVER ranks AS leader,
    first_value(value) OVER ranks AS leader_value,
    equal_n AS fair,
    CASE
        WHEN NOT equal_n THEN 'not comparable: FVD of unequal numbers of clips'
        WHEN lacking = models THEN 'no value of any model (' || max(remark) OVER place || ')'
        WHEN is_best IS NULL THEN 'no value of '
            || array_to_string(list_sort(list(model) FILTER (value IS NULL) OVER place), ', ')
    END AS gap,
    remark,
    nullif(array_to_string(list_sort(list_distinct(list(bytes) OVER place)), '; '), '') AS bytes,
    bool_and(comparable) OVER place AS comparable
FROM ranked
WINDOW
    place AS (
        PARTITION BY
            side, dimension, trained_on, tested_on, subset, frame_interval, variable, metric
    ),
    ranks AS (
        PARTITION BY
            side, dimension, trained_on, tested_on, subset, frame_interval, variable, metric
        ORDER BY rank, model
    );
