-- comment: >
--   One row per network that has looked at the videos: what its features have in common, and how long
--   it took (sections 4.2, 5.2.1 and 5.3; the paper prints correlations of distances of 0.71 and 0.57
--   for ResNet-50).
-- columns:
--   network: Name in config/weights.yaml.
--   maps: Number of channels of its last maps.
--   seconds_per_video: Time of all features of a video; depends on the machine.
--   ssa_rfd: Pearson's correlation of the distances of all pairs of videos, by SSA and by RFD.
--   mcs_rfd: The same by MCS and by RFD.
--   ssa_rfd_szekely: Distance correlation of Szekely et al. (2007), of SSA and RFD.
--   mcs_rfd_szekely: The same of MCS and RFD.
--   ssa_dissimilarity: >
--     1 - cosine similarity of the SSA of the first observed and the last predicted frame, median
--     over videos (Figure 6).
--   rfd_dissimilarity: The same of the first and the last difference, each channel rescaled alone.

SELECT DISTINCT
    recipe ->> '$.network' AS network, (extras ->> '$.maps')::BIGINT AS maps,
    (extras ->> '$.seconds_per_video')::DOUBLE AS seconds_per_video,
    (extras ->> '$.correlation_of_distances."ssa rfd"')::DOUBLE AS ssa_rfd,
    (extras ->> '$.correlation_of_distances."mcs rfd"')::DOUBLE AS mcs_rfd,
    (extras ->> '$.distance_correlation."ssa rfd"')::DOUBLE AS ssa_rfd_szekely,
    (extras ->> '$.distance_correlation."mcs rfd"')::DOUBLE AS mcs_rfd_szekely,
    (extras ->> '$.dissimilarity.ssa')::DOUBLE AS ssa_dissimilarity,
    (extras ->> '$.dissimilarity.rfd_written')::DOUBLE AS rfd_dissimilarity
FROM artefacts
WHERE stage = 'features' AND extras ->> '$.seconds_per_video' IS NOT NULL;
