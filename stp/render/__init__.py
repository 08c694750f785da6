"""Rows of the results store -> tables, figures and pictures of forecasts.

Each has a folder; what they look like is in `page`.
"""
