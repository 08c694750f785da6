"""What networks see of clips: an artefact between predict and score, keyed by clips, network, layer
and weights. Distances of sets of clips are made from it; what was observed is looked at once.
"""
