-- comment: >
--   One row per side (ours, published), dimension and model of the paper: whether another model is
--   better in some column of the paper's tables; the frame interval of the training does not count.
-- columns:
--   side: ours, or published.
--   dimension: Dimension of the evaluation.
--   model: Model.
--   value: Columns in which the model is the best of those of the paper.
--   other: All columns.
--   outcome: Is another model better in some column? NULL where missing values could tell otherwise.
--   fair: False where an undecided column has values that cannot be compared; the gap says why.
--   gap: Why it is not known of some columns whether it is the best.
--   bytes: Origin of the files and protocol of our values.
--   comparable: True only if files and recipe of all our values are the paper's.

SELECT
    side, dimension, model, count(*) FILTER (is_best) AS value, count(*) AS other,
    CASE WHEN bool_or(NOT is_best) THEN true WHEN count(is_best) = count(*) THEN false END
        AS outcome,
    coalesce(bool_or(fair) FILTER (is_best IS NULL), true) AS fair,
    string_agg(DISTINCT gap, '; ' ORDER BY gap) AS gap,
    string_agg(DISTINCT bytes, '; ' ORDER BY bytes) AS bytes, bool_and(comparable) AS comparable
FROM paper_values
WHERE frame_interval IS DISTINCT FROM 1
GROUP BY side, dimension, model;
