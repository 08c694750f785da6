"""Stage `features`: clips, observed or predicted -> features that networks compute of them.

An artefact between predictions and scores, keyed by clips, network, layer and weights; distances
between sets of clips, such as FVD, are made from it.
"""
