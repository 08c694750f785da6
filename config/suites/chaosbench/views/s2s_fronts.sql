-- comment: >
--   One row per trained network, variant, variable and lead time: its RMSE and its SpecDiv, and
--   whether another variant of the network is better in both.
-- columns:
--   forecast: Model.
--   variant: Variant of the model, such as one that is trained for spectra.
--   trained_on: Dataset of training.
--   tested_on: Dataset of the test.
--   subset: Part of the test dataset.
--   rmse: wrmse.pooled.
--   rmse_low: Lower end of its 95 % interval; NULL where blocks of starts are too few.
--   rmse_high: Upper end of it.
--   specdiv: spectral_divergence.high_wavenumbers.
--   specdiv_low: Lower end of its 95 % interval; NULL where blocks of starts are too few.
--   specdiv_high: Upper end of it.
--   is_on_front: No variant of the same network is better in one of the two and not worse in the other.
--   is_surely_behind: One is better in both by intervals that do not overlap; NULL without intervals.
--   n: Starts behind the values, the fewest.

WITH pairs AS (
    SELECT
        r.model AS forecast, r.variant, r.trained_on, r.tested_on, r.subset, r.variable, r.lead,
        r.value AS rmse, r.ci95_low AS rmse_low, r.ci95_high AS rmse_high,
        s.value AS specdiv, s.ci95_low AS specdiv_low, s.ci95_high AS specdiv_high,
        least(r.n, s.n) AS n
    FROM s2s_leads r
    JOIN s2s_leads s
        ON s.dimension = r.dimension AND s.model = r.model
        AND s.variant = r.variant AND s.trained_on = r.trained_on AND s.tested_on = r.tested_on
        AND s.subset = r.subset AND s.setting = r.setting AND s.scale = r.scale
        AND s.seeds = r.seeds AND s.variable = r.variable AND s.lead = r.lead
        AND s.convention = 'spectral_divergence.high_wavenumbers'
    WHERE r.dimension = 's2s_control' AND r.seeds > 0
        AND r.convention = 'wrmse.pooled' AND r.value IS NOT NULL AND s.value IS NOT NULL
)
SELECT
    b.*,
    NOT EXISTS (
        FROM pairs o
        WHERE o.forecast = b.forecast AND o.trained_on = b.trained_on
            AND o.tested_on = b.tested_on AND o.subset = b.subset
            AND o.variable = b.variable AND o.lead = b.lead
            AND o.rmse <= b.rmse AND o.specdiv <= b.specdiv
            AND (o.rmse < b.rmse OR o.specdiv < b.specdiv)
    ) AS is_on_front,
    CASE WHEN rmse_low IS NOT NULL AND specdiv_low IS NOT NULL THEN EXISTS (
        FROM pairs o
        WHERE o.forecast = b.forecast AND o.trained_on = b.trained_on
            AND o.tested_on = b.tested_on AND o.subset = b.subset
            AND o.variable = b.variable AND o.lead = b.lead
            AND o.rmse_high < b.rmse_low AND o.specdiv_high < b.specdiv_low
    ) END AS is_surely_behind
FROM pairs b;
