"""Forecasts that are read and not computed, one file for each place that they are read from."""
