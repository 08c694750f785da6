"""Predictions and truth -> scores: of each sample, of each lead time, and overall.

It reads blocks, sums what metrics say over clusters, and makes values and intervals from the sums.
"""
