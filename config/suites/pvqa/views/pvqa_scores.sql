-- comment: >
--   One row per measure, dimension, number of components and share of training: the median SROCC over
--   the published splits, as findings compare it.
-- columns:
--   dimension: As in cells.
--   components: Most principal components.
--   training: Per cent of all videos that were learnt from; 100 for all of training.
--   value: Median SROCC; NULL with a reason.
--   ci95_low: Lower end of its 95 % interval, from a bootstrap over videos.
--   bytes: Origin of the bytes and protocol.
--   comparable: True only if bytes and recipe are the paper's.

SELECT
    o.dimension, o.model, coalesce(s.components, 240) AS components,
    coalesce(s.training, 100) AS training, o.value, o.ci95_low, o.ci95_high, o.reason,
    CASE WHEN bytes_known_by = 'stated' THEN 'unverified ' ELSE '' END || source || ' data'
        || CASE WHEN bytes_known_by = 'counts' THEN ', known by counts' ELSE '' END
        || ', ' || protocol || ' protocol' AS bytes,
    o.comparable
FROM overall o
JOIN settings s USING (setting)
WHERE o.suite = 'pvqa' AND o.variant = 'default' AND o.subset = 'published'
    AND o.convention = 'srocc.magnitude';
