"""Forecasts of frames or tracks of a user, whose future is unknown.

`stp forecast` uses it, with a trained model or one without parameters, and a file of observations.
"""
