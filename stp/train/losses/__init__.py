"""Losses that may stand in for the published one of a model (``train.loss``), one file each.

A module has ``loss(predicted, observed, *, ...) -> scalar``: frames (B, T, C, H, W), normalised.
A model that is trained by more than its last forecast has ``outputs(clip, step)``, which gives what
is to be compared; of all others free-running forecasts are.
"""
