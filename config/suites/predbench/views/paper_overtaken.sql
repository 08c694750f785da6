-- comment: >
--   One row per side (ours, published), metric and test besides the short-term one, of models that
--   are trained on the dataset of the test: whether the best short-term model is the best there.
-- columns:
--   side: ours, or published.
--   dimension: Dimension of the other evaluation.
--   tested_on: Dataset of the test.
--   tested: What was tested there, for people.
--   metric: Column heading of the paper, behind a variable where it names one.
--   model: The best models of the short-term test.
--   value: Their value in the short-term test.
--   against: The best model of the other test that has a value.
--   other: Its value there.
--   outcome: Is a best short-term model not the best of the other test? NULL where missing values could tell otherwise.
--   fair: False where values of one of the tests cannot be compared; the gap says why.
--   gap: Why it is not known which model is the best.
--   bytes: Origin of the files and protocol of our values.
--   comparable: True only if files and recipe of all our values are the paper's.

SELECT
    s.side, o.dimension, tested_on, o.tested, s.metric,
    string_agg(s.model, ', ' ORDER BY s.model) FILTER (s.is_best) AS model,
    max(s.leader_value) AS value, any_value(o.leader) AS against, max(o.leader_value) AS other,
    CASE
        WHEN bool_or(s.is_best AND NOT o.is_best) THEN true
        WHEN count(s.is_best) = count(*) AND count(o.is_best) = count(*) THEN false
    END AS outcome,
    bool_and(s.fair AND o.fair) AS fair,
    string_agg(DISTINCT why, '; ' ORDER BY why) AS gap,
    any_value(coalesce(o.bytes, s.bytes)) AS bytes,
    bool_and(coalesce(o.comparable, s.comparable)) AS comparable
FROM paper_values s
JOIN paper_values o USING (side, model, trained_on, tested_on, metric)
CROSS JOIN LATERAL (SELECT CASE
    WHEN s.gap IS NOT NULL
        THEN CASE o.dimension WHEN 'long_term' THEN 'short term' ELSE s.tested END || ': ' || s.gap
    ELSE CASE o.dimension WHEN 'long_term' THEN 'long term' ELSE o.tested END || ': ' || o.gap
END AS why)
WHERE s.dimension = 'short_term' AND o.dimension IN ('long_term', 'generalization')
GROUP BY ALL;
