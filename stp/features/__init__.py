"""Stage `features`: clips, observed or predicted -> features that networks compute of them.

An artefact between predictions and scores, for each set of clips, network, layer and weights;
distances between sets of clips, such as FVD, are computed from it.
"""
