"""Losses that can replace the published loss of a model (``train.loss``), one file each.

A module has ``loss(predicted, observed, *, ...) -> scalar`` for normalised frames (B, T, C, H, W).
The compared frames are those of `stp.models.model.ForecastModel.outputs`, or of ``drawn_forecast``
for models that draw forecasts.

A loss with a parameter ``data`` gets the prepared data, restricted to the compared channels. A loss
with an option ``members`` compares several random forecasts of each clip, (B, M, T, C, H, W).
"""
