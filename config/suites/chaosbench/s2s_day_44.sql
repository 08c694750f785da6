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
--   score: RMSE (wrmse.pooled), MS-SSIM (ms_ssim.own_range) or SpecDiv (spectral_divergence.high_wavenumbers).
--   value: Over starts, or as printed; NULL always has a reason.
--   n: Starts behind the value; NULL for published ones.
--   bytes: Origin of the bytes and protocol of our values.
--   comparable: True only if bytes and recipe are the paper's; NULL for published values.

SELECT
    'ours' AS side, model AS forecast, variant, trained_on, tested_on, subset, variable,
    CASE convention
        WHEN 'wrmse.pooled' THEN 'RMSE'
        WHEN 'ms_ssim.own_range' THEN 'MS-SSIM'
        ELSE 'SpecDiv'
    END AS score,
    value, n, reason, source || ' bytes, ' || protocol || ' protocol' AS bytes, comparable
FROM by_lead
WHERE suite = 'chaosbench' AND dimension = 's2s_control' AND variable IS NOT NULL AND lead = 44
    AND convention IN (
        'wrmse.pooled', 'ms_ssim.own_range', 'spectral_divergence.high_wavenumbers'
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
    trained_on, tested_on, 'test', variable, metric, value, NULL, NULL, NULL, NULL
FROM published
WHERE suite = 'chaosbench' AND dimension = 's2s_control' AND leads = '44'
    AND metric IN ('RMSE', 'MS-SSIM', 'SpecDiv');
