-- comment: >
--   One row per forecast, variable and start: what its scores are means of, each a list over lead
--   times. Views that compare two forecasts on the starts that both have ask it. A view of the
--   parquet files in the store, as sample_scores, which must stay where they are.
-- columns:
--   dimension: s2s_control (single forecasts) or s2s_ensemble.
--   forecast: Model; of an ensemble without `_ensemble`, as the paper names both alike.
--   variant: Variant of the model.
--   trained_on: Dataset of training.
--   tested_on: Dataset of the test.
--   subset: Part of the test dataset.
--   start: Name of the start, the same of all forecasts.
--   squares: Weighted mean squared error; wrmse.pooled is the root of its mean over starts.
--   similarity: MS-SSIM (ms_ssim.own_range); NULL where the grid is too small for its five scales.
--   similarity_of_three: The same of the three finest scales (ms_ssim.own_range_three_scales).
--   divergence: SpecDiv (spectral_divergence.high_wavenumbers).
--   crps: Fair CRPS of an ensemble; crpss.climatology is 1 less its mean over that of climatology.
--   crps_of_climatology: That of the climatology of training years, on the same days.

WITH kept AS (
    -- A store has columns of what any of its forecasts is scored by alone.
    SELECT
        CAST(NULL AS DOUBLE[]) AS "wrmse.pooled",
        CAST(NULL AS DOUBLE[]) AS "ms_ssim.own_range",
        CAST(NULL AS DOUBLE[]) AS "ms_ssim.own_range_three_scales",
        CAST(NULL AS DOUBLE[]) AS "spectral_divergence.high_wavenumbers",
        CAST(NULL AS DOUBLE[]) AS "crpss.climatology.forecast",
        CAST(NULL AS DOUBLE[]) AS "crpss.climatology.climatology"
    WHERE false
    UNION ALL BY NAME
    SELECT * FROM sample_scores
)
SELECT
    dimension, regexp_replace(model, '_ensemble$', '') AS forecast, variant, trained_on, tested_on,
    subset, setting, seed, variable, clip AS start,
    "wrmse.pooled" AS squares,
    "ms_ssim.own_range" AS similarity,
    "ms_ssim.own_range_three_scales" AS similarity_of_three,
    "spectral_divergence.high_wavenumbers" AS divergence,
    "crpss.climatology.forecast" AS crps,
    "crpss.climatology.climatology" AS crps_of_climatology
FROM kept
WHERE suite = 'chaosbench' AND variable IS NOT NULL AND train_subset = 'all';
