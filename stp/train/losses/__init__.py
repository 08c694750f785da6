"""Losses that may stand in for the published one of a model (``train.loss``), one file each.

A module has ``loss(predicted, observed, *, ...) -> scalar``: frames (B, T, C, H, W), normalised.
A model that is trained by more than its last forecast has ``outputs(clip, step)``, which gives what
is to be compared; of all others free-running forecasts are. One that draws codes has
``drawn(frames, horizon, values)``: a forecast, and what its codes add to a loss of so many values
of a frame.

A loss with a parameter ``data`` is given the prepared data, restricted to the channels that are
compared. One with an option ``members`` compares several forecasts of each clip that a model draws,
(B, M, T, C, H, W).
"""
