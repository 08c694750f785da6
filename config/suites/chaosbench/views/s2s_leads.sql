-- comment: >
--   One row per model, variant, test, convention, variable, threshold and lead time: by_lead with
--   seeds together. The other views of this suite start from it, so that a model has one row in
--   them however many seeds it was trained with. Trainings on a part of the data are left out.
-- columns:
--   value: Mean over seeds; NULL if one of them has none.
--   ci95_low: Lower end of the 95 % interval of a single training; NULL for several seeds.
--   ci95_high: Upper end of it.
--   n: Starts behind the value, the fewest.
--   seeds: Trainings with a seed; 0 for deterministic models.
--   reason: Why there is no value, or else why there is no interval.
--   bytes: Origin of the bytes and protocol of the values.
--   comparable: True only if bytes and recipe are the paper's.

SELECT
    scale, dimension, model, variant, trained_on, train_subset, tested_on, subset, setting, metric,
    convention, variable, threshold, lead,
    CASE WHEN count(value) = count(*) THEN avg(value ORDER BY seed) END AS value,
    CASE WHEN count(*) = 1 THEN min(ci95_low) END AS ci95_low,
    CASE WHEN count(*) = 1 THEN min(ci95_high) END AS ci95_high,
    min(n) AS n, count(seed) AS seeds,
    CASE
        WHEN count(value) < count(*) THEN min(reason) FILTER (value IS NULL)
        WHEN count(*) = 1 THEN min(reason)
        ELSE 'intervals are of single trainings: see by_lead'
    END AS reason,
    min(CASE WHEN bytes_known_by = 'stated' THEN 'unverified ' ELSE '' END || source || ' data'
        || CASE WHEN bytes_known_by = 'counts' THEN ', known by counts' ELSE '' END
        || ', ' || protocol || ' protocol') AS bytes,
    bool_and(comparable) AS comparable
FROM by_lead
WHERE suite = 'chaosbench' AND variable IS NOT NULL AND train_subset = 'all'
GROUP BY
    scale, dimension, model, variant, trained_on, train_subset, tested_on, subset, setting, metric,
    convention, variable, threshold, lead;
