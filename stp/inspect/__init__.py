"""Datasets as people look at them: counts, leakage, pages, and drafts for new ones.

It reads raw or prepared data and computes no scores.
"""
