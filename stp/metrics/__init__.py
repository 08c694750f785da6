"""Metrics: pure functions on arrays, one small module for each.

A function that returns a `Metric` makes conventions, which `config/conventions/<metric>.yaml` names
with their options; the networks that some need are in `networks`.
"""
