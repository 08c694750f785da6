"""Forecasts from a user's own frames or tracks, whose future is unknown.

The command `stp forecast` uses this package, with a trained model or one without parameters, and a
file of observations.
"""
