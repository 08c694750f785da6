-- comment: >
--   One row per side (ours, published) and pair of FVD, SSIM and PSNR: Pearson's correlation and
--   Kendall's tau-b. Ours are over all cells of all datasets, distorted clips, and within each
--   dataset; published ones are over trained models.
-- columns:
--   side: ours, or published.
--   tested_on: Dataset; `all` for all of them together.
--   one: FVD (fvd.predicted_only), SSIM (ssim.range1) or PSNR (psnr.pooled).
--   other: What it is correlated with.
--   kind: pearson or kendall.
--   value: The correlation; NULL with a reason.
--   cells: Cells that have both; NULL for published ones.
--   reason: Why there is no value; NULL if there is one.
--   bytes: Origin of the bytes and protocol of our values.
--   comparable: True only if bytes and recipe are the paper's; NULL for published values.

WITH scored AS (
    SELECT
        tested_on, subset, model, setting,
        CASE convention
            WHEN 'fvd.predicted_only' THEN 'FVD' WHEN 'ssim.range1' THEN 'SSIM' ELSE 'PSNR'
        END AS metric,
        value, reason,
        CASE WHEN bytes_known_by = 'stated' THEN 'unverified ' ELSE '' END || source || ' data'
            || CASE WHEN bytes_known_by = 'counts' THEN ', known by counts' ELSE '' END
            || ', ' || protocol || ' protocol' AS bytes,
        comparable
    FROM overall
    WHERE suite = 'fvd_study' AND dimension = 'video_distortions' AND variant = 'default'
        AND leads IS NULL AND variable IS NULL AND threshold IS NULL
        AND convention IN ('fvd.predicted_only', 'ssim.range1', 'psnr.pooled')
),
pairs AS (
    SELECT
        place AS tested_on, a.metric AS one, b.metric AS other, a.tested_on || a.subset AS of_set,
        a.model, a.setting, a.value AS x, b.value AS y, coalesce(a.reason, b.reason) AS reason,
        a.bytes, a.comparable
    FROM scored a
    JOIN scored b USING (tested_on, subset, model, setting)
    CROSS JOIN unnest([a.tested_on, 'all']) AS places(place)
    WHERE (a.metric, b.metric) IN (('SSIM', 'PSNR'), ('SSIM', 'FVD'), ('FVD', 'PSNR'))
),
pearson AS (
    SELECT
        tested_on, one, other, count(x + y) AS cells, min(reason) AS reason, min(bytes) AS bytes,
        bool_and(comparable) AS comparable,
        CASE
            -- Of cells that have both.
            WHEN count(DISTINCT x) FILTER (y IS NOT NULL) > 1
                AND count(DISTINCT y) FILTER (x IS NOT NULL) > 1
                THEN corr(x, y ORDER BY of_set, model, setting)
        END AS value
    FROM pairs
    GROUP BY tested_on, one, other
),
kendall AS (
    SELECT
        p.tested_on, p.one, p.other,
        sum(sign(p.x - q.x) * sign(p.y - q.y))
            / nullif(sqrt(sum(abs(sign(p.x - q.x))) * sum(abs(sign(p.y - q.y)))), 0) AS value
    FROM pairs p
    JOIN pairs q
        ON p.tested_on = q.tested_on AND p.one = q.one AND p.other = q.other
        AND p.x + p.y IS NOT NULL AND q.x + q.y IS NOT NULL
    GROUP BY p.tested_on, p.one, p.other
),
both_kinds AS (
    SELECT tested_on, one, other, 'pearson' AS kind, value, cells, reason, bytes, comparable
    FROM pearson
    UNION ALL
    SELECT tested_on, one, other, 'kendall', k.value, cells, reason, bytes, comparable
    FROM pearson LEFT JOIN kendall k USING (tested_on, one, other)
)
SELECT
    'ours' AS side, tested_on, one, other, kind,
    CASE WHEN cells >= 3 THEN value END AS value, cells,
    CASE
        WHEN cells >= 3 AND value IS NOT NULL THEN NULL
        WHEN cells < 3 THEN coalesce(reason, cells || ' cells; a correlation needs three')
        ELSE 'one of them is the same everywhere'
    END AS reason,
    bytes, comparable
FROM both_kinds
UNION ALL
SELECT 'published', 'all', printed_model, run, metric, value, NULL, NULL, NULL, NULL
FROM published
WHERE suite = 'fvd_study' AND dimension = 'correlation';
