-- comment: >
--   One row per side (ours, published), forecast, variable and lead time of the curves that the
--   paper shows: RMSE, ACC and CRPSS.
-- columns:
--   side: ours, or published.
--   dimension: s2s_control (single forecasts) or s2s_ensemble.
--   forecast: Model; of an ensemble without `_ensemble`, as the paper names both alike.
--   trained_on: Dataset of training.
--   tested_on: Dataset of the test.
--   subset: Part of the test dataset.
--   curve: RMSE (wrmse.pooled), ACC (acc.per_frame_without_validation) or CRPSS (crpss.climatology).
--   value: Mean over starts and seeds, or the printed value; NULL always has a reason.
--   n: Starts behind the value; NULL for published ones.
--   bytes: Origin of the bytes and protocol of our values.
--   comparable: True only if bytes and recipe are the paper's; NULL for published values.

SELECT
    'ours' AS side, dimension, regexp_replace(model, '_ensemble$', '') AS forecast,
    trained_on, tested_on, subset, variable,
    CASE metric WHEN 'wrmse' THEN 'RMSE' ELSE upper(metric) END AS curve,
    lead, value, ci95_low, ci95_high, n, reason, bytes, comparable
FROM s2s_leads
WHERE variant = 'default'
    AND convention IN ('wrmse.pooled', 'acc.per_frame_without_validation', 'crpss.climatology')
UNION ALL
SELECT
    'published', dimension,
    CASE printed_model WHEN 'Climatology' THEN 'daily_climatology' ELSE lower(printed_model) END,
    trained_on, tested_on, subset, variable, replace(metric, ' curve', ''),
    CAST(leads AS BIGINT), value, NULL, NULL, NULL, NULL, NULL, NULL
FROM published
WHERE suite = 'chaosbench' AND metric LIKE '% curve';
