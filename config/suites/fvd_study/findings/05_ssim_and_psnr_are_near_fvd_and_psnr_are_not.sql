-- title: SSIM and PSNR are near each other, FVD and PSNR are unrelated
-- paper: >
--   Section 4.5: the correlation between SSIM and PSNR is generally very high; there is a weaker
--   one between SSIM and FVD, and that between FVD and PSNR is rather weak.
-- criterion: >
--   By Pearson's correlation and by Kendall's: (a) SSIM and PSNR have at least 0.6, 2 of 2; (b)
--   the correlation of SSIM and FVD is smaller than that, without its sign, 2 of 2; (c) that of
--   FVD and PSNR is below 0.4, without its sign, 2 of 2.
-- reading: >
--   High is read as: from 0.6, weak as: below 0.4, both without the sign. The paper's are over
--   more than 20,000 trained models; ours are over distortions of real clips, all datasets
--   together, so a verdict on them is about the metrics and not about the paper's models. FVD is
--   that of real weights; networks with random weights are not judged.

WITH pairs AS (
    SELECT side, one, other, kind
    FROM (VALUES ('ours'), ('published')) AS s(side)
    CROSS JOIN (VALUES ('SSIM', 'PSNR'), ('SSIM', 'FVD'), ('FVD', 'PSNR')) AS p(one, other)
    CROSS JOIN (VALUES ('pearson'), ('kendall')) AS k(kind)
)
SELECT
    p.side,
    CASE p.one || p.other
        WHEN 'SSIMPSNR' THEN 'a. SSIM and PSNR are near'
        WHEN 'SSIMFVD' THEN 'b. SSIM and FVD are less near'
        ELSE 'c. FVD and PSNR are unrelated'
    END AS part,
    2 AS needed, p.one || ' and ' || p.other AS model, 'all datasets' AS tested,
    p.kind AS metric,
    c.value,
    CASE p.one || p.other
        WHEN 'SSIMPSNR' THEN 'at least' WHEN 'SSIMFVD' THEN 'SSIM and PSNR' ELSE 'below'
    END AS against,
    CASE p.one || p.other WHEN 'SSIMPSNR' THEN 0.6 WHEN 'SSIMFVD' THEN n.value ELSE 0.4 END
        AS other,
    CASE p.one || p.other
        WHEN 'SSIMPSNR' THEN c.value >= 0.6
        WHEN 'SSIMFVD' THEN abs(c.value) < abs(n.value)
        ELSE abs(c.value) < 0.4
    END AS outcome,
    true AS fair,
    CASE
        WHEN c.side IS NULL THEN 'not evaluated' ELSE coalesce(c.reason, n.reason)
    END AS remark,
    c.bytes, c.comparable
FROM pairs p
LEFT JOIN metric_correlations c
    ON c.side = p.side AND c.one = p.one AND c.other = p.other AND c.kind = p.kind
    AND c.tested_on = 'all'
LEFT JOIN metric_correlations n
    ON n.side = p.side AND n.one = 'SSIM' AND n.other = 'PSNR' AND n.kind = p.kind
    AND n.tested_on = 'all' AND p.other = 'FVD';
