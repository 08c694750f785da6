-- comment: >
--   One row per single forecast or ensemble, variable and octave of zonal wavenumbers: the first lead
--   time at which the coherence with the observation (spectral_coherence.octaves_in_phase) is below 0.5.
-- columns:
--   dimension: s2s_control (single forecasts) or s2s_ensemble.
--   forecast: Model.
--   variant: Variant of the model.
--   trained_on: Dataset of training.
--   tested_on: Dataset of the test.
--   subset: Part of the test dataset.
--   lowest_wavenumber: Of the octave, in waves around the globe; the highest is twice that, less one.
--   first_lead: First lead time below 0.5; NULL if there is none, or not all before it have values.
--   coherent_leads: Lead times before it; all there are if the scale is never lost.
--   earliest: First lead time at which the lower end of the 95 % interval is below 0.5.
--   latest: The same of the upper end; NULL if that is below 0.5 at no lead time with an interval.
--   n: Starts behind the values, the fewest.
--   remark: Why there is no first lead time.

WITH curves AS (
    SELECT *
    FROM s2s_leads
    WHERE convention = 'spectral_coherence.octaves_in_phase' AND threshold IS NOT NULL
),
crossed AS (
    SELECT
        dimension, model AS forecast, variant, trained_on, tested_on, subset, variable,
        CAST(threshold AS BIGINT) AS lowest_wavenumber,
        min(lead) FILTER (value < 0.5) AS crossing,
        min(lead) FILTER (value IS NULL) AS unknown,
        min(lead) FILTER (ci95_low < 0.5) AS earliest,
        min(lead) FILTER (ci95_high < 0.5) AS latest,
        count(value) AS known, max(lead) AS last, min(n) AS n,
        min(reason) FILTER (value IS NULL) AS reason
    FROM curves
    GROUP BY ALL
)
SELECT
    dimension, forecast, variant, trained_on, tested_on, subset, variable,
    lowest_wavenumber,
    CASE WHEN unknown IS NULL OR crossing < unknown THEN crossing END AS first_lead,
    CASE
        WHEN first_lead IS NOT NULL THEN first_lead - 1
        WHEN unknown IS NULL THEN last
    END AS coherent_leads,
    earliest, latest, n,
    CASE
        WHEN first_lead IS NULL AND unknown IS NOT NULL THEN reason
        WHEN first_lead IS NULL THEN 'the scale is not lost within ' || last || ' lead times'
    END AS remark
FROM crossed;
