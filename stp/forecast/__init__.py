"""Forecasts of somebody's own frames or tracks, whose future nobody knows yet."""
