"""Stage `features`: features that networks compute of observed or predicted clips.

They are an artefact between predictions and scores, one for each set of clips, network, layer and
weights; distances between sets of clips, such as FVD, are computed from it.
"""
