-- title: Kinds of damage annoy alike
-- paper: >
--   Section 3.3.3: the average MOS for videos with blur is roughly equal to that for videos with
--   shape distortions; other distortions (disappearance, color) appear to be as annoying.
-- criterion: >
--   The mean opinions of videos with blur, with shape distortions and with others differ by at most
--   5 points, 3 of 3 pairs.
-- reading: >
--   "Roughly equal" is read as 5 of 100 points, half a standard deviation of the predicted videos
--   in the paper. A video with several tags counts for each. Videos count that are in the test of a
--   published split. Tags are needed, which the official release may lack.

WITH videos AS (
    SELECT DISTINCT video, observed, string_split(tags, ' ') AS tags
    FROM predicted_opinions
    WHERE suite = 'pvqa' AND subset = 'published'
),
means AS (
    SELECT
        unnest(['blur', 'shape', 'others']) AS kind,
        unnest([
            avg(observed ORDER BY video) FILTER (list_contains(tags, 'blur')),
            avg(observed ORDER BY video) FILTER (list_contains(tags, 'shape')),
            avg(observed ORDER BY video)
                FILTER (list_has_any(tags, ['disappearance', 'color']))
        ]) AS value
    FROM videos
),
printed AS (
    SELECT 'blur' AS kind, value FROM published
    WHERE suite = 'pvqa' AND printed_model = 'Blur' AND metric = 'MOS'
    UNION ALL
    SELECT 'shape', value FROM published
    WHERE suite = 'pvqa' AND printed_model = 'Shape Distortion' AND metric = 'MOS'
    UNION ALL
    SELECT 'others', value FROM published
    WHERE suite = 'pvqa' AND printed_model = 'MOS other distortions'
),
pairs AS (
    FROM (VALUES ('blur', 'shape'), ('blur', 'others'), ('shape', 'others')) AS p(one, two)
),
about AS (
    SELECT min(bytes) AS bytes, bool_and(comparable) AS comparable FROM pvqa_scores
)
SELECT
    'ours' AS side, 'about equal' AS part, 3 AS needed, one AS model, 'pvqa' AS tested,
    'MOS' AS metric, a.value, two AS against, b.value AS other,
    abs(a.value - b.value) <= 5 AS outcome, true AS fair,
    CASE WHEN a.value IS NULL OR b.value IS NULL THEN 'no video has such a tag' END AS remark,
    bytes, comparable
FROM pairs
LEFT JOIN means a ON a.kind = one
LEFT JOIN means b ON b.kind = two
CROSS JOIN about
UNION ALL
SELECT
    'published', 'about equal', 3, one, 'pvqa', 'MOS', a.value, two, b.value,
    abs(a.value - b.value) <= 5, true, NULL, NULL, NULL
FROM pairs
LEFT JOIN printed a ON a.kind = one
LEFT JOIN printed b ON b.kind = two;
