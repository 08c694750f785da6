"""Prepared data and a trained model -> predictions.

Forecasts that are read instead of computed come from `sources`, one file each.
"""
