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
)
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
WHERE model = 'earthformer' AND tested = 'weatherbench';
