"""Stage `features`: features (vectors of numbers) that networks compute from clips.

The clips are observed or predicted. Their features are stored once for each set of clips, network,
layer and weights. Distances between sets of clips, such as FVD, are computed from them.
"""
