-- comment: >
--   One row per region, forecast, variable, score and lead time. Regions are the boxes of
--   WeatherBench 2; globe is all of it.
-- columns:
--   region: globe, tropics, northern_extratropics, southern_extratropics, europe or north_america.
--   dimension: s2s_control (single forecasts) or s2s_ensemble.
--   forecast: Model; of an ensemble without `_ensemble`, as the paper names both alike.
--   variant: Variant of the model.
--   trained_on: Dataset of training.
--   tested_on: Dataset of the test.
--   subset: Part of the test dataset; djf, mam, jja and son are seasons of the start.
--   score: RMSE (wrmse.pooled), ACC (acc.per_frame_without_validation) or CRPSS (crpss.climatology).
--   value: Over starts and seeds; NULL always has a reason.
--   n: Starts behind the value.

SELECT
    coalesce(
        nullif(regexp_extract(
            convention,
            '(tropics|northern_extratropics|southern_extratropics|europe|north_america)$'
        ), ''),
        'globe'
    ) AS region,
    dimension, regexp_replace(model, '_ensemble$', '') AS forecast, variant, trained_on, tested_on,
    subset, variable,
    CASE metric WHEN 'wrmse' THEN 'RMSE' ELSE upper(metric) END AS score,
    lead, value, ci95_low, ci95_high, n, reason
FROM s2s_leads
WHERE convention IN ('wrmse.pooled', 'acc.per_frame_without_validation', 'crpss.climatology')
    OR region <> 'globe';
