-- comment: >
--   One row per measure: how long a video takes (section 5.3, Figure 11), as if only this measure were
--   computed. Receipts say it, so it depends on the machine. What is learnt from features is not in it.
--   Measures that are read from a file have no row.
-- columns:
--   seconds: Seconds of a video, mean over videos; of several computations the median.

WITH looked AS (
    SELECT DISTINCT
        c.model, f.fingerprint, json_extract(f.extras, '$.seconds.' || m.part) AS spent
    FROM cells c
    JOIN (SELECT model, unnest(parts) AS part FROM models) m ON m.model = c.model
    JOIN artefacts f ON list_contains(c.feature_fingerprints, f.fingerprint)
    WHERE c.suite = 'pvqa' AND c.variant = 'default'
),
steps AS (
    -- Parts that are made from the same maps share the time of these.
    SELECT DISTINCT
        model, fingerprint, step, json_extract_string(spent, '$.' || step)::DOUBLE AS seconds
    FROM (SELECT *, unnest(json_keys(spent)) AS step FROM looked)
),
measured AS (
    SELECT model, fingerprint, sum(seconds ORDER BY step) AS seconds
    FROM steps
    GROUP BY model, fingerprint
    UNION
    SELECT c.model, p.fingerprint, json_extract_string(p.extras, '$.seconds_per_video')::DOUBLE
    FROM cells c
    JOIN artefacts p ON p.fingerprint = c.predictions_fingerprint
    WHERE c.suite = 'pvqa' AND c.variant = 'default'
)
SELECT model, median(seconds) AS seconds
FROM measured
WHERE seconds IS NOT NULL
GROUP BY model;
