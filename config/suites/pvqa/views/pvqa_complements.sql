-- comment: >
--   One row per network: how often MCS and RFD alone are wrong by more than 15 points, and how often
--   the other one is right then (Figure 8). A sample is a test video of a published split.
-- columns:
--   network: Whose features are compared.
--   samples: Number of test videos, over all splits.
--   neither: Samples of which both are within 15 points.
--   mcs_wrong: Samples of which MCS alone is wrong by more.
--   rfd_wrong: Samples of which RFD alone is wrong by more.
--   both_wrong: Samples of which both are.

SELECT
    network, count(*) AS samples, count(*) FILTER (mcs <= 15 AND rfd <= 15) AS neither,
    count(*) FILTER (mcs > 15 AND rfd <= 15) AS mcs_wrong,
    count(*) FILTER (mcs <= 15 AND rfd > 15) AS rfd_wrong,
    count(*) FILTER (mcs > 15 AND rfd > 15) AS both_wrong
FROM pvqa_errors
GROUP BY network;
