"""Clips, observed or predicted -> what networks see of them.

An artefact between predictions and scores, keyed by clips, network, layer and weights; distances
between sets of clips, such as FVD, are made from it.
"""
