"""Stage `predict`: predictions from prepared data and a trained model.

Forecasts that are read instead of computed come from `sources`, which has a module for each origin.
"""
