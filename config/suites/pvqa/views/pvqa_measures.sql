-- comment: >
--   One row per measure of quality, evaluated or planned: what it is made from.
-- columns:
--   proposed: both for the paper's MCS and RFD together, mcs or rfd for one alone; NULL of others.

SELECT
    model, title, role, network, parts, learns,
    CASE list_sort(parts)
        WHEN ['mcs', 'rfd'] THEN 'both' WHEN ['mcs'] THEN 'mcs' WHEN ['rfd'] THEN 'rfd'
    END AS proposed
FROM models
WHERE role IS NOT NULL;
