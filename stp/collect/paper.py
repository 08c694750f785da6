"""Views of results.duckdb that put our values beside the published ones, in one shape.

`paper_values` has a row for every place of the paper's results tables, once with our value and once
with the published one, whether there is a value or not; `paper_changes` compares a model with
itself on other test sets, and distances between sets of clips at equal N only. The findings
(config/findings) ask these.
"""

from collections.abc import Iterable
from typing import Any

from stp.options.score import CELL_KEYS
from stp.plan.manifest import Manifest, variable_of
from stp.plan.raw_bytes import BYTES_TEXT
from stp.plan.setting import split_threshold


def paper_columns(plans: list[Manifest]) -> Iterable[dict[str, Any]]:
    """Which convention stands in which column, for each dimension and dataset."""
    for plan in plans:
        table = plan["tables"].get(plan["dimension"], {})
        for dataset, columns in table.get("columns", {}).items():
            for column, shown in columns.items():
                variable = variable_of(column)
                convention, threshold = split_threshold(shown)
                yield {
                    "dimension": plan["dimension"],
                    "dataset": dataset,
                    "metric": column.removeprefix(f"{variable} "),
                    "variable": variable,
                    "threshold": threshold,
                    "convention": convention,
                }


_PLACE = ("dimension", "trained_on", "tested_on", "subset", "frame_interval", "variable", "metric")
_PLACES = ", ".join(_PLACE)
_AT_PLACE = " AND ".join(f"o.{name} IS NOT DISTINCT FROM p.{name}" for name in _PLACE)
_BYTES = f"{BYTES_TEXT} || ', ' || protocol || ' protocol'"
_CELL = ", ".join(f"s.{name}" for name in CELL_KEYS)

PAPER_VALUES = f"""
WITH printed AS (
    -- The published values under our names.
    SELECT
        model, dimension, trained_on,
        coalesce(dataset, trained_on) AS tested_on,  -- the paper names a city as a dataset
        CASE
            WHEN dimension = 'robustness' THEN 'robustness'
            WHEN dimension = 'generalization' AND NOT contains(setting, '->') THEN setting
            ELSE 'test'
        END AS subset,
        CAST(nullif(regexp_extract(setting, '^x([0-9]+)', 1), '') AS BIGINT) AS frame_interval,
        CASE
            WHEN dimension = 'robustness' THEN nullif(split_part(setting, ';', 2), '')
            WHEN dimension = 'short_term' THEN nullif(setting, '')
        END AS variable,
        metric, value, note
    FROM published
    WHERE dimension IN ('short_term', 'generalization', 'robustness') AND model IS NOT NULL
),
places AS (
    SELECT DISTINCT {_PLACES} FROM printed
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
        count(*) OVER (PARTITION BY {_CELL}, s.convention, c.metric, c.variable) AS alike
    FROM scores s
    JOIN paper_columns c
        ON c.dimension = s.dimension AND c.dataset = s.tested_on AND c.convention = s.convention
        AND (c.variable IS NULL OR c.variable = s.variable)
        AND (c.threshold IS NULL OR c.threshold = s.threshold)
    WHERE s.lead IS NULL AND s.statistic = 'mean' AND s.variant = 'default'
        AND s.train_subset = 'all'
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
        CAST(nullif(regexp_extract(setting, 'interval-([0-9]+)', 1), '') AS BIGINT)
            AS frame_interval,
        CAST(nullif(regexp_extract(setting, 'horizon-([0-9]+)', 1), '') AS BIGINT) AS horizon,
        of_variable AS variable, heading AS metric, min(convention) AS convention,
        CASE WHEN count(value) = count(*) THEN avg(value ORDER BY seed) END AS value,
        min(n) AS n, min(reason) AS reason,
        string_agg(DISTINCT {_BYTES}, '; ' ORDER BY {_BYTES}) AS bytes,
        bool_and(comparable) AS comparable
    FROM overall
    GROUP BY ALL
),
ours AS (
    -- The paper has one horizon for each place: that of the training, or beyond it the longest.
    SELECT * FROM by_setting
    QUALIFY row_number() OVER (
        PARTITION BY model, {_PLACES}
        ORDER BY CASE WHEN dimension = 'long_term' THEN -horizon ELSE horizon END
    ) = 1
),
filled AS (
    SELECT
        'ours' AS side, m.model, p.*, o.convention, o.value, o.n,
        CASE
            WHEN o.model IS NULL THEN 'not evaluated'
            WHEN o.value IS NULL THEN coalesce(o.reason, 'no value')
        END AS remark,
        o.bytes, o.comparable
    FROM places p CROSS JOIN models m
    LEFT JOIN ours o ON o.model = m.model AND {_AT_PLACE}
    UNION ALL
    SELECT
        'published', m.model, p.*, NULL, o.value, NULL,
        CASE
            WHEN p.dimension = 'long_term' THEN 'printed as a figure only'
            WHEN o.model IS NULL THEN 'not printed'
            ELSE nullif(o.note, '')
        END,
        NULL, NULL
    FROM places p CROSS JOIN models m
    LEFT JOIN printed o ON o.model = m.model AND {_AT_PLACE}
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
            PARTITION BY side, {_PLACES}
            ORDER BY CASE WHEN higher_is_better THEN -value ELSE value END NULLS LAST
        ) AS rank
    FROM directed
    WINDOW place AS (PARTITION BY side, {_PLACES})
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
            || string_agg(CASE WHEN value IS NULL THEN model END, ', ' ORDER BY model) OVER place
    END AS gap,
    remark,
    string_agg(DISTINCT bytes, '; ' ORDER BY bytes) OVER place AS bytes,
    bool_and(comparable) OVER place AS comparable
FROM ranked
WINDOW
    place AS (PARTITION BY side, {_PLACES}),
    ranks AS (PARTITION BY side, {_PLACES} ORDER BY rank, model)
"""

PAPER_CHANGES = """
WITH at_n AS (
    -- Distances at equal N, seeds together.
    SELECT
        m.comparison, m.dimension, m.model, m.trained_on, m.tested_on, m.subset,
        CAST(nullif(regexp_extract(m.setting, 'interval-([0-9]+)', 1), '') AS BIGINT)
            AS frame_interval,
        m.convention, m.n,
        CASE WHEN count(m.value) = count(*) THEN avg(m.value ORDER BY m.seed) END AS value,
        min(m.reason) AS reason
    FROM matched_distances m
    JOIN paper_columns c
        ON c.dimension = m.dimension AND c.dataset = m.tested_on AND c.convention = m.convention
    WHERE m.variant = 'default' AND m.train_subset = 'all'
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
FROM matched
"""
