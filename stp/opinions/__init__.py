"""Compute with opinions of people about videos: ratings, splits, regressions.

Measures of quality, which predict opinions from features of videos, are one file each in
`measures`.
"""
