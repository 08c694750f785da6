"""Spatio-temporal prediction benchmark: raw bytes to paper tables."""
