-- comment: >
--   One row per forecast, variable, score and window of weeks: the score of the mean forecast of
--   the window, not the mean of the scores of its days (columns of the tables).
-- columns:
--   dimension: s2s_control (single forecasts) or s2s_ensemble.
--   forecast: Model; of an ensemble without `_ensemble`, as the paper names both alike.
--   variant: Variant of the model.
--   trained_on: Dataset of training.
--   tested_on: Dataset of the test.
--   subset: Part of the test dataset; djf, mam, jja and son are seasons of the start.
--   score: RMSE (wrmse.weekly), ACC (acc.weekly) or RPSS (rpss.weekly_terciles).
--   weeks: 1, 2, 3-4 or 5-6.
--   value: Over starts and seeds; NULL always has a reason.
--   n: Starts behind the value.

SELECT
    dimension, regexp_replace(model, '_ensemble$', '') AS forecast, variant, trained_on, tested_on,
    subset, variable,
    CASE metric WHEN 'wrmse' THEN 'RMSE' ELSE upper(metric) END AS score,
    CASE lead WHEN 7 THEN '1' WHEN 14 THEN '2' WHEN 28 THEN '3-4' ELSE '5-6' END AS weeks,
    value, ci95_low, ci95_high, n, reason
FROM s2s_leads
WHERE convention IN ('wrmse.weekly', 'acc.weekly', 'rpss.weekly_terciles');
