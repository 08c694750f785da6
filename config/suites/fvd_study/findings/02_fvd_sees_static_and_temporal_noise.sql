-- title: FVD sees noise in frames, and in their order
-- paper: >
--   Section 4.1: all variants were able to detect the various injected distortions to some degree,
--   with the pre-trained Inception network generally being inferior at detecting temporal ones.
-- criterion: >
--   On each of BAIR, HMDB51 and Kinetics-400, the rank correlation of fvd.predicted_only with the
--   intensity is significant at 5 % (one-sided: at least 0.9 of five intensities, 0.829 of six)
--   for (a) the four static distortions, 12 of 12, and (b) the four temporal ones, 12 of 12. (c)
--   For every variant of average FID, the mean correlation over temporal distortions is below that
--   of FVD, 3 of 3.
-- reading: >
--   The intensity of switching is the number of frames before it, so its correlation counts with
--   the opposite sign. A metric that is the same at all intensities does not see the distortion,
--   and counts as 0. SqueezeNet may stand for Inception-v3. Networks with random weights are not
--   judged. The paper's correlations are a figure without numbers.

WITH wanted AS (
    SELECT side, dataset, distortion, is_temporal
    FROM (VALUES ('ours'), ('published')) AS s(side)
    CROSS JOIN (VALUES ('bair'), ('hmdb51'), ('kinetics400')) AS d(dataset)
    CROSS JOIN (
        VALUES ('black_rectangle', false), ('gaussian_blur', false), ('gaussian_noise', false),
            ('salt_and_pepper', false), ('local_swap', true), ('global_swap', true),
            ('interleaving', true), ('switching', true)
    ) AS n(distortion, is_temporal)
),
seen AS (
    SELECT
        * EXCLUDE (correlation),
        CASE
            WHEN is_constant THEN 0
            WHEN distortion = 'switching' THEN -correlation
            ELSE correlation
        END AS correlation,
        CASE intensities WHEN 4 THEN 1.0 WHEN 5 THEN 0.9 WHEN 6 THEN 0.829 END AS least
    FROM noise_correlations
    WHERE subset = 'test'
),
of_frames AS (
    -- The best variant of average FID, by its mean over temporal distortions.
    SELECT tested_on, arg_max(convention, mean) AS convention, max(mean) AS mean
    FROM (
        SELECT tested_on, convention, sum(correlation ORDER BY distortion) / 4 AS mean
        FROM seen
        WHERE is_temporal AND starts_with(convention, 'average_fid.')
            AND NOT contains(convention, 'random')
        GROUP BY tested_on, convention
        HAVING count(correlation) = 4
    )
    GROUP BY tested_on
),
of_clips AS (
    SELECT
        tested_on,
        CASE WHEN count(correlation) = 4 THEN sum(correlation ORDER BY distortion) / 4 END AS mean,
        min(reason) FILTER (correlation IS NULL) AS reason, min(bytes) AS bytes,
        bool_and(comparable) AS comparable
    FROM seen
    WHERE is_temporal AND convention = 'fvd.predicted_only'
    GROUP BY tested_on
)
SELECT
    w.side,
    CASE WHEN w.is_temporal THEN 'b. temporal noise' ELSE 'a. static noise' END AS part,
    12 AS needed, 'fvd.predicted_only' AS model, w.dataset AS tested, w.distortion AS metric,
    s.correlation AS value, 'significant from' AS against, s.least AS other,
    -- 1.0 of four comes out of a division.
    s.correlation >= s.least - 1e-9 AS outcome, true AS fair,
    CASE
        WHEN w.side = 'published' THEN 'Figure 6 has no printed numbers'
        WHEN s.convention IS NULL THEN 'not evaluated'
        WHEN s.correlation IS NULL THEN s.reason
        WHEN s.least IS NULL THEN 'significance is known of four to six intensities'
    END AS remark,
    s.bytes, s.comparable
FROM wanted w
LEFT JOIN seen s
    ON w.side = 'ours' AND s.tested_on = w.dataset AND s.distortion = w.distortion
    AND s.convention = 'fvd.predicted_only'
UNION ALL
SELECT
    w.side, 'c. average FID follows temporal noise less', 3, 'fvd.predicted_only', w.dataset,
    'mean over temporal noise', c.mean, f.convention, f.mean, f.mean < c.mean, true,
    CASE
        WHEN w.side = 'published' THEN 'Figure 6 has no printed numbers'
        WHEN c.tested_on IS NULL THEN 'not evaluated'
        WHEN c.mean IS NULL THEN coalesce(c.reason, 'fewer than four temporal distortions')
        WHEN f.mean IS NULL THEN 'no value of average FID'
    END,
    c.bytes, c.comparable
FROM (SELECT DISTINCT side, dataset FROM wanted) w
LEFT JOIN of_clips c ON w.side = 'ours' AND c.tested_on = w.dataset
LEFT JOIN of_frames f ON w.side = 'ours' AND f.tested_on = w.dataset;
