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
        replace(replace(model, '_mcs', ''), '_rfd', '') AS network, split, video,
        max(abs(predicted - observed)) FILTER (ends_with(model, '_mcs')) AS mcs,
        max(abs(predicted - observed)) FILTER (ends_with(model, '_rfd')) AS rfd
    FROM predicted_opinions
    WHERE suite = 'pvqa' AND dimension = 'quality_measures' AND variant = 'default'
        AND subset = 'published' AND regexp_matches(model, '^[a-z0-9]+_(mcs|rfd)$')
    GROUP BY ALL
)
WHERE mcs IS NOT NULL AND rfd IS NOT NULL;
