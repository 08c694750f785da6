-- comment: >
--   One row per side (ours, published), single forecast, variant, variable and score at lead time
--   44: what the findings on schemes and tasks of trained networks compare.
-- columns:
--   side: ours, or published.
--   forecast: Model.
--   variant: Variant of the model; the sparse task that is printed is task2_steps5.
--   trained_on: Dataset of training.
--   tested_on: Dataset of the test.
--   subset: Part of the test dataset.
--   score: RMSE, MS-SSIM or SpecDiv; the published SpecDiv of most models is of mean fields of 32 starts.
--   convention: Definition of our value. MS-SSIM is ms_ssim.own_range, or ms_ssim.own_range_three_scales of tests whose grid is too small for the five scales that are printed; NULL for published values.
--   value: Over starts and seeds, or as printed; NULL always has a reason.
--   n: Starts behind the value; NULL for published ones.
--   bytes: Origin of the bytes and protocol of our values.
--   comparable: True only if bytes and recipe are the paper's; NULL for published values.

SELECT
    'ours' AS side, model AS forecast, variant, trained_on, tested_on, subset, variable,
    CASE convention
        WHEN 'wrmse.pooled' THEN 'RMSE'
        WHEN 'spectral_divergence.high_wavenumbers' THEN 'SpecDiv'
        ELSE 'MS-SSIM'
    END AS score,
    convention, value, n, reason, bytes, comparable
FROM s2s_leads
WHERE dimension = 's2s_control' AND lead = 44
    AND convention IN (
        'wrmse.pooled', 'ms_ssim.own_range', 'ms_ssim.own_range_three_scales',
        'spectral_divergence.high_wavenumbers'
    )
-- One of the two for all forecasts of a test: three scales only where none has a value of five.
QUALIFY score <> 'MS-SSIM' OR (convention = 'ms_ssim.own_range') = (
    count(value) FILTER (convention = 'ms_ssim.own_range') OVER (PARTITION BY scale, tested_on) > 0
)
UNION ALL
SELECT
    'published',
    CASE printed_model
        WHEN 'Climatology' THEN 'daily_climatology'
        WHEN 'ViT/ClimaX' THEN 'climax'
        ELSE replace(lower(replace(printed_model, ' (task 2)', '')), ' ', '_')
    END,
    CASE WHEN printed_model LIKE '%(task 2)' THEN 'task2_steps5' ELSE 'default' END,
    trained_on, tested_on, 'test', variable, replace(metric, ' of 32 starts', ''), NULL, value, NULL,
    NULL, NULL, NULL
FROM published
WHERE suite = 'chaosbench' AND dimension = 's2s_control' AND leads = '44'
    AND metric IN ('RMSE', 'MS-SSIM', 'SpecDiv', 'SpecDiv of 32 starts');
