"""Frechet video distance (Unterthiner et al. 2018, arXiv 1812.01717).

The Frechet distance (stp.metrics.frechet) between what I3D sees of observed and of predicted clips
(stp.features.networks.i3d): section 2 and equation 2 of the paper.

The value depends on the number of clips: compare at equal N only. I3D needs 9 frames.
"""

from stp.metrics import frechet
from stp.metrics.perceptual import SetDistance

every = SetDistance(frechet.distance)
"""Whatever network, layer and frames config/conventions/fvd.yaml names for a convention."""
