"""Networks that compute features of clips: one module for each network.

A module has ``LAYERS``, the names of the features that it offers, ``SHORTEST``, the number of
frames of the shortest clip that it accepts, and ``embed(weights, layer)``, which makes an `Embed`;
where weights may be random, also ``embed_random(seed, layer, device, threads)``.
"""
