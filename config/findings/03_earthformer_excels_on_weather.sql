-- title: Earthformer excels on SEVIR and WeatherBench, MAU on ICAR-ENSO
-- paper: >
--   Observation 3: MAU performs the best on ICAR-ENSO, while Earthformer excels on SEVIR and
--   WeatherBench. Finding 3: Earthformer is a standout performer on these datasets, surpassing
--   CNN-and RNN-based methods.
-- criterion: >
--   Of the twelve models, (a) MAU is the best in both columns of ICAR-ENSO, (b) Earthformer in
--   both columns of SEVIR, (c) Earthformer in all six columns of WeatherBench.
-- reading: >
--   "Excels" and "surpassing" are read as: the best in every column. Equal printed values share
--   a rank.

WITH v AS (
    SELECT *, leader AS against, leader_value AS other
    FROM paper_values
    WHERE dimension = 'short_term'
),
evidence AS (
    SELECT
        'a. MAU is the best on ICAR-ENSO' AS part, 2 AS needed,
        is_best AS outcome, * REPLACE (coalesce(gap, remark) AS remark)
    FROM v
    WHERE model = 'mau' AND tested = 'enso'
    UNION ALL
    SELECT
        'b. Earthformer is the best on SEVIR', 2,
        is_best, * REPLACE (coalesce(gap, remark) AS remark)
    FROM v
    WHERE model = 'earthformer' AND tested = 'sevir'
    UNION ALL
    SELECT
        'c. Earthformer is the best on WeatherBench', 6,
        is_best, * REPLACE (coalesce(gap, remark) AS remark)
    FROM v
    WHERE model = 'earthformer' AND tested = 'weatherbench'
),
-- The verdict, in the same words for every finding.
parts AS (
    SELECT
        side, part, max(needed) AS wanted, count(*) AS comparisons,
        count(*) FILTER (outcome) AS yes, count(*) FILTER (NOT outcome) AS no,
        CASE
            WHEN yes >= wanted THEN 'holds'
            WHEN comparisons - no < wanted THEN 'does not hold'
            WHEN bool_or(outcome IS NULL AND fair) THEN 'not enough data'
            ELSE 'not comparable'
        END AS part_verdict
    FROM evidence
    GROUP BY side, part
),
verdicts AS (
    SELECT
        side,
        CASE
            WHEN bool_or(part_verdict = 'does not hold') THEN 'does not hold'
            WHEN bool_or(part_verdict = 'not enough data') THEN 'not enough data'
            WHEN bool_or(part_verdict = 'holds') THEN 'holds'
            ELSE 'not comparable'
        END AS verdict
    FROM parts
    GROUP BY side
),
sources AS (
    SELECT
        side,
        CASE
            WHEN side = 'published' THEN 'published numbers'
            WHEN count(bytes) = 0 THEN 'nothing of it was evaluated'
            ELSE CASE WHEN bool_and(comparable) THEN '' ELSE 'NOT COMPARABLE WITH THE PAPER: ' END
                || string_agg(DISTINCT bytes, '; ' ORDER BY bytes)
        END AS about
    FROM evidence
    GROUP BY side
)
SELECT
    side, verdict, about, part, part_verdict, yes, no, wanted, comparisons,
    model, tested, metric, value, against, other, outcome, remark
FROM evidence
JOIN parts USING (side, part)
JOIN verdicts USING (side)
JOIN sources USING (side)
ORDER BY side, part, tested, metric, model;
