"""Describe datasets: counts, leakage between splits, pages, and drafts of new datasets.

The modules read raw or prepared data and compute no scores.
"""
