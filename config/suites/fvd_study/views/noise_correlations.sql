-- comment: >
--   One row per dataset, distortion and convention of the study of FVD: Spearman's correlation of
--   the convention with the intensity. Its intervals are in the table noise_study.
-- columns:
--   tested_on: Dataset whose clips are distorted.
--   subset: Part of the test dataset.
--   distortion: Model that stands for the distortion.
--   is_temporal: Whether frames stay as they are, and others follow each other.
--   intensities: Number of intensities that were planned and collected.
--   correlation: Of the ranks, 1 if it gets worse with every step; NULL with a reason.
--   is_constant: Whether the value is the same at all intensities, so that it has no correlation.
--   reason: Why there is no correlation; NULL if there is one.
--   bytes: Origin of the bytes and protocol.
--   comparable: True only if bytes and recipe are the paper's.

WITH scored AS (
    SELECT
        o.tested_on, o.subset, o.model AS distortion, o.convention, s.intensity, o.reason,
        CASE
            WHEN c.best_at IS NOT NULL THEN abs(o.value - c.best_at)
            WHEN c.higher_is_better THEN -o.value WHEN NOT c.higher_is_better THEN o.value
        END AS worse,
        c.best_at IS NULL AND c.higher_is_better IS NULL AS has_no_direction,
        CASE WHEN bytes_known_by = 'stated' THEN 'unverified ' ELSE '' END || source || ' data'
            || CASE WHEN bytes_known_by = 'counts' THEN ', known by counts' ELSE '' END
            || ', ' || protocol || ' protocol' AS bytes,
        o.comparable
    FROM overall o
    JOIN settings s USING (setting)
    JOIN conventions c USING (convention)
    WHERE o.suite = 'fvd_study' AND o.dimension = 'video_distortions' AND o.variant = 'default'
        AND o.leads IS NULL AND o.variable IS NULL AND o.threshold IS NULL
),
ranked AS (
    -- Equal values share the mean of their ranks.
    SELECT
        *,
        rank() OVER (curve ORDER BY worse)
            + (count(*) OVER (PARTITION BY tested_on, subset, distortion, convention, worse) - 1)
            / 2.0 AS place,
        row_number() OVER (curve ORDER BY intensity) AS step
    FROM scored
    WINDOW curve AS (PARTITION BY tested_on, subset, distortion, convention)
)
SELECT
    tested_on, subset, distortion,
    distortion IN ('local_swap', 'global_swap', 'interleaving', 'switching') AS is_temporal,
    convention, count(*) AS intensities,
    CASE
        WHEN count(worse) = count(*) AND count(*) >= 3 AND count(DISTINCT worse) > 1
            THEN corr(place, step ORDER BY step)
    END AS correlation,
    count(worse) = count(*) AND count(*) > 1 AND count(DISTINCT worse) = 1 AS is_constant,
    CASE
        WHEN bool_and(has_no_direction) THEN 'neither value is better than the other'
        WHEN count(worse) < count(*)
            THEN coalesce(min(reason) FILTER (worse IS NULL), 'no value')
        WHEN count(*) < 3 THEN count(*) || ' intensities; ranks need three'
        WHEN count(DISTINCT worse) = 1 THEN 'the same at all intensities'
    END AS reason,
    min(bytes) AS bytes, bool_and(comparable) AS comparable
FROM ranked
GROUP BY tested_on, subset, distortion, convention;
