-- comment: >
--   One row per side (ours, published), two single forecasts or variants, variable and score: their
--   values at lead time 44 beside each other, on the starts of the test. Findings ask it.
-- columns:
--   side: ours, or published.
--   forecast: Model.
--   variant: Variant of the model.
--   against: The other model, or the same.
--   other_variant: Variant of the other.
--   score: RMSE, MS-SSIM or SpecDiv, as of s2s_day_44.
--   measured: The score, and of how many scales MS-SSIM is where they are not the five that are printed.
--   value: Of the model.
--   other: Of the other model.
--   remark: Why one of the two has no value.
--   bytes: Origin of the bytes and protocol of our values.
--   comparable: True only if bytes and recipe of both are the paper's; NULL for published values.

SELECT
    a.side, a.forecast, a.variant, b.forecast AS against, b.variant AS other_variant,
    a.trained_on, a.tested_on, a.variable, a.score,
    a.score || CASE a.convention
        WHEN 'ms_ssim.own_range_three_scales' THEN ' of three scales'
        ELSE ''
    END AS measured,
    a.value, b.value AS other,
    CASE WHEN a.value IS NULL OR b.value IS NULL THEN coalesce(a.reason, b.reason) END AS remark,
    coalesce(a.bytes, b.bytes) AS bytes,
    coalesce(a.comparable AND b.comparable, a.comparable, b.comparable) AS comparable
FROM s2s_day_44 a
JOIN s2s_day_44 b
    ON b.side = a.side AND b.trained_on = a.trained_on AND b.tested_on = a.tested_on
    AND b.subset = a.subset AND b.variable = a.variable AND b.score = a.score
    AND b.convention IS NOT DISTINCT FROM a.convention
    AND (b.forecast <> a.forecast OR b.variant <> a.variant)
WHERE a.subset = 'test';
