"""Stage `features`: features that networks compute from observed or predicted clips.

Features are stored between predictions and scores, once for each set of clips, network, layer and
weights. Distances between sets of clips, such as FVD, are computed from them.
"""
