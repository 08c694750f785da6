"""FID of clips, frame by frame: the baseline of Unterthiner et al. (2018, section 4.1).

The Frechet distance (stp.metrics.frechet) between what a network of pictures sees in each frame,
averaged over the clip: it knows no motion. The paper looks through Inception-v3
(stp.features.networks.inception_frames); values through SqueezeNet 1.1
(stp.features.networks.squeezenet_frames), whose weights are small, do not compare with the paper's.
"""

from stp.metrics import frechet
from stp.metrics.perceptual import SetDistance

every = SetDistance(frechet.distance)
"""Whatever network, layer and frames config/conventions/average_fid.yaml names for a convention."""
