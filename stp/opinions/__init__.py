"""Compute opinion scores from ratings of videos, and predict them: ratings, splits, regressions.

Measures of quality predict opinions from features of videos; each is a module in `measures`.
"""
