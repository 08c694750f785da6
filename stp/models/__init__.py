"""Forecast models, one file each, and the few pieces that they share."""
