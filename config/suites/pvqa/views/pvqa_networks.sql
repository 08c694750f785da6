-- comment: >
--   One row per network that has looked at the videos: what its features have in common, and how long
--   it took (sections 4.2 and 5.2.1). Beside ours is what the paper prints for ResNet-50.
-- columns:
--   network: Name in config/weights.yaml.
--   maps: Number of channels of its last maps.
--   seconds_per_video: Time of all features of a video; depends on the machine.
--   ssa_rfd: Pearson's correlation of the distances of all pairs of videos, by SSA and by RFD.
--   ssa_rfd_printed: The paper's value.
--   mcs_rfd: The same by MCS and by RFD.
--   mcs_rfd_printed: The paper's value.
--   ssa_rfd_szekely: Distance correlation of Szekely et al. (2007), of SSA and RFD.
--   mcs_rfd_szekely: The same of MCS and RFD.
--   ssa_dissimilarity: >
--     1 - cosine similarity of the SSA of the first observed and the last predicted frame, median
--     over videos (Figure 6).
--   ssa_dissimilarity_printed: The paper's values of the two videos of Figure 6.
--   rfd_dissimilarity: The same of the first and the last difference, each channel rescaled alone.
--   rfd_dissimilarity_printed: The paper's values of the same two videos.

WITH printed AS (
    SELECT
        max(value) FILTER (printed_model = 'distance correlation SSA vs RFD') AS ssa_rfd,
        max(value) FILTER (printed_model = 'distance correlation MCS vs RFD') AS mcs_rfd,
        list(value ORDER BY run) FILTER (printed_model = 'dissimilarity of frames') AS ssa,
        list(value ORDER BY run) FILTER (printed_model = 'dissimilarity of RFD') AS rfd
    FROM published
    WHERE suite = 'pvqa' AND dimension = 'opinions'
)
SELECT DISTINCT
    recipe ->> '$.network' AS network, (extras ->> '$.maps')::BIGINT AS maps,
    (extras ->> '$.seconds_per_video')::DOUBLE AS seconds_per_video,
    (extras ->> '$.correlation_of_distances."ssa rfd"')::DOUBLE AS ssa_rfd,
    printed.ssa_rfd AS ssa_rfd_printed,
    (extras ->> '$.correlation_of_distances."mcs rfd"')::DOUBLE AS mcs_rfd,
    printed.mcs_rfd AS mcs_rfd_printed,
    (extras ->> '$.distance_correlation."ssa rfd"')::DOUBLE AS ssa_rfd_szekely,
    (extras ->> '$.distance_correlation."mcs rfd"')::DOUBLE AS mcs_rfd_szekely,
    (extras ->> '$.dissimilarity.ssa')::DOUBLE AS ssa_dissimilarity,
    printed.ssa AS ssa_dissimilarity_printed,
    (extras ->> '$.dissimilarity.rfd_written')::DOUBLE AS rfd_dissimilarity,
    printed.rfd AS rfd_dissimilarity_printed
FROM artefacts
CROSS JOIN printed
WHERE stage = 'features' AND (extras ->> '$.seconds_per_video') IS NOT NULL;
