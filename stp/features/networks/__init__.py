"""Networks that compute features of clips, one file each, chosen by name.

A module has ``LAYERS``, the names of what it gives, ``SHORTEST``, the frames of the shortest clip
that it can look at, and ``embed(weights, layer)``, which makes an `Embed`; where weights may be
random, also ``embed_random(seed, layer, device, threads)``.
"""
