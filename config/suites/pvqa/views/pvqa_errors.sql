-- comment: >
--   One row per network and test video of a published split: how far MCS alone and RFD alone are from
--   the opinion score (Figure 8).
-- columns:
--   network: Whose features are compared.
--   split: Number of the split, from 1.
--   video: Name of the video.
--   mcs: Size of the error of MCS, points.
--   rfd: Size of the error of RFD, points.

FROM (
    SELECT
        m.network, p.split, p.video,
        max(abs(p.predicted - p.observed)) FILTER (m.proposed = 'mcs') AS mcs,
        max(abs(p.predicted - p.observed)) FILTER (m.proposed = 'rfd') AS rfd
    FROM predicted_opinions p
    JOIN pvqa_measures m ON m.model = p.model
    WHERE p.suite = 'pvqa' AND p.dimension = 'quality_measures' AND p.variant = 'default'
        AND p.subset = 'published'
    GROUP BY m.network, p.split, p.video
)
WHERE mcs IS NOT NULL AND rfd IS NOT NULL;
