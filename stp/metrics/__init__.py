"""Metrics: pure functions on arrays, one small module for each.

A module-level `Metric` is a convention, described by `config/conventions/<metric>.yaml`; the
networks that some need are in `networks`.
"""
