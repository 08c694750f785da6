"""FID of clips, frame by frame: the baseline of Unterthiner et al. (2018, section 4.1).

The Frechet distance (stp.metrics.frechet) between what a network of pictures sees in each frame,
averaged over the clip: it knows no motion. The paper looks through Inception-v3
(stp.features.networks.inception_frames); values through SqueezeNet 1.1
(stp.features.networks.squeezenet_frames), whose weights are small, do not compare with the paper's.
"""

from stp.metrics import frechet
from stp.metrics.perceptual import SetDistance

inception_means = SetDistance(frechet.distance)
"""Of the means over frames: exactly blind to their order."""

inception_differences = SetDistance(frechet.distance)
"""Of the mean sizes of the differences of consecutive frames."""

inception_signed_differences = SetDistance(frechet.distance)
"""Of the mean differences of consecutive frames: of the first and last frame alone."""

squeezenet_means = SetDistance(frechet.distance)
"""Of the means over frames: exactly blind to their order."""

squeezenet_differences = SetDistance(frechet.distance)
"""Of the mean sizes of the differences of consecutive frames."""

squeezenet_signed_differences = SetDistance(frechet.distance)
"""Of the mean differences of consecutive frames: of the first and last frame alone."""

random_means = SetDistance(frechet.distance)
"""As ``squeezenet_means``, through random weights: for tests and demonstrations."""

random_differences = SetDistance(frechet.distance)
"""As ``squeezenet_differences``, through random weights."""

random_signed_differences = SetDistance(frechet.distance)
"""As ``squeezenet_signed_differences``, through random weights."""
