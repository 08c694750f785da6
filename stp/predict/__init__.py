"""Prediction: prepared data and a model -> forecasts."""
