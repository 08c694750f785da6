-- comment: >
--   One row per side (ours, published), dimension, test and model of the paper: in how many columns
--   of the paper's tables the model is the best.
-- columns:
--   side: ours, or published.
--   dimension: Dimension of the evaluation.
--   tested: What was tested, for people.
--   model: Model.
--   metric: What is counted.
--   value: Columns in which the model is the best of those of the paper.
--   against: What the count is compared with.
--   other: All columns of the test.
--   outcome: Is it the best in at least half of the columns? NULL where missing values could tell otherwise.
--   fair: False where an undecided column has values that cannot be compared; the gap says why.
--   gap: Why it is not known of some columns whether it is the best.
--   bytes: Origin of the files and protocol of our values.
--   comparable: True only if files and recipe of all our values are the paper's.

SELECT
    side, dimension, tested, model, 'columns in which it is the best' AS metric,
    count(*) FILTER (is_best) AS value, 'all columns' AS against, count(*) AS other,
    CASE
        WHEN count(*) FILTER (is_best) >= count(*) / 2 THEN true
        WHEN count(*) FILTER (NOT is_best) > count(*) / 2 THEN false
    END AS outcome,
    coalesce(bool_or(fair) FILTER (is_best IS NULL), true) AS fair,
    string_agg(DISTINCT gap, '; ' ORDER BY gap) AS gap,
    string_agg(DISTINCT bytes, '; ' ORDER BY bytes) AS bytes, bool_and(comparable) AS comparable
FROM paper_values
GROUP BY side, dimension, tested, model;
