"""Forecasts of frames or tracks of a user, whose future is unknown.

`stp forecast` is made of it: a trained model or one with nothing to fit, and a file to start from.
"""
