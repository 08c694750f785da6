-- comment: >
--   One row per random halving of the raters that are kept, of 100: the correlation of the opinion
--   scores of the two halves (section 3.3.1).
-- columns:
--   data_fingerprint: Of the prepared data; as in cells.
--   halving: Number of the halving, from 1.
--   raters: Number of raters that are kept.
--   videos: Number of videos that raters of each half have rated.
--   plcc: Pearson's correlation over these videos.

SELECT
    data_fingerprint, halving, raters, count(*) AS videos,
    corr(first_half, second_half ORDER BY video) AS plcc
FROM pvqa_half_scores
WHERE first_half IS NOT NULL AND second_half IS NOT NULL
GROUP BY data_fingerprint, halving, raters;
