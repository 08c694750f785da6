-- comment: >
--   One row per video and random halving of the raters that are kept, of 100: the opinion scores of
--   the two halves (section 3.3.1; Figure 4 shows one halving). Scores are means of the Z-scores of a
--   rater and session, of which -3 becomes 0 and 3 becomes 100. The order of raters in a halving is
--   that of a checksum of their names.
-- columns:
--   data_fingerprint: Of the prepared data; as in cells.
--   halving: Number of the halving, from 1.
--   raters: Number of raters that are kept.
--   video: Name of the video.
--   first_half: Opinion score of the video by one half; NULL if none of it has rated the video.
--   second_half: The same by the other half.

WITH z_scores AS (
    SELECT
        data_fingerprint, rater, video,
        (rating - avg(rating) OVER one) / nullif(stddev_samp(rating) OVER one, 0) AS z
    FROM opinion_ratings
    WHERE NOT is_rejected
    WINDOW one AS (
        PARTITION BY data_fingerprint, rater, session
        ORDER BY video ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    )
),
ordered AS (
    SELECT
        data_fingerprint, rater, halving,
        row_number() OVER (
            PARTITION BY data_fingerprint, halving ORDER BY md5(halving || ' ' || rater), rater
        ) AS place,
        count(*) OVER (PARTITION BY data_fingerprint, halving) AS raters
    FROM (SELECT DISTINCT data_fingerprint, rater FROM z_scores)
    CROSS JOIN (SELECT unnest(range(1, 101)) AS halving)
)
SELECT
    data_fingerprint, halving, raters, video,
    100 * (3 + avg(z ORDER BY rater) FILTER (place <= (raters + 1) // 2)) / 6 AS first_half,
    100 * (3 + avg(z ORDER BY rater) FILTER (place > (raters + 1) // 2)) / 6 AS second_half
FROM z_scores
JOIN ordered USING (data_fingerprint, rater)
GROUP BY ALL;
