-- title: On WeatherBench, recurrent models extrapolate no better than others
-- paper: >
--   Observation 6: on WeatherBench, Earthformer demonstrates superior performance; non-recurrent
--   methods such as Earthformer, SimVP and TAU exhibit better extrapolation performance than
--   recurrent ones such as ConvLSTM, E3D-LSTM and MAU. Finding 6: the auto-regressive paradigm
--   doesn't guarantee superior performance for recurrent methods.
-- criterion: >
--   Five days of six hours on WeatherBench: (a) Earthformer is the best of the twelve models in
--   all six columns. (b) In each of the six columns, Earthformer, SimVPv1, SimVPv2 and TAU have
--   a better mean rank than ConvLSTM, E3D-LSTM and MAU, ranked among these seven.
-- reading: >
--   Values are means over all twenty lead times. The paper's long-term results are a figure,
--   without numbers.

WITH v AS (
    SELECT *, leader AS against, leader_value AS other
    FROM paper_values
    WHERE dimension = 'long_term' AND tested_on = 'weatherbench'
),
named AS (
    SELECT
        *, model IN ('convlstm', 'e3dlstm', 'mau') AS recurrent,
        rank() OVER (
            PARTITION BY side, metric
            ORDER BY CASE WHEN higher_is_better THEN -value ELSE value END NULLS LAST
        ) AS place
    FROM v
    WHERE model IN ('earthformer', 'simvpv1', 'simvpv2', 'tau', 'convlstm', 'e3dlstm', 'mau')
),
families AS (
    SELECT
        side, tested, metric, count(value) = count(*) AS complete,
        CASE WHEN complete THEN avg(place) FILTER (NOT recurrent) END AS value,
        CASE WHEN complete THEN avg(place) FILTER (recurrent) END AS other,
        'no value of ' || string_agg(model, ', ' ORDER BY model) FILTER (value IS NULL) AS gap,
        any_value(bytes) AS bytes, bool_and(comparable) AS comparable
    FROM named
    GROUP BY side, tested, metric
)
SELECT
    side, 'a. Earthformer is the best' AS part, 6 AS needed, model, tested, metric, value,
    against, other, is_best AS outcome, fair, coalesce(gap, remark) AS remark, bytes, comparable
FROM v
WHERE model = 'earthformer'
UNION ALL
SELECT
    side, 'b. non-recurrent models have the better mean rank', 6, 'non-recurrent', tested,
    metric, value, 'recurrent', other, value < other, true, gap, bytes, comparable
FROM families;
