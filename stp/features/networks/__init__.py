"""Networks that compute features of clips: one module for each network.

A module has

- ``LAYERS``, the names of the features that it offers;
- ``SHORTEST``, the number of frames of the shortest clip that it accepts;
- ``embed(weights, layer)``, which returns a function from clips, float32 (N, T, C, H, W) in [0, 1],
  to features, float64 (N, D), one vector for each clip;
- where weights may be random, also ``embed_random(seed, layer, device, threads)``, which returns
  such a function.
"""
