-- comment: >
--   One row per random halving of the raters that are kept, of 100: the correlation of the opinion
--   scores of the two halves (section 3.3.1; Figure 4 shows one). Scores are means of the Z-scores of
--   a rater and session; rescaling does not change a correlation. The order of raters in a halving is
--   that of a checksum of their names.
-- columns:
--   data_fingerprint: Of the prepared data; as in cells.
--   halving: Number of the halving, from 1.
--   raters: Number of raters that are kept.
--   videos: Number of videos that both halves have rated.
--   plcc: Pearson's correlation over these videos.

WITH scores AS (
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
    FROM (SELECT DISTINCT data_fingerprint, rater FROM scores)
    CROSS JOIN (SELECT unnest(range(1, 101)) AS halving)
),
halves AS (
    SELECT
        data_fingerprint, halving, raters, video,
        avg(z ORDER BY rater) FILTER (place <= (raters + 1) // 2) AS x,
        avg(z ORDER BY rater) FILTER (place > (raters + 1) // 2) AS y
    FROM scores
    JOIN ordered USING (data_fingerprint, rater)
    GROUP BY ALL
)
SELECT
    data_fingerprint, halving, raters, count(*) AS videos, corr(x, y ORDER BY video) AS plcc
FROM halves
WHERE x IS NOT NULL AND y IS NOT NULL
GROUP BY data_fingerprint, halving, raters;
