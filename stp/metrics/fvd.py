"""Frechet video distance (Unterthiner et al. 2018, arXiv 1812.01717).

The Frechet distance (stp.metrics.frechet) between what I3D sees of observed and of predicted clips
(stp.features.networks.i3d): section 2 and equation 2 of the paper.

The value depends on the number of clips: compare at equal N only. I3D needs 9 frames.
"""

from stp.metrics import frechet
from stp.metrics.perceptual import SetDistance

predicted_only = SetDistance(frechet.distance)
"""Of the predicted frames: PredBench's code."""

with_context = SetDistance(frechet.distance)
"""Of context and predicted frames together: the paper (section 4, 2 + 14 frames of BAIR)."""

zero_padded = SetDistance(frechet.distance)
"""Of the predicted frames, padded: PredBench's code for Human3.6M and CityScapes."""

pooled = SetDistance(frechet.distance)
"""Of the predicted frames, from what lies before the logits: the last pool (section 4.1)."""

kinetics600 = SetDistance(frechet.distance)
"""As ``predicted_only``, through I3D trained on Kinetics-600."""

kinetics600_pooled = SetDistance(frechet.distance)
"""As ``pooled``, through I3D trained on Kinetics-600."""

videomae = SetDistance(frechet.distance)
"""Of the predicted frames, through VideoMAE in the place of I3D (Ge et al. 2024)."""

random_logits = SetDistance(frechet.distance)
"""Of the predicted frames through I3D with random weights: for tests and demonstrations."""

random_pooled = SetDistance(frechet.distance)
"""As ``random_logits``, from what lies before the logits."""
